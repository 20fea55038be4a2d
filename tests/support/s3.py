"""An S3 engine for tests, and its bucket."""

from dataclasses import dataclass

from greenroom.platform.aws.signing import Keys
from greenroom.platform.blobs.s3.signing import Bucket

BUCKET = "greenroom-test"


@dataclass(frozen=True)
class S3Engine:
    url: str
    bucket: Bucket
    keys: Keys
