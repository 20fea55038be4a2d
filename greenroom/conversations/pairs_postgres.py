"""Conversations named by their people instead of by a thread's id, on PostgreSQL.

A pair's first send is decided under the feed heads of both: whoever comes second finds the thread.
Heads come after threads in the order of locks, so a thread that turns up once the heads are held is
not written to here; the caller looks again and appends as usual.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.changes_postgres import PostgresChanges
from greenroom.conversations.model import EventType, Message, ThreadDraft, as_last_message
from greenroom.conversations.rows_postgres import message_from, thread_from
from greenroom.conversations.store import Conversation, Send, Started, StartLimit
from greenroom.kernel.errors import IdempotencyMismatch, ThreadNotFound
from greenroom.platform.postgres import Session, unavailable_on_failure

# The oldest thread of two people that the first of them sees.
PAIR_THREAD = """
select t.thread_id from thread t
join inbox_index i on i.user_id = $1 and i.thread_id = t.thread_id
where t.pair_key = $2 order by t.started_n limit 1
"""

# Any thread of two people, one that this user sees before one that they do not.
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

# The rows that a question is about; each has its viewer in $1.
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
# The index has pinned rows first, and here they have no privilege: so both kinds, then the newest.
_NEWEST = """
select * from (
    (select * from inbox_index where user_id = $1 and folder = 'inbox' and pinned
     order by last_msg_ts desc, thread_id desc limit $2)
    union all
    (select * from inbox_index where user_id = $1 and folder = 'inbox' and not pinned
     order by last_msg_ts desc, thread_id desc limit $2)
) pinned_or_not order by last_msg_ts desc, thread_id desc limit $2
"""

# What people said, without what the server says: the simple API knows no other messages.
_SPOKEN = """
    m.kind in ('text', 'asset') and m.message_id > me.visible_after_id
    and (m.visible_to is null or $1 = any (m.visible_to))
"""

# How far a thread is searched for what the other has not read.
UNREAD_SEARCHED = 100


def _conversations(rows: str) -> str:
    """The rows' threads with what only this API shows. The other's unread messages are told by the
    mark that the viewer may know of, and from the messages that the viewer sees: a block between
    them looks like someone who does not read."""
    return f"""
    with page as materialized ({rows})
    select i.thread_id as of_thread_id, s.*,
        t.pair_key is not null and not exists (
            select 1 from thread o
            join inbox_index oi on oi.user_id = $1 and oi.thread_id = o.thread_id
            where o.pair_key = t.pair_key and o.started_n < t.started_n) as is_pairs_own,
        other.user_id as other_id, other.unread_count as other_unread_count
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


class PostgresPairs(PostgresChanges):
    @unavailable_on_failure()
    async def sent_under(self, author: str, key: str, fingerprint: bytes) -> Message | None:
        row = await self._pool.fetchrow(SENT_UNDER_KEY, author, key)
        if row is None:
            return None
        if row["fingerprint"] != fingerprint:
            raise IdempotencyMismatch
        found = await self._pool.fetchrow(sql.MESSAGE, author, row["thread_id"], row["message_id"])
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

        async def change(conn: Session) -> Message | None:
            there = await conn.fetchrow(PAIR_SEEN_OR_NOT, author, pair)
            if there is not None:
                return None if there["is_seen"] else await enter(conn, there["thread_id"])
            await conn.execute(sql.ADD_HEADS, members)
            await conn.execute(sql.LOCK_HEADS, members)
            if await conn.fetchrow(PAIR_SEEN_OR_NOT, author, pair) is not None:
                return None
            await self._take_starts(conn, author, limits)
            return (await self._start(conn, draft, first)).message

        async def enter(conn: Session, thread_id: str) -> Message | None:
            """The other wrote while this one had them blocked. Their thread is the pair's, though
            this one was never shown it: two threads of two views of one pair would drift apart."""
            await self._lock(conn, thread_id, by=None)
            if await conn.fetchval(IS_PAIR, thread_id, pair) is None:
                return None
            await conn.execute(sql.ADD_INBOX_ROW, author, thread_id, self._clock())
            changed = EventType.THREAD_CHANGED
            await self._tell(conn, [author], changed, thread_id, actor=author)
            send = replace(first, thread_id=thread_id)
            return await self._append(conn, send)

        return await self._change(change)

    @abstractmethod
    async def _take_starts(
        self, conn: Session, opener: str, limits: tuple[StartLimit, ...]
    ) -> None: ...

    @abstractmethod
    async def _start(self, conn: Session, draft: ThreadDraft, first: Send) -> Started: ...

    async def conversation(self, viewer: str, thread_id: str) -> Conversation | None:
        return next(iter(await self._conversations(CONVERSATION, viewer, thread_id)), None)

    async def pair_conversation(self, viewer: str, others: Sequence[str]) -> Conversation | None:
        pairs = [_pair_key(viewer, other) for other in others]
        return next(iter(await self._conversations(CONVERSATION_OF_PAIR, viewer, pairs)), None)

    async def conversations(self, viewer: str, limit: int) -> tuple[Conversation, ...]:
        return await self._conversations(CONVERSATIONS, viewer, limit)

    @unavailable_on_failure()
    async def _conversations(
        self, query: str, viewer: str, about: str | list[str] | int
    ) -> tuple[Conversation, ...]:
        async with self._pool.acquire() as conn:
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


def _pair_key(one: str, other: str) -> str:
    """As the migration makes it."""
    return ",".join(sorted((one, other)))
