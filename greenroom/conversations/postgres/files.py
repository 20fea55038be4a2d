"""What threads tell of files: events when one has changed, and which threads need Safe-Mode."""

from collections.abc import Sequence
from contextlib import suppress

from asyncpg import Pool

from greenroom.conversations.model import EventType
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.postgres.pool import unavailable_on_failure

SAFE_MODE_REQUIRED = """
select thread_id from thread where thread_id = any ($1::text[]) and safe_mode_required
"""


class FileChanges:
    def __init__(self, pool: Pool, transactions: Transactions) -> None:
        self._pool = pool
        self._transactions = transactions

    async def tell_file_changed(
        self, thread_id: str | None, file_id: str, owner: str, message_id: str | None
    ) -> None:
        async def tell_owner(change: Change) -> None:
            await change.add_heads([owner])
            await change.lock_heads([owner])
            event = EventType.FILE_CHANGED
            await change.tell([owner], event, thread_id, actor=owner, file_id=file_id)

        async def tell_viewers(change: Change) -> None:
            await change.lock(str(thread_id), by=None)
            rows = await change.conn.fetch(sql.VIEWERS_OF_MESSAGE, thread_id, message_id)
            await change.tell(
                [row["user_id"] for row in rows],
                EventType.FILE_CHANGED,
                thread_id,
                message_id,
                actor=owner,
                file_id=file_id,
            )

        is_shown = thread_id is not None and message_id is not None
        with suppress(ThreadNotFound):
            await self._transactions.run(tell_viewers if is_shown else tell_owner)

    @unavailable_on_failure()
    async def safe_mode_required(self, thread_ids: Sequence[str]) -> frozenset[str]:
        rows = await self._pool.fetch(SAFE_MODE_REQUIRED, thread_ids)
        return frozenset(row["thread_id"] for row in rows)
