"""Counting inbox rows anew from the messages. Checks run in a snapshot, corrections under locks."""

from collections.abc import Sequence

from greenroom.platform.postgres.pool import Session

# The inbox rows of these threads' active participants as they must be. Somebody who sees no message
# has no last message, and keeps their time of last activity.
_RIGHT_ROWS = """
select i.user_id, i.thread_id, t.kind, coalesce(l.message_id, '') as last_message_id,
    coalesce(l.created_at, i.last_msg_ts) as last_msg_ts,
    coalesce(l.kind <> 'system' and l.sender_user is distinct from i.user_id, false)
        as awaits_reply,
    (select count(*) from message m
        where m.thread_id = p.thread_id
            and m.message_id > greatest(p.last_read_id, p.visible_after_id)
            and m.sender_user is distinct from p.user_id and m.deleted_at is null
            and (m.visible_to is null or p.user_id = any (m.visible_to)))::int as unread_count,
    (select count(*) from message m
        where m.thread_id = p.thread_id and m.message_id > p.visible_after_id
            and m.attachments is not null and m.deleted_at is null
            and (m.visible_to is null or p.user_id = any (m.visible_to)))::int as file_messages
from thread_participant p
join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
join thread t on t.thread_id = p.thread_id
left join lateral (
    select m.message_id, m.created_at, m.kind, m.sender_user from message m
    where m.thread_id = p.thread_id and m.message_id > p.visible_after_id
        and (m.visible_to is null or p.user_id = any (m.visible_to))
    order by m.message_id desc limit 1) l on true
where p.thread_id = any ($1::text[]) and p.status = 'active'
"""

# Inbox rows that differ from the messages.
ROW_FAULTS = (
    """
with right_rows as materialized ("""
    + _RIGHT_ROWS
    + """)
select f.kind, r.thread_id, r.user_id, f.found, f.should
from right_rows r
join inbox_index i on i.user_id = r.user_id and i.thread_id = r.thread_id
cross join lateral (values
    ('unread_count', i.unread_count::text, r.unread_count::text),
    ('last_message', i.last_message_id, r.last_message_id),
    ('last_activity', i.last_msg_ts::text, r.last_msg_ts::text),
    ('file_messages', i.file_messages::text, r.file_messages::text),
    ('awaits_reply', i.awaits_reply::text, r.awaits_reply::text),
    ('thread_kind', i.kind, r.kind)) as f (kind, found, should)
where f.found <> f.should
order by r.thread_id, r.user_id, f.kind limit $2
"""
)

# Sets them right and returns whose rows changed. Their feed heads are locked already.
_MEND_ROWS = (
    """
update inbox_index i set unread_count = r.unread_count, last_message_id = r.last_message_id,
    last_msg_ts = r.last_msg_ts, awaits_reply = r.awaits_reply, kind = r.kind,
    file_messages = r.file_messages
from ("""
    + _RIGHT_ROWS
    + """) r
where i.user_id = r.user_id and i.thread_id = r.thread_id
    and (i.unread_count, i.last_message_id, i.last_msg_ts, i.awaits_reply, i.kind,
            i.file_messages)
        is distinct from
        (r.unread_count, r.last_message_id, r.last_msg_ts, r.awaits_reply, r.kind, r.file_messages)
returning i.user_id
"""
)


async def mend_rows(conn: Session, thread_id: str) -> Sequence[str]:
    """Count this thread's inbox rows anew; returns whose row has changed, sorted."""
    rows = await conn.fetch(_MEND_ROWS, [thread_id])
    return sorted(row["user_id"] for row in rows)
