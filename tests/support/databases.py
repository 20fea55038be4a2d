"""Databases on a PostgreSQL server, and a folder for engines."""

import shutil
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg


def memory_folder(needed_bytes: int) -> Path | None:
    """Where an engine that writes through to its disk does not wait for one; None: nowhere. What
    was written survives the kill of any process here too."""
    folder = Path("/dev/shm")  # noqa: S108 (only its children are used, and they are ours)
    has_room = folder.is_dir() and shutil.disk_usage(folder).free > needed_bytes
    return folder if has_room else None


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
