"""Decisions about threads that are kept in DynamoDB, recorded in PostgreSQL.

A transaction of a contract decides here what its thread will show; the decision is applied to the
thread after the commit, once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from asyncpg import Pool, Record

from greenroom.conversations.decisions import Decision, DecisionKind, Params
from greenroom.conversations.model import BookingRef
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ActionInvalidState
from greenroom.kernel.ids import Randomness, make_id
from greenroom.platform.postgres.pool import Session, unavailable_on_failure

# Books the thread and records the decision, or does neither. Of several at once the first inserts;
# the others wait for it and find its row.
DECIDE_PROMOTION = """
with booked as (
    insert into thread_booking as b (thread_id, group_id, leg_id, decided_at)
    values ($2, $3, $4, $6)
    on conflict (thread_id) do update set group_id = excluded.group_id, leg_id = excluded.leg_id,
        decided_at = excluded.decided_at
        where num_nonnulls($7::text, $8::text) = 1 and b.group_id is not distinct from $7
            and b.leg_id is not distinct from $8
    returning thread_id, decided_at
)
insert into decision (id, thread_id, kind, data, decided_at)
select $1::text, b.thread_id, 'promote', $5::jsonb, b.decided_at from booked b
returning id
"""
IS_BOOKED_SO = """
select group_id is not distinct from $2 and leg_id is not distinct from $3
from thread_booking where thread_id = $1
"""
DECIDE_NOTICE = """
insert into decision (id, thread_id, kind, data, decided_at) values ($1, $2, 'say', $3, $4)
"""

# Threads are chosen by the age of a decision, and their decisions are then taken by number: the
# clocks of servers differ, so by age alone a later decision could come before an earlier one.
PENDING = """
select d.id, d.thread_id, d.kind, d.data from decision d
where d.applied_at is null and d.failure is null and exists (
    select 1 from decision o
    where o.thread_id = d.thread_id and o.applied_at is null and o.failure is null
        and o.decided_at <= $1)
order by d.n limit $2
"""
PENDING_IN = """
select id, thread_id, kind, data from decision
where thread_id = $1 and applied_at is null and failure is null
order by n limit $2
"""

# A thread update is in the conversation by now, where its content can be removed again. It must not
# stay here for longer, such as a location that somebody shared for an hour.
DONE = """
update decision set applied_at = $2, data = case when kind = 'post' then '{}' else data end
where id = any ($1::text[]) and applied_at is null
"""
PARK = "update decision set failure = $2 where id = $1 and applied_at is null"

PRUNE = """
delete from decision where id in (select id from decision where applied_at < $1 limit $2)
"""


# Thread updates are decided within a longer transaction. The lock orders those of one thread: each
# sees what the one before has committed, and gets a higher number.
LOCK_THREAD = "select * from lock_thread_elsewhere($1)"
BOOKING_OF = "select group_id, leg_id from thread_booking where thread_id = $1"
DECIDE_UPDATE = """
with locked as materialized (select from lock_thread_elsewhere($2))
insert into decision (id, thread_id, kind, data, decided_at)
select $1, $2, 'post', $3, $4 from (select count(*) from locked) l
"""
BOOK_THREAD = """
insert into thread_booking (thread_id, group_id, leg_id, decided_at) values ($1, $2, $3, $4)
on conflict (thread_id) do update set group_id = excluded.group_id, leg_id = excluded.leg_id,
    decided_at = excluded.decided_at where $5
returning 1
"""


class PostgresDecisions:
    """The decision log on tables `thread_booking` and `decision`."""

    def __init__(self, pool: Pool, *, clock: Clock, randomness: Randomness) -> None:
        self._pool = pool
        self._clock = clock
        self._randomness = randomness

    @unavailable_on_failure()
    async def decide_promotion(
        self, thread_id: str, booking: BookingRef, follows: BookingRef | None = None
    ) -> Decision | None:
        data = {**booking._asdict(), "follows": follows is not None}
        decision_id, now_ms = self._next_id()
        before = follows or BookingRef(None, None)
        decided = await self._pool.fetchval(
            DECIDE_PROMOTION, decision_id, thread_id, *booking, _json(data), now_ms, *before
        )
        if decided is not None:
            return Decision(decision_id, thread_id, DecisionKind.PROMOTE, data)
        if not await self._pool.fetchval(IS_BOOKED_SO, thread_id, *booking):
            raise ActionInvalidState("This thread belongs to another booking.")
        return None

    @unavailable_on_failure()
    async def decide_notice(self, thread_id: str, code: str, params: Params) -> Decision:
        notice: dict[str, Any] = {"code": code, "params": dict(params)}
        decision_id, now_ms = self._next_id()
        await self._pool.execute(DECIDE_NOTICE, decision_id, thread_id, _json(notice), now_ms)
        return Decision(decision_id, thread_id, DecisionKind.SAY, notice)

    async def lock(self, conn: Session, thread_id: str) -> BookingRef | None:
        row = await conn.fetchrow(LOCK_THREAD, thread_id)
        return None if row is None else BookingRef(row["group_id"], row["leg_id"])

    async def booking_of(self, conn: Session, thread_id: str) -> BookingRef | None:
        row = await conn.fetchrow(BOOKING_OF, thread_id)
        return None if row is None else BookingRef(row["group_id"], row["leg_id"])

    async def book(
        self, conn: Session, thread_id: str, booking: BookingRef, *, follows: bool = False
    ) -> None:
        if await conn.fetchval(BOOK_THREAD, thread_id, *booking, self._clock(), follows):
            return
        if not await conn.fetchval(IS_BOOKED_SO, thread_id, *booking):
            raise ActionInvalidState("This thread belongs to another booking.")

    async def decide_update(self, conn: Session, thread_id: str, update: bytes) -> str:
        decision_id, now_ms = self._next_id()
        await conn.execute(DECIDE_UPDATE, decision_id, thread_id, update.decode(), now_ms)
        return decision_id

    def _next_id(self) -> tuple[str, int]:
        now_ms = self._clock()
        return make_id("dec", now_ms, self._randomness()), now_ms

    @unavailable_on_failure()
    async def pending(self, limit: int, older_than_ms: int) -> list[Decision]:
        return [_decision(row) for row in await self._pool.fetch(PENDING, older_than_ms, limit)]

    @unavailable_on_failure()
    async def pending_in(self, thread_id: str, limit: int) -> list[Decision]:
        return [_decision(row) for row in await self._pool.fetch(PENDING_IN, thread_id, limit)]

    @unavailable_on_failure()
    async def done(self, ids: Sequence[str]) -> None:
        await self._pool.execute(DONE, ids, self._clock())

    @unavailable_on_failure()
    async def park(self, decision_id: str, code: str) -> None:
        await self._pool.execute(PARK, decision_id, code)

    @unavailable_on_failure()
    async def prune(self, older_than_ms: int, limit: int) -> int:
        status = await self._pool.execute(PRUNE, older_than_ms, limit)
        return int(status.rpartition(" ")[2])


def _decision(row: Record) -> Decision:
    return Decision(row["id"], row["thread_id"], row["kind"], msgspec.json.decode(row["data"]))


def _json(value: Mapping[str, object]) -> str:
    return msgspec.json.encode(value).decode()
