"""Databases on a PostgreSQL server, and a folder for engines."""

import shutil
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

HOME_BYTES = 4_000_000_000
"""Far more than what tests write into one home."""


def memory_folder(needed_bytes: int) -> Path | None:
    """Where an engine that writes through to its disk does not wait for one; None: nowhere. What
    was written survives the kill of any process here too."""
    folder = Path("/dev/shm")  # noqa: S108 (only its children are used, and they are ours)
    has_room = folder.is_dir() and shutil.disk_usage(folder).free > needed_bytes
    return folder if has_room else None


def new_home(prefix: str = "greenroom-test-") -> Path:
    """A folder that everybody may enter: engines do not run as root, and only root may enter
    pytest's tmp_path. In memory where there is room."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=memory_folder(HOME_BYTES)))
    folder.chmod(0o755)
    return folder


async def run_sql(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def drop_database(server_url: str, name: str) -> None:
    try:
        await run_sql(server_url, f"DROP DATABASE {name} WITH (FORCE)")
    except asyncpg.InsufficientPrivilegeError:
        # Force may not end an autovacuum; without it PostgreSQL does so itself.
        await run_sql(server_url, f"DROP DATABASE {name}")


def database_at(server_url: str, name: str) -> str:
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()
