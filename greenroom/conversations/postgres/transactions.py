"""Runs changes: each is one transaction, and after its commit the people concerned are woken."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from asyncpg import Pool

from greenroom.conversations.postgres.changes import Change
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.kept_answers import claim, keep, recall
from greenroom.platform.postgres.pool import unavailable_on_failure

T = TypeVar("T")

Wake = Callable[[Iterable[str]], None]
"""Told whose feeds have grown, after the commit."""

Work = Callable[[Change], Awaitable[T]]


class Transactions:
    def __init__(self, pool: Pool, *, clock: Clock, randomness: Randomness, wake: Wake) -> None:
        self.pool = pool
        self.clock = clock
        self._randomness = randomness
        self._wake = wake

    @unavailable_on_failure()
    async def run(self, work: Work[T]) -> T:
        """Do the work in one transaction, then wake everyone whose feed has grown."""
        async with self.pool.acquire() as conn, conn.transaction():
            change = Change(conn, self.clock, self._randomness)
            outcome = await work(change)
        self._wake(change.told)
        return outcome

    async def run_once(self, work: Work[T], once: Once | None) -> T | Kept:
        """As `run`; with a `Once`, its kept answer is part of the transaction."""
        if once is None:
            return await self.run(work)

        async def work_and_keep(change: Change) -> T | Kept:
            kept = await claim(change.conn, once, self.clock())
            if kept is not None:
                return kept
            outcome = await work(change)
            await keep(change.conn, once, once.answer(outcome))
            return outcome

        return await self.run(work_and_keep)

    @unavailable_on_failure()
    async def recall(self, once: Once) -> Kept | None:
        return await recall(self.pool, once)

    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        async def work(change: Change) -> Kept:
            kept = await claim(change.conn, once, self.clock())
            if kept is not None:
                return kept
            await keep(change.conn, once, refusal)
            return refusal

        return await self.run(work)
