"""Keep the SQL functions of a database equal to the files in `db/functions`.

A file `name.sql` begins with a comment that says what the function does, and holds one statement,
`create or replace function name(…)`. Table `schema_function` has the checksum of each file that was
applied: a file whose text has changed is applied again, and a function whose file is gone is
dropped.

A server that is running calls the functions by name. So a change that the version before cannot
work with (other parameters, another result) comes with a migration, even if that is only a comment:
an older server then refuses to start instead of putting its own functions back.

Functions are applied after all migrations. A migration that needs a function (for a trigger, a
default or a backfill) creates it itself, and the file replaces it afterwards.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from greenroom.kernel.startup import StartupError

CREATES = re.compile(r"^create or replace function\s+(\w+)\s*\(", re.MULTILINE | re.IGNORECASE)

READ_APPLIED = "select name, sha256 from schema_function order by name limit 1000"
TABLE_EXISTS = "select to_regclass('schema_function') is not null"
RECORD = """
insert into schema_function (name, sha256) values ($1, $2)
on conflict (name) do update set sha256 = excluded.sha256, applied_at = now()
"""
FORGET = "delete from schema_function where name = $1"

# The functions of a name, one for each list of parameter types.
OVERLOADS = """
select oid::bigint as oid, oid::regprocedure::text as signature from pg_proc
where pronamespace = current_schema()::regnamespace and proname = $1 order by oid
"""


class FunctionError(StartupError):
    """Why the functions could not be applied, and what to do next."""


@dataclass(frozen=True)
class Function:
    name: str
    sql: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@dataclass(frozen=True)
class Outdated:
    """How a database differs from the files: what to apply, and which functions to drop."""

    changed: Sequence[Function]
    removed: Sequence[str]

    @property
    def names(self) -> list[str]:
        return [f"function {name}" for name in (*(f.name for f in self.changed), *self.removed)]


def load(folder: Path) -> list[Function]:
    """The functions of a folder, by name."""
    if not folder.is_dir():
        raise FunctionError(f"There is no folder {folder}. Reinstall Greenroom.")
    return [_read(path) for path in sorted(folder.glob("*.sql"))]


def _read(path: Path) -> Function:
    text = path.read_text(encoding="utf-8")
    if CREATES.findall(text) != [path.stem]:
        raise FunctionError(
            f"{path} must hold one function, and of its own name: "
            f"`create or replace function {path.stem}(…)`. Rename it, or split it."
        )
    return Function(path.stem, text)


async def find_outdated(connection: asyncpg.Connection, functions: Sequence[Function]) -> Outdated:
    applied: dict[str, str] = {}
    if await connection.fetchval(TABLE_EXISTS):
        applied = {row["name"]: row["sha256"] for row in await connection.fetch(READ_APPLIED)}
    changed = [each for each in functions if applied.get(each.name) != each.sha256]
    known = {each.name for each in functions}
    return Outdated(changed, [name for name in applied if name not in known])


async def apply(
    connection: asyncpg.Connection, outdated: Outdated, progress: Callable[[str], None]
) -> None:
    """Apply everything in one transaction, or nothing. The caller holds the migration lock.

    Each file is applied twice: first without a look at the bodies, because one function may call
    another that comes later; then with it, so that a mistake is found here and not at a call.
    """
    if not outdated.names:
        return
    async with connection.transaction():
        await connection.execute("set local check_function_bodies = off")
        for name in outdated.removed:
            progress(f"function {name}")
            await _drop(connection, name, await connection.fetch(OVERLOADS, name))
            await connection.execute(FORGET, name)
        for function in outdated.changed:
            progress(f"function {function.name}")
            await _replace(connection, function)
        await connection.execute("set local check_function_bodies = on")
        for function in outdated.changed:
            await _create(connection, function)
            await connection.execute(RECORD, function.name, function.sha256)


async def _replace(connection: asyncpg.Connection, function: Function) -> None:
    """Put the file in the place of the function that is there.

    `create or replace` keeps the function and all that depends on it, such as triggers, as long as
    its parameters and its result stay the same. With another result it is refused, and with other
    parameter types it makes a second function: in both cases the old one is dropped.
    """
    before = await connection.fetch(OVERLOADS, function.name)
    try:
        async with connection.transaction():
            await connection.execute(function.sql)
    except asyncpg.InvalidFunctionDefinitionError:
        await _drop(connection, function.name, before)
        await _create(connection, function)
    except asyncpg.PostgresError as error:
        raise _failure(function, error) from error
    else:
        after = await connection.fetch(OVERLOADS, function.name)
        if len(after) > len(before):
            await _drop(connection, function.name, before)


async def _drop(
    connection: asyncpg.Connection, name: str, overloads: Sequence[asyncpg.Record]
) -> None:
    for row in overloads:
        try:
            await connection.execute(f"drop function {row['signature']}")
        except asyncpg.DependentObjectsStillExistError as error:
            raise FunctionError(
                f"Function {name} cannot be replaced or dropped: {error.detail}. Nothing was "
                "changed. Let a new migration drop what depends on it, and try again."
            ) from error


async def _create(connection: asyncpg.Connection, function: Function) -> None:
    try:
        await connection.execute(function.sql)
    except asyncpg.PostgresError as error:
        raise _failure(function, error) from error


def _failure(function: Function, error: asyncpg.PostgresError) -> FunctionError:
    where = f"db/functions/{function.name}.sql{line_of(function.sql, error)}"
    return FunctionError(f"{where}: {error}. No function was changed; correct it and try again.")


def line_of(sql: str, error: asyncpg.PostgresError) -> str:
    """The line at which a statement is wrong, as ", line 3"; empty where it is not known."""
    position = getattr(error, "position", None)
    return f", line {sql[: int(position)].count(chr(10)) + 1}" if position else ""
