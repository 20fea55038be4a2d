"""Reading threads and messages: one query each, through what the viewer may see."""

from collections.abc import Sequence

from asyncpg import Pool

from greenroom.conversations.model import Cursor, Message, Thread
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.rows import head_of, message_from, thread_from
from greenroom.conversations.store import FoundMessage, MessagePage
from greenroom.platform.postgres.pool import unavailable_on_failure

AFTER_ALL = "~"
"""Greater than every message id."""


class Reads:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @unavailable_on_failure()
    async def thread(self, viewer: str, thread_id: str) -> tuple[Thread, Cursor] | None:
        row = await self._pool.fetchrow(sql.THREADS, viewer, [thread_id])
        return None if row is None else (thread_from(row), head_of(row))

    @unavailable_on_failure()
    async def messages(
        self, viewer: str, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> MessagePage | None:
        if after is not None:
            query, bound = sql.MESSAGES_AFTER, after
        else:
            query, bound = sql.MESSAGES_BEFORE, before or AFTER_ALL
        rows = await self._pool.fetch(query, viewer, thread_id, bound, limit + 1)
        if not rows:
            return None
        found = [
            message_from(row, file_stamps=row["file_stamps"])
            for row in rows
            if row["message_id"] is not None
        ]
        page = sorted(found[:limit], key=lambda message: message.seq)
        return MessagePage(tuple(page), len(found) > limit, head_of(rows[0]))

    @unavailable_on_failure()
    async def message(self, viewer: str, thread_id: str, message_id: str) -> Message | None:
        row = await self._pool.fetchrow(sql.MESSAGE, viewer, thread_id, message_id)
        return None if row is None else message_from(row)

    @unavailable_on_failure()
    async def find_threads(self, thread_ids: Sequence[str]) -> dict[str, Thread]:
        rows = await self._pool.fetch(sql.FIND_THREADS, thread_ids)
        return {row["thread_id"]: thread_from(row, with_inbox=False) for row in rows}

    @unavailable_on_failure()
    async def find_messages(self, places: Sequence[tuple[str, str]]) -> dict[str, FoundMessage]:
        threads, messages = [place[0] for place in places], [place[1] for place in places]
        rows = await self._pool.fetch(sql.FIND_MESSAGES, threads, messages)
        return {
            row["message_id"]: FoundMessage(message_from(row), row["card_id"], row["is_partial"])
            for row in rows
        }

    @unavailable_on_failure()
    async def ping(self) -> None:
        await self._pool.fetchval("select 1")
