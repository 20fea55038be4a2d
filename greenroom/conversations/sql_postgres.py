"""Every statement of the PostgreSQL conversation store, named and described.

`$1` is the viewer wherever there is one: what they may see is decided in the same query that looks.
A viewer's inbox row is their key to a thread; without it the thread does not exist for them.
"""

MESSAGE_COLUMNS = """
    m.thread_id, m.message_id, m.seq, m.sender_user, m.kind, m.body_text, m.body_html, m.system,
    m.reply_to, m.client_id, m.created_at, m.edited_at, m.deleted_at, m.card_payload
"""

_LAST_MESSAGE_COLUMNS = """
    l.thread_id as l_thread_id, l.message_id as l_message_id, l.seq as l_seq,
    l.sender_user as l_sender_user, l.kind as l_kind, l.body_text as l_body_text,
    l.body_html as l_body_html, l.system as l_system, l.reply_to as l_reply_to,
    l.client_id as l_client_id, l.created_at as l_created_at, l.edited_at as l_edited_at,
    l.deleted_at as l_deleted_at, null::jsonb as l_card_payload, l.card_type as l_card_type
"""

_INBOX_COLUMNS = f"""
    i.thread_id as i_thread_id, i.user_id as i_user_id, t.kind as thread_kind, i.folder,
    i.unread_count, i.pinned, i.starred, i.awaits_reply, i.needs_action, i.last_msg_ts,
    t.stage as thread_stage, t.open_cards as thread_open_cards,
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
    t.stage, t.open_cards,
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
THREAD_FOR_BACKEND = f"""
select {_THREAD_COLUMNS} from thread t where t.thread_id = $1
"""

# A page of the inbox, found before anything is joined to it. `inbox_postgres.py` says what goes in.
INBOX = f"""
with page as materialized (
    select * from inbox_index i
    where {{conditions}}
    order by i.pinned desc, i.last_msg_ts desc, i.thread_id desc limit {{limit}}
)
select {_THREAD_COLUMNS}, {_INBOX_COLUMNS}
from page i
join thread t on t.thread_id = i.thread_id
{_INBOX_JOINS}
order by i.pinned desc, i.last_msg_ts desc, i.thread_id desc
"""

# Read before the page: where the feed stands and how many threads have something unread.
INBOX_SUMMARY = f"""
select {_HEAD_COLUMNS},
    count(*) filter (where folder = 'inbox') as "all",
    count(*) filter (where folder = 'inbox' and needs_action) as action,
    count(*) filter (where folder = 'inbox' and kind = 'project') as bookings,
    count(*) filter (where folder = 'inbox' and kind in ('inquiry', 'invite')) as offers,
    count(*) filter (where folder = 'requests') as requests,
    count(*) filter (where folder = 'archived') as archived,
    count(*) filter (where folder = 'spam') as spam
from inbox_index where user_id = $1 and unread_count > 0
"""

# What a person does with their own row. Null keeps a value.
SET_INBOX_ROW = """
update inbox_index set
    folder = case when $3 and folder = 'inbox' then 'archived'
        when not $3 and folder = 'archived' then 'inbox' else folder end,
    pinned = coalesce($4, pinned), starred = coalesce($5, starred)
where user_id = $1 and thread_id = $2
"""
SET_MUTED = """
update thread_participant set muted_until = $3 where user_id = $1 and thread_id = $2
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

# Messages before an id, newest first; one row of nulls when there are none; none for outsiders.
MESSAGES_BEFORE = f"""
{_READER}
select me.epoch, me.last_n, m.* from me left join lateral (
    select {MESSAGE_COLUMNS} from message m
    where {_VISIBLE} and m.message_id < $3 order by m.message_id desc limit $4
) m on true
"""

# Messages after an id, oldest first.
MESSAGES_AFTER = f"""
{_READER}
select me.epoch, me.last_n, m.* from me left join lateral (
    select {MESSAGE_COLUMNS} from message m
    where {_VISIBLE} and m.message_id > $3 order by m.message_id limit $4
) m on true
"""

# One message, if this viewer may see it.
MESSAGE = f"""
{_READER}
select {MESSAGE_COLUMNS} from me join message m on {_VISIBLE} and m.message_id = $3
"""

