"""Binding a thread to a booking."""

from greenroom.conversations.model import (
    EARLIER_BOOKINGS,
    BookingRef,
    Thread,
    ThreadKind,
    check_promotion,
    promotion_said,
)
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.platform.idempotency import Kept, Once

PROMOTE_THREAD = """
with rows as (
    update inbox_index i set kind = 'project' from thread_participant p
    where p.thread_id = $1 and i.user_id = p.user_id and i.thread_id = p.thread_id
)
update thread set kind = 'project', group_id = $2, leg_id = $3, updated_at = $4,
    stage = case when kind = 'project' then null else stage end,
    earlier_bookings = case when kind <> 'project' then earlier_bookings
        else case when jsonb_array_length(earlier_bookings) < $5 then earlier_bookings
            else earlier_bookings - 0 end || jsonb_build_array(jsonb_build_array(group_id, leg_id))
        end
where thread_id = $1
"""


class Promotion:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def promote(
        self, thread_id: str, *, group_id: str | None, leg_id: str | None, once: Once | None = None
    ) -> Thread | Kept:
        async def work(change: Change) -> Thread:
            await promote(change, thread_id, BookingRef(group_id, leg_id))
            return await change.load(None, thread_id)

        return await self._transactions.run_once(work, once)


async def promote(
    change: Change, thread_id: str, booking: BookingRef, *, follows: bool = False
) -> bool:
    """Make the thread a project of this booking. Returns False where it is that already.

    `follows`: the caller knows that the thread's booking is over, even where the thread does not
    show that yet.
    """
    locked = await change.lock(thread_id, by=None)
    is_project = locked.kind == ThreadKind.PROJECT
    if is_project and locked.booking == booking:
        return False
    check_promotion(locked.kind, locked.stage, follows=follows)
    await change.conn.execute(PROMOTE_THREAD, thread_id, *booking, change.clock(), EARLIER_BOOKINGS)
    await change.tell_all(thread_id, None)
    code, event = promotion_said(is_project=is_project)
    await change.say(None, thread_id, code, **booking._asdict())
    await change.publish(event, None, thread_id, booking._asdict())
    return True
