"""Holding payouts, for example during a dispute, and stopping those that are not sent yet."""

from greenroom.bookings import sql
from greenroom.bookings.legs import change_leg
from greenroom.bookings.model import Leg
from greenroom.bookings.money import ledger
from greenroom.bookings.transactions import ContractTransaction, NewEvent
from greenroom.kernel.money import Money

STOPPED = "stopped"
"""The failure code of a payout that was stopped here and never sent to the provider."""

# Safe against a payout that is sent at the same time: that sets `sent_at` in the same row, so one
# of the two updates waits for the other.
STOP_PAYOUTS = f"""
update payment set state = 'failed', failure_code = '{STOPPED}', updated_at = $2
where leg_id = $1 and operation = 'payout' and state = 'queued' and sent_at is null
returning {sql.PAYMENT_COLUMNS}
"""  # noqa: S608 (names of our own)


async def hold_payout(tx: ContractTransaction, leg: Leg, reason: str) -> Leg:
    """Do not pay the seller until `free_payout`. A queued payout that was not sent is stopped. One
    that was sent cannot be stopped: then the leg stays `queued` or `paid`."""
    rows = await tx.conn.fetch(STOP_PAYOUTS, leg.leg_id, tx.now_ms)
    stopped = [sql.read_payment(row) for row in rows]
    await ledger.book(tx, [ledger.returned(payment, leg) for payment in stopped])
    if not stopped and leg.payout in ("queued", "paid"):
        return leg
    held = await change_leg(
        tx,
        leg,
        actor=None,
        role="server",
        act="hold_payout",
        payout="held",
        payout_held_reason=reason,
    )
    tx.emit(NewEvent("payout.held", group_id=leg.group_id, leg_id=leg.leg_id))
    for payment in stopped:
        money = Money(payment.amount_cents, payment.currency)
        data = {"payment_id": payment.payment_id}
        event = NewEvent("payout.stopped", None, None, leg.group_id, leg.leg_id, None, money, data)
        tx.emit(event)
    return held


async def free_payout(tx: ContractTransaction, leg: Leg) -> Leg:
    """End the hold, so that `queue_payout` pays the seller again."""
    if leg.payout != "held":
        return leg
    freed = await change_leg(
        tx,
        leg,
        actor=None,
        role="server",
        act="free_payout",
        payout="none",
        payout_held_reason=None,
    )
    tx.emit(NewEvent("payout.freed", group_id=leg.group_id, leg_id=leg.leg_id))
    return freed
