"""Messages past their keeping time go, thread by thread; a legal hold keeps a thread's all."""

from asyncpg import Pool

from greenroom.conversations.changes_postgres import PostgresChanges
from greenroom.conversations.feeds_postgres import Wake
from greenroom.conversations.model import DAY_MS, EventType
from greenroom.conversations.recount_postgres import mend_rows
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres import Session, unavailable_on_failure

THREADS_AT_ONCE = 200

# One server at a time; held for one thread's transaction.
RETENTION_LOCK = "select pg_try_advisory_xact_lock(7235922)"

# Threads that may have something old, the oldest first.
OLD_THREADS = """
select thread_id from thread
where legal_hold_at is null and coalesce(kept_from, created_at) < $1
order by coalesce(kept_from, created_at) limit $2
"""
IS_HELD = "select legal_hold_at is not null from thread where thread_id = $1"

# The oldest messages before an id: always the first of the thread, so that what remains is
# 1 + pruned_seq and up without gaps.
REMOVE_OLDEST = """
with old as materialized (
    select message_id, seq from message where thread_id = $1 and message_id < $2
    order by message_id limit $3
),
gone as (
    delete from message m using old where m.thread_id = $1 and m.message_id = old.message_id
),
originals as (
    delete from message_audit a using old where a.thread_id = $1 and a.message_id = old.message_id
)
select count(*) as messages, max(seq) as seq from old
"""
# An emptied thread has nothing older than now: what comes will be younger.
NOTE_PRUNED = """
update thread set pruned_seq = greatest(pruned_seq, coalesce($2, 0)), kept_from = coalesce(
    (select created_at from message where thread_id = $1 order by message_id limit 1), $3)
where thread_id = $1
"""


class Retention(PostgresChanges):
    def __init__(
        self, pool: Pool, *, clock: Clock, randomness: Randomness, limits: Limits, wake: Wake
    ) -> None:
        super().__init__(pool, clock=clock, randomness=randomness, wake=wake)
        self._limits = limits

    async def prune(self) -> int:
        before_ms = self._clock() - self._limits.message_kept_days * DAY_MS
        if before_ms <= 0:
            return 0
        removed = 0
        for thread_id in await self._old_threads(before_ms):
            gone = await self._prune_thread(
                thread_id, before_ms, self._limits.maintenance_batch - removed
            )
            if gone is None:
                break
            removed += gone
            if removed >= self._limits.maintenance_batch:
                break
        return removed

    @unavailable_on_failure()
    async def _old_threads(self, before_ms: int) -> list[str]:
        rows = await self._pool.fetch(OLD_THREADS, before_ms, THREADS_AT_ONCE)
        return [row["thread_id"] for row in rows]

    async def _prune_thread(self, thread_id: str, before_ms: int, limit: int) -> int | None:
        """How many messages went; None when another server is at it."""

        async def change(conn: Session) -> int | None:
            if not await conn.fetchval(RETENTION_LOCK):
                return None
            await self._lock(conn, thread_id, by=None)
            if await conn.fetchval(IS_HELD, thread_id):
                return 0
            oldest_kept = make_id("msg", before_ms, "")
            [gone] = await conn.fetch(REMOVE_OLDEST, thread_id, oldest_kept, limit)
            await conn.execute(NOTE_PRUNED, thread_id, gone["seq"], self._clock())
            if gone["messages"]:
                changed = await mend_rows(conn, thread_id)
                await self._tell(conn, changed, EventType.INBOX_CHANGED, thread_id, actor=None)
            return int(gone["messages"])

        return await self._change(change)
