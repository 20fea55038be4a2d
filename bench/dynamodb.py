"""The product on DynamoDB, compared with its bare requests to the same engine.

The bare requests are recorded: a store makes real sends over a connection that confirms every write
without sending it. The recorded requests are then sent as they are, with the same concurrency.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import uvloop
from asyncpg import Pool

from bench import load
from bench.product import Product
from bench.report import Row, at_least, at_most, say
from bench.senders import send_request
from greenroom.conversations.dynamodb.items.keys import message_sort
from greenroom.conversations.dynamodb.items.rows import message_item
from greenroom.conversations.dynamodb.items.threads import state_item
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.inbox import InboxFilter
from greenroom.conversations.model import Draft, Message, Role, ThreadDraft, ThreadKind
from greenroom.conversations.people import Profile
from greenroom.conversations.postgres.decisions import PostgresDecisions
from greenroom.conversations.store import Send, Started
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.ids import make_id, system_randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.client import Client
from greenroom.platform.dynamodb.client import Send as Transport
from greenroom.platform.dynamodb.credentials import Access, embedded_access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Put, Table
from greenroom.platform.dynamodb.transport import HttpTransport
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.platform.postgres.pool import new_pool

BODY = "x" * 1024
"""A message of 1 KB, as in the performance targets."""
CONNECTIONS = 64
ENVIRON = {"GREENROOM_CONVERSATIONS": "dynamodb", "GREENROOM_DYNAMODB_ENDPOINT": "embedded"}
READS = ("GetItem", "BatchGetItem", "Query", "TransactGetItems")
LATER_MS = 10 * 60_000
UNLIMITED = Limits(sends_per_minute=60_000)

MOST_UNITS = {"inbox page": 5.0, "thread page": 15.0, "sync with nothing new": 1.0}


@dataclass(frozen=True, slots=True)
class Scale:
    sends: int
    messages: int


FULL = Scale(sends=3000, messages=100_000)
QUICK = Scale(sends=640, messages=5_000)


def measure(server: Product, scale: Scale) -> list[Row]:
    return uvloop.run(_measure(server, scale))


async def _measure(server: Product, scale: Scale) -> list[Row]:
    access = embedded_access(EmbeddedDynamoDb(server.settings.home).url())
    ledger = new_pool(server.database_url, min_size=0, max_size=1, statement_timeout_ms=15_000)
    engine = Engine(access, server, ledger)
    try:
        say("threads on DynamoDB")
        threads = await engine.start_threads(CONNECTIONS)
        return [await _sends(engine, threads, scale), *await _units(engine, scale)]
    finally:
        await engine.transport.close()


class Engine:
    """Direct access to the engine that the server uses."""

    def __init__(self, access: Access, server: Product, ledger: Pool) -> None:
        self.server = server
        self._ledger = ledger
        self.transport = HttpTransport(access)
        self.meter = Meter()
        self.table = self._table(self.transport)
        self.store = self.open_store(self.table)

    def _table(self, transport: Transport) -> Table:
        return Table(Client(transport), self.server.settings.dynamodb_table, self.meter)

    def open_store(self, table: Table, clock: Clock = system_clock) -> DynamoConversations:
        return DynamoConversations(
            table,
            _nameless,
            PostgresDecisions(self._ledger, clock=clock, randomness=system_randomness),
            clock=clock,
            randomness=system_randomness,
            limits=UNLIMITED,
            wake=_nobody,
            keeps_records=False,
        )

    def recording(self) -> "tuple[DynamoConversations, Recorder]":
        """Its clock stands still: a store reads again what it knows for longer than a moment, and
        while it is recorded there is nothing to read."""
        recorder = Recorder(self.transport)
        now_ms = system_clock()
        return self.open_store(self._table(recorder), lambda: now_ms), recorder

    async def start_threads(self, count: int) -> list[str]:
        return [await self.start_thread(*people(number)) for number in range(count)]

    async def start_thread(self, opener: str, other: str) -> str:
        thread_id = make_id("thr", system_clock(), system_randomness())
        members = {opener: Role.BUYER, other: Role.SELLER}
        new = ThreadDraft(thread_id, ThreadKind.INQUIRY, opener, members, subject="A portrait")
        started = await self.store.start_thread(new, Draft(f"s-{thread_id}", "Hello", None), ())
        assert isinstance(started, Started)
        return thread_id


def people(number: int) -> tuple[str, str]:
    return f"usr_buyer_{number:06d}", f"usr_seller_{number:06d}"


async def _nameless(_user_ids: Sequence[str]) -> dict[str, Profile]:
    return {}


def _nobody(_user_ids: Iterable[str]) -> None:
    """No wake-ups: nobody follows a feed here."""


@dataclass
class Recorder:
    """A transport that sends requests or, when recording, stores writes and confirms them."""

    carry: Transport
    is_on: bool = False
    requests: list[tuple[str, bytes]] = field(default_factory=list)

    async def __call__(self, action: str, body: bytes) -> tuple[int, bytes]:
        if not self.is_on:
            return await self.carry(action, body)
        if action in READS:
            raise RuntimeError(f"A send that is recorded must not read, and it asks for {action}.")
        self.requests.append((action, body))
        return 200, b"{}"


async def _sends(engine: Engine, threads: Sequence[str], scale: Scale) -> Row:
    # In turns, because a machine's speed changes within a minute.
    product, bare = [], []
    for turn in range(2):
        say(f"sends at {CONNECTIONS} connections on DynamoDB ({turn + 1} of 2)")
        product.append(await _through_the_product(engine, threads, scale.sends // 2, f"p{turn}"))
        say(f"their bare requests ({turn + 1} of 2)")
        bare.append(await _bare(engine, threads, scale.sends // 2, f"b{turn}"))
    rate, bare_rate = sum(product) / 2, sum(bare) / 2
    shown = f"{rate:,.0f}/s of {bare_rate:,.0f}/s"
    return at_least("DynamoDB: sends / bare requests", shown, rate / bare_rate, 0.7)


async def _through_the_product(
    engine: Engine, threads: Sequence[str], count: int, name: str
) -> float:
    tokens = [engine.server.token(people(number)[0]) for number in range(len(threads))]
    requests = [
        send_request(tokens[i % len(threads)], threads[i % len(threads)], f"{name}-{i}", BODY)
        for i in range(count)
    ]
    loop = asyncio.get_running_loop()
    result = await loop.run_in_executor(
        None, lambda: load.run(engine.server.port, requests, CONNECTIONS, warm_up=count // 10)
    )
    return result.require(201).per_second


async def _bare(engine: Engine, threads: Sequence[str], count: int, name: str) -> float:
    """Each worker has a thread of its own, which is nearly so for the product's connections."""
    scripts = [
        await _record(engine, number, thread_id, count // len(threads), name)
        for number, thread_id in enumerate(threads)
    ]
    started = time.perf_counter()
    await asyncio.gather(*(_replay(engine.transport, script) for script in scripts))
    return sum(map(len, scripts)) / (time.perf_counter() - started)


Script = list[list[tuple[str, bytes]]]


async def _record(engine: Engine, number: int, thread_id: str, count: int, name: str) -> Script:
    """For each send, its requests in the order of the store."""
    store, recorder = engine.recording()
    author = people(number)[0]
    await store.append(Send(thread_id, author, Draft(f"{name}-{number}-w", BODY, None), 1))
    await store.drain()
    script = []
    recorder.is_on = True
    for turn in range(count):
        recorder.requests = []
        draft = Draft(f"{name}-{number}-{turn}", BODY, None)
        await store.append(Send(thread_id, author, draft, 1))
        await store.drain()
        script.append(recorder.requests)
    return script


async def _replay(transport: Transport, script: Script) -> None:
    """In the order of the store: the commit, both people's rows, both feed entries, the rest."""
    for commit, *others in script:
        await _carry(transport, [commit])
        for at in range(0, len(others), 2):
            await _carry(transport, others[at : at + 2])


async def _carry(transport: Transport, requests: Iterable[tuple[str, bytes]]) -> None:
    requests = list(requests)
    answers = await asyncio.gather(*(transport(*each) for each in requests))
    for (action, _), (status, body) in zip(requests, answers, strict=True):
        # Feed heads are updated by whichever request comes first; the others may be refused.
        if status != 200 and action != "UpdateItem":
            raise RuntimeError(f"a bare request was refused: {body[:200]!r}")


async def _units(engine: Engine, scale: Scale) -> list[Row]:
    """Capacity units of reads, which must not depend on the amount of data."""
    before = await _pages(engine, "small", 1000)
    say(f"{scale.messages:,} messages in one thread on DynamoDB")
    after = await _pages(engine, "large", scale.messages)
    rows = []
    for name, most in MOST_UNITS.items():
        shown = f"{before[name]:g} units with 10³, {after[name]:g} with {scale.messages:,} messages"
        rows.append(at_most(f"DynamoDB: {name} / its limit", shown, after[name] / most, 1.0))
    return rows


async def _pages(engine: Engine, name: str, messages: int) -> dict[str, float]:
    viewer, other = f"usr_{name}", f"usr_{name}_other"
    for number in range(50):
        await engine.start_thread(viewer, f"usr_{name}_{number}")
    thread_id = await engine.start_thread(viewer, other)
    await _fill(engine, thread_id, other, messages)
    head = (await engine.store.changes(viewer, None, 1)).cursor
    while (changes := await engine.store.changes(viewer, head, 100)).events:
        head = changes.cursor
    await engine.store.drain()
    # A later clock, so that the limit on new threads is not reached.
    store = engine.open_store(engine.table, lambda: system_clock() + LATER_MS)
    return {
        "inbox page": await _spent(
            engine, store.inbox(viewer, InboxFilter(), after=None, limit=50)
        ),
        "thread page": await _spent(
            engine, store.messages(viewer, thread_id, before=None, after=None, limit=50)
        ),
        "sync with nothing new": await _spent(engine, store.changes(viewer, head, 50)),
    }


async def _fill(engine: Engine, thread_id: str, author: str, count: int) -> None:
    """Write `count` messages directly into the table, without the store."""
    threads, _ = engine.store.parts
    state = await threads.read(thread_id)
    assert state is not None
    puts, at_ms = [], state.last_message_ms
    message = None
    for seq in range(state.last_seq + 1, count + 1):
        at_ms += 1
        message = _message(thread_id, seq, author, at_ms)
        sort = message_sort(message.id)
        assert sort is not None
        puts.append(Put(message_item(message, sort, visible_to=None, send_hash=None)))
    for at in range(0, len(puts), 2500):
        await asyncio.gather(
            *(engine.table.write_many(puts[at + n : at + n + 250]) for n in range(0, 2500, 250))
        )
    assert message is not None
    filled = replace(
        state, last_seq=count, last_message_ms=at_ms, last_message_id=message.id, ver=state.ver + 1
    )
    await engine.table.write(Put(state_item(filled)))
    threads.uncache(thread_id)


def _message(thread_id: str, seq: int, author: str, at_ms: int) -> Message:
    return Message(
        id=make_id("msg", at_ms, system_randomness()),
        thread_id=thread_id,
        seq=seq,
        author_id=author,
        kind="text",
        body=BODY,
        body_html=None,
        system=None,
        reply_to=None,
        client_id=None,
        created_at_ms=at_ms,
    )


async def _spent(engine: Engine, work: Awaitable[object]) -> float:
    """The read units of one operation."""
    engine.meter.begin_again()
    await work
    return sum(read_units for read_units, _, _ in engine.meter.snapshot().values())
