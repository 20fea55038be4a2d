"""Which store the settings mean, where AWS is, and whose keys are used."""

import sys
from pathlib import Path

import pytest

from greenroom.platform.aws.signing import Keys
from greenroom.platform.blobs.folder import FolderBlobs
from greenroom.platform.blobs.place import S3Place
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.blobs.s3.store import S3Blobs
from greenroom.platform.embedded.s3.opening import open_blobs

PLACE = S3Place("shop", "files/")


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither the machine's own AWS settings nor its metadata service take part."""
    for name in (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
        *("AWS_REGION", "AWS_DEFAULT_REGION"),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def set_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")


def address(place: S3Place, home: Path, endpoint: str | None, region: str | None) -> str:
    blobs = open_blobs(home, place, endpoint, region)
    assert isinstance(blobs, S3Blobs)
    return blobs.sign_upload("a/b", mime="x/y", byte_count=1, seconds=60).url.partition("?")[0]


async def test_a_path_is_a_folder(tmp_path: Path) -> None:
    blobs = open_blobs(tmp_path, tmp_path / "blobs", None, None)
    assert isinstance(blobs, FolderBlobs)
    assert not (tmp_path / "blobs").exists()
    await blobs.close()


def test_a_bucket_has_its_own_host_at_aws_and_a_path_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_keys(monkeypatch)
    for place, endpoint, region, expected in (
        (PLACE, None, "eu-west-1", "https://shop.s3.eu-west-1.amazonaws.com/files/a/b"),
        (PLACE, None, "cn-north-1", "https://shop.s3.cn-north-1.amazonaws.com.cn/files/a/b"),
        (S3Place("a.b"), None, "eu-west-1", "https://s3.eu-west-1.amazonaws.com/a.b/a/b"),
        (PLACE, "http://minio:9000", None, "http://minio:9000/shop/files/a/b"),
    ):
        assert address(place, tmp_path, endpoint, region) == expected
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    assert "us-east-2" in address(PLACE, tmp_path, None, None)


def test_keys_in_variables_need_no_aws_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(S3Error, match=r"pip install 'greenroom\[s3\]'"):
        open_blobs(tmp_path, PLACE, None, "eu-west-1")
    set_keys(monkeypatch)
    open_blobs(tmp_path, PLACE, None, "eu-west-1")


async def test_keys_and_region_come_from_a_profile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").write_text("[profile staging]\nregion = eu-north-1\n")
    (tmp_path / "credentials").write_text(
        "[staging]\naws_access_key_id = an-id\naws_secret_access_key = a-secret\n"
    )
    monkeypatch.setenv("AWS_PROFILE", "staging")
    blobs = open_blobs(tmp_path, PLACE, None, None)
    assert isinstance(blobs, S3Blobs)
    url = blobs.sign_upload("a/b", mime="x/y", byte_count=1, seconds=60).url
    assert url.startswith("https://shop.s3.eu-north-1.amazonaws.com/files/a/b?")
    assert "X-Amz-Credential=an-id%2F" in url
    assert await blobs._client.keys() == Keys("an-id", "a-secret")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(S3Error, match="Set GREENROOM_S3_REGION or AWS_REGION"):
        open_blobs(tmp_path, PLACE, None, None)
    blobs = open_blobs(tmp_path, PLACE, None, "eu-west-1")
    with pytest.raises(S3Error, match="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        blobs.sign_upload("a/b", mime="x/y", byte_count=1, seconds=60)
    with pytest.raises(S3Error, match="Start a server first"):
        open_blobs(tmp_path, PLACE, "embedded", None)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(S3Error, match=r"profile \(nobody\) could not be found"):
        open_blobs(tmp_path, PLACE, None, None)
