"""EventBridge gets every event at least once, and the events of a thread in their order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from aiohttp import web

from greenroom import doctor
from greenroom.bootstrap import Rooms
from greenroom.commands.failures import FAILED, explain
from greenroom.events.consumers import Consumer
from greenroom.events.model import LoggedEvent
from greenroom.kernel.errors import Unavailable, Unreadable
from greenroom.platform.aws.eventbridge import (
    Entry,
    EventBridge,
    EventBridgeError,
    open_event_bridge,
)
from greenroom.platform.aws.signing import FixedKeys
from greenroom.settings import Settings, load_settings
from greenroom.webhooks.data import EventData
from greenroom.webhooks.eventbridge import CONSUMER, WINDOW, EventBridgePublisher, PutsEvents
from tests.support.api import Api, Person
from tests.support.clock import FakeClock
from tests.webhooks.event_bus import BUS, KEYS, REGION, FakeBus, Json, running_bus, throttled
from tests.webhooks.logged import collect
from tests.webhooks.schemas import validator

FORGET = "delete from event_cursor where consumer = $1"
SET_CURSOR = "update event_cursor set position = $2 where consumer = $1"
CURSOR = "select position from event_cursor where consumer = $1"


class Publishing:
    """A publisher that begins at the end of the log, and people who write."""

    def __init__(self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, bus: FakeBus) -> None:
        self.rooms = rooms
        self.pool = pool
        self.clock = clock
        self.bus = bus
        self.client = EventBridge(bus.url, REGION, BUS, FixedKeys(KEYS), clock=clock)
        self.consumer = self.new_consumer()

    def new_consumer(
        self, bus: PutsEvents | None = None, *, include_content: bool = False, **more: Any
    ) -> Consumer:
        """As another process would have it: it knows nothing but the cursor."""
        publisher = EventBridgePublisher(
            bus or self.client, self.rooms.event_data, include_content=include_content, **more
        )
        return Consumer(
            self.pool,
            self.rooms.events,
            CONSUMER,
            publisher.publish,
            batch=WINDOW,
        )

    async def begin(self) -> None:
        await collect(self.rooms)
        await self.pool.execute(FORGET, CONSUMER)
        assert await self.consumer.step() == 0

    async def expected(self) -> list[str]:
        """The ids of all events since the beginning, in order."""
        position = await self.pool.fetchval(CURSOR, CONSUMER)
        return [each.event_id for each in await collect(self.rooms, position)]

    async def insist(self, consumer: Consumer | None = None) -> None:
        """Publish everything, however often the bus refuses."""
        consumer = consumer or self.consumer
        for _ in range(1000):
            try:
                if await consumer.step() == 0:
                    return
            except Unavailable:
                continue
        raise AssertionError("not everything was published")

    def in_order(self, thread_id: str) -> list[int]:
        """The numbers of a thread's events in the order in which they were first taken."""
        numbers = [
            each["data"]["thread_number"]
            for each in self.bus.taken
            if each["data"]["thread"]["id"] == thread_id
        ]
        return list(dict.fromkeys(numbers))


@pytest.fixture
async def bus() -> AsyncIterator[FakeBus]:
    async with running_bus() as opened:
        yield opened


@pytest.fixture
async def publishing(
    rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, bus: FakeBus
) -> Publishing:
    publishing = Publishing(rooms, pool, clock, bus)
    await publishing.begin()
    return publishing


async def write(ann: Person, bob: Person, *, threads: int = 3, messages: int = 3) -> list[str]:
    ids = [await ann.thread_with(bob) for _ in range(threads)]
    for number in range(messages):
        for thread_id in ids:
            await ann.send(thread_id, f"Message {number}")
    return ids


