"""Deleting feed entries, kept answers, domain events and rate limits that are past their time."""

from greenroom.conversations.model import DAY_MS
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.kept_answers import PRUNE_KEYS
from greenroom.platform.postgres.pool import Session
from greenroom.platform.postgres.rate_buckets import PRUNE_BUCKETS

# One process at a time prunes.
PRUNE_LOCK = "select pg_try_advisory_xact_lock(7235921)"
OLD_FEED = """
select user_id, max(n) as n from (
    select user_id, n from feed where at < $1 order by user_id, n limit $2) old
group by user_id order by user_id
"""
PRUNE_FEED = """
delete from feed f using unnest($1::text[], $2::bigint[]) as o (user_id, n)
where f.user_id = o.user_id and f.n <= o.n
"""
MARK_PRUNED = """
update feed_head h set pruned_n = greatest(h.pruned_n, o.n)
from unnest($1::text[], $2::bigint[]) as o (user_id, n) where h.user_id = o.user_id
"""


class Pruning:
    def __init__(self, transactions: Transactions, *, limits: Limits) -> None:
        self._transactions = transactions
        self._limits = limits

    async def prune(self) -> dict[str, int]:
        """One bounded step; returns how many rows of each table were deleted."""
        return await self._transactions.run(self._prune)

    async def _prune(self, change: Change) -> dict[str, int]:
        conn, limits = change.conn, self._limits
        if not await conn.fetchval(PRUNE_LOCK):
            return {}
        now_ms, batch = change.clock(), limits.maintenance_batch
        keys_before_ms = now_ms - limits.idempotency_kept_days * DAY_MS
        return {
            "feed": await _prune_feed(conn, now_ms - limits.feed_kept_days * DAY_MS, batch),
            "idempotency_key": _count(await conn.execute(PRUNE_KEYS, keys_before_ms, batch)),
            "rate_limit": _count(await conn.execute(PRUNE_BUCKETS, now_ms, batch)),
        }


async def _prune_feed(conn: Session, older_than_ms: int, batch: int) -> int:
    """Each feed head remembers up to which number it was pruned: a cursor below gets a reset."""
    old = await conn.fetch(OLD_FEED, older_than_ms, batch)
    users, numbers = [row["user_id"] for row in old], [row["n"] for row in old]
    await conn.execute(sql.LOCK_HEADS, users)
    await conn.execute(MARK_PRUNED, users, numbers)
    return _count(await conn.execute(PRUNE_FEED, users, numbers))


def _count(status: str) -> int:
    """The number in PostgreSQL's status of a statement, such as `DELETE 3`."""
    return int(status.rpartition(" ")[2])
