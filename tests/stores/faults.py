"""Processes of the DynamoDB store, and what can go wrong between each of them and the database.

A process here is a store with a line of its own. The line carries one request after the other in
the order in which they came, so that a run repeats itself, and each meets what was put in its way.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import asyncpg
import msgspec

from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.people import Profile
from greenroom.conversations.postgres.decisions import PostgresDecisions
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.client import Client, Send
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import HttpTransport

from .world import WildClock

Json = dict[str, Any]
Answer = tuple[int, bytes]
Meet = Callable[[Send, str, bytes], Awaitable[Answer]]
"""What a request meets: it may send it on, once or not at all."""

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})

ONE_SHARD = Limits(page=100, messages_page=50, outbox_shards=1)


class Line:
    def __init__(self, access: Access) -> None:
        self.transport = HttpTransport(access)
        self.meet: Meet | None = None
        self.writes = 0
        self._turn = asyncio.Lock()

    async def __call__(self, action: str, body: bytes) -> Answer:
        async with self._turn:
            self.writes += action in WRITES
            if self.meet is None:
                return await self.transport(action, body)
            return await self.meet(self.transport, action, body)


@dataclass(frozen=True, slots=True)
class Process:
    store: DynamoConversations
    line: Line
    table: Table

    async def rest(self) -> None:
        """Until it has done what it does behind those who wait for it."""
        await self.store._sends.drain()
        await self.store._threads.projector.drain()


class FaultRig:
    """One table, one ledger, one clock, and as many processes as a test wants."""

    def __init__(
        self,
        access: Access,
        table_name: str,
        pool: asyncpg.Pool,
        *,
        clock: WildClock,
        randomness: Randomness,
        limits: Limits = ONE_SHARD,
    ) -> None:
        self.clock = clock
        self.limits = limits
        self._access = access
        self._table_name = table_name
        self.pool = pool
        self._randomness = randomness
        self._stack = AsyncExitStack()

    def process(
        self,
        *,
        wake: Callable[[Iterable[str]], None] = lambda _: None,
        keeps_records: bool = False,
        is_orderly: bool = True,
    ) -> Process:
        """Not orderly: many requests at once, as in life."""
        line = Line(self._access)
        send = line if is_orderly else line.transport
        client = Client(send, close=line.transport.close, sleep=no_time, chance=lambda: 0.0)
        table = Table(client, self._table_name, Meter())
        store = DynamoConversations(
            table,
            _nameless,
            PostgresDecisions(self.pool, clock=self.clock, randomness=self._randomness),
            clock=self.clock,
            randomness=self._randomness,
            limits=self.limits,
            wake=wake,
            keeps_records=keeps_records,
        )
        self._stack.push_async_callback(store.close)
        return Process(store, line, table)

    async def settle(self, process: Process) -> None:
        """When it is clear that whoever has left something half done will not go on with it."""
        self.clock.jump(self.limits.unsettled_s * 1000 + 1000)
        await process.store.settle()
        await process.rest()

    async def close(self) -> None:
        await self._stack.aclose()


async def _nameless(_user_ids: Sequence[str]) -> dict[str, Profile]:
    return {}


async def no_time(_seconds: float) -> None:
    """Nobody here waits for a clock; those who are ready go first."""
    await asyncio.sleep(0)


# What requests meet.


def dying_after(writes: int) -> Meet:
    """So many writes reach the database, then nothing does: what the process still thinks it does
    is nothing that anybody else could know of."""
    left = writes

    async def meet(send: Send, action: str, body: bytes) -> Answer:
        nonlocal left
        left -= action in WRITES
        if left < 0:
            raise ConnectionResetError("this process is no more")
        return await send(action, body)

    return meet


class Storm:
    """Every now and then a few requests in a row meet a fault, at times so many that nobody who
    tries again gets through."""

    def __init__(self, fault: "Fault", choose: random.Random, *, often: float, most: int) -> None:
        self._fault = fault
        self._choose = choose
        self._often = often
        self._most = most
        self._left = 0
        self.hits = 0

    def end(self) -> None:
        self._left, self._often = 0, 0

    async def __call__(self, send: Send, action: str, body: bytes) -> Answer:
        if not self._left and self._choose.random() < self._often:
            self._left = self._choose.randint(1, self._most)
        if not self._left:
            return await send(action, body)
        self._left -= 1
        self.hits += 1
        return await self._fault(send, action, body, self._choose)


Fault = Callable[[Send, str, bytes, random.Random], Awaitable[Answer]]


async def throttled(send: Send, action: str, body: bytes, choose: random.Random) -> Answer:
    """One of the ways in which DynamoDB says that there is too much to do."""
    request = msgspec.json.decode(body)
    if action == "TransactWriteItems":
        codes = ["ThrottlingError", "ProvisionedThroughputExceeded"]
        return _cancelled(request, choose.choice(codes), choose)
    if action in ("BatchGetItem", "BatchWriteItem") and choose.random() < 0.5:
        return await _half_done(send, action, request)
    codes = ["ProvisionedThroughputExceededException", "ThrottlingException"]
    return _refused(choose.choice(codes))


async def conflicting(send: Send, action: str, body: bytes, choose: random.Random) -> Answer:
    """Somebody else is at the same item, or has just been there."""
    if action == "TransactWriteItems":
        request = msgspec.json.decode(body)
        if choose.random() < 0.5:
            return _cancelled(request, "TransactionConflict", choose)
        return _cancelled(request, "ConditionalCheckFailed", choose, most=1)
    if action in WRITES:
        return _refused("TransactionConflictException")
    return await send(action, body)


async def unanswered(send: Send, action: str, body: bytes, choose: random.Random) -> Answer:
    """The request happens, or not, and nobody is told."""
    if choose.random() < 0.7:
        await send(action, body)
    raise TimeoutError


def _refused(code: str, **more: Any) -> Answer:
    said = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **more}
    return 400, msgspec.json.encode(said)


def _cancelled(request: Json, code: str, choose: random.Random, most: int = 100) -> Answer:
    """Because of one of the first so many operations of the transaction."""
    codes = ["None"] * len(request["TransactItems"])
    codes[choose.randrange(min(most, len(codes)))] = code
    reasons = [{"Code": code} for code in codes]
    return _refused("TransactionCanceledException", CancellationReasons=reasons)


async def _half_done(send: Send, action: str, request: Json) -> Answer:
    """A batch of which DynamoDB takes the first half."""
    [(name, wanted)] = request["RequestItems"].items()
    entries = wanted if isinstance(wanted, list) else wanted["Keys"]
    taken, left = entries[: len(entries) // 2], entries[len(entries) // 2 :]

    def only(some: list[Json]) -> Json:
        return {name: some if isinstance(wanted, list) else {**wanted, "Keys": some}}

    answer: Json = {"Responses": {}}
    if taken:
        body = msgspec.json.encode({**request, "RequestItems": only(taken)})
        answer = msgspec.json.decode((await send(action, body))[1])
    field = "UnprocessedItems" if isinstance(wanted, list) else "UnprocessedKeys"
    return 200, msgspec.json.encode({**answer, field: only(left)})
