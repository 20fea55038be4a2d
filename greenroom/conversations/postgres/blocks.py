"""Blocks between people."""

from asyncpg import Pool

from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.store import Block, BlockKey
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import unavailable_on_failure

BLOCK = """
insert into user_block (blocker_user, blocked_user, created_at) values ($1, $2, $3)
on conflict do nothing
"""
UNBLOCK = "delete from user_block where blocker_user = $1 and blocked_user = $2"
# Whom someone has blocked, the newest first, after a place in that list.
BLOCKS = """
select b.blocked_user, coalesce(u.display_name, ''), u.avatar_url, b.created_at from user_block b
left join app_user u on u.user_id = b.blocked_user
where b.blocker_user = $1
    and ($2::timestamptz is null or (b.created_at, b.blocked_user) < ($2, $3))
order by b.created_at desc, b.blocked_user desc limit $4
"""


class Blocks:
    """A block locks the feed heads of both people: sends and changes that concern them wait."""

    def __init__(self, pool: Pool, transactions: Transactions) -> None:
        self._pool = pool
        self._transactions = transactions

    async def block(self, blocker: str, blocked: str, once: Once | None = None) -> Kept | None:
        async def work(change: Change) -> None:
            await change.add_heads([blocker, blocked])
            await change.lock_heads([blocker, blocked])
            await change.conn.execute(BLOCK, blocker, blocked, change.clock())

        return await self._transactions.run_once(work, once)

    async def unblock(self, blocker: str, blocked: str) -> None:
        async def work(change: Change) -> None:
            await change.lock_heads([blocker, blocked])
            await change.conn.execute(UNBLOCK, blocker, blocked)

        await self._transactions.run(work)

    @unavailable_on_failure()
    async def blocks(
        self, blocker: str, *, after: BlockKey | None, limit: int
    ) -> tuple[Block, ...]:
        place = (None, None) if after is None else (after.at_ms, after.user_id)
        rows = await self._pool.fetch(BLOCKS, blocker, *place, limit)
        return tuple(Block(*row.values()) for row in rows)
