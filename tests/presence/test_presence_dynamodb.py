"""The presence store on DynamoDB beyond its guarantees: races, lost answers, capacity units."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.client import Client, Send
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Put, Table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.presence.dynamodb.store import PARALLEL_REQUESTS, DynamoPresence
from greenroom.presence.model import Snapshot
from greenroom.presence.store import LOOK_BATCH, TypingEnded
from tests.support.clock import FakeClock

from .stage import DynamoStage

OK = 200

Open = Callable[["Line"], Awaitable[DynamoPresence]]


class Line:
    """The way to DynamoDB. It counts, can hold a kind of request back, and can lose one answer:
    the first that says that such a request was done."""

    def __init__(self, *, holds: str = "", loses: str = "") -> None:
        self._holds = holds
        self._loses = loses
        self.holds_something = asyncio.Event()
        self.gate = asyncio.Event()
        self.meter = Meter()
        self.actions: list[str] = []
        self.most_at_once = 0
        self._at_once = 0

    def wrap(self, send: Send) -> Send:
        async def through(action: str, body: bytes) -> tuple[int, bytes]:
            self.actions.append(action)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            try:
                if action == self._holds:
                    self.holds_something.set()
                    await self.gate.wait()
                answer = await send(action, body)
            finally:
                self._at_once -= 1
            if action == self._loses and answer[0] == OK:
                self._loses = ""
                raise ConnectionResetError
            return answer

        return through


@pytest.fixture(scope="module")
def stage(table: Table) -> DynamoStage:
    return DynamoStage(table)


@pytest.fixture
def store(table: Table, limits: Limits) -> DynamoPresence:
    return DynamoPresence(table, limits=limits)


@pytest.fixture
async def open_store(access: Access, table_name: str, limits: Limits) -> AsyncIterator[Open]:
    """Stores of other servers, each on a line of its own."""
    tables: list[Table] = []

    async def opened(line: Line) -> DynamoPresence:
        tables.append(Table(open_client(access, line.wrap), table_name, line.meter))
        return DynamoPresence(tables[-1], limits=limits)

    yield opened
    for each in tables:
        await each.close()


@asynccontextmanager
async def held_back(call: Awaitable[object], line: Line) -> AsyncIterator[asyncio.Future[object]]:
    """What happens within comes between the reading and the writing of `call`."""
    under_way = asyncio.ensure_future(call)
    await line.holds_something.wait()
    try:
        yield under_way
    finally:
        line.gate.set()
        await under_way


class TestKeeping:
    async def test_every_item_deletes_itself_after_its_end(
        self, stage: DynamoStage, store: DynamoPresence, table: Table, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now = clock.now_ms
        await store.seen([bob.id], now + 60_001, now)
        await store.set_typing(bob.id, thread_id, "con-1", now + 10_000, now)
        second = now // 1000
        presence = {"pk": f"PRS#{bob.id}", "sk": "PRS", "until": now + 60_001}
        assert await table.query(f"PRS#{bob.id}") == [{**presence, "ttl": second + 121}]
        typing = {"pk": f"TYP#{thread_id}", "sk": f"{bob.id}#con-1", "until": now + 10_000}
        assert await table.query(f"TYP#{thread_id}") == [{**typing, "ttl": second + 70}]
        [note] = await table.query("DEV#con-1")
        assert (note["sk"], note["ttl"]) == (f"{bob.id}#{thread_id}", second + 10 + 86_400)

    async def test_what_has_ended_and_is_not_deleted_yet_counts_for_nothing(
        self, stage: DynamoStage, store: DynamoPresence, table: Table, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now = clock.now_ms
        times = {"until": now, "ttl": now // 1000 + 60}
        left = [("PRS#" + bob.id, "PRS"), *((f"TYP#{thread_id}", f"{bob.id}#{n}") for n in "xyz")]
        await table.write_many([Put({"pk": pk, "sk": sk, **times}) for pk, sk in left])
        found = await store.look([(ann.id, thread_id)], now)
        assert found[ann.id, thread_id] == Snapshot(frozenset({bob.id}), {}, {})
        assert not await store.set_typing(bob.id, thread_id, "x", None, now)
        assert await store.set_typing(bob.id, thread_id, "y", now + 10_000, now)
        assert await store.seen([bob.id], now + 60_000, now) == [bob.id]
        found = await store.look([(ann.id, thread_id)], now)
        seen = found[ann.id, thread_id]
        assert (seen.typing, seen.online) == ({bob.id: now + 10_000}, {bob.id: now + 60_000})
        assert await store.forget_devices(["y"]) == [thread_id]
        assert await store.prune(now + 3_600_000, 10) == {}


class TestRaces:
    async def test_whoever_comes_on_several_servers_at_once_is_told_of_once(
        self, stage: DynamoStage, open_store: Open, clock: FakeClock
    ) -> None:
        seed = random.randrange(10**9)
        print("seed", seed)
        chance = random.Random(seed)
        ann, *crowd = await stage.people("ann", *(f"p{number}" for number in range(20)))
        thread_id = await ann.thread_with(*crowd)
        ids = [person.id for person in crowd]
        stores = [await open_store(Line()) for _ in range(4)]
        now = clock.now_ms
        ends = chance.sample(range(now + 1000, now + 60_000), len(stores))
        orders = [chance.sample(ids, len(ids)) for _ in stores]
        came = await asyncio.gather(
            *(
                each.seen(order, end, now)
                for each, order, end in zip(stores, orders, ends, strict=True)
            )
        )
        assert sorted(user for told in came for user in told) == sorted(ids)
        found = await stores[0].look([(ann.id, thread_id)], now)
        assert found[ann.id, thread_id].online == dict.fromkeys(ids, max(ends))

    async def test_a_late_write_does_not_shorten_what_another_server_has_noted(
        self, stage: DynamoStage, store: DynamoPresence, open_store: Open, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now = clock.now_ms
        await store.seen([bob.id], now + 1000, now)
        line = Line(holds="PutItem")
        async with held_back((await open_store(line)).seen([bob.id], now + 2000, now), line) as one:
            await store.seen([bob.id], now + 9000, now)
        assert one.result() == []
        found = await store.look([(ann.id, thread_id)], now)
        assert found[ann.id, thread_id].online == {bob.id: now + 9000}

    async def test_what_is_typed_after_the_message_goes_on_although_its_end_was_under_way(
        self, stage: DynamoStage, store: DynamoPresence, open_store: Open, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        for device in ("", "phone"):
            await store.set_typing(bob.id, thread_id, device, end, now)
        line = Line(holds="DeleteItem")
        ended = [TypingEnded(bob.id, thread_id, end)]
        async with held_back((await open_store(line)).end_typing(ended), line) as one:
            await store.set_typing(bob.id, thread_id, "phone", end + 2000, now + 2000)
        assert one.result() == [thread_id]
        found = await store.look([(ann.id, thread_id)], now)
        assert found[ann.id, thread_id].typing == {bob.id: end + 2000}

    async def test_nothing_has_ended_where_all_was_typed_again(
        self, stage: DynamoStage, store: DynamoPresence, open_store: Open, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        await store.set_typing(bob.id, thread_id, "", end, now)
        line = Line(holds="DeleteItem")
        ended = [TypingEnded(bob.id, thread_id, end)]
        async with held_back((await open_store(line)).end_typing(ended), line) as one:
            await store.set_typing(bob.id, thread_id, "", end + 2000, now + 2000)
        assert one.result() == []

    async def test_a_repeat_that_overtakes_another_is_not_written(
        self, stage: DynamoStage, store: DynamoPresence, open_store: Open, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        line = Line(holds="PutItem")
        other = await open_store(line)
        repeat = other.set_typing(bob.id, thread_id, "", end + 999, now + 999)
        async with held_back(repeat, line) as one:
            assert await store.set_typing(bob.id, thread_id, "", end, now)
        assert one.result() is False
        found = await store.look([(ann.id, thread_id)], now)
        assert found[ann.id, thread_id].typing == {bob.id: end}


class TestLostAnswers:
    """The write is repeated and meets its own first attempt."""

    async def test_somebody_who_came_is_told_of(
        self, stage: DynamoStage, open_store: Open, clock: FakeClock
    ) -> None:
        [bob] = await stage.people("bob")
        now = clock.now_ms
        store = await open_store(Line(loses="PutItem"))
        assert await store.seen([bob.id], now + 60_000, now) == [bob.id]
        assert await store.seen([bob.id], now + 60_000, now) == []

    async def test_typing_is_told_of_when_it_begins_and_when_it_ends(
        self, stage: DynamoStage, open_store: Open, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        on = (bob.id, thread_id, "")
        typed = await (await open_store(Line(loses="PutItem"))).set_typing(*on, end, now)
        stopped = await (await open_store(Line(loses="DeleteItem"))).set_typing(*on, None, now)
        assert (typed, stopped) == (True, True)
        store = await open_store(Line(loses="DeleteItem"))
        await store.set_typing(*on, end, now)
        assert await store.end_typing([TypingEnded(bob.id, thread_id, end)]) == [thread_id]


class TestPrice:
    async def test_a_full_look_is_made_of_few_requests_and_bounded_at_once(
        self, stage: DynamoStage, open_store: Open, clock: FakeClock
    ) -> None:
        ann, *others = await stage.people("ann", *(f"p{number}" for number in range(120)))
        threads = [await ann.thread_with(other) for other in others]
        viewers = [(ann.id, thread_id) for thread_id in threads]
        viewers += [(other.id, threads[n]) for n, other in enumerate(others)]
        pairs = (viewers * 3)[:LOOK_BATCH]
        store = await open_store(line := Line())
        found = await store.look(pairs, clock.now_ms)
        assert len(found) == len(viewers)
        # Of 120 threads and of 121 people, at most 100 in one request; typing is a partition each.
        assert sorted(line.actions) == ["BatchGetItem"] * 4 + ["Query"] * 120
        assert 1 < line.most_at_once <= PARALLEL_REQUESTS
        assert list(line.meter.snapshot()) == ["look"]

    async def test_going_on_costs_one_write_and_a_repeat_none(
        self, stage: DynamoStage, open_store: Open, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        store = await open_store(line := Line())
        now = clock.now_ms
        prices = []
        for after_ms in (0, 999, 4000, 8000):
            line.actions.clear()
            until = now + after_ms + 10_000
            await store.set_typing(bob.id, thread_id, "con-2", until, now + after_ms)
            prices.append(line.actions.count("PutItem"))
        assert prices == [2, 0, 1, 1]
        line.actions.clear()
        for after_ms in (0, 20_000, 40_000):
            await store.seen([bob.id], now + after_ms + 60_000, now + after_ms)
        assert line.actions == ["PutItem"] * 4


async def test_a_database_away_is_unavailable() -> None:
    async def refuse(action: str, body: bytes) -> tuple[int, bytes]:
        raise ConnectionRefusedError

    async def at_once(seconds: float) -> None:
        """There is nothing to wait for."""

    table = Table(Client(refuse, sleep=at_once), "greenroom", Meter())
    store = DynamoPresence(table, limits=Limits())
    for call in (
        store.look([("ann", "thr_1")], 0),
        store.seen(["ann", "bob"], 1, 0),
        store.set_typing("ann", "thr_1", "", 1, 0),
        store.end_typing([TypingEnded("ann", "thr_1", 1)]),
        store.forget_devices(["phone"]),
    ):
        with pytest.raises(Unavailable):
            await call
