"""Upkeep on PostgreSQL: one object in front of what each file beside it does."""

from collections.abc import AsyncIterator
from typing import Any

from asyncpg import Pool

from greenroom.conversations.check_postgres import Check
from greenroom.conversations.erase_postgres import Erasure
from greenroom.conversations.export_postgres import Export
from greenroom.conversations.feeds_postgres import Wake
from greenroom.conversations.retention_postgres import Retention
from greenroom.conversations.upkeep import Erased, Fault, Progress
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres import unavailable_on_failure

# A hold waits for the change that is under way in the thread, and every later one sees it.
HOLD = """
update thread set legal_hold_at = coalesce(legal_hold_at, $2), legal_hold_reason = $3
where thread_id = $1 returning 1
"""
RELEASE = """
update thread set legal_hold_at = null, legal_hold_reason = null
where thread_id = $1 returning 1
"""


class PostgresUpkeep:
    """Its promises are those of `ConversationUpkeep`."""

    def __init__(
        self, pool: Pool, *, clock: Clock, randomness: Randomness, limits: Limits, wake: Wake
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._check = Check(pool, clock=clock, randomness=randomness, wake=wake)
        self._export = Export(pool)
        self._erasure = Erasure(pool, clock=clock, randomness=randomness, wake=wake)
        self._retention = Retention(
            pool, clock=clock, randomness=randomness, limits=limits, wake=wake
        )

    def check(self, *, repair: bool, progress: Progress) -> AsyncIterator[Fault]:
        return self._check.run(repair=repair, progress=progress)

    def export(self, user_id: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        return self._export.run(user_id)

    async def check_may_erase(self, user_id: str) -> None:
        await self._erasure.check_allowed(user_id)

    def erase(self, user_id: str) -> AsyncIterator[Erased]:
        return self._erasure.run(user_id)

    @unavailable_on_failure()
    async def hold(self, thread_id: str, reason: str) -> None:
        if await self._pool.fetchval(HOLD, thread_id, self._clock(), reason) is None:
            raise ThreadNotFound

    @unavailable_on_failure()
    async def release(self, thread_id: str) -> None:
        if await self._pool.fetchval(RELEASE, thread_id) is None:
            raise ThreadNotFound

    async def prune_messages(self) -> dict[str, int]:
        return {"message": await self._retention.prune()}
