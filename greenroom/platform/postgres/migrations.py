"""Bring a database to the schema of this code: tables by migrations, then functions by their files.

A migration is `db/migrations/NNN_name.sql`, applied once and in order. Each runs in one transaction
together with its row in `schema_migration`, so a failing one leaves nothing behind. A landed file
is never edited: its checksum is recorded and compared. For functions see `functions.py`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from greenroom.kernel.startup import StartupError
from greenroom.platform.postgres import functions
from greenroom.platform.postgres.connecting import connected

OLDEST_SERVER = 15
LOCK_TIMEOUT_S = 300

# An arbitrary number that every version of Greenroom has to use.
ADVISORY_LOCK = 4_736_251_985

FILE_NAME = re.compile(r"(\d{3})_([a-z0-9_]+)\.sql")

CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""
TABLE_EXISTS = "SELECT to_regclass('schema_migration') IS NOT NULL"
READ_APPLIED = "SELECT version, name, sha256 FROM schema_migration ORDER BY version LIMIT 1000"
RECORD = "INSERT INTO schema_migration (version, name, sha256) VALUES ($1, $2, $3)"


class MigrationError(StartupError):
    """Why the database could not be brought to this schema, and what to do next."""


@dataclass(frozen=True)
class Migration:
    version: int
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def _be_quiet(_: str) -> None:
    pass


async def migrate(
    url: str, *, folder: Path | None = None, progress: Callable[[str], None] = _be_quiet
) -> list[str]:
    """Apply what is missing and return the names of what was applied.

    When two processes do this at once, one applies and the other waits and then finds nothing to
    do. On failure the migrations before the failing one stay applied; of functions, all or none.

    `folder` has the subfolders `migrations` and `functions`; the default is `db`.
    """
    schema = Schema.load(folder or default_folder())
    async with _open(url) as connection:
        await _wait_for_turn(connection)
        await connection.execute(CREATE_TABLE)
        missing = await _find_missing(connection, schema.migrations)
        for migration in missing:
            progress(migration.name)
            await _apply(connection, migration)
        outdated = await functions.find_outdated(connection, schema.functions)
        await functions.apply(connection, outdated, progress)
    return [*(migration.name for migration in missing), *outdated.names]


async def pending(url: str, *, folder: Path | None = None) -> list[str]:
    """Names of what `migrate` would apply; changes nothing."""
    schema = Schema.load(folder or default_folder())
    async with _open(url) as connection:
        missing = await _find_missing(connection, schema.migrations)
        outdated = await functions.find_outdated(connection, schema.functions)
    return [*(migration.name for migration in missing), *outdated.names]


def default_folder() -> Path:
    """`db` in the installed package, or else in the checkout."""
    package = Path(__file__).resolve().parents[2]
    installed = package / "db"
    return installed if installed.is_dir() else package.parent / "db"


@dataclass(frozen=True)
class Schema:
    """What a database must have, as the files say it."""

    migrations: list[Migration]
    functions: list[functions.Function]

    @staticmethod
    def load(folder: Path) -> Schema:
        return Schema(load(folder / "migrations"), functions.load(folder / "functions"))


def load(folder: Path) -> list[Migration]:
    """The migrations of a folder in order, numbered from 001 without gap or repeat."""
    if not folder.is_dir():
        raise MigrationError(f"There is no folder {folder}. Reinstall Greenroom.")
    migrations = [_read(path) for path in sorted(folder.glob("*.sql"))]
    for expected, migration in enumerate(migrations, start=1):
        if migration.version < expected:
            raise MigrationError(
                f"Two migrations are numbered {migration.version:03}, one is {migration.name}. "
                "Give the one that has not landed the next free number."
            )
        if migration.version > expected:
            raise MigrationError(
                f"Migration {expected:03} is missing before {migration.name}. "
                "Number migrations from 001 without gaps."
            )
    return migrations


def _read(path: Path) -> Migration:
    match = FILE_NAME.fullmatch(path.name)
    if match is None:
        raise MigrationError(f"{path} is not named like 001_what_it_does.sql. Rename it.")
    return Migration(int(match[1]), path.stem, path.read_text(encoding="utf-8"))


@asynccontextmanager
async def _open(url: str) -> AsyncIterator[asyncpg.Connection]:
    async with connected(url) as connection:
        version = connection.get_server_version()
        if version.major < OLDEST_SERVER:
            raise MigrationError(
                f"This is PostgreSQL {version.major}. Greenroom needs PostgreSQL "
                f"{OLDEST_SERVER} or newer: upgrade it, or unset GREENROOM_DATABASE_URL to use "
                "the embedded one."
            )
        yield connection


async def _wait_for_turn(connection: asyncpg.Connection) -> None:
    """Take the lock that is held until this connection closes."""
    await connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'")
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", ADVISORY_LOCK)
    except asyncpg.LockNotAvailableError as error:
        raise MigrationError(
            f"Another migration has been running for {LOCK_TIMEOUT_S} s. "
            "Wait for it to end, and try again."
        ) from error


async def _find_missing(
    connection: asyncpg.Connection, migrations: list[Migration]
) -> list[Migration]:
    """What the database lacks, after checking that what it has is what this code knows."""
    if not await connection.fetchval(TABLE_EXISTS):
        return migrations
    applied = await connection.fetch(READ_APPLIED)
    for position, row in enumerate(applied):
        if position >= len(migrations):
            raise MigrationError(
                f"The database already has migration {row['name']}, which this code does not "
                "know: it was used by a newer Greenroom. Install that version or a later one."
            )
        _check_unchanged(migrations[position], row)
    return migrations[len(applied) :]


def _check_unchanged(migration: Migration, row: asyncpg.Record) -> None:
    recorded = (row["version"], row["name"], row["sha256"])
    if recorded != (migration.version, migration.name, migration.sha256):
        raise MigrationError(
            f"Migration {migration.name} is not the {row['name']} that this database applied. "
            "A landed migration is never edited or renamed: restore the file, and put the change "
            "into a new one."
        )


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    try:
        async with connection.transaction():
            await connection.execute(migration.sql)
            await connection.execute(RECORD, migration.version, migration.name, migration.sha256)
    except asyncpg.PostgresError as error:
        where = f"{migration.name}.sql{functions.line_of(migration.sql, error)}"
        raise MigrationError(
            f"{where}: {error}. Nothing of this file was applied; correct it and try again."
        ) from error
