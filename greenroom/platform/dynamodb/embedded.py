"""The embedded DynamoDB: dynoxide, shared by the processes of one GREENROOM_HOME.

It has the manners of the embedded PostgreSQL: everything lives in `GREENROOM_HOME/dynamodb`, the
first user starts the engine and the last one stops it. A user is a shared flock, which the kernel
drops however the process ends; starting and stopping happen under an exclusive one. The engine
listens on loopback only and asks nobody for a password: it is for development and tests.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from greenroom.platform.dynamodb.engine import ensure_engine, find_engine, stop_engine
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded_postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded_postgres.locks import exclusive, is_shared, take_shared

EMBEDDED = "embedded"
"""The endpoint that means this engine."""


class EmbeddedDynamoDb:
    """The engine of one GREENROOM_HOME. Building this object touches nothing on disk.

    Contract: after `acquire` the engine runs until `release` or the end of this process, unless
    somebody kills it; then calls end in `Unavailable` until the next `acquire`, by any process,
    starts it again with all that was written, and on the same port if that is free. `acquire` may
    be repeated; each needs its own `release`. Every failure is a `DynamoDbError`.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home.absolute() / "dynamodb"
        self._registrations: list[int] = []

    def acquire(self) -> str:
        """Make sure the engine runs, become one of its users, and return its URL."""
        with self._changing():
            engine = ensure_engine(self._folder)
            # Nobody holds this lock exclusively except under `_changing`, so this never waits.
            self._registrations.append(take_shared(self._users_lock))
            return engine.url

    def release(self) -> None:
        """Stop being a user; the last one stops the engine."""
        if not self._registrations:
            return
        with self._changing():
            os.close(self._registrations.pop())
            if not is_shared(self._users_lock):
                stop_engine(self._folder)

    def is_running(self) -> bool:
        return find_engine(self._folder) is not None

    def url(self) -> str:
        """Where the engine listens that somebody, perhaps this process, is using."""
        engine = find_engine(self._folder)
        if engine is None:
            raise DynamoDbError(
                f"The embedded DynamoDB in {self._folder} does not run. Start a server first."
            )
        return engine.url

    @contextmanager
    def using(self) -> Iterator[str]:
        url = self.acquire()
        try:
            yield url
        finally:
            self.release()

    @property
    def _users_lock(self) -> Path:
        return self._folder / "users.lock"

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the exclusive lock: one process at a time starts or stops the engine."""
        if not Path("/proc/self/cwd").exists():
            raise DynamoDbError(
                "The embedded DynamoDB needs Linux with /proc. Set GREENROOM_DYNAMODB_ENDPOINT to "
                "an engine of your own, or unset it to use AWS."
            )
        try:
            self._make_folder()
            with exclusive(self._folder / "change.lock"):
                yield
        except PermissionError as error:
            raise DynamoDbError(
                f"{self._folder} belongs to another user ({error}). Run Greenroom as that user, "
                "or set GREENROOM_HOME to a folder of your own."
            ) from error
        except EmbeddedPostgresError as error:
            # The locks are shared with that engine, and their complaint is right for this one.
            raise DynamoDbError(str(error)) from error
        except OSError as error:
            raise DynamoDbError(
                f"The embedded DynamoDB in {self._folder} failed: {error}. Set that right, or set "
                "GREENROOM_DYNAMODB_ENDPOINT to an engine of your own."
            ) from error

    def _make_folder(self) -> None:
        if self._folder.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        if os.geteuid() == 0:
            home = self._folder.parent.stat()
            os.chown(self._folder, home.st_uid, home.st_gid)
