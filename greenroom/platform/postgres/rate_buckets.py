"""Rate limits that all servers share."""

from datetime import timedelta

from greenroom.kernel.errors import RateLimited
from greenroom.platform.postgres.pool import Session

# GCRA: takes one from the bucket and returns its state, or no row when the bucket is empty. A state
# far ahead was written by a clock that has been set back since, and does not count.
TAKE_FROM_BUCKET = """
insert into rate_limit as r (bucket, tat) values ($1, $2::timestamptz + $3::interval)
on conflict (bucket) do update set
    tat = $3 + case when r.tat > $2 + 2 * $4::interval then $2 else greatest(r.tat, $2) end
    where r.tat > $2 + 2 * $4::interval or greatest(r.tat, $2) + $3 <= $2 + $4::interval
returning tat
"""
BUCKET = "select tat from rate_limit where bucket = $1"
PRUNE_BUCKETS = """
delete from rate_limit where bucket in (select bucket from rate_limit where tat < $1 limit $2)
"""


async def take_from(
    conn: Session, bucket: str, now_ms: int, *, count: int, window: timedelta, detail: str
) -> None:
    """Take one of `count` per `window`. Raises RateLimited with `detail` and how long to wait."""
    step = window / count
    if await conn.fetchval(TAKE_FROM_BUCKET, bucket, now_ms, step, window) is not None:
        return
    full_until_ms = await conn.fetchval(BUCKET, bucket)
    wait_ms = full_until_ms + (step - window) / timedelta(milliseconds=1) - now_ms
    raise RateLimited(detail, retry_after_s=wait_ms / 1000)
