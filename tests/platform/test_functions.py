"""SQL functions against a real PostgreSQL: the product's own, and files of the tests' own."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg
import pytest

from greenroom.platform.postgres.functions import FunctionError, load
from greenroom.platform.postgres.migrations import default_folder, migrate, pending
from tests.support.databases import drop_database

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

DB = default_folder()

# All functions but those that belong to a type (constructors of ranges) and to the job library.
DEFINITIONS = """
select p.oid::regprocedure::text as signature, pg_get_functiondef(p.oid) as text
from pg_proc p
where p.pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype in ('e', 'i'))
order by 1
"""

ANSWER = "-- Answers.\ncreate or replace function answer(a int) returns int language sql as $$\n"
PROCEDURAL = ANSWER.replace("returns int language sql", "returns int\nlanguage plpgsql")
ASK = "-- Asks.\ncreate or replace function ask() returns int language sql as $$\n"


def answering(number: int) -> str:
    return f"{ANSWER}select a + {number}\n$$;\n"


@pytest.fixture
async def url(postgres_url: str) -> AsyncIterator[str]:
    name = f"greenroom_functions_{secrets.token_hex(4)}"
    server = await asyncpg.connect(postgres_url)
    await server.execute(f"create database {name}")
    yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    await drop_database(postgres_url, name)
    await server.close()


@pytest.fixture
async def db(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema of one function, as `db` is laid out."""
    for name in ("migrations", "functions"):
        (tmp_path / name).mkdir()
    handover = DB / "migrations" / "018_functions.sql"
    shutil.copy(handover, tmp_path / "migrations" / "001_functions.sql")
    write(tmp_path, "answer", answering(1))
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / "functions" / f"{name}.sql").write_text(text)


async def definitions(db: asyncpg.Connection) -> dict[str, str]:
    return {row["signature"]: row["text"] for row in await db.fetch(DEFINITIONS)}


async def test_every_function_of_a_database_is_the_one_in_its_file(database_url: str) -> None:
    db = await asyncpg.connect(database_url)
    found = await definitions(db)
    change = db.transaction()
    await change.start()
    try:
        for signature in found:
            await db.execute(f"drop function {signature} cascade")
        # Bodies may call functions that come later.
        await db.execute("set local check_function_bodies = off")
        files = load(DB / "functions")
        for each in files:
            await db.execute(each.sql)
        assert await definitions(db) == found
    finally:
        await change.rollback()
        await db.close()
    assert len(files) == len(found)


def test_every_function_says_what_it_does() -> None:
    for each in load(DB / "functions"):
        assert each.sql.startswith("-- "), each.name


async def test_functions_of_earlier_migrations_are_handed_over(
    url: str, db: asyncpg.Connection, tmp_path: Path, database_url: str
) -> None:
    for name in ("migrations", "functions"):
        (tmp_path / name).mkdir()
    for path in sorted((DB / "migrations").glob("*.sql"))[:17]:
        shutil.copy(path, tmp_path / "migrations")
    await migrate(url, folder=tmp_path)
    triggers = "select tgname, tgfoid::regproc::text from pg_trigger where not tgisinternal"
    before = {tuple(row) for row in await db.fetch(triggers)}
    assert len(before) > 5

    names = [f"function {each.name}" for each in load(DB / "functions")]
    assert (await migrate(url))[-len(names) :] == names
    assert before <= {tuple(row) for row in await db.fetch(triggers)}
    fresh = await asyncpg.connect(database_url)
    assert await definitions(db) == await definitions(fresh)
    await fresh.close()


async def test_an_edited_function_is_applied_once(
    url: str, db: asyncpg.Connection, folder: Path
) -> None:
    told: list[str] = []
    assert await migrate(url, folder=folder) == ["001_functions", "function answer"]
    assert await migrate(url, folder=folder, progress=told.append) == []
    assert await pending(url, folder=folder) == []

    write(folder, "answer", answering(2))
    assert await pending(url, folder=folder) == ["function answer"]
    assert await db.fetchval("select answer(0)") == 1
    assert await migrate(url, folder=folder, progress=told.append) == ["function answer"]
    assert await db.fetchval("select answer(0)") == 2
    assert await migrate(url, folder=folder) == []
    assert told == ["function answer"]


