"""Read marks and receipts of delivery."""

from collections.abc import Sequence
from contextlib import suppress

from asyncpg import Record

from greenroom.conversations.model import EventType, Thread
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.rows import DELIVERED
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept, Once

# The last message up to one that everybody sees, if it is beyond the reader's shown mark.
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

# The last message up to one that everybody in the thread sees and somebody else wrote.
NEWLY_DELIVERED = """
select m.message_id from thread_participant me
join message m on m.thread_id = me.thread_id and m.message_id <= $3
    and m.message_id > greatest(me.last_delivered_id, me.visible_after_id)
    and m.visible_to is null and m.kind <> 'system' and m.sender_user is distinct from me.user_id
where me.thread_id = $2 and me.user_id = $1
order by m.message_id desc limit 1
"""
MARK_DELIVERED = """
update thread_participant set last_delivered_id = $3, last_delivered_ts = $4
where thread_id = $2 and user_id = $1
"""
TOLD_OF_DELIVERY = """
select p.user_id from thread_participant p
join inbox_index i on i.user_id = p.user_id and i.thread_id = p.thread_id
where p.thread_id = $2 and p.user_id <> $1 and p.status = 'active' and p.visible_after_id < $3
"""


class Receipts:
    def __init__(self, transactions: Transactions, *, limits: Limits) -> None:
        self._transactions = transactions
        self._limits = limits

    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None = None
    ) -> Thread | Kept:
        async def work(change: Change) -> Thread:
            await change.lock(thread_id, by=reader)
            member = await change.member(reader, thread_id)
            await change.load_message(reader, thread_id, up_to)
            if up_to > member["last_read_id"]:
                await _move_read_mark(change, reader, thread_id, up_to)
            return await change.load(reader, thread_id)

        return await self._transactions.run_once(work, once)

    async def deliver(self, viewer: str, thread_id: str, up_to: str) -> None:
        async def work(change: Change) -> None:
            await change.lock(thread_id, by=viewer)
            people = await change.conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, viewer)
            message_id = await change.conn.fetchval(NEWLY_DELIVERED, viewer, thread_id, up_to)
            if self._is_shown(people) and message_id is not None:
                await _mark_delivered(change, viewer, thread_id, message_id)

        with suppress(ThreadNotFound):
            await self._transactions.run(work)

    def _is_shown(self, people: Sequence[Record]) -> bool:
        """A block between any two of them looks like a client that is away."""
        is_small = len(people) <= self._limits.delivery_shown_participants
        return is_small and not any(row["is_blocked"] for row in people)


async def _move_read_mark(change: Change, reader: str, thread_id: str, up_to: str) -> None:
    now_ms = change.clock()
    people = await change.conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, reader)
    others = [row for row in people if row["user_id"] != reader]
    shown = None
    if not any(row["is_blocked"] for row in others):
        # Not up_to itself: a message that only some may see must not show in their receipts.
        shown = await change.conn.fetchval(LAST_SHARED, thread_id, reader, up_to)
    await change.conn.execute(MARK_READ, thread_id, reader, up_to, now_ms, shown)
    await change.conn.execute(RECOUNT_UNREAD, reader, thread_id, up_to)
    await change.tell([reader], EventType.INBOX_CHANGED, thread_id, actor=reader)
    if shown is not None:
        told = [row["user_id"] for row in others if row["sees_thread"]]
        # The receipt and the mark are both shown, so they have the same time.
        await change.tell(told, EventType.RECEIPT, thread_id, shown, actor=reader, at_ms=now_ms)
    await change.publish("thread.read", reader, thread_id, message_id=up_to)


async def _mark_delivered(change: Change, viewer: str, thread_id: str, message_id: str) -> None:
    now_ms = change.clock()
    await change.conn.execute(MARK_DELIVERED, viewer, thread_id, message_id, now_ms)
    told = await change.conn.fetch(TOLD_OF_DELIVERY, viewer, thread_id, message_id)
    users = [row["user_id"] for row in told]
    await change.tell(users, DELIVERED, thread_id, message_id, actor=viewer, at_ms=now_ms)
