"""Conversations named by their two people instead of by a thread's id: what the polling API reads
and sends.

The first send of a pair is decided under the feed heads of both people, so that the second of two
at once finds the thread. Heads come after threads in the order of locks: a thread that is found
once the heads are held is not written to here; the caller looks again and sends as usual.
"""

from collections.abc import Sequence
from dataclasses import replace

from asyncpg import Pool

from greenroom.conversations.model import EventType, Message, ThreadDraft
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.jobs import set_job
from greenroom.conversations.postgres.rows import message_from, thread_from
from greenroom.conversations.postgres.starts import create_thread, take_starts
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.previews import as_last_message
from greenroom.conversations.store import Conversation, Send, StartLimit
from greenroom.kernel.errors import IdempotencyMismatch, ThreadNotFound
from greenroom.platform.postgres.pool import snapshot, unavailable_on_failure

# The oldest thread of two people that the first of them sees.
PAIR_THREAD = """
select t.thread_id from thread t
join inbox_index i on i.user_id = $1 and i.thread_id = t.thread_id
where t.pair_key = $2 order by t.started_n limit 1
"""

# A thread of two people: one that this user sees, or else one that they do not see.
PAIR_SEEN_OR_NOT = """
select t.thread_id, i.user_id is not null as is_seen from thread t
left join inbox_index i on i.user_id = $1 and i.thread_id = t.thread_id
where t.pair_key = $2 order by is_seen desc, t.started_n limit 1
"""

IS_PAIR = "select 1 from thread where thread_id = $1 and pair_key = $2"

SENT_UNDER_KEY = """
select fingerprint, thread_id, message_id from idempotency_key
where caller = 'person:' || $1 and route = 'send' and key = $2
"""

# The inbox rows to show. $1 is the viewer.
_BY_THREAD = "select * from inbox_index where user_id = $1 and thread_id = $2"
_BY_PAIR = """
select f.* from unnest($2::text[]) with ordinality as k (pair_key, place)
cross join lateral (
    select i.* from thread t
    join inbox_index i on i.user_id = $1 and i.thread_id = t.thread_id
    where t.pair_key = k.pair_key order by t.started_n limit 1
) f
order by k.place limit 1
"""
# The index has pinned rows first, but here they are not: so the newest of both kinds are merged.
_NEWEST = """
select * from (
    (select * from inbox_index where user_id = $1 and folder = 'inbox' and pinned
     order by last_msg_ts desc, thread_id desc limit $2)
    union all
    (select * from inbox_index where user_id = $1 and folder = 'inbox' and not pinned
     order by last_msg_ts desc, thread_id desc limit $2)
) pinned_or_not order by last_msg_ts desc, thread_id desc limit $2
"""

# Messages of people that the viewer sees. The polling API shows no cards and notices.
_SPOKEN = """
    m.kind in ('text', 'asset') and m.message_id > me.visible_after_id
    and (m.visible_to is null or $1 = any (m.visible_to))
"""

# At most so many messages are searched for those that the other has not read.
UNREAD_SEARCHED = 100


def _conversations(rows: str) -> str:
    """The statement for the threads of these rows, with what only the polling API shows.

    What the other has not read is counted from the read mark that the viewer may see, among the
    messages that the viewer sees: a block looks like somebody who does not read.
    """
    return f"""
    with page as materialized ({rows})
    select i.thread_id as of_thread_id, s.*,
        t.pair_key is not null and not exists (
            select 1 from thread o
            join inbox_index oi on oi.user_id = $1 and oi.thread_id = o.thread_id
            where o.pair_key = t.pair_key and o.started_n < t.started_n) as is_pairs_own,
        other.user_id as other_id, other.unread_count as other_unread_count,
        me.last_delivered_id as delivered_id
    from page i
    join thread t on t.thread_id = i.thread_id
    join thread_participant me on me.thread_id = i.thread_id and me.user_id = i.user_id
    left join lateral (
        select {sql.MESSAGE_COLUMNS} from message m
        where m.thread_id = i.thread_id and {_SPOKEN} order by m.message_id desc limit 1
    ) s on true
    left join lateral (
        select p.user_id, count_unread_by(
            p.user_id, i.user_id, i.thread_id, greatest(p.shown_read_id, me.visible_after_id),
            {UNREAD_SEARCHED}) as unread_count
        from thread_participant p
        where t.pair_key is not null and p.thread_id = i.thread_id and p.user_id <> i.user_id
    ) other on true
    order by i.last_msg_ts desc, i.thread_id desc
    """  # noqa: S608 (constants put together from constants)


def _spoken(condition: str, order: str) -> str:
    return f"""
    select m.* from inbox_index i
    join thread_participant me on me.thread_id = i.thread_id and me.user_id = i.user_id
    cross join lateral (
        select {sql.MESSAGE_COLUMNS} from message m
        where m.thread_id = $2 and {_SPOKEN} and m.message_id {condition}
        order by m.message_id {order} limit $4
    ) m
    where i.user_id = $1 and i.thread_id = $2
    """  # noqa: S608 (constants put together from constants)


CONVERSATION = _conversations(_BY_THREAD)
CONVERSATION_OF_PAIR = _conversations(_BY_PAIR)
CONVERSATIONS = _conversations(_NEWEST)
SPOKEN_AFTER = _spoken("> $3", "asc")
SPOKEN_BEFORE = _spoken("< $3", "desc")
AFTER_ALL = "~"

