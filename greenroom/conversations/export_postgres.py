"""Everything about one person, read in one snapshot and handed on piece by piece."""

from collections.abc import AsyncIterator
from typing import Any

from asyncpg import Pool, Record

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.check_postgres import PATIENCE
from greenroom.conversations.exports import (
    block_of,
    earlier_version,
    message_for,
    own_part,
    seen_part,
)
from greenroom.conversations.model import ReadMark
from greenroom.conversations.rows_postgres import message_from, thread_from
from greenroom.platform.postgres import Session, unavailable_on_failure

ROWS_AT_ONCE = 500

# Threads that the person knows of: those they see, and those they have left. One that was hidden
# from them by a block does not exist for them.
OWN_THREADS = """
select p.thread_id, p.role, p.status, p.joined_at, p.last_read_id, p.last_read_ts,
    i.user_id is not null as is_seen
from thread_participant p
left join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.user_id = $1 and (i.user_id is not null or p.status <> 'active')
order by p.thread_id
"""

# What they wrote, wherever, and what they may see now.
OWN_AND_SEEN_MESSAGES = """
select m.thread_id, m.message_id, m.seq, m.sender_user, m.kind, m.body_text, m.body_html, m.system,
    m.reply_to, m.client_id, m.created_at, m.edited_at, m.deleted_at, m.card_payload
from thread_participant p
left join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
join message m on m.thread_id = p.thread_id
where p.user_id = $1 and (
    (m.sender_user = $1 and m.kind <> 'system')
    or (i.user_id is not null and m.message_id > p.visible_after_id
        and (m.visible_to is null or $1 = any (m.visible_to))))
order by m.thread_id, m.message_id
"""

# What their messages said before they edited or deleted them.
EARLIER_VERSIONS = """
select a.thread_id, a.message_id, a.at, a.act, a.body_text
from thread_participant p
join message_audit a on a.thread_id = p.thread_id
join message m on m.thread_id = a.thread_id and m.message_id = a.message_id
where p.user_id = $1 and m.sender_user = $1
order by a.thread_id, a.message_id, a.at
"""

OWN_BLOCKS = """
select blocked_user, created_at from user_block where blocker_user = $1 order by blocked_user
"""


class Export:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def run(self, user_id: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        async with (
            unavailable_on_failure(),
            self._pool.acquire() as conn,
            conn.transaction(isolation="repeatable_read", readonly=True),
        ):
            await conn.execute(PATIENCE)
            async for row in conn.cursor(OWN_THREADS, user_id, prefetch=ROWS_AT_ONCE):
                yield "threads", await _thread(conn, user_id, row)
            async for row in conn.cursor(OWN_AND_SEEN_MESSAGES, user_id, prefetch=ROWS_AT_ONCE):
                yield "messages", message_for(user_id, message_from(row))
            async for row in conn.cursor(EARLIER_VERSIONS, user_id, prefetch=ROWS_AT_ONCE):
                yield "earlier_versions", earlier_version(*row.values())
            async for row in conn.cursor(OWN_BLOCKS, user_id, prefetch=ROWS_AT_ONCE):
                yield "blocks", block_of(*row.values())


async def _thread(conn: Session, user_id: str, row: Record) -> dict[str, Any]:
    read_id, read_ms = row["last_read_id"], row["last_read_ts"]
    last_read = ReadMark(read_id, read_ms) if read_id and read_ms is not None else None
    own = own_part(row["thread_id"], row["role"], row["status"], row["joined_at"], last_read)
    if not row["is_seen"]:
        return own
    [seen] = await conn.fetch(sql.THREADS, user_id, [row["thread_id"]])
    return {**own, **seen_part(thread_from(seen))}