async def test_every_event_is_published_once_and_as_the_catalogue_says(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    threads = await write(ann, bob)
    expected = await publishing.expected()
    await publishing.consumer.drain()
    taken = publishing.bus.taken
    assert sorted(publishing.bus.event_ids) == sorted(expected)
    for thread_id in threads:
        assert publishing.in_order(thread_id) == list(range(1, 6))
    for each in taken:
        assert validator(each["type"]).is_valid(each)
        assert "body" not in each["data"].get("message", {})
    assert await publishing.consumer.step() == 0


async def test_nothing_is_lost_while_the_bus_throttles_fails_or_is_away(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    threads = await write(ann, bob)
    expected = await publishing.expected()
    position = await publishing.pool.fetchval(CURSOR, CONSUMER)
    publishing.bus.outages.extend(
        [throttled(), web.Response(status=500), None, web.Response(text="what?")]
    )
    for _ in range(4):
        with pytest.raises(Unavailable):
            await publishing.consumer.step()
        assert await publishing.pool.fetchval(CURSOR, CONSUMER) == position
    await publishing.consumer.drain()
    assert sorted(publishing.bus.event_ids) == sorted(expected)
    assert all(publishing.in_order(each) == list(range(1, 6)) for each in threads)


async def test_an_event_that_is_not_taken_holds_back_its_thread_and_no_other(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    stuck, *others = await write(ann, bob)
    expected = await publishing.expected()

    def refuses(detail: Json) -> str | None:
        data = detail["data"]
        is_second = data["thread"]["id"] == stuck and data["thread_number"] == 2
        return "InternalFailure" if is_second else None

    publishing.bus.refuses = refuses
    with pytest.raises(Unavailable):
        await publishing.consumer.drain()
    assert publishing.in_order(stuck) == [1]
    assert all(publishing.in_order(each) == list(range(1, 6)) for each in others)
    # The cursor stands before it.
    position = await publishing.pool.fetchval(CURSOR, CONSUMER)
    [waiting] = await publishing.rooms.events.read(position, 1)
    assert (waiting.thread_id, waiting.thread_number) == (stuck, 2)

    publishing.bus.refuses = lambda _: None
    await publishing.insist()
    assert publishing.in_order(stuck) == list(range(1, 6))
    assert sorted(publishing.bus.event_ids) == sorted(expected), "nothing was published twice"


async def test_what_is_too_large_comes_without_texts_and_then_with_ids_alone(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    await publishing.insist()
    sent = await ann.send(thread_id, "x" * 1900)
    await collect(publishing.rooms)
    seen = []
    for request_bytes in (10_000, 2_000, 700):
        before = await publishing.pool.fetchval(CURSOR, CONSUMER)
        consumer = publishing.new_consumer(include_content=True, request_bytes=request_bytes)
        await publishing.insist(consumer)
        seen.append(publishing.bus.taken[-1])
        await publishing.pool.execute(SET_CURSOR, CONSUMER, before)
    whole, without_text, ids = seen
    assert whole["data"]["message"]["body"] == "x" * 1900
    assert "truncated" not in whole["data"]
    assert without_text["data"]["truncated"] is True
    assert without_text["data"]["message"]["seq"] == sent["seq"]
    assert "body" not in without_text["data"]["message"]
    assert ids["data"]["message"] == {"id": sent["id"], "truncated": True}
    assert ids["data"]["thread"] == {"id": thread_id, "truncated": True}
    assert all(validator("message.send").is_valid(each) for each in seen)


async def test_a_request_has_as_many_entries_as_fit(publishing: Publishing, api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    await write(ann, bob, threads=4, messages=1)
    expected = await publishing.expected()
    publishing.bus.sizes.clear()
    await publishing.insist(publishing.new_consumer(request_bytes=2_500))
    assert max(publishing.bus.sizes) <= 2_500
    assert len(publishing.bus.sizes) < len(expected)
    assert sorted(publishing.bus.event_ids) == sorted(expected)


class Dying:
    """The process is killed when the bus has taken some events, and before it has noted that."""

    def __init__(self, bus: PutsEvents, requests: int) -> None:
        self._bus = bus
        self._left = requests

    async def put(self, entries: Sequence[Entry]) -> list[str | None]:
        answer = await self._bus.put(entries)
        self._left -= 1
        if self._left == 0:
            raise asyncio.CancelledError
        return answer


async def test_after_a_kill_events_come_again_under_the_same_ids(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    threads = await write(ann, bob)
    expected = await publishing.expected()
    for requests in (1, 2):
        dying = publishing.new_consumer(Dying(publishing.client, requests))
        with pytest.raises(asyncio.CancelledError):
            await dying.drain()
    await publishing.new_consumer().drain()
    assert set(publishing.bus.event_ids) == set(expected)
    assert len(publishing.bus.event_ids) > len(expected), "some came twice"
    assert all(publishing.in_order(each) == list(range(1, 6)) for each in threads)


async def test_events_are_published_again_if_the_cursor_is_set_back(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    await write(ann, bob)
    expected = await publishing.expected()
    position = await publishing.pool.fetchval(CURSOR, CONSUMER)
    for _ in range(2):
        await publishing.consumer.drain()
        await publishing.pool.execute(SET_CURSOR, CONSUMER, position)
    assert sorted(publishing.bus.event_ids) == sorted([*expected, *expected])


class PartlyUnreadable:
    """Data of which one thread's cannot be read."""

    def __init__(self, data: EventData, thread_id: str) -> None:
        self._data = data
        self._thread_id = thread_id

    async def fill(self, events: Sequence[LoggedEvent], *, include_content: bool) -> list[Json]:
        if any(each.thread_id == self._thread_id for each in events):
            raise Unreadable
        return await self._data.fill(events, include_content=include_content)


async def test_an_event_that_cannot_be_read_comes_with_ids_alone(
    publishing: Publishing, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    broken, whole = await write(ann, bob, threads=2, messages=1)
    publisher = EventBridgePublisher(
        publishing.client,
        PartlyUnreadable(publishing.rooms.event_data, broken),
        include_content=False,
    )
    consumer = Consumer(
        publishing.pool, publishing.rooms.events, CONSUMER, publisher.publish, batch=WINDOW
    )
    expected = await publishing.expected()
    await consumer.drain()
    assert sorted(publishing.bus.event_ids) == sorted(expected)
    for each in publishing.bus.taken:
        data = each["data"]
        assert validator(each["type"]).is_valid(each)
        is_bare = data["thread"] == {"id": data["thread"]["id"], "truncated": True}
        assert is_bare == (data["thread"]["id"] == broken)
    assert publishing.in_order(whole) == publishing.in_order(broken) == [1, 2, 3]


async def test_a_bus_that_refuses_everything_is_named(publishing: Publishing) -> None:
    said = {"__type": "com.amazonaws.events#ResourceNotFoundException", "message": "No bus"}
    publishing.bus.outages.append(web.json_response(said, status=400))
    with pytest.raises(EventBridgeError, match="ResourceNotFoundException No bus"):
        await publishing.client.put([Entry("greenroom", "a", '{"type": "a"}', 0)])


async def test_the_worker_publishes_if_a_bus_is_set(
    settings: Settings,
    database_url: str,
    clock: FakeClock,
    bus: FakeBus,
    rooms: Rooms,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    asked = replace(
        settings, eventbridge_bus=BUS, eventbridge_endpoint=bus.url, eventbridge_content=True
    )
    ann, bob = await api.people("ann", "bob")
    await collect(rooms)
    async with Rooms(asked, database_url, clock=clock) as opened:
        await opened.contract.worker.run_until_idle()
        thread_id = await ann.thread_with(bob)
        await collect(rooms)
        await opened.contract.worker.run_until_idle()
    taken = [each for each in bus.taken if each["data"]["thread"]["id"] == thread_id]
    assert [each["type"] for each in taken] == ["thread.create", "message.send"]
    assert taken[1]["data"]["message"]["body"] == "Hello"


@pytest.mark.parametrize(
    ("bus_name", "region", "host"),
    [
        ("marketplace", "eu-west-1", "events.eu-west-1.amazonaws.com"),
        (BUS, None, "events.eu-central-1.amazonaws.com"),
        ("marketplace", "cn-north-1", "events.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_the_address_is_that_of_the_region(
    monkeypatch: pytest.MonkeyPatch, bus_name: str, region: str | None, host: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS.secret_key)
    opened = open_event_bridge(bus_name, endpoint=None, region=region)
    assert opened.url == f"https://{host}"


def test_a_bus_without_a_region_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(EventBridgeError, match="Set GREENROOM_EVENTBRIDGE_REGION") as refused:
        open_event_bridge("marketplace", endpoint=None, region=None)
    assert explain(refused.value) == (str(refused.value), FAILED)


class _WithoutKeys:
    async def put(self, _entries: Sequence[Entry]) -> list[str | None]:
        raise EventBridgeError("No AWS credentials were found.")


async def test_missing_credentials_are_told_in_a_line(
    publishing: Publishing, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    await write(*await api.people("ann", "bob"), threads=1, messages=1)
    await collect(publishing.rooms)
    with pytest.raises(Unavailable):
        await publishing.new_consumer(_WithoutKeys()).step()
    [told] = [each for each in caplog.records if "gets no events" in each.message]
    assert "No AWS credentials were found." in told.message
    assert told.exc_info is None


async def test_doctor_looks_for_the_credentials_of_eventbridge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    given = {"GREENROOM_EVENTBRIDGE_BUS": BUS, "GREENROOM_HOME": str(tmp_path)}
    found = await doctor._eventbridge(load_settings(given))
    assert (found.verdict, "No AWS credentials" in found.text) == ("missing", True)
