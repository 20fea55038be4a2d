"""Statements that several parts of the PostgreSQL conversation store use; others are in their part.

`$1` is the viewer wherever there is one: the statement that reads also decides what they may see.
Somebody sees a thread if they have an inbox row of it; without the row it does not exist for them.
"""

MESSAGE_COLUMNS = """
    m.thread_id, m.message_id, m.seq, m.sender_user, m.kind, m.body_text, m.body_html, m.system,
    m.reply_to, m.client_id, m.created_at, m.edited_at, m.deleted_at, m.card_payload, m.job_id,
    m.attachments
"""

_LAST_MESSAGE_COLUMNS = """
    l.thread_id as l_thread_id, l.message_id as l_message_id, l.seq as l_seq,
    l.sender_user as l_sender_user, l.kind as l_kind, l.body_text as l_body_text,
    l.body_html as l_body_html, l.system as l_system, l.reply_to as l_reply_to,
    l.client_id as l_client_id, l.created_at as l_created_at, l.edited_at as l_edited_at,
    l.deleted_at as l_deleted_at, null::jsonb as l_card_payload, l.card_type as l_card_type,
    l.job_id as l_job_id, l.attachments as l_attachments
"""

_INBOX_COLUMNS = f"""
    i.thread_id as i_thread_id, i.user_id as i_user_id, t.kind as thread_kind, i.folder,
    i.unread_count, i.pinned, i.starred, i.awaits_reply, i.needs_action, i.last_msg_ts,
    i.file_messages, t.stage as thread_stage, t.open_cards as thread_open_cards,
    me.muted_until, me.last_read_id, me.last_read_ts, me.visible_after_id, {_LAST_MESSAGE_COLUMNS}
"""

_INBOX_JOINS = """
    left join thread_participant me on me.thread_id = i.thread_id and me.user_id = i.user_id
    left join message l on l.thread_id = i.thread_id and l.message_id = i.last_message_id
"""

_HEAD_COLUMNS = """
    (select epoch from feed_epoch) as epoch,
    coalesce((select last_n from feed_head where user_id = $1), 0) as last_n
"""

_THREAD_COLUMNS = """
    t.thread_id, t.kind, t.locked, t.subject, t.role_context, t.job_id, t.group_id, t.leg_id,
    t.city, t.safe_mode_required, t.request_state, t.opened_by_user, t.created_at, t.updated_at,
    t.stage, t.open_cards, t.earlier_bookings,
    (select json_agg(json_build_array(
            p.user_id, coalesce(u.display_name, ''), u.avatar_url, p.role, p.status,
            (extract(epoch from p.joined_at) * 1000)::bigint, p.shown_read_id,
            (extract(epoch from p.shown_read_ts) * 1000)::bigint, p.last_delivered_id,
            (extract(epoch from p.last_delivered_ts) * 1000)::bigint)
            order by p.joined_at, p.user_id)
        from thread_participant p left join app_user u on u.user_id = p.user_id
        where p.thread_id = t.thread_id) as participants
"""

# One thread, or several, as a viewer sees them.
THREADS = f"""
select {_HEAD_COLUMNS}, {_THREAD_COLUMNS}, {_INBOX_COLUMNS}
from inbox_index i
join thread t on t.thread_id = i.thread_id
{_INBOX_JOINS}
where i.user_id = $1 and i.thread_id = any ($2::text[])
"""

# A thread as the marketplace's backend sees it: no viewer, no inbox row.
BACKEND_COLUMNS = f"""
    {_THREAD_COLUMNS},
    (select k.external_key from thread_key k where k.thread_id = t.thread_id) as external_key
"""
THREAD_FOR_BACKEND = f"""
select {BACKEND_COLUMNS} from thread t where t.thread_id = $1
"""

# For the server itself: no viewer.
FIND_THREADS = f"""
select {BACKEND_COLUMNS} from thread t where t.thread_id = any ($1::text[])
"""
FIND_MESSAGES = f"""
select {MESSAGE_COLUMNS}, m.card_id, m.visible_to is not null as is_partial
from unnest($1::text[], $2::text[]) as a (thread_id, message_id)
join message m on m.thread_id = a.thread_id and m.message_id = a.message_id
"""

