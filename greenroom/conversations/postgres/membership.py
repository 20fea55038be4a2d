"""Adding people to a thread and removing them."""

from greenroom.conversations.model import PARTIES, EventType, Role, Thread, check_takes_people
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.rows import LEFT
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    MsgBlockedByUser,
    UserNotFound,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept, Once

PARTICIPANT = """
select role, status from thread_participant where thread_id = $1 and user_id = $2
"""

# Somebody joins, or returns: what was written until now is not theirs to see.
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


class Membership:
    def __init__(self, transactions: Transactions, *, limits: Limits) -> None:
        self._transactions = transactions
        self._limits = limits

    async def add_participant(
        self, by: str | None, thread_id: str, user_id: str, role: Role, once: Once | None = None
    ) -> Thread | Kept:
        async def work(change: Change) -> Thread:
            await change.add_heads([user_id])
            locked = await change.lock(thread_id, by=by, and_head_of=user_id)
            check_takes_people(locked.kind)
            if by is not None:
                await _check_may_add(change, by, thread_id, user_id)
            present = await change.conn.fetch(sql.ACTIVE_PARTICIPANTS, thread_id, user_id)
            if all(row["user_id"] != user_id for row in present):
                if len(present) >= self._limits.participants:
                    raise ActionInvalidState("This thread is full.")
                await _join(change, by, thread_id, user_id, role)
            return await change.load(by, thread_id)

        return await self._transactions.run_once(work, once)

    async def remove_participant(self, by: str | None, thread_id: str, user_id: str) -> None:
        async def work(change: Change) -> None:
            await change.lock(thread_id, by=by)
            member = None if by is None else await change.member(by, thread_id)
            target = await change.conn.fetchrow(PARTICIPANT, thread_id, user_id)
            if target is None or target["status"] != "active":
                raise UserNotFound("This person is not in the thread.")
            if member is not None and by != user_id:
                _check_may_remove(member["role"], target["role"])
            await _leave(change, by, thread_id, user_id)

        await self._transactions.run(work)


async def _check_may_add(change: Change, by: str, thread_id: str, user_id: str) -> None:
    member = await change.member(by, thread_id)
    if member["role"] not in PARTIES:
        raise Forbidden("Only the buyer and the seller bring others in.")
    if await change.conn.fetchrow(sql.HAS_BLOCKED, by, [user_id]) is not None:
        raise MsgBlockedByUser


async def _join(change: Change, by: str | None, thread_id: str, user_id: str, role: Role) -> None:
    now_ms = change.clock()
    await change.conn.execute(JOIN_THREAD, thread_id, user_id, role, now_ms)
    await change.conn.execute(sql.TOUCH_THREAD, thread_id, now_ms)
    # Somebody who blocked the one who adds them sees the thread once another person writes.
    if by is None or not await change.conn.fetch(sql.BLOCKED_EITHER_WAY, by, [user_id]):
        await change.conn.execute(sql.ADD_INBOX_ROW, user_id, thread_id, now_ms)
    await change.tell_all(thread_id, by)
    await change.say(by, thread_id, "participant.added", user_id=user_id, role=role)
    joined = {"user_id": user_id, "role": role}
    await change.publish("participant.added", by, thread_id, joined)


def _check_may_remove(role: str, of_role: str) -> None:
    if role not in PARTIES or of_role in PARTIES:
        raise Forbidden("The buyer and the seller remove others, not each other.")


async def _leave(change: Change, by: str | None, thread_id: str, user_id: str) -> None:
    await change.conn.execute(LEAVE_THREAD, thread_id, user_id)
    await change.conn.execute(sql.TOUCH_THREAD, thread_id, change.clock())
    if await change.conn.fetchval(sql.REMOVE_INBOX_ROW, user_id, thread_id) is not None:
        await change.tell([user_id], EventType.THREAD_CHANGED, thread_id, LEFT, actor=by)
    await change.tell_all(thread_id, by)
    code = "participant.left" if by == user_id else "participant.removed"
    await change.say(by, thread_id, code, user_id=user_id)
    await change.publish(code, by, thread_id, {"user_id": user_id})
