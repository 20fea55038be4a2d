"""Reads the event log, tells consumers of new events, and deletes old ones.

What the log promises:

- An event is in the log exactly once, under an id that never changes, soon after the commit of its
  change and never without it.
- `position` and `thread_number` have no gaps, and rows become visible in this order: who has read
  up to a position has missed nothing.
- Where conversations are in PostgreSQL, the events of a thread stand in the order of the commits,
  those of its messages and those of its booking together.
- Where they are in DynamoDB, the messages' events and the booking's events of a thread come from
  two databases. Each of the two stands in the order of its commits, and an event of a booking
  stands before the events of the messages that announce it. Other pairs can stand in either order.
- Rows are deleted after `event_log_kept_days`, whether or not every consumer has read them.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from asyncpg import Pool, Record

from greenroom.events.model import LoggedEvent
from greenroom.kernel.money import Money
from greenroom.platform.bus.port import Bus
from greenroom.platform.postgres.pool import Session, unavailable_on_failure

TOPIC = "event-log"
"""The bus carries the last position of the log under this topic."""

COLUMNS = """position, event_id, type, occurred_at, actor, thread_id, thread_number, message_id,
    group_id, leg_id, card_id, amount_cents, currency, data"""

READ = f"""
select {COLUMNS} from event_log
where position > $1 and ($2::text[] is null or type = any($2)) order by position limit $3
"""  # noqa: S608 (put together from constants)
LATEST = f"""
select * from (
    select {COLUMNS} from event_log
    where $1::text[] is null or type = any($1) order by position desc limit $2
) latest order by position
"""  # noqa: S608
OF_THREAD = f"""
select {COLUMNS} from event_log
where thread_id = $1 and position > $2 and ($3::text[] is null or type = any($3))
order by thread_number limit $4
"""  # noqa: S608
EVENT = f"select {COLUMNS} from event_log where event_id = $1"  # noqa: S608

HEAD = "select coalesce(max(position), 0) from event_log_head"
# All events that were collected together have the same time.
POSITION_AT = """
select coalesce(max(position), 0) from event_log
where logged_at = (select max(logged_at) from event_log where logged_at < $1)
"""
# The oldest rows come first, so this looks at no more rows than it may delete.
PRUNE = """
delete from event_log where position in (
    select position from (
        select position, logged_at from event_log order by position limit $2) oldest
    where logged_at < $1)
"""
# Counts no further than anybody needs to know.
WAITING = "select count(*) from (select from outbox limit 100000) waiting"
LAGS = """
select consumer, greatest(0, (select position from event_log_head) - position) as lag
from event_cursor
"""


class EventLog:
    def __init__(self, pool: Pool, bus: Bus) -> None:
        self._pool = pool
        self._bus = bus
        self._latest = 0
        """The last position that this process has heard of."""
        self._has_grown = asyncio.Event()
        bus.subscribe(TOPIC, self._hear)
        bus.on_gap(self._wake)

    @unavailable_on_failure()
    async def read(
        self,
        after: int,
        limit: int,
        *,
        types: Sequence[str] | None = None,
        conn: Session | None = None,
    ) -> list[LoggedEvent]:
        """The first `limit` events behind a position, in order. With `types`, only events of these
        types; the log is searched until enough are found. Whoever is in a transaction passes its
        connection, so that nobody waits for a second one while holding the first."""
        known = self._latest
        rows = await (conn or self._pool).fetch(READ, after, types, limit)
        if not rows and types is None and known == self._latest:
            # What was heard of is not there any more: the database is an older copy.
            self._latest = min(known, after)
        return [read_event(row) for row in rows]

    @unavailable_on_failure()
    async def latest(self, limit: int, *, types: Sequence[str] | None = None) -> list[LoggedEvent]:
        """The last `limit` events, in order."""
        return [read_event(row) for row in await self._pool.fetch(LATEST, types, limit)]

    @unavailable_on_failure()
    async def of_thread(
        self, thread_id: str, after: int, limit: int, *, types: Sequence[str] | None = None
    ) -> list[LoggedEvent]:
        """The first `limit` events of a thread behind a position, in order."""
        rows = await self._pool.fetch(OF_THREAD, thread_id, after, types, limit)
        return [read_event(row) for row in rows]

    @unavailable_on_failure()
    async def event(self, event_id: str) -> LoggedEvent | None:
        row = await self._pool.fetchrow(EVENT, event_id)
        return None if row is None else read_event(row)

    @unavailable_on_failure()
    async def head(self) -> int:
        """The last position, also when its event is deleted; 0 before the first event."""
        position: int = await self._pool.fetchval(HEAD)
        return position

    @unavailable_on_failure()
    async def position_at(self, at_ms: int) -> int:
        """The last position that was logged before this time: whoever reads after it gets all that
        has happened since. 0 if nothing older is kept."""
        position: int = await self._pool.fetchval(POSITION_AT, at_ms)
        return position

    async def wait_for_new(self, after: int, timeout_s: float) -> bool:
        """Wait until the log has grown past a position, but not for long, because a wake-up can be
        lost. Says whether it has grown, as far as this process knows."""
        if self._latest <= after:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_grown.wait(), timeout_s)
        return self._latest > after

    def announce(self, position: int) -> None:
        """The log ends at this position now. Wakes consumers in every process."""
        self._bus.publish(TOPIC, [str(position)])

    def _hear(self, items: Sequence[str]) -> None:
        self._latest = max(self._latest, *(int(item) for item in items if item.isdecimal()), 0)
        self._wake()

    def _wake(self) -> None:
        waited_for, self._has_grown = self._has_grown, asyncio.Event()
        waited_for.set()

    @unavailable_on_failure()
    async def waiting(self) -> int:
        """How many events are in the outbox, still to be collected."""
        count: int = await self._pool.fetchval(WAITING)
        return count

    @unavailable_on_failure()
    async def lags(self) -> dict[str, int]:
        """By consumer, how many events it has yet to read."""
        return {row["consumer"]: row["lag"] for row in await self._pool.fetch(LAGS)}

    @unavailable_on_failure()
    async def prune(self, before_ms: int, limit: int) -> int:
        """Delete at most `limit` events that were logged before this time. Returns how many."""
        status: str = await self._pool.execute(PRUNE, before_ms, limit)
        return int(status.rpartition(" ")[2])


def read_event(row: Record) -> LoggedEvent:
    amount = row["amount_cents"]
    return LoggedEvent(
        position=row["position"],
        event_id=row["event_id"],
        type=row["type"],
        at_ms=row["occurred_at"],
        actor=row["actor"],
        thread_id=row["thread_id"],
        thread_number=row["thread_number"],
        message_id=row["message_id"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        card_id=row["card_id"],
        money=None if amount is None else Money(amount, row["currency"]),
        data=None if row["data"] is None else msgspec.json.decode(row["data"]),
    )
