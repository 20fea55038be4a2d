"""The endpoint of DynamoDB, which botocore finds as every AWS program does, and access to it."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import botocore.session  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
from botocore.regions import EndpointResolver  # type: ignore[import-untyped]

from greenroom.platform.aws.credentials import AwsKeys
from greenroom.platform.aws.signing import Keys
from greenroom.platform.dynamodb.errors import DynamoDbError

ENGINE_REGION = "us-east-1"
"""The region for engines other than AWS, which have no regions."""


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    region: str
    keys: Callable[[], Awaitable[Keys]]


def embedded_access(url: str) -> Access:
    """Access to the embedded engine, which accepts any keys."""

    async def any_keys() -> Keys:
        return Keys("embedded", "embedded")

    return Access(url, ENGINE_REGION, any_keys)


def aws_access(endpoint: str | None, region: str | None) -> Access:
    """Access to AWS, or to an `endpoint` with AWS credentials. Blocks, because it reads files."""
    session = botocore.session.Session()
    try:
        region = region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if endpoint is not None:
            return Access(endpoint, region or ENGINE_REGION, AwsKeys(session, DynamoDbError))
        if not region:
            raise DynamoDbError(
                "No AWS region is set. Set GREENROOM_DYNAMODB_REGION or AWS_REGION, for example "
                "to eu-central-1, or give your AWS profile a region."
            )
        endpoints = session.get_component("data_loader").load_data("endpoints")
        found = EndpointResolver(endpoints).construct_endpoint("dynamodb", region)
    except BotoCoreError as error:
        raise DynamoDbError(f"The AWS configuration cannot be read: {error}. Correct it.") from (
            error
        )
    if found is None:
        raise DynamoDbError(f"AWS has no region {region!r}. Check GREENROOM_DYNAMODB_REGION.")
    return Access(f"https://{found['hostname']}", region, AwsKeys(session, DynamoDbError))
