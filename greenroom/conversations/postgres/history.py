"""Imports history into PostgreSQL. Each call is one transaction with the locks of every change."""

from collections.abc import Sequence

import msgspec
from asyncpg import Pool

from greenroom.conversations.history_store import (
    KNOWN,
    NEW,
    NOT_IN_THREAD,
    UNKNOWN_MESSAGE,
    PastMark,
    PastMessage,
    PastThread,
    Placed,
)
from greenroom.conversations.model import EventType, Role
from greenroom.conversations.postgres.backend import KEEP_KEY, LOCK_KEY, THREAD_OF_KEY, create
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ActionConflict, ActionInvalidState
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits

MESSAGE_IDS = """
select external_id, message_id from imported_message
where thread_id = $1 and external_id = any ($2::text[])
"""
LAST_OF_THREAD = """
select last_seq, case when last_seq > 0 then last_msg_ts end as last_ms,
    array(select user_id from thread_participant where thread_id = $1) as people
from thread where thread_id = $1
"""
ADD_MESSAGES = """
with new as (
    select * from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
            $8::jsonb[], $9::text[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[])
        with ordinality as n (external_id, message_id, author, kind, body, html, system, reply_to,
            created_at, edited_at, deleted_at, place)
), kept as (
    insert into imported_message (thread_id, external_id, message_id)
    select $1, external_id, message_id from new
)
insert into message (thread_id, message_id, seq, sender_user, kind, body_text, body_html, system,
                     reply_to, created_at, edited_at, deleted_at)
select $1, message_id, $13 + place, author, kind, body, html, system, reply_to, created_at,
    edited_at, deleted_at
from new
"""
MOVE_THREAD = """
update thread set last_seq = $2, last_msg_ts = $3
where thread_id = $1
"""
# What new messages do to the rows of everybody who sees the thread. $3 and $4 are their authors and
# whether each counts as unread.
MOVE_ROWS = """
update inbox_index i set last_msg_ts = $5, last_message_id = $2,
    unread_count = i.unread_count + (
        select count(*) from unnest($3::text[], $4::boolean[]) as n (author, counts)
        where n.counts and n.author is distinct from i.user_id),
    awaits_reply = $6 and i.user_id is distinct from $7
from thread_participant p
where p.thread_id = $1 and i.thread_id = p.thread_id and i.user_id = p.user_id
    and p.status = 'active'
returning i.user_id
"""
JOIN = """
insert into thread_participant (thread_id, user_id, role, status, joined_at)
values ($1, $2, $3, $4, $5)
"""
# The row of somebody who sees all messages so far and has read none.
ADD_ROW = """
insert into inbox_index (user_id, thread_id, kind, last_msg_ts, last_message_id, unread_count,
                         awaits_reply)
select $2, t.thread_id, t.kind, case when t.last_seq > 0 then t.last_msg_ts else t.created_at end,
    coalesce(l.message_id, ''),
    (select count(*) from message m where m.thread_id = t.thread_id and m.deleted_at is null
        and m.sender_user is distinct from $2),
    coalesce(l.kind <> 'system' and l.sender_user is distinct from $2, false)
from thread t left join lateral (
    select message_id, kind, sender_user from message m where m.thread_id = t.thread_id
    order by m.message_id desc limit 1) l on true
where t.thread_id = $1
"""
MARK = """
update thread_participant set last_read_id = $3, last_read_ts = $4, shown_read_id = $3,
    shown_read_ts = $4
where thread_id = $1 and user_id = $2 and status = 'active' and last_read_id < $3 returning 1
"""
COUNT_UNREAD = """
update inbox_index set unread_count = (
    select count(*) from message m where m.thread_id = $1 and m.message_id > $3
        and m.sender_user is distinct from $2 and m.deleted_at is null
        and (m.visible_to is null or $2 = any (m.visible_to)))
where thread_id = $1 and user_id = $2
"""
PARTICIPANTS = "select user_id, status from thread_participant where thread_id = $1"


def _nobody(_user_ids: object) -> None:
    """Nobody is woken by the past."""


