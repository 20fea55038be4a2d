"""Upkeep on PostgreSQL, put together from the files beside this one."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from asyncpg import Pool

from greenroom.conversations.postgres.thread_updates import PostgresThreadUpdates
from greenroom.conversations.postgres.transactions import Transactions, Wake
from greenroom.conversations.postgres.upkeep.check import Check
from greenroom.conversations.postgres.upkeep.erase import Erasure
from greenroom.conversations.postgres.upkeep.export import Export
from greenroom.conversations.postgres.upkeep.retention import Retention
from greenroom.conversations.postgres.upkeep.standing import StandingCheck, StandingsOf
from greenroom.conversations.upkeep import Erased, Fault, Progress
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure

# The hold waits for a change of the thread that is under way; every later change sees it.
HOLD = """
update thread set legal_hold_at = coalesce(legal_hold_at, $2), legal_hold_reason = $3
where thread_id = $1 returning 1
"""
RELEASE = """
update thread set legal_hold_at = null, legal_hold_reason = null
where thread_id = $1 returning 1
"""
HELD = """
select thread_id from thread where thread_id = any ($1::text[]) and legal_hold_at is not null
"""


class PostgresUpkeep:
    """Its promises are those of `ConversationUpkeep`."""

    def __init__(
        self,
        pool: Pool,
        standings_of: StandingsOf,
        thread_updates: PostgresThreadUpdates,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        wake: Wake,
    ) -> None:
        self._pool = pool
        self._clock = clock
        transactions = Transactions(pool, clock=clock, randomness=randomness, wake=wake)
        self._check = Check(transactions, StandingCheck(standings_of, thread_updates))
        self._export = Export(pool)
        self._erasure = Erasure(transactions)
        self._retention = Retention(transactions, limits=limits)

    def check(self, *, repair: bool, progress: Progress) -> AsyncGenerator[Fault, None]:
        return self._check.run(repair=repair, progress=progress)

    def export(self, user_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        return self._export.run(user_id)

    async def check_may_erase(self, user_id: str) -> None:
        await self._erasure.check_allowed(user_id)

    def erase(self, user_id: str) -> AsyncGenerator[Erased, None]:
        return self._erasure.run(user_id)

    @unavailable_on_failure()
    async def hold(self, thread_id: str, reason: str) -> None:
        if await self._pool.fetchval(HOLD, thread_id, self._clock(), reason) is None:
            raise ThreadNotFound

    @unavailable_on_failure()
    async def release(self, thread_id: str) -> None:
        if await self._pool.fetchval(RELEASE, thread_id) is None:
            raise ThreadNotFound

    @unavailable_on_failure()
    async def held(self, thread_ids: Sequence[str]) -> frozenset[str]:
        rows = await self._pool.fetch(HELD, thread_ids)
        return frozenset(row["thread_id"] for row in rows)

    async def prune_messages(self) -> dict[str, int]:
        return {"message": await self._retention.prune()}
