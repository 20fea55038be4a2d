"""Migrations against a real PostgreSQL, with files of the tests' own."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.postgres import migrations
from greenroom.platform.postgres.connecting import UnreachableError
from greenroom.platform.postgres.migrations import MigrationError, migrate, pending
from tests.support.databases import new_home

ACTORS = "CREATE TABLE actor (id int PRIMARY KEY);\nINSERT INTO actor VALUES (1);\n"
THREADS = "CREATE TABLE thread (id int PRIMARY KEY);\n"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    # Not pytest's tmp_path: as root, PostgreSQL's account could not enter it.
    street = new_home()
    with EmbeddedPostgres(street / "home").using() as url:
        yield url
    shutil.rmtree(street)


@pytest.fixture
async def url(server: str) -> AsyncIterator[str]:
    name = f"test_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server)
    await connection.execute(f"CREATE DATABASE {name}")
    yield f"{server.rpartition('/')[0]}/{name}"
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("migrations", "functions"):
        (tmp_path / name).mkdir()
    (tmp_path / "migrations" / "001_actors.sql").write_text(ACTORS)
    (tmp_path / "migrations" / "002_threads.sql").write_text(THREADS)
    return tmp_path


async def read(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_from_empty_every_file_is_applied_in_order(url: str, folder: Path) -> None:
    told: list[str] = []
    assert await pending(url, folder=folder) == ["001_actors", "002_threads"]
    assert await migrate(url, folder=folder, progress=told.append) == told
    assert told == ["001_actors", "002_threads"]
    assert await read(url, "SELECT count(*) FROM actor, schema_migration") == 2


async def test_the_second_time_there_is_nothing_to_do(url: str, folder: Path) -> None:
    await migrate(url, folder=folder)
    assert await pending(url, folder=folder) == []
    assert await migrate(url, folder=folder) == []
    (folder / "migrations" / "003_more.sql").write_text("ALTER TABLE thread ADD COLUMN title text")
    assert await migrate(url, folder=folder) == ["003_more"]


async def test_of_several_at_once_one_applies_and_the_others_find_nothing(
    url: str, folder: Path
) -> None:
    results = await asyncio.gather(*(migrate(url, folder=folder) for _ in range(4)))
    assert sorted(results, key=len) == [[], [], [], ["001_actors", "002_threads"]]


async def test_a_landed_migration_is_never_edited(url: str, folder: Path) -> None:
    await migrate(url, folder=folder)
    (folder / "migrations" / "001_actors.sql").write_text(ACTORS + "-- better\n")
    for look in (migrate, pending):
        with pytest.raises(MigrationError, match="never edited"):
            await look(url, folder=folder)


async def test_a_failing_file_leaves_nothing_behind(url: str, folder: Path) -> None:
    broken = folder / "migrations" / "002_threads.sql"
    broken.write_text(f"{THREADS}DELETE\nFROM nowhere;\n")
    with pytest.raises(MigrationError, match=r"002_threads\.sql, line 3: .*nowhere"):
        await migrate(url, folder=folder)
    assert await read(url, "SELECT to_regclass('thread')") is None
    assert await read(url, "SELECT max(version) FROM schema_migration") == 1
    broken.write_text(THREADS)
    assert await migrate(url, folder=folder) == ["002_threads"]


async def test_a_database_newer_than_the_code_is_refused(url: str, folder: Path) -> None:
    await migrate(url, folder=folder)
    (folder / "migrations" / "002_threads.sql").unlink()
    with pytest.raises(MigrationError, match="newer Greenroom"):
        await migrate(url, folder=folder)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("002_other.sql", "Two migrations are numbered 002"),
        ("004_later.sql", "003 is missing"),
        ("3_short.sql", "not named like"),
    ],
)
async def test_misnumbered_files_are_refused(folder: Path, name: str, complaint: str) -> None:
    (folder / "migrations" / name).write_text("SELECT 1")
    with pytest.raises(MigrationError, match=complaint):
        migrations.load(folder / "migrations")


async def test_an_old_server_is_refused(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "OLDEST_SERVER", 99)
    with pytest.raises(MigrationError, match="needs PostgreSQL 99 or newer"):
        await migrate(url, folder=folder)


async def test_an_unreachable_server_is_explained_without_its_password(folder: Path) -> None:
    with pytest.raises(UnreachableError, match="cannot be reached") as caught:
        await migrate("postgresql://greenroom:secret@127.0.0.1:1/greenroom", folder=folder)
    assert "secret" not in str(caught.value)
