"""The first answer to each Idempotency-Key, stored in the transaction of the change itself."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from asyncpg import Pool, Record

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import IdempotencyMismatch, Unavailable
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import Session, unavailable_on_failure

T = TypeVar("T")

CLAIM_KEY = """
insert into idempotency_key (caller, route, key, fingerprint, created_at)
values ($1, $2, $3, $4, $5) on conflict do nothing returning 1
"""
KEPT_ANSWER = """
select fingerprint, status, body from idempotency_key
where caller = $1 and route = $2 and key = $3
"""
KEEP_ANSWER = """
update idempotency_key set status = $4, body = $5
where caller = $1 and route = $2 and key = $3
"""
PRUNE_KEYS = """
delete from idempotency_key where (caller, route, key) in (
    select caller, route, key from idempotency_key where created_at < $1 limit $2)
"""


async def claim(conn: Session, once: Once, now_ms: int) -> Kept | None:
    """Take the key, and wait for a transaction that holds it; or return what was answered under
    it."""
    claimed = await conn.fetchval(CLAIM_KEY, *_scope(once), once.fingerprint, now_ms)
    if claimed:
        return None
    kept = await recall(conn, once)
    if kept is None:
        raise Unavailable("The key's first request has just been forgotten.")
    return kept


async def keep(conn: Session, once: Once, answer: Kept) -> None:
    """Store the answer under a key that this transaction has claimed."""
    await conn.execute(KEEP_ANSWER, *_scope(once), answer.status, answer.body)


async def recall(conn: Pool | Session, once: Once) -> Kept | None:
    """What was answered under this key, if anything. Raises IdempotencyMismatch."""
    row: Record | None = await conn.fetchrow(KEPT_ANSWER, *_scope(once))
    if row is None:
        return None
    if row["fingerprint"] != once.fingerprint:
        raise IdempotencyMismatch
    return Kept(row["status"], row["body"])


def _scope(once: Once) -> tuple[str, str, str]:
    return once.caller, once.route, once.key


class KeyedTransactions:
    """Changes that are one transaction each, together with the answer that is kept."""

    def __init__(self, pool: Pool, *, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock

    @unavailable_on_failure()
    async def run(self, work: Callable[[Session], Awaitable[T]], once: Once | None) -> T | Kept:
        async with self._pool.acquire() as conn, conn.transaction():
            kept = None if once is None else await claim(conn, once, self._clock())
            if kept is not None:
                return kept
            outcome = await work(conn)
            if once is not None:
                await keep(conn, once, once.answer(outcome))
            return outcome

    @unavailable_on_failure()
    async def recall(self, once: Once) -> Kept | None:
        return await recall(self._pool, once)

    @unavailable_on_failure()
    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        async with self._pool.acquire() as conn, conn.transaction():
            kept = await claim(conn, once, self._clock())
            if kept is None:
                await keep(conn, once, refusal)
            return kept or refusal
