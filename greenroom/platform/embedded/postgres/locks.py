"""Locks between processes, by flock: the kernel drops it however the process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from greenroom.platform.embedded.postgres.errors import EmbeddedPostgresError
from greenroom.platform.embedded.postgres.files import give_to_owner_of

LOCK_TIMEOUT_S = 300
POLL_S = 0.02


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    descriptor = _open(path)
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EmbeddedPostgresError(
                        f"Another process has held {path} for {LOCK_TIMEOUT_S} s. "
                        f"Find it with `fuser {path}`, end it, and try again."
                    ) from None
                time.sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


def take_shared(path: Path) -> int:
    """Take a shared lock without waiting; held until the returned descriptor is closed."""
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


def is_shared(path: Path) -> bool:
    """Whether any process holds the lock."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    # Python opens close-on-exec, so no subprocess inherits the lock.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    give_to_owner_of(path.parent, descriptor)
    return descriptor


def count_shared(path: Path) -> int:
    """The shared flocks on a file, from /proc/locks: `1: FLOCK ADVISORY READ pid dev:inode`."""
    try:
        inode = str(path.stat().st_ino)
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except FileNotFoundError:
        return 0
    shared = [lock for lock in locks if lock[1] == "FLOCK" and lock[3] == "READ"]
    return sum(lock[5].rpartition(":")[2] == inode for lock in shared)