# Where the feed stands, and the count of each folder.
_INBOX_SUMMARY = f"""
    select {_HEAD_COLUMNS}, {{counts}}
    from inbox_index i where i.user_id = $1 and i.unread_count > 0
"""

# A page of the inbox with the summary on each row: one statement, so that both are of one moment.
# The rows are chosen before anything is joined. An empty page is one row without a thread.
# `inbox.py` fills in counts, conditions and limit.
INBOX = f"""
with summary as materialized ({_INBOX_SUMMARY}),
page as materialized (
    select * from inbox_index i
    where {{conditions}}
    order by i.pinned desc, i.last_msg_ts desc, i.thread_id desc limit {{limit}}
)
select s.*, {_THREAD_COLUMNS}, {_INBOX_COLUMNS}
from summary s
left join (page i
    join thread t on t.thread_id = i.thread_id
    {_INBOX_JOINS}
) on true
order by i.pinned desc, i.last_msg_ts desc, i.thread_id desc
"""

_READER = f"""
with me as materialized (
    select {_HEAD_COLUMNS}, p.visible_after_id
    from inbox_index i
    join thread_participant p on p.thread_id = i.thread_id and p.user_id = i.user_id
    where i.user_id = $1 and i.thread_id = $2
)
"""

_VISIBLE = """
    m.thread_id = $2 and m.message_id > me.visible_after_id
    and (m.visible_to is null or $1 = any (m.visible_to))
"""

# How the files of a message stand, so that a page needs no second statement for files that the
# process has read before. Most messages have none.
_FILE_STAMPS = """
    case when m.attachments is not null
        then array(select s from file_stamps(m.attachments, m.message_id, $1) s) end as file_stamps
"""

# Messages before an id, newest first. One row of nulls when there are none; no row for somebody who
# does not see the thread.
MESSAGES_BEFORE = f"""
{_READER}
select me.epoch, me.last_n, m.*, {_FILE_STAMPS} from me left join lateral (
    select {MESSAGE_COLUMNS} from message m
    where {_VISIBLE} and m.message_id < $3 order by m.message_id desc limit $4
) m on true
"""

# Messages after an id, oldest first.
MESSAGES_AFTER = f"""
{_READER}
select me.epoch, me.last_n, m.*, {_FILE_STAMPS} from me left join lateral (
    select {MESSAGE_COLUMNS} from message m
    where {_VISIBLE} and m.message_id > $3 order by m.message_id limit $4
) m on true
"""

# One message, if this viewer may see it.
MESSAGE = f"""
{_READER}
select {MESSAGE_COLUMNS} from me join message m on {_VISIBLE} and m.message_id = $3
"""

# Feeds after a number: $1 are the viewers, $2 the numbers that they have come to. Each event comes
# with its message and inbox row as the viewer sees them now; what they see no more is null. There
# is at least one row for each viewer, with the head of the feed.
#
# Each row is found by its whole key, step by step (`offset 0` keeps the planner from merging the
# steps): a plan that was made while the tables were small must not become a scan of large ones.
CHANGES = f"""
select a.place, e.epoch, coalesce(h.last_n, 0) as last_n, coalesce(h.pruned_n, 0) as pruned_n,
    coalesce(h.acked_n, 0) as acked_n,
    f.n, f.type, f.thread_id as f_thread_id, f.message_id as f_message_id, f.actor, f.at,
    f.file_id,
    {MESSAGE_COLUMNS}, {_INBOX_COLUMNS}
from unnest($1::text[], $2::bigint[]) with ordinality as a (user_id, n, place)
cross join feed_epoch e
left join lateral (
    select last_n, pruned_n, acked_n from feed_head where user_id = a.user_id offset 0) h on true
left join lateral (
    select * from feed where feed.user_id = a.user_id and feed.n > a.n
    order by feed.n limit $3) f on true
left join lateral (
    select * from inbox_index
    where inbox_index.user_id = a.user_id and inbox_index.thread_id = f.thread_id
    offset 0) i on true
left join lateral (
    select kind, stage, open_cards from thread
    where thread.thread_id = i.thread_id offset 0) t on true
left join lateral (
    select muted_until, last_read_id, last_read_ts, visible_after_id from thread_participant p
    where p.thread_id = i.thread_id and p.user_id = i.user_id offset 0) me on true
left join lateral (
    select * from message
    where message.thread_id = i.thread_id and message.message_id = i.last_message_id
    offset 0) l on true
left join lateral (
    select * from message
    where message.thread_id = i.thread_id and message.message_id = f.message_id
    offset 0) m on m.message_id > me.visible_after_id
        and (m.visible_to is null or i.user_id = any (m.visible_to))
order by a.place, f.n
"""

