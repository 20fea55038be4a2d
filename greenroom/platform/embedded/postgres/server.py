"""The interface of the embedded PostgreSQL: acquire, release, start, stop, status."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.embedded.postgres.cluster import ensure_cluster
from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded.postgres.files import write
from greenroom.platform.embedded.postgres.layout import Layout
from greenroom.platform.embedded.postgres.locks import (
    count_shared,
    exclusive,
    is_shared,
    take_shared,
)
from greenroom.platform.embedded.postgres.postmaster import (
    find_postmaster,
    start_postmaster,
    stop_postmaster,
)

SHELTER = Path("/var/lib/greenroom")


@dataclass(frozen=True)
class Status:
    """What `greenroom db status` shows. `users` counts the processes that use the server."""

    running: bool
    pid: int | None
    port: int | None
    data_dir: Path
    log_dir: Path
    users: int
    pinned: bool


class EmbeddedPostgres:
    """The embedded server of one GREENROOM_HOME. Creating this object touches nothing on disk.

    Contract: after `acquire` the server runs until `release` or the end of this process, unless
    `stop` is called or it is killed; then the next `acquire` starts it again with all committed
    data. `acquire` may be repeated; each needs its own `release`. Every failure is an
    `EmbeddedPostgresError`.
    """

    def __init__(self, home: Path, *, shelter: Path = SHELTER) -> None:
        self._layout = Layout(home.absolute() / "postgres", shelter)
        self._registrations: list[int] = []

    def acquire(self) -> str:
        """Make sure the server runs, become one of its users, and return its URL."""
        with self._changing():
            self._ensure_running()
            # Nobody holds this lock exclusively except under `_changing`, so this never waits.
            self._registrations.append(take_shared(self._layout.users_lock))
            return self.url()

    def release(self) -> None:
        """Stop being a user; the last one stops the server, unless `start` pinned it."""
        if not self._registrations:
            return
        with self._changing():
            os.close(self._registrations.pop())
            if not self._layout.pin.exists() and not is_shared(self._layout.users_lock):
                stop_postmaster(self._layout)

    @contextmanager
    def using(self) -> Iterator[str]:
        url = self.acquire()
        try:
            yield url
        finally:
            self.release()

    def start(self) -> str:
        """Start the server and pin it: it runs without users until `stop`."""
        with self._changing():
            self._ensure_running()
            write(self._layout.pin, "")
            return self.url()

    def stop(self) -> None:
        """Stop the server, even if others use it, and remove the pin."""
        if not self._layout.folder.exists():
            return
        with self._changing():
            self._layout.pin.unlink(missing_ok=True)
            stop_postmaster(self._layout)

    def status(self) -> Status:
        with self._friendly():
            postmaster = find_postmaster(self._layout.data)
            return Status(
                running=postmaster is not None and postmaster.ready,
                pid=postmaster.pid if postmaster else None,
                port=postmaster.port if postmaster else None,
                data_dir=self._layout.data,
                log_dir=self._layout.log,
                users=count_shared(self._layout.users_lock),
                pinned=self._layout.pin.exists(),
            )

    def url(self) -> str:
        """The URL of the running server, whether or not this process uses it."""
        with self._friendly():
            postmaster = find_postmaster(self._layout.data)
            if postmaster is None or not postmaster.ready:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL in {self._layout.folder} is not running. "
                    "Start it with `greenroom db start`, or start the server."
                )
            password = self._layout.password.read_text().strip()
            return f"postgresql://greenroom:{password}@127.0.0.1:{postmaster.port}/greenroom"

    def _ensure_running(self) -> None:
        if not Path("/proc/self/cwd").exists():
            raise EmbeddedPostgresError(
                "The embedded PostgreSQL needs Linux with /proc. "
                "Set GREENROOM_DATABASE_URL to a PostgreSQL of your own."
            )
        ensure_cluster(self._layout)
        start_postmaster(self._layout)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the exclusive lock: one process at a time initialises, starts or stops."""
        with self._friendly():
            self._layout.folder.mkdir(parents=True, exist_ok=True)
            with exclusive(self._layout.change_lock):
                yield

    @contextmanager
    def _friendly(self) -> Iterator[None]:
        try:
            yield
        except PermissionError as error:
            raise EmbeddedPostgresError(
                f"{self._layout.folder} belongs to another user ({error}). Run Greenroom as that "
                "user, or set GREENROOM_HOME to a folder of your own."
            ) from error
        except OSError as error:
            raise EmbeddedPostgresError(
                f"The embedded PostgreSQL in {self._layout.folder} failed: {error}. "
                "Fix that, or set GREENROOM_DATABASE_URL to a PostgreSQL of your own."
            ) from error
