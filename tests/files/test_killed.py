"""Workers and servers that are killed with SIGKILL while they have files in their hands."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from greenroom.files.model import PREFIXES
from greenroom.kernel.clock import system_clock
from tests.support import IS_FULL, command
from tests.support.api import Json
from tests.support.server_process import ServerProcess, token_of
from tests.support.waiting import PATIENCE_S

from .stage import TEXT, FileStage

KILLS = 100 if IS_FULL else 2
FILES = 3
TAKEN = "select count(*) from task where kind = 'file' and held_until > now()"
LEFT = "select count(*) from file where state = 'processing'"


def start_worker(stage: FileStage, database_url: str, log: Path) -> command.Process:
    home = stage.api.rooms.settings.home
    given = {"GREENROOM_HOME": str(home), "GREENROOM_DATABASE_URL": database_url}
    with log.open("ab") as output:
        return command.start("worker", given=given, output=output)


async def until_count(pool: asyncpg.Pool, query: str, *, at_least: int, at_most: int) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        if at_least <= await pool.fetchval(query) <= at_most:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"waited in vain: {query}")


async def test_a_killed_worker_leaves_files_that_others_end_once(
    stage: FileStage, database_url: str, tmp_path: Path, seed: random.Random
) -> None:
    # The worker is a process of its own, with the clock of the machine.
    stage.api.clock.now_ms = system_clock()
    pool, log, files = stage.pool, tmp_path / "worker.log", []
    for _ in range(KILLS):
        files += [await stage.upload() for _ in range(FILES)]
        for file in files[-FILES:]:
            await stage.send(file)
        worker = start_worker(stage, database_url, log)
        try:
            await until_count(pool, TAKEN, at_least=1, at_most=100)
            await asyncio.sleep(seed.random() * 0.5)
        finally:
            worker.send_signal(signal.SIGKILL)
            await asyncio.to_thread(worker.wait)
    worker = start_worker(stage, database_url, log)
    try:
        await until_count(pool, LEFT, at_least=0, at_most=0)
    finally:
        worker.send_signal(signal.SIGTERM)
        await asyncio.to_thread(worker.wait)
    for file in files:
        await check_ended(stage, file)
    await stage.api.rooms.files.sweeping.delete_orphans(grace_s=-1)
    found = 0
    for prefix in PREFIXES:
        found += len([info async for info in stage.blobs.list(prefix)])
    named = await pool.fetchval("select sum(jsonb_array_length(renditions)) from file")
    assert found == named


async def check_ended(stage: FileStage, file: Json) -> None:
    ended = await stage.file(file, stage.bob)
    assert ended["state"] == "ready"
    [original] = [each for each in ended["renditions"] if each["kind"] == "original"]
    assert (await stage.fetch(original)).content == TEXT


@pytest.fixture
def server(tmp_path: Path, database_url: str) -> Iterator[ServerProcess]:
    made = ServerProcess(tmp_path, {"GREENROOM_DATABASE_URL": database_url})
    made.start()
    yield made
    if not made.has_ended():
        made.kill()


async def test_an_upload_goes_on_after_its_server_was_killed(server: ServerProcess) -> None:
    size = 600_000
    for attempt in range(KILLS):
        people = f"ann-{attempt}", f"bob-{attempt}"
        async with client(server, people[0]) as ann, client(server, people[1]) as bob:
            await bob.get("/v1/me")
            first = {"client_id": "1", "body": "Hello"}
            new = {"kind": "inquiry", "to": people[1], "first_message": first}
            started = (await ann.post("/v1/threads", json=new)).json()
            asked = {
                "thread_id": started["thread"]["id"],
                "name": "a.txt",
                "mime": "text/plain",
                "bytes": size,
            }
            upload = (await ann.post("/v1/uploads", json=asked)).json()["upload"]
            await put_and_kill(server, ann, upload, size)
            server.start()
        async with client(server, people[0]) as ann:
            path = f"/v1/uploads/{upload['id']}"
            assert (await ann.post(f"{path}/complete")).status_code == 409
            again = (await ann.get(path)).json()["upload"]
            assert not again["received"]
            answer = await ann.put(address(again), content=b"a" * size, headers=again["headers"])
            assert answer.status_code == 204
            assert (await ann.post(f"{path}/complete")).json()["file"]["state"] == "processing"
            assert await end_of(ann, upload["id"]) == "ready"


def client(server: ServerProcess, user: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token_of(user)}"}
    return httpx.AsyncClient(base_url=server.url, headers=headers, timeout=PATIENCE_S)


def address(signed: Json) -> str:
    """Without the host: the server's port was not known when it started."""
    parts = urlsplit(signed["url"])
    return f"{parts.path}?{parts.query}"


async def put_and_kill(
    server: ServerProcess, ann: httpx.AsyncClient, upload: Json, size: int
) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"a" * (size // 2)
        await asyncio.sleep(0.1)
        server.kill()
        yield b"a" * (size - size // 2)

    headers = {**upload["headers"], "Content-Length": str(size)}
    with pytest.raises(httpx.TransportError):
        await ann.put(address(upload), content=half(), headers=headers)


async def end_of(ann: httpx.AsyncClient, file_id: str) -> str:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        state: str = (await ann.get(f"/v1/files/{file_id}")).json()["file"]["state"]
        if state != "processing":
            return state
        await asyncio.sleep(0.05)
    raise AssertionError("the file was not processed")
