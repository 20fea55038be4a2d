"""Clients change transport in mid-stream while others write and processes are killed: no gap, no
repeat, one order."""

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable
from typing import get_args

from greenroom_client import Client, Kind
from tests.support import IS_FULL
from tests.support.server_process import token_of
from tests.support.waiting import PATIENCE_S

from .databases import Database
from .talk import Talk, all_done

WRITERS = 6
READERS = 4
SWITCHES, SENDS, KILLS = (1000, 12_000, 16) if IS_FULL else (32, 300, 2)
MOST_EVENTS_BETWEEN = 10
MOST_WAIT_S = 0.3

StartTalk = Callable[..., Awaitable[Talk]]


class Reader:
    """A client that is told of everything, and keeps changing how."""

    def __init__(self, talk: Talk, user: str, seed: random.Random) -> None:
        self._url = f"http://127.0.0.1:{talk.server.port}"
        self._user = user
        self._seed = seed
        self._progress = asyncio.Event()
        self.told: list[tuple[str, int]] = []
        self.cursors: list[str] = []
        self.switched = 0

    async def read(self, total: int, switches: int) -> None:
        async with Client(self._url, token_of(self._user)) as client:
            switching = asyncio.create_task(self._switch(client, switches))
            try:
                async for event in client.events():
                    self._note(event)
                    if len(self.told) == total and switching.done():
                        break
                    if len(self.told) == total:
                        # What is left is changing transports with nothing new to come.
                        await switching
                        break
            finally:
                switching.cancel()
                await asyncio.gather(switching, return_exceptions=True)
            switching.result()

    def _note(self, event: dict[str, object]) -> None:
        assert event["type"] != "reset"
        if "cursor" in event:
            self.cursors.append(str(event["cursor"]))
        message = event.get("message")
        if event["type"] == "message.new" and isinstance(message, dict):
            self.told.append((message["thread_id"], message["seq"]))
        self._progress.set()

    async def _switch(self, client: Client, switches: int) -> None:
        kinds: tuple[Kind, ...] = get_args(Kind)
        while self.switched < switches:
            await self._wait_for_some()
            async with asyncio.timeout(PATIENCE_S):
                await client.use(self._seed.choice([k for k in kinds if k != client.transport]))
            self.switched += 1

    async def _wait_for_some(self) -> None:
        """Some events, or a moment in which none come."""
        for _ in range(self._seed.randrange(MOST_EVENTS_BETWEEN)):
            self._progress.clear()
            try:
                async with asyncio.timeout(MOST_WAIT_S):
                    await self._progress.wait()
            except TimeoutError:
                return


async def test_clients_that_switch_transports_miss_nothing_and_see_nothing_twice(
    start_talk: StartTalk, seed: random.Random, database: Database
) -> None:
    talk = await start_talk(workers=2)
    users = [talk.ada.user, talk.ben.user]
    readers = [
        Reader(talk, users[number % 2], random.Random(seed.random())) for number in range(READERS)
    ]
    moments = sorted(seed.sample(range(1, SENDS - WRITERS), KILLS))

    async def strike() -> None:
        for number, moment in enumerate(moments, start=1):
            await talk.until_acknowledged(moment)
            if number % 2:
                await talk.server.kill_worker(seed)
            else:
                await database.kill()
                await database.restart()
            if IS_FULL:
                switched = sum(reader.switched for reader in readers)
                told = f"{number}/{KILLS} kills, {switched}/{SWITCHES} switches"
                print(told, file=sys.__stderr__, flush=True)

    total = SENDS + len(talk.threads)
    writers = [talk.write(number, SENDS // WRITERS) for number in range(WRITERS)]
    reading = [reader.read(total, SWITCHES // READERS) for reader in readers]
    await all_done(strike(), *writers, *reading)
    await talk.check()
    for reader in readers:
        check_whole(reader, talk)
    for first, second in zip(readers, readers[2:], strict=False):
        assert first.told == second.told, "two devices of one person saw different orders"
    assert await talk.server.finish() == 0


def check_whole(reader: Reader, talk: Talk) -> None:
    assert len(set(reader.cursors)) == len(reader.cursors), "an event came twice"
    for thread_id in talk.threads:
        seqs = [seq for thread, seq in reader.told if thread == thread_id]
        assert seqs == [*range(1, len(seqs) + 1)], "a gap, a repeat or another order"
