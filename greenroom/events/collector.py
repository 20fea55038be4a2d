"""The collector moves events from where changes write them into the log, and numbers them.

One collector at a time leads, the one whose connection holds a lock in the database. It writes over
that same connection, so a collector that has lost the lock cannot write any more. The others try to
get the lock from time to time and take over when it is free.

From PostgreSQL's outbox, a statement moves a batch: an event is either there or in the log. Rows of
one thread become visible in the order of their ids, because whoever writes them holds the thread's
lock until the commit. From DynamoDB, events come at least once; their ids depend on nothing but the
change, so that an event that comes again is recognised.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import msgspec
from asyncpg import Pool

from greenroom.conversations.store import Deliver, DomainEvent, HandedOver
from greenroom.events.log import EventLog
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.platform.bus.port import Bus
from greenroom.platform.metrics import BACKGROUND_FAILURES
from greenroom.platform.postgres.pool import PASSING_FAILURES, Session, unavailable_on_failure

OUTBOX_TOPIC = "outbox"
"""Published after the commit of a change whose events no feed tells of."""

# Any number will do, as long as every collector takes the same one.
LOCK = 7_235_923
TRY_LOCK = "select pg_try_advisory_lock($1)"
UNLOCK = "select pg_advisory_unlock($1)"

BATCH = 1000
LOOK_S = 5.0
LONELY_LOOK_S = 1.0
"""Where processes cannot wake each other."""
STANDBY_S = 2.0
GATHER_S = 0.02
"""After a wake-up, so that many changes a second cost few statements."""

# Numbers what was taken and writes it to the log. The counters are moved by the same statement.
_APPEND = """
counted as (
    insert into event_thread as t (thread_id, last_number)
    select thread_id, count(*) from taken where thread_id is not null
    group by thread_id order by thread_id
    on conflict (thread_id) do update set last_number = t.last_number + excluded.last_number
    returning thread_id, last_number
),
head as (
    insert into event_log_head as h (position)
    select count(*) from taken having count(*) > 0
    on conflict (is_only_row) do update set position = h.position + excluded.position
    returning position
),
logged as (
    insert into event_log (position, event_id, type, occurred_at, logged_at, actor, thread_id,
        thread_number, message_id, group_id, leg_id, card_id, amount_cents, currency, data)
    select head.position - count(*) over () + row_number() over (order by taken.id),
        taken.event_id, taken.event, taken.occurred_at, $1, taken.actor, taken.thread_id,
        counted.last_number - count(*) over (partition by taken.thread_id)
            + row_number() over (partition by taken.thread_id order by taken.id),
        taken.message_id, taken.group_id, taken.leg_id, taken.card_id, taken.amount_cents,
        taken.currency, taken.data
    from taken cross join head left join counted on counted.thread_id = taken.thread_id
)
select head.position, (select count(*) from taken) as count from head
"""

# The id has the time and the number of the row, as an id has time and chance: nothing else has
# this number.
MOVE = f"""
with taken as (
    delete from outbox where id in (select id from outbox order by id limit $2)
    returning id, 'evt_' || lpad(to_hex((extract(epoch from occurred_at) * 1000)::bigint), 12, '0')
        || lpad(to_hex(id), 14, '0') as event_id, event, occurred_at, actor, thread_id, message_id,
        group_id, leg_id, card_id, amount_cents, currency, data
),
{_APPEND}
"""  # noqa: S608 (put together from constants)

# Without those that are in the log already.
ADD = f"""
with taken as (
    select given.*, null::text as group_id, null::text as leg_id, null::text as card_id,
        null::bigint as amount_cents, null::text as currency
    from unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
                $8::jsonb[]) with ordinality
        as given (event_id, event, occurred_at, actor, thread_id, message_id, data, id)
    where not exists (select from event_log l where l.event_id = given.event_id)
),
{_APPEND}
"""  # noqa: S608

log = logging.getLogger(__name__)


class HandsOver(Protocol):
    """A store whose events have to be fetched."""

    async def hand_over(self, deliver: Deliver) -> HandedOver: ...


class Collector:
    def __init__(
        self,
        pool: Pool,
        events: EventLog,
        bus: Bus,
        *,
        clock: Clock,
        store: HandsOver | None = None,
        batch: int = BATCH,
    ) -> None:
        """`store` is where events are besides the outbox in PostgreSQL."""
        self._pool = pool
        self._events = events
        self._bus = bus
        self._clock = clock
        self._store = store
        self._batch = batch
        self._stopping = asyncio.Event()
        self._wake = asyncio.Event()
        # A feed grows with nearly every change, and its wake-up is on the bus anyway.
        for topic in ("feed", OUTBOX_TOPIC):
            bus.subscribe(topic, self._hear)
        bus.on_gap(self._wake.set)

    def _hear(self, _items: Sequence[str]) -> None:
        self._wake.set()

    async def run(self) -> None:
        """Collect until `stop`, whenever this collector leads."""
        while not self._stopping.is_set():
            try:
                async with self._leading() as conn:
                    if conn is not None:
                        await self._collect_while_leading(conn)
            except (Unavailable, *PASSING_FAILURES):
                log.warning("events cannot be collected just now; they will be later")
            except Exception:
                BACKGROUND_FAILURES.labels("collector").inc()
                log.exception("events could not be collected; they will be later")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), STANDBY_S)

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()

    async def drain(self) -> int:
        """Collect everything that there is, unless another collector leads. Says how much."""
        async with self._leading() as conn:
            return 0 if conn is None else await self._collect_all(conn)

    @asynccontextmanager
    async def _leading(self) -> AsyncIterator[Session | None]:
        """The connection that holds the lock; None if another one does."""
        async with unavailable_on_failure(), self._pool.acquire() as conn:
            if not await conn.fetchval(TRY_LOCK, LOCK):
                yield None
                return
            try:
                yield conn
            finally:
                with suppress(*PASSING_FAILURES):
                    await conn.execute(UNLOCK, LOCK)

    async def _collect_while_leading(self, conn: Session) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            await self._collect_all(conn)
            with suppress(TimeoutError):
                look_s = LOOK_S if self._bus.is_connected else LONELY_LOOK_S
                await asyncio.wait_for(self._wake.wait(), look_s)
                await asyncio.sleep(GATHER_S)

    async def _collect_all(self, conn: Session) -> int:
        total = await self._move(conn)
        if self._store is None:
            return total

        async def add(events: Sequence[DomainEvent]) -> None:
            nonlocal total
            # A booking's events first: what they decided may be what these messages tell of.
            total += await self._move(conn)
            total += await self._write(conn, ADD, *_columns(events))

        has_more = True
        while has_more and not self._stopping.is_set():
            has_more = (await self._store.hand_over(add)).has_more
        return total

    async def _move(self, conn: Session) -> int:
        """Empty the outbox, as far as it is committed."""
        total, count = 0, self._batch
        while count == self._batch:
            count = await self._write(conn, MOVE, self._batch)
            total += count
        return total

    @unavailable_on_failure()
    async def _write(self, conn: Session, statement: str, *values: object) -> int:
        row = await conn.fetchrow(statement, self._clock(), *values)
        if row is None:
            return 0
        self._events.announce(row["position"])
        count: int = row["count"]
        return count


def _columns(events: Sequence[DomainEvent]) -> list[list[object]]:
    return [
        [each.event_id for each in events],
        [each.event for each in events],
        [each.at_ms for each in events],
        [each.actor for each in events],
        [each.thread_id for each in events],
        [each.message_id for each in events],
        [None if each.data is None else msgspec.json.encode(each.data).decode() for each in events],
    ]
