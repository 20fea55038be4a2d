"""Writes small files atomically, owned by the owner of their folder."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Replace a file atomically: a crash leaves the old one or the new one."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    with os.fdopen(descriptor, "w") as file:
        os.fchmod(descriptor, mode)
        give_to_owner_of(path.parent, descriptor)
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    Path(temporary).replace(path)
    sync_folder(path.parent)


def give_to_owner_of(folder: Path, descriptor: int) -> None:
    """When root runs in a user's home, the user must still be able to open the files."""
    if os.geteuid() == 0:
        owner = folder.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_public_folder(folder: Path) -> None:
    """Make a folder that everybody may enter, whatever the umask, unless it exists."""
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o755)
