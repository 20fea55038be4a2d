"""Deleting messages past their keeping time, thread by thread. A legal hold keeps them all."""

from greenroom.conversations.model import DAY_MS, EventType
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.postgres.upkeep.recount import mend_rows
from greenroom.kernel.ids import make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure

THREADS_AT_ONCE = 200

# One server at a time; held for the transaction of one thread.
RETENTION_LOCK = "select pg_try_advisory_xact_lock(7235922)"

# Threads that may have messages before a time, the oldest first.
OLD_THREADS = """
select thread_id from thread
where legal_hold_at is null and coalesce(kept_from, created_at) < $1
order by coalesce(kept_from, created_at) limit $2
"""
IS_HELD = "select legal_hold_at is not null from thread where thread_id = $1"

# Deletes the oldest messages before an id. They are the first of the thread, so what remains is
# numbered from pruned_seq + 1 without gaps.
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
# A thread that is empty now gets messages later than now only.
NOTE_PRUNED = """
update thread set pruned_seq = greatest(pruned_seq, coalesce($2, 0)), kept_from = coalesce(
    (select created_at from message where thread_id = $1 order by message_id limit 1), $3)
where thread_id = $1
"""


class Retention:
    def __init__(self, transactions: Transactions, *, limits: Limits) -> None:
        self._transactions = transactions
        self._limits = limits

    async def prune(self) -> int:
        before_ms = self._transactions.clock() - self._limits.message_kept_days * DAY_MS
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
        rows = await self._transactions.pool.fetch(OLD_THREADS, before_ms, THREADS_AT_ONCE)
        return [row["thread_id"] for row in rows]

    async def _prune_thread(self, thread_id: str, before_ms: int, limit: int) -> int | None:
        """How many messages were deleted; None while another server does this."""

        async def work(change: Change) -> int | None:
            if not await change.conn.fetchval(RETENTION_LOCK):
                return None
            await change.lock(thread_id, by=None)
            if await change.conn.fetchval(IS_HELD, thread_id):
                return 0
            oldest_kept = make_id("msg", before_ms, "")
            [gone] = await change.conn.fetch(REMOVE_OLDEST, thread_id, oldest_kept, limit)
            await change.conn.execute(NOTE_PRUNED, thread_id, gone["seq"], change.clock())
            if gone["messages"]:
                changed = await mend_rows(change.conn, thread_id)
                await change.tell(changed, EventType.INBOX_CHANGED, thread_id, actor=None)
            return int(gone["messages"])

        return await self._transactions.run(work)
