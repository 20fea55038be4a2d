"""A backup while people write, and what a restore brings back, replaces and refuses."""

import asyncio
import secrets
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.model import (
    Cursor,
    Draft,
    EventType,
    Role,
    ThreadDraft,
    ThreadKind,
)
from greenroom.conversations.store import Send
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.kernel.ids import make_id, system_randomness
from greenroom.platform import backup as backups
from greenroom.platform.backup import (
    SEAL_BYTES,
    BackupError,
    after_restore,
    backup,
    check_backup,
    restore,
    rows_by_table,
    without_password,
)
from greenroom.platform.postgres.migrations import Migration, default_folder, load, migrate
from tests.support.api import Api, Json, Person

from .at_once import faults

WRITERS = 4


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def be_quiet(_: int) -> None:
    pass


@pytest.fixture(scope="module")
def conversations() -> str:
    """A backup is one of PostgreSQL."""
    return "postgres"


@pytest.fixture
async def empty_database(postgres_url: str) -> AsyncIterator[str]:
    name = f"greenroom_restored_{secrets.token_hex(4)}"
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f"CREATE DATABASE {name}")
    yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.fixture
async def kept(api: "Api", database_url: str, tmp_path: Path) -> Path:
    """A backup of a database in which somebody has written."""
    maya, theo = await api.people("maya", "theo")
    await maya.thread_with(theo)
    await asyncio.to_thread(backup, database_url, tmp_path / "kept", progress=be_quiet)
    return tmp_path / "kept"


async def put_back(url: str, file: Path) -> list[str]:
    check_backup(file)
    await asyncio.to_thread(restore, url, file, progress=be_quiet)
    return await after_restore(url)


async def keep_writing(
    person: "Person", thread_id: str, sent: "list[Json]", stopping: asyncio.Event
) -> None:
    while not stopping.is_set():
        sent.append(await person.send(thread_id, f"message {len(sent)}"))


