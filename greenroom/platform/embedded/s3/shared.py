"""The embedded S3: SeaweedFS, shared by the processes of one GREENROOM_HOME.

All files are in `GREENROOM_HOME/s3`. The engine listens on loopback only. Objects need the keys in
`identities.json`, but its other ports have no password, and it does not sync each write: it is for
development and tests.
"""

from collections.abc import Iterable
from pathlib import Path

from greenroom.platform.aws.signing import Keys
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.embedded.s3.engine import (
    ensure_engine,
    ensure_keys,
    find_engine,
    stop_engine,
)
from greenroom.platform.embedded.s3.requests import prepare_bucket
from greenroom.platform.embedded.shared_engine import SharedEngine


class EmbeddedS3(SharedEngine):
    name = "S3"
    variable = "GREENROOM_S3_ENDPOINT"
    error = S3Error

    def __init__(self, home: Path) -> None:
        super().__init__(home.absolute() / "s3")

    def _start(self) -> str:
        return ensure_engine(self._folder).url

    def _find(self) -> str | None:
        engine = find_engine(self._folder)
        return None if engine is None else engine.url

    def _stop(self) -> None:
        stop_engine(self._folder)

    def keys(self) -> Keys:
        return ensure_keys(self._folder)

    def prepare(self, bucket: str, origins: Iterable[str]) -> None:
        """Make the bucket of a running engine, for pages of these origins."""
        try:
            prepare_bucket(self.url(), self.keys(), bucket, origins)
        except OSError as error:
            raise S3Error(f"The embedded S3 does not answer: {error}. Start again.") from error
