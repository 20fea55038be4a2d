"""The server is killed and comes back, clients are killed and come back: nothing is lost, and
nothing happens twice."""

import asyncio
import random
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from greenroom_client import TRANSPORTS, Client, ClientLimits, Kind
from tests.support import IS_FULL
from tests.support.server_process import ServerProcess, token_of
from tests.support.waiting import PATIENCE_S, until

from .pair import Pair, all_messages

Json = dict[str, Any]

QUICK = ClientLimits(poll_open_s=0.05, restart_spread_s=0.5, backoff_cap_s=1, stream_retries=1000)
SENDS, KILLS = (1000, 20) if IS_FULL else (40, 1)


class Progress:
    """Ada's client, and how many messages both have been told of."""

    def __init__(self, ada: Client, told: dict[str, list[Json]]) -> None:
        self.ada = ada
        self._told = told

    async def until(self, count: int) -> None:
        await until(lambda: sum(map(len, self._told.values())) >= count, f"{count} messages")


Disturb = Callable[[Progress], Awaitable[None]]


async def talk_through(pair: Pair, kinds: list[Kind | None], disturb: Disturb) -> None:
    """Both write and read while `disturb` comes over the server."""
    threads = await pair.start(threads=2)
    told: dict[str, list[Json]] = {}
    async with (
        pair.client(pair.ada, limits=QUICK) as ada,
        pair.client(pair.ben, limits=QUICK) as ben,
    ):

        async def follow(client: Client, name: str) -> None:
            told[name] = []
            async for event in client.events():
                if event["type"] == "message.new":
                    told[name].append(event["message"])

        async def write(client: Client, name: str) -> None:
            for number in range(SENDS):
                await client.send(threads[number % 2], f"{name} {number}")

        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            following = []
            for client, kind, name in ((ada, kinds[0], "ada"), (ben, kinds[-1], "ben")):
                await client.use(kind)
                following.append(group.create_task(follow(client, name)))
            writing = [
                group.create_task(write(client, name))
                for client, name in ((ada, "ada"), (ben, "ben"))
            ]
            await disturb(Progress(ada, told))
            for each in writing:
                await each
            wanted = 2 * SENDS + len(threads)
            await until(lambda: min(map(len, told.values())) >= wanted, "the last message")
            for each in following:
                each.cancel()
        for thread_id in threads:
            kept = await all_messages(ada, thread_id)
            assert [each["seq"] for each in kept] == [*range(1, SENDS + 2)]
            assert len({each["body"] for each in kept}) == SENDS + 1
            ids = [each["id"] for each in kept]
            for messages in told.values():
                assert [each["id"] for each in messages if each["thread_id"] == thread_id] == ids
            for name in ("ada", "ben"):
                own = [each["body"] for each in kept if each["body"].startswith(name)]
                assert own == sorted(own, key=lambda body: int(body.split()[1]))


# How a client reads is not the store's to say, so one way there is enough between runs in full.
KILLED_WAYS = [
    (kept, kind)
    for kept in ("postgres", "dynamodb")
    for kind in (None, *TRANSPORTS)
    if kept == "postgres" or kind is None or IS_FULL
]


@pytest.mark.parametrize(("conversations", "kind"), KILLED_WAYS, indirect=["conversations"])
async def test_a_server_that_is_killed_in_mid_talk(
    pair: Pair, server: ServerProcess, seed: random.Random, kind: Kind | None
) -> None:
    await talk_through(pair, [kind], partial(kill_at_times, server, seed))


async def kill_at_times(server: ServerProcess, seed: random.Random, progress: Progress) -> None:
    for count in sorted(seed.sample(range(1, 3 * SENDS), KILLS)):
        await progress.until(count)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)


async def test_switching_while_the_server_is_killed(
    pair: Pair, server: ServerProcess, seed: random.Random
) -> None:
    async def switch(progress: Progress) -> None:
        for _ in range(10 * KILLS):
            await progress.ada.use(seed.choice(TRANSPORTS))

    async def disturb(progress: Progress) -> None:
        await asyncio.gather(kill_at_times(server, seed, progress), switch(progress))

    await talk_through(pair, [None], disturb)


async def test_a_server_that_restarts_in_order_in_mid_talk(
    pair: Pair, server: ServerProcess
) -> None:
    async def restart(progress: Progress) -> None:
        await progress.until(SENDS)
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)

    await talk_through(pair, ["ws", "sse"], restart)


WRITER = textwrap.dedent(
    """
    import asyncio, sys
    from greenroom_client import Client

    async def main(url, token, path, thread_id):
        async with Client(url, token, queue_path=path) as client:
            print("resumed", len(client.pending()), flush=True)
            sends = [client.enqueue(thread_id, f"{number}") for number in range(40)]
            print("queued", flush=True)
            await sends[int(sys.argv[5])].done()
            print("sent some", flush=True)
            await asyncio.get_running_loop().create_future()

    asyncio.run(main(*sys.argv[1:5]))
    """
)


async def test_sends_of_a_client_that_was_killed_are_taken_up_by_the_next(
    pair: Pair, server: ServerProcess, seed: random.Random, tmp_path: Path
) -> None:
    [thread_id] = await pair.start()
    path = tmp_path / "queue.json"
    wanted = str(seed.randrange(40))
    writer = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WRITER, server.url, token_of(pair.ada), path, thread_id, wanted),
        stdout=subprocess.PIPE,
    )
    assert writer.stdout is not None
    lines = [await writer.stdout.readline() for _ in range(3)]
    assert lines == [b"resumed 0\n", b"queued\n", b"sent some\n"]
    writer.kill()
    await writer.wait()

    async with pair.client(pair.ada, queue_path=path) as ada:
        for send in ada.pending():
            await send.done()
        assert ada.pending() == []
        bodies = [each["body"] for each in await all_messages(ada, thread_id)]
    assert bodies == ["first", *(f"{number}" for number in range(40))]


async def test_sends_queued_while_the_server_is_away_survive_the_client(
    pair: Pair, server: ServerProcess, tmp_path: Path
) -> None:
    [thread_id] = await pair.start()
    path = tmp_path / "queue.json"
    await asyncio.to_thread(server.kill)
    async with pair.client(pair.ada, queue_path=path, limits=QUICK) as ada:
        queued = [ada.enqueue(thread_id, f"{number}") for number in range(5)]
        await until(lambda: queued[0].state == "queued", "a first attempt")
    await asyncio.to_thread(server.start)
    async with pair.client(pair.ada, queue_path=path, limits=QUICK) as ada:
        resumed = ada.pending()
        assert [each.client_id for each in resumed] == [each.client_id for each in queued]
        for send in resumed:
            await send.done()
        bodies = [each["body"] for each in await all_messages(ada, thread_id)]
    assert bodies == ["first", *"01234"]