class PostgresHistory:
    """`HistoryStore` on the tables of conversations."""

    def __init__(self, pool: Pool, *, clock: Clock, randomness: Randomness, limits: Limits) -> None:
        self._transactions = Transactions(pool, clock=clock, randomness=randomness, wake=_nobody)
        self._limits = limits

    async def import_thread(self, thread: PastThread) -> tuple[str, bool]:
        async def work(change: Change) -> tuple[str, bool]:
            await change.conn.execute(LOCK_KEY, thread.key)
            row = await change.conn.fetchrow(THREAD_OF_KEY, thread.key)
            if row is not None:
                if row["opened_as"] != thread.draft.opened_as:
                    raise ActionConflict("This id names a thread of another kind or other people.")
                return row["thread_id"], False
            await create(change, thread.draft, at_ms=thread.created_at_ms)
            draft = thread.draft
            await change.conn.execute(KEEP_KEY, thread.key, draft.id, draft.opened_as)
            return draft.id, True

        return await self._transactions.run(work)

    async def import_participant(
        self, thread_id: str, user_id: str, role: Role, joined_at_ms: int, *, has_left: bool
    ) -> str:
        async def work(change: Change) -> str:
            await change.add_heads([user_id])
            await change.lock(thread_id, by=None, and_head_of=user_id)
            people = await change.conn.fetch(PARTICIPANTS, thread_id)
            if any(row["user_id"] == user_id for row in people):
                return KNOWN
            if len(people) >= self._limits.participants:
                raise ActionInvalidState("This thread is full.")
            status = "left" if has_left else "active"
            await change.conn.execute(JOIN, thread_id, user_id, role, status, joined_at_ms)
            if not has_left:
                await change.conn.execute(ADD_ROW, thread_id, user_id)
            await change.tell_all(thread_id, None)
            return NEW

        return await self._transactions.run(work)

    async def import_messages(self, thread_id: str, messages: Sequence[PastMessage]) -> list[str]:
        async def work(change: Change) -> list[str]:
            await change.lock(thread_id, by=None)
            named = {each.external_id for each in messages}
            named.update(each.reply_to for each in messages if each.reply_to is not None)
            rows = await change.conn.fetch(MESSAGE_IDS, thread_id, sorted(named))
            known = {row["external_id"]: row["message_id"] for row in rows}
            last = await change.conn.fetchrow(LAST_OF_THREAD, thread_id)
            assert last is not None  # noqa: S101 (it is locked)
            people = frozenset(last["people"])
            placed = Placed.of(messages, last["last_ms"] or 0, frozenset(known), people)
            if placed.accepted:
                await _append(change, thread_id, placed, known, last["last_seq"])
            return placed.outcomes

        return await self._transactions.run(work)

    async def import_marks(self, thread_id: str, marks: Sequence[PastMark]) -> list[str]:
        async def work(change: Change) -> list[str]:
            await change.lock(thread_id, by=None)
            wanted = sorted({mark.external_id for mark in marks})
            rows = await change.conn.fetch(MESSAGE_IDS, thread_id, wanted)
            ids = {row["external_id"]: row["message_id"] for row in rows}
            people = {
                row["user_id"]
                for row in await change.conn.fetch(PARTICIPANTS, thread_id)
                if row["status"] == "active"
            }
            outcomes, moved = [], set()
            for mark in marks:
                outcome = await _mark(change, thread_id, mark, ids, people)
                outcomes.append(outcome)
                moved.update([mark.user_id] if outcome == NEW else [])
            await change.tell(sorted(moved), EventType.INBOX_CHANGED, thread_id, actor=None)
            return outcomes

        return await self._transactions.run(work)


async def _append(
    change: Change, thread_id: str, placed: Placed, known: dict[str, str], last_seq: int
) -> None:
    ids = {each.external_id: each.id_at(at_ms) for each, at_ms in placed.accepted}
    named = {**known, **ids}
    new = [each for each, _ in placed.accepted]
    await change.conn.execute(
        ADD_MESSAGES,
        thread_id,
        [each.external_id for each in new],
        [ids[each.external_id] for each in new],
        [each.author for each in new],
        ["text" if each.system is None else "system" for each in new],
        [each.body for each in new],
        [each.html for each in new],
        [
            None if each.system is None else msgspec.json.encode(each.system).decode()
            for each in new
        ],
        [None if each.reply_to is None else named.get(each.reply_to) for each in new],
        [at_ms for _, at_ms in placed.accepted],
        [each.edited_at_ms for each in new],
        [each.deleted_at_ms for each in new],
        last_seq,
    )
    await change.conn.execute(MOVE_THREAD, thread_id, last_seq + len(new), placed.last_ms)
    rows = await change.conn.fetch(
        MOVE_ROWS,
        thread_id,
        ids[new[-1].external_id],
        [each.author for each in new],
        [each.deleted_at_ms is None for each in new],
        placed.last_ms,
        new[-1].system is None,
        new[-1].author,
    )
    viewers = sorted(row["user_id"] for row in rows)
    await change.tell(viewers, EventType.INBOX_CHANGED, thread_id, actor=None)


async def _mark(
    change: Change, thread_id: str, mark: PastMark, ids: dict[str, str], people: set[str]
) -> str:
    message_id = ids.get(mark.external_id)
    if message_id is None:
        return UNKNOWN_MESSAGE
    if mark.user_id not in people:
        return NOT_IN_THREAD
    moved = await change.conn.fetchval(MARK, thread_id, mark.user_id, message_id, mark.at_ms)
    if moved is None:
        return KNOWN
    await change.conn.execute(COUNT_UNREAD, thread_id, mark.user_id, message_id)
    return NEW
