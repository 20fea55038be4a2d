"""Data for measurements, made by PostgreSQL itself from numbers: fast, and the same every time."""

import asyncpg

# People u0 … and threads between u(2i) and u(2i+1), each as a start of a conversation leaves it.
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
    insert into inbox_index (user_id, thread_id, last_msg_ts)
    select unnest(array[buyer, seller]), thread_id, at from made
)
select count(*) from made
"""
PARTICIPANTS = """
insert into thread_participant (thread_id, user_id, role, status, joined_at)
select 'thr_' || lpad(to_hex(i), 26, '0'), 'u' || 2 * i + side,
    case side when 0 then 'buyer' else 'seller' end, 'active', now() - interval '1 day'
from generate_series($1::int, $2::int) i, generate_series(0, 1) side
"""

# So many messages from the buyer in one thread, with the feed and counts that they leave behind.
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
    """The two in a thread: buyer, seller."""
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
