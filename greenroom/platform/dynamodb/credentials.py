"""Where DynamoDB is and by which keys requests are signed.

botocore finds both as every AWS program does: environment, profile, container and instance roles,
web identity. It blocks, so it is asked in a thread, and never for each request.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import botocore.session  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
from botocore.regions import EndpointResolver  # type: ignore[import-untyped]

from greenroom.kernel.clock import Clock, system_clock
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.dynamodb.signing import Keys

log = logging.getLogger(__name__)

LOOK_AGAIN_MS = 60_000
"""botocore renews keys from 15 minutes before their end on; this is how often it may do so."""

ENGINE_REGION = "us-east-1"
"""What an engine that is not AWS's is told; it has no regions."""


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    region: str
    keys: Callable[[], Awaitable[Keys]]


def embedded_access(url: str) -> Access:
    """To the embedded engine, which takes any keys."""

    async def any_keys() -> Keys:
        return Keys("embedded", "embedded")

    return Access(url, ENGINE_REGION, any_keys)


def aws_access(endpoint: str | None, region: str | None) -> Access:
    """To AWS, or to an `endpoint` that is reached with AWS credentials. Reads files: it blocks."""
    session = botocore.session.Session()
    try:
        region = region or os.environ.get("AWS_REGION") or session.get_config_variable("region")
        if endpoint is not None:
            return Access(endpoint, region or ENGINE_REGION, AwsKeys(session))
        if not region:
            raise DynamoDbError(
                "No AWS region is set. Set GREENROOM_DYNAMODB_REGION or AWS_REGION, for example "
                "to eu-central-1, or give your AWS profile a region."
            )
        endpoints = session.get_component("data_loader").load_data("endpoints")
        found = EndpointResolver(endpoints).construct_endpoint("dynamodb", region)
    except BotoCoreError as error:
        raise DynamoDbError(f"The AWS configuration cannot be read: {error}. Set it right.") from (
            error
        )
    if found is None:
        raise DynamoDbError(f"AWS has no region {region!r}. Check GREENROOM_DYNAMODB_REGION.")
    return Access(f"https://{found['hostname']}", region, AwsKeys(session))


class AwsKeys:
    """The keys of a botocore session: resolved once, looked at again every minute."""

    def __init__(self, session: Any, *, clock: Clock = system_clock) -> None:
        self._session = session
        self._clock = clock
        self._credentials: Any = None
        self._keys: Keys | None = None
        self._look_again_ms = 0
        self._resolving = asyncio.Lock()

    async def __call__(self) -> Keys:
        known = self._keys
        if known is None:
            return await self._first_look()
        if self._clock() >= self._look_again_ms:
            # Whoever comes meanwhile goes on with the keys there are.
            self._look_again_ms = self._clock() + LOOK_AGAIN_MS
            try:
                return await self._look()
            except Exception:
                log.warning("AWS credentials could not be renewed", exc_info=True)
        return known

    async def _first_look(self) -> Keys:
        async with self._resolving:
            return self._keys or await self._look()

    async def _look(self) -> Keys:
        self._keys = await asyncio.to_thread(self._resolve)
        self._look_again_ms = self._clock() + LOOK_AGAIN_MS
        return self._keys

    def _resolve(self) -> Keys:
        try:
            self._credentials = self._credentials or self._session.get_credentials()
            if self._credentials is None:
                raise DynamoDbError(
                    "No AWS credentials were found. Set AWS_ACCESS_KEY_ID and "
                    "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role gives them."
                )
            frozen = self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise DynamoDbError(
                f"The AWS credentials cannot be read: {error}. Set them right."
            ) from error
        return Keys(frozen.access_key, frozen.secret_key, frozen.token)
