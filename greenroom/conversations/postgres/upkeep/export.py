"""Exporting everything about one person: one snapshot, yielded item by item."""

from collections.abc import AsyncGenerator
from typing import Any

from asyncpg import Pool, Record

from greenroom.conversations.exports import (
    block_of,
    earlier_version,
    message_for,
    own_part,
    seen_part,
)
from greenroom.conversations.model import ReadMark
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.rows import attachments_from, message_from, thread_from
from greenroom.conversations.postgres.upkeep.check import PATIENCE
from greenroom.platform.postgres.pool import Session, snapshot

ROWS_AT_ONCE = 500

# The threads that the person sees, and those they have left. A thread that a block hides from them
# is not among them.
OWN_THREADS = """
select p.thread_id, p.role, p.status, p.joined_at, p.last_read_id, p.last_read_ts,
    i.user_id is not null as is_seen
from thread_participant p
left join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.user_id = $1 and (i.user_id is not null or p.status <> 'active')
order by p.thread_id
"""

# All messages that they wrote, and those that they may see now.
OWN_AND_SEEN_MESSAGES = """
select m.thread_id, m.message_id, m.seq, m.sender_user, m.kind, m.body_text, m.body_html, m.system,
    m.reply_to, m.client_id, m.created_at, m.edited_at, m.deleted_at, m.card_payload,
    m.job_id, m.attachments
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
select a.thread_id, a.message_id, a.at, a.act, a.body_text, a.attachments
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

    async def run(self, user_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        async with snapshot(self._pool) as conn:
            await conn.execute(PATIENCE)
            async for row in conn.cursor(OWN_THREADS, user_id, prefetch=ROWS_AT_ONCE):
                yield "threads", await _thread(conn, user_id, row)
            async for row in conn.cursor(OWN_AND_SEEN_MESSAGES, user_id, prefetch=ROWS_AT_ONCE):
                yield "messages", message_for(user_id, message_from(row))
            async for row in conn.cursor(EARLIER_VERSIONS, user_id, prefetch=ROWS_AT_ONCE):
                yield "earlier_versions", _earlier(row)
            async for row in conn.cursor(OWN_BLOCKS, user_id, prefetch=ROWS_AT_ONCE):
                yield "blocks", block_of(*row.values())


def _earlier(row: Record) -> dict[str, Any]:
    said = (row["thread_id"], row["message_id"], row["at"], row["act"], row["body_text"])
    return earlier_version(*said, attachments_from(row["attachments"]))


async def _thread(conn: Session, user_id: str, row: Record) -> dict[str, Any]:
    read_id, read_ms = row["last_read_id"], row["last_read_ts"]
    last_read = ReadMark(read_id, read_ms) if read_id and read_ms is not None else None
    own = own_part(row["thread_id"], row["role"], row["status"], row["joined_at"], last_read)
    if not row["is_seen"]:
        return own
    [seen] = await conn.fetch(sql.THREADS, user_id, [row["thread_id"]])
    return {**own, **seen_part(thread_from(seen))}