# Messages that were edited or deleted after a time, in the order of these changes; with all that
# were changed at the time of the last one.
CHANGED = f"""
select m.* from inbox_index i
join thread_participant me on me.thread_id = i.thread_id and me.user_id = i.user_id
cross join lateral (
    select {sql.MESSAGE_COLUMNS} from message m
    where m.thread_id = $2 and {_SPOKEN} and coalesce(m.deleted_at, m.edited_at) > $3
    order by coalesce(m.deleted_at, m.edited_at) fetch first $4 rows with ties
) m
where i.user_id = $1 and i.thread_id = $2
"""  # noqa: S608 (constants put together from constants)


class Pairs:
    def __init__(self, pool: Pool, transactions: Transactions) -> None:
        self._pool = pool
        self._transactions = transactions

    async def sent_under(self, author: str, key: str, fingerprint: bytes) -> Message | None:
        async with snapshot(self._pool) as conn:
            row = await conn.fetchrow(SENT_UNDER_KEY, author, key)
            if row is None:
                return None
            if row["fingerprint"] != fingerprint:
                raise IdempotencyMismatch
            found = await conn.fetchrow(sql.MESSAGE, author, row["thread_id"], row["message_id"])
        if found is None:
            raise ThreadNotFound
        return message_from(found)

    @unavailable_on_failure()
    async def pair_thread(self, viewer: str, other: str) -> str | None:
        thread_id: str | None = await self._pool.fetchval(
            PAIR_THREAD, viewer, _pair_key(viewer, other)
        )
        return thread_id

    async def start_pair(
        self, draft: ThreadDraft, first: Send, limits: tuple[StartLimit, ...]
    ) -> Message | None:
        author, members = draft.opened_by, list(draft.members)
        pair = _pair_key(*members)

        async def work(change: Change) -> Message | None:
            found = await change.conn.fetchrow(PAIR_SEEN_OR_NOT, author, pair)
            if found is not None:
                is_seen, thread_id = found["is_seen"], found["thread_id"]
                return None if is_seen else await _enter(change, first, thread_id, pair)
            await change.add_heads(members)
            await change.lock_heads(members)
            if await change.conn.fetchrow(PAIR_SEEN_OR_NOT, author, pair) is not None:
                return None
            await take_starts(change, author, limits)
            return (await create_thread(change, draft, first)).message

        return await self._transactions.run(work)

    async def conversation(self, viewer: str, thread_id: str) -> Conversation | None:
        return next(iter(await self._conversations(CONVERSATION, viewer, thread_id)), None)

    async def pair_conversation(self, viewer: str, others: Sequence[str]) -> Conversation | None:
        pairs = [_pair_key(viewer, other) for other in others]
        return next(iter(await self._conversations(CONVERSATION_OF_PAIR, viewer, pairs)), None)

    async def conversations(self, viewer: str, limit: int) -> tuple[Conversation, ...]:
        return await self._conversations(CONVERSATIONS, viewer, limit)

    async def _conversations(
        self, query: str, viewer: str, about: str | list[str] | int
    ) -> tuple[Conversation, ...]:
        async with snapshot(self._pool) as conn:
            rows = await conn.fetch(query, viewer, about)
            ids = [row["of_thread_id"] for row in rows]
            found = await conn.fetch(sql.THREADS, viewer, ids) if ids else []
        threads = {row["thread_id"]: thread_from(row) for row in found}
        return tuple(
            Conversation(
                threads[row["of_thread_id"]],
                pair_with=row["other_id"] if row["is_pairs_own"] else None,
                last_spoken=None
                if row["message_id"] is None
                else as_last_message(message_from(row)),
                unread_by={row["other_id"]: row["other_unread_count"]} if row["other_id"] else {},
                delivered_id=row["delivered_id"],
            )
            for row in rows
            if row["of_thread_id"] in threads
        )

    @unavailable_on_failure()
    async def spoken(
        self, viewer: str, thread_id: str, *, after: str | None, limit: int
    ) -> tuple[Message, ...]:
        query, bound = (SPOKEN_AFTER, after) if after is not None else (SPOKEN_BEFORE, AFTER_ALL)
        rows = await self._pool.fetch(query, viewer, thread_id, bound, limit)
        return tuple(sorted(map(message_from, rows), key=lambda message: message.seq))

    @unavailable_on_failure()
    async def changed(
        self, viewer: str, thread_id: str, *, after_ms: int, limit: int
    ) -> tuple[Message, ...]:
        rows = await self._pool.fetch(CHANGED, viewer, thread_id, after_ms, limit)
        return tuple(
            sorted(map(message_from, rows), key=lambda each: (each.changed_at_ms, each.id))
        )


async def _enter(change: Change, first: Send, thread_id: str, pair: str) -> Message | None:
    """Send into a thread that the other began while the author had them blocked. The author was
    never shown it, but it is the pair's: with a second thread the two would drift apart."""
    author = first.author_id
    await change.lock(thread_id, by=None)
    if await change.conn.fetchval(IS_PAIR, thread_id, pair) is None:
        return None
    await change.conn.execute(sql.ADD_INBOX_ROW, author, thread_id, change.clock())
    await change.tell([author], EventType.THREAD_CHANGED, thread_id, actor=author)
    message = await change.append(replace(first, thread_id=thread_id))
    await set_job(change, author, thread_id, first.job_id)
    return message


def _pair_key(one: str, other: str) -> str:
    """As db/functions/pair_key_of.sql makes it."""
    return ",".join(sorted((one, other)))
