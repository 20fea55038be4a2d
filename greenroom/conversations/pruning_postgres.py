"""Forgetting what is past its keeping time, in bounded steps."""

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.model import DAY_MS
from greenroom.kernel.limits import Limits
from greenroom.platform.answers_postgres import PRUNE_KEYS
from greenroom.platform.buckets_postgres import PRUNE_BUCKETS
from greenroom.platform.postgres import Session


async def prune(conn: Session, now_ms: int, limits: Limits) -> dict[str, int]:
    if not await conn.fetchval(sql.PRUNE_LOCK):
        return {}
    batch = limits.maintenance_batch
    keys_before_ms = now_ms - limits.idempotency_kept_days * DAY_MS
    outbox_before_ms = now_ms - limits.outbox_kept_days * DAY_MS
    return {
        "feed": await _prune_feed(conn, now_ms - limits.feed_kept_days * DAY_MS, batch),
        "idempotency_key": _count(await conn.execute(PRUNE_KEYS, keys_before_ms, batch)),
        "outbox": _count(await conn.execute(sql.PRUNE_OUTBOX, outbox_before_ms, batch)),
        "rate_limit": _count(await conn.execute(PRUNE_BUCKETS, now_ms, batch)),
    }


async def _prune_feed(conn: Session, older_than_ms: int, batch: int) -> int:
    """Up to a number per user, which their head remembers: a cursor below it gets a reset."""
    old = await conn.fetch(sql.OLD_FEED, older_than_ms, batch)
    users, numbers = [row["user_id"] for row in old], [row["n"] for row in old]
    await conn.execute(sql.LOCK_HEADS, users)
    await conn.execute(sql.MARK_PRUNED, users, numbers)
    return _count(await conn.execute(sql.PRUNE_FEED, users, numbers))


def _count(status: str) -> int:
    """The number in PostgreSQL's word on what a statement did, such as `DELETE 3`."""
    return int(status.rpartition(" ")[2])
