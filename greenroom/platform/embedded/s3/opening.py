"""Turns settings into a blob store, and runs the embedded S3 for it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from greenroom.platform.aws.access import find_access
from greenroom.platform.aws.signing import FixedKeys, KeySource
from greenroom.platform.blobs.folder import FolderBlobs
from greenroom.platform.blobs.place import S3Place
from greenroom.platform.blobs.port import BlobStore
from greenroom.platform.blobs.s3.client import S3Client
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.blobs.s3.signing import Bucket
from greenroom.platform.blobs.s3.store import S3Blobs
from greenroom.platform.embedded.s3.requests import ENGINE_REGION
from greenroom.platform.embedded.s3.shared import EmbeddedS3
from greenroom.platform.embedded.shared_engine import EMBEDDED


@contextmanager
def running_blobs(
    home: Path, place: Path | S3Place, endpoint: str | None, origins: Iterable[str]
) -> Iterator[None]:
    """If blobs are kept in the embedded S3, it runs inside this context, with its bucket."""
    if not isinstance(place, S3Place) or endpoint != EMBEDDED:
        yield
        return
    engine = EmbeddedS3(home)
    with engine.using():
        engine.prepare(place.bucket, origins)
        yield


def open_blobs(
    home: Path, place: Path | S3Place, endpoint: str | None, region: str | None
) -> BlobStore:
    """The store at this place. Raises S3Error when the configuration of AWS is not complete."""
    if not isinstance(place, S3Place):
        return FolderBlobs(place)
    bucket, keys = _access(home, place, endpoint, region)
    return S3Blobs(S3Client(bucket, keys), place.prefix)


def _access(
    home: Path, place: S3Place, endpoint: str | None, region: str | None
) -> tuple[Bucket, KeySource]:
    if endpoint == EMBEDDED:
        engine = EmbeddedS3(home)
        bucket = Bucket(f"{engine.url()}/{place.bucket}", ENGINE_REGION)
        return bucket, FixedKeys(engine.keys())
    region, keys = find_access(
        region,
        S3Error,
        extra="s3",
        setting="GREENROOM_S3_REGION",
        needs_region=endpoint is None,
    )
    if endpoint is not None:
        return Bucket(f"{endpoint}/{place.bucket}", region or ENGINE_REGION), keys
    return Bucket(_aws_url(place.bucket, str(region)), str(region)), keys


def _aws_url(bucket: str, region: str) -> str:
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    host = f"s3.{region}.{domain}"
    # The certificates of AWS do not cover names with dots before this host.
    return f"https://{host}/{bucket}" if "." in bucket else f"https://{bucket}.{host}"
