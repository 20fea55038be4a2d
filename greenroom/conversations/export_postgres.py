"""Everything about one person, read in one snapshot and handed on piece by piece."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from asyncpg import Pool, Record

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.check_postgres import PATIENCE
from greenroom.conversations.model import ReadMark, Thread
from greenroom.conversations.rows_postgres import thread_from
from greenroom.kernel.clock import rfc3339
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

# What they wrote, wherever, and what they may see now. To whom else a message is visible is not
# told: that would tell of a block.
OWN_AND_SEEN_MESSAGES = """
select m.thread_id, m.message_id, m.seq, m.sender_user, m.kind, m.body_text, m.system, m.reply_to,
    case when m.sender_user = $1 then m.client_id end as client_id, m.created_at, m.edited_at,
    m.deleted_at
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
                yield "messages", _message(row)
            async for row in conn.cursor(EARLIER_VERSIONS, user_id, prefetch=ROWS_AT_ONCE):
                yield "earlier_versions", _earlier(row)
            async for row in conn.cursor(OWN_BLOCKS, user_id, prefetch=ROWS_AT_ONCE):
                at = rfc3339(row["created_at"])
                yield "blocks", {"user_id": row["blocked_user"], "created_at": at}


async def _thread(conn: Session, user_id: str, row: Record) -> dict[str, Any]:
    own = {
        "id": row["thread_id"],
        "role": row["role"],
        "status": row["status"],
        "joined_at": rfc3339(row["joined_at"]),
        "last_read": _read(row["last_read_id"], row["last_read_ts"]),
    }
    if not row["is_seen"]:
        return own
    [seen] = await conn.fetch(sql.THREADS, user_id, [row["thread_id"]])
    return {**own, **_seen(thread_from(seen))}


def _seen(thread: Thread) -> dict[str, Any]:
    """The rest of a thread, as its viewer sees it."""
    inbox = thread.inbox
    return {
        "kind": thread.kind,
        "subject": thread.subject,
        "role_context": thread.role_context,
        "job_id": thread.job_id,
        "group_id": thread.group_id,
        "leg_id": thread.leg_id,
        "city": thread.city,
        "opened_by": thread.opened_by,
        "created_at": rfc3339(thread.created_at_ms),
        "participants": [
            {
                "user_id": person.user_id,
                "display_name": person.display_name,
                "role": person.role,
                "status": person.status,
                "joined_at": rfc3339(person.joined_at_ms),
                "last_read": _mark(person.last_read),
            }
            for person in thread.participants
        ],
        "inbox": None
        if inbox is None
        else {
            "placement": inbox.placement,
            "unread_count": inbox.unread_count,
            "pinned": inbox.pinned,
            "starred": inbox.starred,
            "muted_until": _time(inbox.muted_until_ms),
        },
    }


def _message(row: Record) -> dict[str, Any]:
    return {
        "id": row["message_id"],
        "thread_id": row["thread_id"],
        "seq": row["seq"],
        "author_id": row["sender_user"],
        "kind": row["kind"],
        "body": row["body_text"],
        "system": None if row["system"] is None else msgspec.json.decode(row["system"]),
        "reply_to": row["reply_to"],
        "client_id": row["client_id"],
        "created_at": rfc3339(row["created_at"]),
        "edited_at": _time(row["edited_at"]),
        "deleted_at": _time(row["deleted_at"]),
    }


def _earlier(row: Record) -> dict[str, Any]:
    return {
        "thread_id": row["thread_id"],
        "message_id": row["message_id"],
        "until": rfc3339(row["at"]),
        "act": row["act"],
        "body": row["body_text"],
    }


def _read(message_id: str, at_ms: int | None) -> dict[str, Any] | None:
    return _mark(ReadMark(message_id, at_ms)) if message_id and at_ms is not None else None


def _mark(mark: ReadMark | None) -> dict[str, Any] | None:
    return None if mark is None else {"message_id": mark.message_id, "at": rfc3339(mark.at_ms)}


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
