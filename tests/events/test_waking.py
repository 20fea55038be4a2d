"""A commit wakes the collector, and the collector wakes consumers, in every process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from greenroom.bootstrap import Rooms
from greenroom.events import collector as collecting
from greenroom.events.collector import Collector
from greenroom.settings import Settings
from tests.support.api import Api
from tests.support.clock import FakeClock
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture(autouse=True)
def nobody_looks_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "LOOK_S", 3600.0)
    monkeypatch.setattr(collecting, "LONELY_LOOK_S", 3600.0)


@asynccontextmanager
async def collecting_in(rooms: Rooms) -> AsyncIterator[None]:
    store = rooms._kept.hands_over
    collector = Collector(
        rooms._ledger_pool, rooms.events, rooms.bus, clock=rooms.clock, store=store
    )
    # Begins when the first look is over.
    await collector.drain()
    running = asyncio.create_task(collector.run())
    try:
        yield
    finally:
        collector.stop()
        await running


async def test_in_the_same_process(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with collecting_in(api.rooms):
        for number in range(1, 4):
            sent = await ann.send(thread_id, str(number))
            await until_logged(api.rooms, thread_id, sent["id"])


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_in_another_process(
    api: Api, settings: Settings, database_url: str, clock: FakeClock
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with Rooms(settings, database_url, clock=clock) as elsewhere:
        for rooms in (api.rooms, elsewhere):
            await rooms.bus.start()
            await until(lambda: rooms.bus.is_connected, "it hears the others")  # noqa: B023
        async with collecting_in(elsewhere):
            sent = await ann.send(thread_id, "Hello")
            await until_logged(api.rooms, thread_id, sent["id"])
        for rooms in (api.rooms, elsewhere):
            await rooms.bus.stop()


async def until_logged(rooms: Rooms, thread_id: str, message_id: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            head = await rooms.events.head()
            events = await rooms.events.of_thread(thread_id, 0, 100)
            if events and events[-1].message_id == message_id:
                return
            assert await rooms.events.wait_for_new(head, PATIENCE_S)