# Threads of several viewers: $1 the viewers, $2 a thread for each.
THREADS_OF_MANY = f"""
select {_THREAD_COLUMNS}, {_INBOX_COLUMNS}
from unnest($1::text[], $2::text[]) as a (user_id, thread_id)
join inbox_index i on i.user_id = a.user_id and i.thread_id = a.thread_id
join thread t on t.thread_id = i.thread_id
{_INBOX_JOINS}
"""

# Locks, always in this order: the thread, then the feed heads of the people concerned.
LOCK_THREAD = """
select kind, locked, group_id, leg_id, stage from thread where thread_id = $1 for no key update
"""
LOCK_HEADS_OF_THREAD = """
select 1 from feed_head where user_id in (
    select user_id from thread_participant where thread_id = $1 and status = 'active')
order by user_id for no key update
"""
LOCK_HEADS = """
select 1 from feed_head where user_id = any ($1::text[]) order by user_id for no key update
"""
ADD_HEADS = """
insert into feed_head (user_id) select unnest($1::text[]) as u order by u on conflict do nothing
"""

# A participant who sees the thread.
MEMBER = """
select p.role, p.last_read_id, p.blocked_until from thread_participant p
join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.user_id = $1 and p.thread_id = $2 and p.status = 'active'
"""

# Who is in the thread, whether they see it, and whether there is a block between them and $2.
ACTIVE_PARTICIPANTS = """
select p.user_id, i.user_id is not null as sees_thread,
    exists (select 1 from user_block b where (b.blocker_user, b.blocked_user) in
        ((p.user_id, $2), ($2, p.user_id))) as is_blocked
from thread_participant p
left join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.thread_id = $1 and p.status = 'active' order by p.user_id
"""

# Who sees a message now, and so is told of its edit or deletion.
VIEWERS_OF_MESSAGE = """
select p.user_id from message m
join thread_participant p on p.thread_id = m.thread_id and p.status = 'active'
    and m.message_id > p.visible_after_id
join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where m.thread_id = $1 and m.message_id = $2
    and (m.visible_to is null or p.user_id = any (m.visible_to))
"""

# One event for each of several people, whose heads are locked already.
FEED = """
with moved as (
    update feed_head set last_n = last_n + 1 where user_id = any ($1::text[])
    returning user_id, last_n
)
insert into feed (user_id, n, type, thread_id, message_id, actor, at, file_id)
select user_id, last_n, $2, $3, $4, $5, $6, $7 from moved
"""

OUTBOX = """
insert into outbox (event, occurred_at, actor, thread_id, message_id, data)
values ($1, $2, $3, $4, $5, $6)
"""

ADD_INBOX_ROW = """
insert into inbox_index (user_id, thread_id, kind, last_msg_ts)
select $1, thread_id, kind, $3 from thread where thread_id = $2
on conflict do nothing
"""
REMOVE_INBOX_ROW = "delete from inbox_index where user_id = $1 and thread_id = $2 returning 1"

TOUCH_THREAD = "update thread set updated_at = $2 where thread_id = $1"

# The message that this author sent under a client_id.
REPEAT_OF = """
select thread_id, message_id, send_hash from message where sender_user = $1 and client_id = $2
"""

# Whom of these people $1 has blocked.
HAS_BLOCKED = """
select blocked_user from user_block where blocker_user = $1 and blocked_user = any ($2::text[])
"""
# Those of these people with a block between them and $1.
BLOCKED_EITHER_WAY = """
select case when blocker_user = $1 then blocked_user else blocker_user end as user_id
from user_block
where (blocker_user = $1 and blocked_user = any ($2::text[]))
   or (blocked_user = $1 and blocker_user = any ($2::text[]))
"""