async def test_what_was_acknowledged_before_it_began_is_in_it_and_nothing_is_half(
    api: "Api", rooms: Rooms, database_url: str, empty_database: str, tmp_path: Path
) -> None:
    maya, theo = await api.people("maya", "theo")
    threads = [await maya.thread_with(theo) for _ in range(WRITERS)]
    sent: list[Json] = []
    stopping = asyncio.Event()
    writers = [
        asyncio.create_task(keep_writing(person, thread_id, sent, stopping))
        for person, thread_id in zip([maya, theo] * (WRITERS // 2), threads, strict=True)
    ]
    while len(sent) < 40:
        await theo.cursor()
    acknowledged = list(sent)
    file = tmp_path / "backup"
    size = await asyncio.to_thread(backup, database_url, file, progress=be_quiet)
    stopping.set()
    await asyncio.gather(*writers)
    assert len(sent) > len(acknowledged)
    assert file.stat().st_size == size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert names_in(tmp_path) == [file.name]

    assert await put_back(empty_database, file) == []
    async with Rooms(rooms.settings, empty_database, clock=api.clock) as restored:
        assert await faults(restored) == []
        for message in acknowledged:
            found = await restored.store.message(theo.id, message["thread_id"], message["id"])
            assert found is not None
            assert (found.seq, found.body) == (message["seq"], message["body"])
        cursor = Cursor.parse(await theo.cursor())
        events = (await restored.store.changes(theo.id, cursor, 10)).events
        assert [event.type for event in events] == [EventType.RESET]
        old = Cursor(cursor.epoch, 1)
        events = (await restored.store.changes(theo.id, old, 10)).events
        assert [event.type for event in events] == [EventType.RESET]
        assert events[0].cursor.epoch != cursor.epoch


async def test_a_restore_replaces_everything_and_servers_go_on(
    api: "Api", rooms: Rooms, kept: Path, empty_database: str
) -> None:
    await put_back(empty_database, kept)
    async with Rooms(rooms.settings, empty_database, clock=api.clock) as running:
        await running.accounts.create_key("made since")
        connection = await asyncpg.connect(empty_database)
        await connection.execute("create table newer (id int)")
        await connection.execute("insert into newer values (1)")
        await connection.close()
        assert "newer" in await rows_by_table(empty_database)
        await put_back(empty_database, kept)
        there = await rows_by_table(empty_database)
        assert "newer" not in there
        keys = [key.name for key in await running.accounts.list_keys()]
        assert "made since" not in keys


async def test_a_restore_under_load_is_whole(
    api: "Api", rooms: Rooms, kept: Path, empty_database: str
) -> None:
    await put_back(empty_database, kept)
    async with Rooms(rooms.settings, empty_database, clock=api.clock) as running:
        stopping = asyncio.Event()
        writers = [asyncio.create_task(start_threads(running, n, stopping)) for n in range(3)]
        try:
            for _ in range(3):
                await put_back(empty_database, kept)
        finally:
            stopping.set()
        await asyncio.gather(*writers)
        assert await faults(running) == []


async def start_threads(rooms: Rooms, number: int, stopping: asyncio.Event) -> None:
    """Again and again, whether it works out or the database is away just now."""
    opener, members = f"writer.{number}", {f"writer.{number}": Role.BUYER, "reader": Role.SELLER}
    while not stopping.is_set():
        thread_id = make_id("thr", rooms.clock(), system_randomness())
        thread = ThreadDraft(thread_id, ThreadKind.INQUIRY, opener, members)
        with suppress(Unavailable, ThreadNotFound):
            await rooms.store.start_thread(thread, Draft(f"{thread_id}.1", "first", None), ())
            second = Draft(f"{thread_id}.2", "second", None)
            await rooms.store.append(Send(thread_id, opener, second, cost_ms=0))


async def test_an_older_backup_is_migrated(
    kept: Path, empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = load(default_folder() / "migrations")
    newest = Migration(len(known) + 1, "999_newest", "create table newest ()")
    monkeypatch.setattr("greenroom.platform.postgres.migrations.load", lambda _: [*known, newest])
    assert await put_back(empty_database, kept) == ["999_newest"]


def spoil(kept: Path, folder: Path) -> list[Path]:
    """Files that are no backup, or no longer one."""
    whole = kept.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) * 2 // 3] ^= 1
    contents = {
        "empty": b"",
        "text": b"hello\n" * 100,
        "head": b"PGDMP" + b"\0" * 500,
        "half": whole[: len(whole) // 2],
        "most": whole[:-1],
        "cut": whole[:-1000] + whole[-SEAL_BYTES:],
        "flipped": bytes(flipped),
        "longer": whole + b"\n",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


async def test_rubbish_is_refused_and_changes_nothing(
    kept: Path, empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for spoilt in spoil(kept, tmp_path):
        with pytest.raises(BackupError, match="Nothing was changed"):
            check_backup(spoilt)
    known = load(default_folder() / "migrations")
    monkeypatch.setattr(backups, "load", lambda _: known[:-1])
    with pytest.raises(BackupError, match="made by a newer Greenroom"):
        check_backup(kept)
    other = [Migration(each.version, each.name, "other") for each in known]
    monkeypatch.setattr(backups, "load", lambda _: other)
    with pytest.raises(BackupError, match="in another form"):
        check_backup(kept)


async def test_half_a_file_that_slips_through_is_rolled_back(
    api: "Api", rooms: Rooms, kept: Path, empty_database: str, tmp_path: Path
) -> None:
    await put_back(empty_database, kept)
    before = await rows_by_table(empty_database)
    half = next(each for each in spoil(kept, tmp_path) if each.name == "half")
    with pytest.raises(BackupError):
        await asyncio.to_thread(restore, empty_database, half, progress=be_quiet)
    assert await rows_by_table(empty_database) == before


async def test_a_dump_of_something_else_is_refused(empty_database: str, tmp_path: Path) -> None:
    connection = await asyncpg.connect(empty_database)
    await connection.execute("create table other (id int)")
    await connection.close()
    with pytest.raises(BackupError, match="no tables of Greenroom"):
        await asyncio.to_thread(backup, empty_database, tmp_path / "b", progress=be_quiet)
    assert names_in(tmp_path) == []


async def test_a_database_with_tables_and_nothing_in_them_is_empty(empty_database: str) -> None:
    assert await rows_by_table(empty_database) == {}
    await migrate(empty_database)
    assert await rows_by_table(empty_database) == {}


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("postgresql://u:p%40ss@h:1/d", "postgresql://u@h:1/d", "p@ss"),
        ("postgresql://u@h/d?sslmode=require", "postgresql://u@h/d?sslmode=require", None),
        ("postgresql://u@/d?host=/run/pg&password=x", "postgresql://u@/d?host=%2Frun%2Fpg", "x"),
        ("postgresql://u:x@a:1,b:2/d", "postgresql://u@a:1,b:2/d", "x"),
        ("postgresql://h/d", "postgresql://h/d", None),
    ],
)
def test_the_password_is_in_no_list_of_processes(
    url: str, shown: str, password: str | None
) -> None:
    found, apart = without_password(url)
    assert apart == password
    assert found.replace("/run/pg", "%2Frun%2Fpg") == shown
