"""Test data that PostgreSQL generates itself: fast, and the same every time."""

import asyncpg

# People u0 … and threads between u(2i) and u(2i+1), as after the start of a conversation.
PAIRS = """
with made as (
    select i, 'thr_' || lpad(to_hex(i), 26, '0') as thread_id,
        'u' || 2 * i as buyer, 'u' || 2 * i + 1 as seller, now() - interval '1 day' as at
    from generate_series($1::int, $2::int) i
), people as (
    insert into app_user (user_id, created_at, updated_at)
    select unnest(array[buyer, seller]), at, at from made
), heads as (
    insert into feed_head (user_id) select unnest(array[buyer, seller]) from made
), threads as (
    insert into thread (thread_id, kind, opened_by_user, last_msg_ts, created_at, updated_at)
    select thread_id, 'inquiry', buyer, at, at, at from made
), rows as (
    insert into inbox_index (user_id, thread_id, kind, last_msg_ts)
    select unnest(array[buyer, seller]), thread_id, 'inquiry', at from made
)
select count(*) from made
"""
PARTICIPANTS = """
insert into thread_participant (thread_id, user_id, role, status, joined_at)
select 'thr_' || lpad(to_hex(i), 26, '0'), 'u' || 2 * i + side,
    case side when 0 then 'buyer' else 'seller' end, 'active', now() - interval '1 day'
from generate_series($1::int, $2::int) i, generate_series(0, 1) side
"""

# Messages from the buyer in one thread, with their feed entries and counts.
MESSAGES = """
with made as (
    select s, to_timestamp($4::bigint / 1000 + s / 1000.0) as at,
        'msg_' || lpad(to_hex($4::bigint + s), 12, '0') || lpad(to_hex(s), 14, '0') as message_id
    from generate_series(1, $3::int) s
), stored as (
    insert into message (thread_id, message_id, seq, sender_user, kind, body_text, client_id,
                         send_hash, created_at)
    select $1, message_id, s, $2, 'text', 'Message number ' || s, 'c' || s, '\\x00', at from made
), fed as (
    insert into feed (user_id, n, type, thread_id, message_id, actor, at)
    select u, s, 'message.new', $1, message_id, $2, at from made, unnest($5::text[]) u
), heads as (
    update feed_head set last_n = $3 where user_id = any ($5::text[])
), threads as (
    update thread set last_seq = $3, last_msg_ts = (select max(at) from made) where thread_id = $1
)
update inbox_index i set last_message_id = m.message_id, last_msg_ts = m.at,
    unread_count = case when user_id = $2 then 0 else $3 end
from (select message_id, at from made order by s desc limit 1) m
where i.thread_id = $1
"""


def thread_id(number: int) -> str:
    return f"thr_{number:026x}"


def people(number: int) -> tuple[str, str]:
    """The buyer and the seller of a thread."""
    return f"u{2 * number}", f"u{2 * number + 1}"


async def fill_threads(url: str, first: int, last: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.fetchval(PAIRS, first, last)
        await connection.execute(PARTICIPANTS, first, last)
        await connection.execute(
            "vacuum analyze thread, thread_participant, inbox_index, feed_head, app_user"
        )
    finally:
        await connection.close()


async def fill_messages(url: str, number: int, count: int, start_ms: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        pair = people(number)
        await connection.execute(
            MESSAGES, thread_id(number), pair[0], count, start_ms, list(pair), timeout=600
        )
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


async def epoch(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        return str(await connection.fetchval("select epoch from feed_epoch"))
    finally:
        await connection.close()


async def cursors(url: str, users: list[str]) -> dict[str, str]:
    """The current cursor of each person's feed."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "select user_id, last_n, epoch from feed_head, feed_epoch where user_id = any ($1)",
            users,
        )
    finally:
        await connection.close()
    heads = {row["user_id"]: f"{row['epoch']}-{row['last_n']:x}" for row in rows}
    return {user: heads[user] for user in users}


# Threads of many people who are in no other thread.
GROUPS = """
with made as (
    select i, 'thr_' || lpad(to_hex(i), 26, '0') as thread_id, now() - interval '1 day' as at
    from generate_series($1::int, $2::int) i
), members as (
    select thread_id, at, 'g' || i || '-' || place as user_id
    from made, generate_series(0, $3::int - 1) place
), people as (
    insert into app_user (user_id, created_at, updated_at) select user_id, at, at from members
), heads as (
    insert into feed_head (user_id) select user_id from members
), threads as (
    insert into thread (thread_id, kind, opened_by_user, last_msg_ts, created_at, updated_at)
    select thread_id, 'project', 'g' || i || '-0', at, at, at from made
)
insert into inbox_index (user_id, thread_id, kind, last_msg_ts)
select user_id, thread_id, 'project', at from members
"""
GROUP_PARTICIPANTS = """
insert into thread_participant (thread_id, user_id, role, status, joined_at)
select thread_id, user_id, 'seller', 'active', last_msg_ts from inbox_index
where thread_id between $1 and $2
"""


def members(number: int, size: int) -> list[str]:
    return [f"g{number}-{place}" for place in range(size)]


async def fill_groups(url: str, first: int, last: int, size: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(GROUPS, first, last, size)
        await connection.execute(GROUP_PARTICIPANTS, thread_id(first), thread_id(last))
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()


# One person in many threads, each with a message, a twentieth of them unread.
MANY_THREADS = """
with made as (
    select i, 'thr_' || $1 || lpad(to_hex(i), 20, '0') as thread_id, $1 || i as other,
        now() - i * interval '1 minute' as at
    from generate_series(1, $2::int) i
), stamped as (
    select *, 'msg_' || lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')
        || lpad(to_hex(i), 14, '0') as message_id from made
), people as (
    insert into app_user (user_id, display_name, created_at, updated_at)
    select other, 'Person ' || i, at, at from made union all select $1, 'Many', now(), now()
), heads as (
    insert into feed_head (user_id) select other from made union all select $1
), threads as (
    insert into thread (thread_id, kind, subject, opened_by_user, last_seq, last_msg_ts,
                        created_at, updated_at)
    select thread_id, case i % 5 when 0 then 'project' else 'inquiry' end, 'Thread ' || i, other,
        1, at, at, at from made
), messages as (
    insert into message (thread_id, message_id, seq, sender_user, kind, body_text, created_at)
    select thread_id, message_id, 1, other, 'text', 'Are you free?', at from stamped
), rows as (
    insert into inbox_index (user_id, thread_id, kind, last_msg_ts, last_message_id, unread_count,
                             awaits_reply)
    select u, thread_id, case i % 5 when 0 then 'project' else 'inquiry' end, at, message_id,
        case when u = $1 and i % 20 = 0 then 1 else 0 end, u = $1
    from stamped, unnest(array[$1, other]) u
)
select count(*) from made
"""
MANY_PARTICIPANTS = """
insert into thread_participant (thread_id, user_id, role, status, joined_at, last_read_id)
select i.thread_id, i.user_id, case i.user_id when $1 then 'seller' else 'buyer' end, 'active',
    i.last_msg_ts, case when i.unread_count = 0 then i.last_message_id else '' end
from inbox_index i where i.thread_id like 'thr_' || $1 || '%'
"""


async def fill_inbox(url: str, user_id: str, count: int) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.fetchval(MANY_THREADS, user_id, count)
        await connection.execute(MANY_PARTICIPANTS, user_id)
        await connection.execute("vacuum analyze")
    finally:
        await connection.close()