async def test_of_several_at_once_one_applies_the_functions(url: str, folder: Path) -> None:
    await migrate(url, folder=folder)
    write(folder, "answer", answering(2))
    results = await asyncio.gather(*(migrate(url, folder=folder) for _ in range(4)))
    assert sorted(results, key=len) == [[], [], [], ["function answer"]]


@pytest.mark.parametrize(
    ("head", "signature"),
    [
        ("(a bigint) returns int", "answer(bigint)"),
        ("(a int, b int default 0) returns int", "answer(integer,integer)"),
        ("(a int) returns bigint", "answer(integer)"),
        ("(a int) returns table (b int)", "answer(integer)"),
        ("(b int) returns int", "answer(integer)"),
    ],
)
async def test_another_signature_takes_the_place_of_the_one_before(
    url: str, db: asyncpg.Connection, folder: Path, head: str, signature: str
) -> None:
    await migrate(url, folder=folder)
    text = f"-- Answers.\ncreate or replace function answer{head} language sql as 'select 7';\n"
    write(folder, "answer", text)
    assert await migrate(url, folder=folder) == ["function answer"]
    assert list(await definitions(db)) == [signature]
    assert await db.fetchval("select answer(1)") == 7


async def test_a_function_may_call_one_that_comes_later(
    url: str, db: asyncpg.Connection, folder: Path
) -> None:
    write(folder, "answer", f"{ANSWER}select ask() + a\n$$;\n")
    write(folder, "ask", f"{ASK}select 40\n$$;\n")
    await migrate(url, folder=folder)
    assert await db.fetchval("select answer(2)") == 42


async def test_a_function_without_a_file_is_dropped(
    url: str, db: asyncpg.Connection, folder: Path
) -> None:
    write(folder, "ask", f"{ASK}select 40\n$$;\n")
    await migrate(url, folder=folder)
    (folder / "functions" / "ask.sql").unlink()
    assert await migrate(url, folder=folder) == ["function ask"]
    assert list(await definitions(db)) == ["answer(integer)"]
    assert await migrate(url, folder=folder) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f"{ANSWER}select from where\n$$;\n", r"answer\.sql, line 3: syntax error"),
        (
            f"{PROCEDURAL}begin\n    retrun 1;\nend\n$$;\n",
            r"answer\.sql, line 5: syntax error",
        ),
        (f"{ANSWER}select nowhere()\n$$;\n", r"answer\.sql, line 3: function nowhere"),
    ],
)
async def test_a_mistake_is_explained_and_changes_nothing(
    url: str, db: asyncpg.Connection, folder: Path, text: str, complaint: str
) -> None:
    await migrate(url, folder=folder)
    write(folder, "answer", text)
    write(folder, "ask", f"{ASK}select 40\n$$;\n")
    with pytest.raises(FunctionError, match=complaint) as caught:
        await migrate(url, folder=folder)
    assert "correct it and try again" in str(caught.value)
    assert list(await definitions(db)) == ["answer(integer)"]
    assert await db.fetchval("select answer(0)") == 1


async def test_what_depends_on_a_function_is_named(
    url: str, db: asyncpg.Connection, folder: Path
) -> None:
    await migrate(url, folder=folder)
    await db.execute("create view answers as select answer(1)")
    write(folder, "answer", answering(2))
    assert await migrate(url, folder=folder) == ["function answer"]
    write(folder, "answer", answering(3).replace("returns int", "returns bigint"))
    with pytest.raises(FunctionError, match=r"view answers depends on .*Let a new migration"):
        await migrate(url, folder=folder)


@pytest.mark.parametrize("text", ["select 1;", answering(1).replace("answer", "reply")])
def test_a_file_holds_the_function_of_its_name(folder: Path, text: str) -> None:
    write(folder, "answer", text)
    with pytest.raises(FunctionError, match="Rename it, or split it"):
        load(folder / "functions")


async def test_without_the_folder_nothing_is_dropped(
    url: str, db: asyncpg.Connection, folder: Path
) -> None:
    await migrate(url, folder=folder)
    shutil.rmtree(folder / "functions")
    with pytest.raises(FunctionError, match="Reinstall Greenroom"):
        await migrate(url, folder=folder)
    assert list(await definitions(db)) == ["answer(integer)"]
