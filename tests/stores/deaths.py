"""Processes that keep conversations on DynamoDB and their decisions in PostgreSQL, and that can die
at any place on the way from the one to the other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg

from greenroom.conversations.decisions import Decision
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.model import BookingRef, Cursor, Message
from greenroom.conversations.people import Profile
from greenroom.conversations.postgres.decisions import PostgresDecisions
from greenroom.conversations.store import DomainEvent
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Put, Table
from greenroom.platform.dynamodb.transport import open_client
from tests.support.waiting import PATIENCE_S

from .world import Seed, WildClock, seeded_randomness, start, whole_thread

BEFORE_DECISION = "before the ledger decides"
AFTER_DECISION = "after the ledger has decided"
BEFORE_CHANGE = "before the thread changes"
AFTER_CHANGE = "after the thread has changed, before anybody's feed has it"
BEFORE_DONE = "before the ledger hears that it is done"
AFTER_DONE = "after the ledger has heard"
AFTER_DECIDING = (AFTER_DECISION, BEFORE_CHANGE, AFTER_CHANGE, BEFORE_DONE, AFTER_DONE)

UNSETTLED_MS = Limits().unsettled_s * 1000


class Gone(BaseException):
    """The process is no more: nothing that would handle an error runs on."""


async def crash() -> None:
    raise Gone


async def lose_connection() -> None:
    raise Unavailable("gone for a moment")


class Way:
    """What happens at one place on the way, the first time that the process comes by."""

    def __init__(self) -> None:
        self._what: dict[str, Callable[[], Awaitable[object]]] = {}

    def at(self, place: str, what: Callable[[], Awaitable[object]]) -> None:
        self._what[place] = what

    async def passes(self, place: str) -> None:
        what = self._what.pop(place, None)
        if what is not None:
            await what()


class MortalTable(Table):
    way: Way

    async def transact(self, ops: Sequence[Any], *, token: str | None = None) -> None:
        # Every change of a thread begins with the thread itself.
        is_change = isinstance(ops[0], Put) and ops[0].item["sk"] == "THR"
        if is_change:
            await self.way.passes(BEFORE_CHANGE)
        await super().transact(ops, token=token)
        if is_change:
            await self.way.passes(AFTER_CHANGE)


class MortalDecisions(PostgresDecisions):
    way: Way

    async def decide_promotion(
        self, thread_id: str, booking: BookingRef, follows: BookingRef | None = None
    ) -> Decision | None:
        await self.way.passes(BEFORE_DECISION)
        decision = await super().decide_promotion(thread_id, booking, follows)
        await self.way.passes(AFTER_DECISION)
        return decision

    async def decide_notice(self, thread_id: str, code: str, params: Any) -> Decision:
        await self.way.passes(BEFORE_DECISION)
        decision = await super().decide_notice(thread_id, code, params)
        await self.way.passes(AFTER_DECISION)
        return decision

    async def done(self, ids: Sequence[str]) -> None:
        await self.way.passes(BEFORE_DONE)
        await super().done(ids)
        await self.way.passes(AFTER_DONE)


class Process:
    def __init__(self, store: DynamoConversations, ledger: MortalDecisions, way: Way) -> None:
        self.store = store
        self.ledger = ledger
        self.way = way

    async def say(self, thread_id: str, code: str) -> None:
        await self.store.decisions.say(thread_id, code, {"n": 1})

    async def crashes(self, place: str, work: Coroutine[Any, Any, object]) -> None:
        self.way.at(place, crash)
        try:
            await work
        except Gone:
            return
        raise AssertionError(f"this never came to be {place}")

    async def is_cancelled(self, place: str, work: Coroutine[Any, Any, object]) -> None:
        reached = asyncio.Event()

        async def hang() -> None:
            reached.set()
            await asyncio.Event().wait()

        self.way.at(place, hang)
        task = asyncio.create_task(work)
        await asyncio.wait_for(reached.wait(), timeout=PATIENCE_S)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


class FaultRig:
    """One table, one ledger, and as many processes as a test wants."""

    def __init__(
        self,
        access: Access,
        table: str,
        pool: asyncpg.Pool,
        randomness: Randomness,
        stack: AsyncExitStack,
    ) -> None:
        self.pool = pool
        self.clock = WildClock()
        self._place = access, table
        self._randomness = randomness
        self._stack = stack
        self._cursors: dict[str, Cursor] = {}
        self._taken: list[DomainEvent] = []

    async def process(self, clock: WildClock | None = None) -> Process:
        access, table_name = self._place
        way = Way()
        table = MortalTable(open_client(access), table_name, Meter())
        ledger = MortalDecisions(self.pool, clock=clock or self.clock, randomness=self._randomness)
        table.way = ledger.way = way
        store = DynamoConversations(
            table,
            _nameless,
            ledger,
            clock=clock or self.clock,
            randomness=self._randomness,
            limits=Limits(),
            wake=lambda _: None,
        )
        self._stack.push_async_callback(store.close)
        return Process(store, ledger, way)

    async def thread(self, process: Process, *people: str) -> str:
        thread_id = (await start(process.store, *people)).thread.id
        for each in people:
            self._cursors[each] = (await process.store.changes(each, None, 100)).cursor
        return thread_id

    async def later(self) -> Process:
        """Another process, when it is clear that those before have not done their work."""
        self.clock.jump(UNSETTLED_MS + 1000)
        return await self.process()

    async def told(self, process: Process, viewer: str) -> list[str]:
        """What this person's feed got after the thread had been started."""
        changes = await process.store.changes(viewer, self._cursors[viewer], 1000)
        return [str(event.type) for event in changes.events]

    async def published(self, process: Process, thread_id: str) -> list[str]:
        """The domain events of the thread, in the order in which they were handed over."""

        async def take(events: Sequence[DomainEvent]) -> None:
            self._taken.extend(events)

        for _ in range(2):
            await process.store.hand_over(take)
        return [each.event for each in self._taken if each.thread_id == thread_id]

    async def failure(self, decision: Decision) -> str | None:
        failure: str | None = await self.pool.fetchval(
            "select failure from decision where id = $1", decision.id
        )
        return failure

    async def is_booked(self, thread_id: str) -> bool:
        found: bool = await self.pool.fetchval(
            "select exists (select 1 from thread_booking where thread_id = $1)", thread_id
        )
        return found


@asynccontextmanager
async def open_site(
    access: Access, table: str, pool: asyncpg.Pool, seed: Seed
) -> AsyncIterator[FaultRig]:
    randomness = seeded_randomness(seed.random.randrange(1 << 40))
    async with AsyncExitStack() as stack:
        yield FaultRig(access, table, pool, randomness, stack)


async def said(process: Process, viewer: str, thread_id: str) -> list[str]:
    """The server's own words in the thread, in their order."""
    return [code_of(each) for each in await whole_thread(process.store, viewer, thread_id)][1:]


def code_of(message: Message) -> str:
    return "" if message.system is None else str(message.system["code"])


async def _nameless(_user_ids: Sequence[str]) -> dict[str, Profile]:
    return {}
