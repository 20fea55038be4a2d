"""Every adapter of the blob store, empty: a folder, and a bucket of the embedded S3."""

import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from greenroom.platform.aws.signing import FixedKeys
from greenroom.platform.blobs.folder import FolderBlobs
from greenroom.platform.blobs.port import BlobStore
from greenroom.platform.blobs.s3.client import S3Client
from greenroom.platform.blobs.s3.store import S3Blobs
from tests.support.s3 import S3Engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def prefix() -> str:
    """A place in the bucket that nobody has written to."""
    return f"tests/{secrets.token_hex(6)}/"


@pytest.fixture
async def s3_blobs(s3_engine: S3Engine, prefix: str) -> AsyncIterator[S3Blobs]:
    client = S3Client(s3_engine.bucket, FixedKeys(s3_engine.keys))
    yield S3Blobs(client, prefix)
    await client.close()


@pytest.fixture(params=["folder", "s3"])
def kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def blobs_opener(
    request: pytest.FixtureRequest, kind: str, folder: Path
) -> Callable[[], BlobStore]:
    if kind == "folder":
        return lambda: FolderBlobs(folder)
    engine: S3Engine = request.getfixturevalue("s3_engine")
    prefix: str = request.getfixturevalue("prefix")
    return lambda: S3Blobs(S3Client(engine.bucket, FixedKeys(engine.keys)), prefix)


@pytest.fixture
async def blobs(blobs_opener: Callable[[], BlobStore]) -> AsyncIterator[BlobStore]:
    opened = blobs_opener()
    yield opened
    await opened.close()
