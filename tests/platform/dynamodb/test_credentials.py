"""Where AWS is, and whose keys are used: as every AWS program finds them, and renewed in time."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from botocore.exceptions import MetadataRetrievalError  # type: ignore[import-untyped]

from greenroom.platform.aws.credentials import REFRESH_MS, AwsKeys
from greenroom.platform.aws.signing import Keys
from greenroom.platform.dynamodb.credentials import aws_access
from greenroom.platform.dynamodb.errors import DynamoDbError


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the machine's own AWS settings nor its metadata service take part."""
    for name in (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
        *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_DEFAULT_PROFILE", "AWS_ROLE_ARN"),
        *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


async def test_keys_and_region_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    access = aws_access(None, None)
    assert (access.url, access.region) == ("https://dynamodb.us-east-2.amazonaws.com", "us-east-2")
    assert await access.keys() == Keys("an-id", "a-secret", "a-token")
    monkeypatch.setenv("AWS_REGION", "cn-north-1")
    assert aws_access(None, None).url == "https://dynamodb.cn-north-1.amazonaws.com.cn"
    assert aws_access(None, "eu-west-1").region == "eu-west-1"


async def test_keys_and_region_come_from_a_profile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("[profile staging]\nregion = eu-north-1\n")
    (tmp_path / "credentials").write_text(
        "[staging]\naws_access_key_id = an-id\naws_secret_access_key = a-secret\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "staging")
    access = aws_access(None, None)
    assert access.region == "eu-north-1"
    assert await access.keys() == Keys("an-id", "a-secret", None)


def test_an_address_of_ones_own_needs_no_region() -> None:
    access = aws_access("http://127.0.0.1:8000", None)
    assert (access.url, access.region) == ("http://127.0.0.1:8000", "us-east-1")


async def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DynamoDbError, match="Set GREENROOM_DYNAMODB_REGION or AWS_REGION"):
        aws_access(None, None)
    with pytest.raises(DynamoDbError, match="AWS has no region 'atlantis'"):
        aws_access(None, "atlantis")
    with pytest.raises(DynamoDbError, match="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        await aws_access(None, "eu-west-1").keys()
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(DynamoDbError, match=r"profile \(nobody\) could not be found"):
        aws_access(None, None)


@dataclass
class MetadataService:
    """Stands for botocore's session where a role gives keys, which no test machine has."""

    number: int = 1
    asked: int = 0
    away: bool = False
    access_key: str = field(init=False)
    secret_key: str = "a-secret"
    token: str = "a-token"

    def get_credentials(self) -> "MetadataService":
        return self

    def get_frozen_credentials(self) -> "MetadataService":
        self.asked += 1
        if self.away:
            raise MetadataRetrievalError(error_msg="away")
        self.access_key = f"key-{self.number}"
        return self


class Minute:
    def __init__(self) -> None:
        self.now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def passes(self) -> None:
        self.now_ms += REFRESH_MS


async def test_keys_are_asked_for_once_a_minute_not_once_a_request() -> None:
    service, minute = MetadataService(), Minute()
    keys = AwsKeys(service, DynamoDbError, clock=minute)
    assert {found.access_key for found in await asyncio.gather(*[keys() for _ in range(20)])} == {
        "key-1"
    }
    assert service.asked == 1
    service.number = 2
    assert (await keys()).access_key == "key-1"
    minute.passes()
    assert (await keys()).access_key == "key-2"
    assert (await keys()).access_key == "key-2"
    assert service.asked == 2


async def test_keys_that_cannot_be_renewed_are_used_on(caplog: pytest.LogCaptureFixture) -> None:
    service, minute = MetadataService(), Minute()
    keys = AwsKeys(service, DynamoDbError, clock=minute)
    await keys()
    service.away, service.number = True, 2
    minute.passes()
    assert (await keys()).access_key == "key-1"
    assert "could not be renewed" in caplog.text
    service.away = False
    minute.passes()
    assert (await keys()).access_key == "key-2"


async def test_keys_that_were_never_there_are_asked_for_with_each_request() -> None:
    service = MetadataService(away=True)
    keys = AwsKeys(service, DynamoDbError)
    for _ in range(2):
        with pytest.raises(DynamoDbError, match="credentials cannot be read"):
            await keys()
    service.away = False
    assert (await keys()).access_key == "key-1"
