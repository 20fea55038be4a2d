"""An engine that the processes of one GREENROOM_HOME share.

The first user starts it and the last one stops it. Each user holds a shared flock, which the kernel
drops however the process ends; starting and stopping hold an exclusive one.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded.postgres.locks import exclusive, is_shared, take_shared

EMBEDDED = "embedded"
"""The value of a variable for an endpoint that selects the engine on this machine."""


class SharedEngine(ABC):
    """The engine in one folder. Creating this object touches nothing on disk.

    Contract: after `acquire` the engine runs until `release` or the end of this process, unless it
    is killed; then calls raise `Unavailable` until the next `acquire`, by any process, starts it
    again with all data, and on the same port if that is free. `acquire` may be repeated; each
    needs its own `release`. Every failure is an `error`.
    """

    name: ClassVar[str]
    variable: ClassVar[str]
    """Names an engine elsewhere."""
    error: ClassVar[type[Exception]]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._registrations: list[int] = []

    @abstractmethod
    def _start(self) -> str:
        """Start the engine unless it runs, wait until it answers, and return its URL."""

    @abstractmethod
    def _find(self) -> str | None:
        """The URL of the running engine."""

    @abstractmethod
    def _stop(self) -> None:
        """Stop the engine, if it runs."""

    def acquire(self) -> str:
        """Make sure the engine runs, become one of its users, and return its URL."""
        with self._changing():
            url = self._start()
            # Nobody holds this lock exclusively except under `_changing`, so this never waits.
            self._registrations.append(take_shared(self._users_lock))
            return url

    def release(self) -> None:
        """Stop being a user; the last one stops the engine."""
        if not self._registrations:
            return
        with self._changing():
            os.close(self._registrations.pop())
            if not is_shared(self._users_lock):
                self._stop()

    def is_running(self) -> bool:
        return self._find() is not None

    def url(self) -> str:
        """The URL of the running engine, whether or not this process uses it."""
        url = self._find()
        if url is None:
            raise self.error(
                f"The embedded {self.name} in {self._folder} does not run. Start a server first."
            )
        return url

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
            raise self.error(
                f"The embedded {self.name} needs Linux with /proc. Set {self.variable} to an "
                "engine of your own, or unset it to use AWS."
            )
        try:
            self._make_folder()
            with exclusive(self._folder / "change.lock"):
                yield
        except PermissionError as error:
            raise self.error(
                f"{self._folder} belongs to another user ({error}). Run Greenroom as that user, "
                "or set GREENROOM_HOME to a folder of your own."
            ) from error
        except EmbeddedPostgresError as error:
            # Raised by the lock code that all engines use; the message fits this one too.
            raise self.error(str(error)) from error
        except OSError as error:
            raise self.error(
                f"The embedded {self.name} in {self._folder} failed: {error}. Fix that, or set "
                f"{self.variable} to an engine of your own."
            ) from error

    def _make_folder(self) -> None:
        if self._folder.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        if os.geteuid() == 0:
            home = self._folder.parent.stat()
            os.chown(self._folder, home.st_uid, home.st_gid)