# Feeds after a number: $1 are the viewers, $2 the numbers that they are at. Each event comes with
# the message and inbox row as its viewer sees them now; what a viewer has lost sight of comes back
# empty. Always at least one row for each, for the head.
#
# Each row is found by its whole key, step by step (`offset 0` keeps the planner from merging the
# steps): a plan made while the tables were small must not become a scan when they are not.
CHANGES = f"""
select a.place, e.epoch, coalesce(h.last_n, 0) as last_n, coalesce(h.pruned_n, 0) as pruned_n,
    coalesce(h.acked_n, 0) as acked_n,
    f.n, f.type, f.thread_id as f_thread_id, f.message_id as f_message_id, f.actor, f.at,
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

# Where the feeds of several people stand.
HEADS = """
select h.user_id, h.last_n, (select epoch from feed_epoch) as epoch
from feed_head h where h.user_id = any ($1::text[])
"""

EPOCH = "select epoch from feed_epoch"

# What clients have. See the migration for how it works.
ACKNOWLEDGE = "select * from acknowledge($1, $2, $3, $4, $5)"

# The send, and everything else that is said in a thread. See the migration for how it works.
APPEND = """
select * from append_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16)
"""

# What the contract posts in a thread, and a thread for one who is about to. See the migration.
POST = """
select * from post_to_thread($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
"""
ACCESS = "select * from access_thread($1, $2, $3, $4)"

# Locks, always in this order: one thread, then the heads of the people it concerns.
LOCK_THREAD = """
select kind, locked, group_id, leg_id from thread where thread_id = $1 for no key update
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

# Someone's standing in a thread, if the thread exists for them.
MEMBER = """
select p.role, p.last_read_id, p.blocked_until from thread_participant p
join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.user_id = $1 and p.thread_id = $2 and p.status = 'active'
"""

PARTICIPANT = """
select role, status from thread_participant where thread_id = $1 and user_id = $2
"""

ACTIVE_PARTICIPANTS = """
select p.user_id, i.user_id is not null as sees_thread,
    exists (select 1 from user_block b where (b.blocker_user, b.blocked_user) in
        ((p.user_id, $2), ($2, p.user_id))) as is_blocked
from thread_participant p
left join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.thread_id = $1 and p.status = 'active' order by p.user_id
"""

# Who sees a message now: the people told of its edit or deletion.
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
insert into feed (user_id, n, type, thread_id, message_id, actor, at)
select user_id, last_n, $2, $3, $4, $5, $6 from moved
"""

OUTBOX = """
insert into outbox (event, occurred_at, actor, thread_id, message_id, data)
values ($1, $2, $3, $4, $5, $6)
"""

# Events to hand on. One at a time does it, or two could overtake each other.
TAKE_EVENTS = """
select id, event, occurred_at, actor, thread_id, message_id, data from outbox
where pg_try_advisory_xact_lock(7235923) order by id limit $1
"""
FORGET_EVENTS = "delete from outbox where id = any ($1::bigint[])"

ADD_THREAD = """
insert into thread (thread_id, kind, subject, role_context, job_id, opened_by_user,
                    last_msg_ts, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, '-infinity', $7, $7)
"""
ADD_PARTICIPANTS = """
insert into thread_participant (thread_id, user_id, role, status, joined_at)
select $1, m.user_id, m.role, 'active', $4
from unnest($2::text[], $3::text[]) as m (user_id, role)
"""
ADD_INBOX_ROW = """
insert into inbox_index (user_id, thread_id, kind, last_msg_ts)
select $1, thread_id, kind, $3 from thread where thread_id = $2
on conflict do nothing
"""
REMOVE_INBOX_ROW = "delete from inbox_index where user_id = $1 and thread_id = $2 returning 1"

# Someone comes (back): what was written until now is not theirs to see.
JOIN_THREAD = """
insert into thread_participant as p
    (thread_id, user_id, role, status, joined_at, visible_after_id, last_read_id)
select $1, $2, $3, 'active', $4, last.id, last.id
from (select coalesce(max(message_id), '') as id from message where thread_id = $1) last
on conflict (thread_id, user_id) do update set
    role = excluded.role, status = 'active', joined_at = excluded.joined_at,
    visible_after_id = excluded.visible_after_id, last_read_id = excluded.last_read_id,
    last_read_ts = null, shown_read_id = '', shown_read_ts = null, muted_until = null,
    last_delivered_id = '', last_delivered_ts = null
"""
LEAVE_THREAD = """
update thread_participant set status = 'left' where thread_id = $1 and user_id = $2
"""
TOUCH_THREAD = "update thread set updated_at = $2 where thread_id = $1"
PROMOTE_THREAD = """
with rows as (
    update inbox_index i set kind = 'project' from thread_participant p
    where p.thread_id = $1 and i.user_id = p.user_id and i.thread_id = p.thread_id
)
update thread set kind = 'project', group_id = $2, leg_id = $3, updated_at = $4
where thread_id = $1
"""

# What a client_id of this author led to before.
REPEAT_OF = """
select thread_id, message_id, send_hash from message where sender_user = $1 and client_id = $2
"""

# Whether a block lies between the author and someone who sees the message: null for none, else
# whether it is the author's own.
BLOCK_ACROSS_MESSAGE = """
select bool_or(b.blocker_user = $3) from message m
join thread_participant p on p.thread_id = m.thread_id and p.status = 'active'
    and p.user_id <> $3 and m.message_id > p.visible_after_id
join user_block b
    on (b.blocker_user, b.blocked_user) in ((p.user_id, $3), ($3, p.user_id))
where m.thread_id = $1 and m.message_id = $2
    and (m.visible_to is null or p.user_id = any (m.visible_to))
"""

KEEP_ORIGINAL = """
insert into message_audit (thread_id, message_id, at, actor, act, body_text)
select thread_id, message_id, greatest($3, coalesce((select max(a.at) + interval '1 millisecond'
        from message_audit a where a.thread_id = $1 and a.message_id = $2), $3)),
    $4, $5, body_text
from message where thread_id = $1 and message_id = $2
"""
EDIT_MESSAGE = """
update message set body_text = $3, body_html = $4, edited_at = $5
where thread_id = $1 and message_id = $2
"""
DELETE_MESSAGE = """
update message set body_text = '', body_html = null, deleted_at = $3
where thread_id = $1 and message_id = $2
"""
# A deleted message is no longer unread for those who had not come to it.
UNCOUNT_MESSAGE = """
update inbox_index i set unread_count = i.unread_count - 1
from thread_participant p
where p.thread_id = i.thread_id and p.user_id = i.user_id and i.thread_id = $1
    and i.user_id = any ($2::text[]) and i.user_id <> $3 and p.last_read_id < $4
"""

# The last message up to one that everybody sees, if it is news of this reader.
LAST_SHARED = """
select m.message_id from thread_participant p
join message m on m.thread_id = p.thread_id
    and m.message_id > p.shown_read_id and m.message_id <= $3
where p.thread_id = $1 and p.user_id = $2 and m.visible_to is null
order by m.message_id desc limit 1
"""
MARK_READ = """
update thread_participant set last_read_id = $3, last_read_ts = $4,
    shown_read_id = coalesce($5, shown_read_id),
    shown_read_ts = case when $5::text is null then shown_read_ts else $4 end
where thread_id = $1 and user_id = $2
"""
RECOUNT_UNREAD = """
update inbox_index set unread_count = (
    select count(*) from message m
    where m.thread_id = $2 and m.message_id > $3 and m.sender_user is distinct from $1
        and m.deleted_at is null and (m.visible_to is null or $1 = any (m.visible_to)))
where user_id = $1 and thread_id = $2
"""

BLOCK = """
insert into user_block (blocker_user, blocked_user, created_at) values ($1, $2, $3)
on conflict do nothing
"""
UNBLOCK = "delete from user_block where blocker_user = $1 and blocked_user = $2"
HAS_BLOCKED = """
select blocked_user from user_block where blocker_user = $1 and blocked_user = any ($2::text[])
"""
BLOCKED_EITHER_WAY = """
select case when blocker_user = $1 then blocked_user else blocker_user end as user_id
from user_block
where (blocker_user = $1 and blocked_user = any ($2::text[]))
   or (blocked_user = $1 and blocker_user = any ($2::text[]))
"""

# Pruning. Only one process at a time does it.
PRUNE_LOCK = "select pg_try_advisory_xact_lock(7235921)"
OLD_FEED = """
select user_id, max(n) as n from (
    select user_id, n from feed where at < $1 order by user_id, n limit $2) old
group by user_id order by user_id
"""
PRUNE_FEED = """
delete from feed f using unnest($1::text[], $2::bigint[]) as o (user_id, n)
where f.user_id = o.user_id and f.n <= o.n
"""
MARK_PRUNED = """
update feed_head h set pruned_n = greatest(h.pruned_n, o.n)
from unnest($1::text[], $2::bigint[]) as o (user_id, n) where h.user_id = o.user_id
"""
PRUNE_OUTBOX = """
delete from outbox where id in (
    select id from outbox where occurred_at < $1 order by id limit $2)
"""
PUT_JOB = """
insert into job as j (job_id, participants, created_at, updated_at) values ($1, $2, $3, $3)
on conflict (job_id) do update set participants = excluded.participants,
    updated_at = greatest(j.updated_at, excluded.updated_at)
returning xmax = 0
"""
JOB = "select participants from job where job_id = $1"
JOB_OF_THREAD = "select job_id from thread where thread_id = $1"
