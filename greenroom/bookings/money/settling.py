"""Applies the final outcome of a payment exactly once, in one transaction: the payment's row, the
ledger, the deposit, refund or payout that it was for, and the booking or card that waits for it."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from greenroom.bookings import sql
from greenroom.bookings.legs import change_leg, lock_group, thread_of
from greenroom.bookings.model import Group, LegState, Payment, PaymentState, Payout
from greenroom.bookings.money import ledger
from greenroom.bookings.money.orders import UNDO, queue_payout, queue_refund
from greenroom.bookings.money.provider import Outcome
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions, NewEvent
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.money import Money

log = logging.getLogger(__name__)

Listener = Callable[[ContractTransaction, Payment], Awaitable[None]]
"""Handles the outcome of a payment, in the same transaction. The thread, the group and its legs are
locked; the payment is final."""

KEEP_OUTCOME = """
update payment set state = $2, provider_id = coalesce($3, provider_id), failure_code = $4,
    updated_at = $5, needs_payer = false
where payment_id = $1
"""
WAIT_FOR_PAYER = "update payment set needs_payer = true, updated_at = $2 where payment_id = $1"
DEPOSIT_HELD = "update deposit set state = $2, updated_at = $3 where payment_id = $1"
DEPOSIT_CAPTURED = """
update deposit set captured_cents = captured_cents + $2, updated_at = $3,
    state = case when captured_cents + $2 = amount_cents then 'captured' else state end
where leg_id = $1
"""
# No effect if the leg has a newer hold.
DEPOSIT_RELEASED = """
update deposit set updated_at = $2,
    state = case when captured_cents > 0 then 'captured' else 'released' end
where payment_id = $1
"""
# A refund is final when all its payments are. It has failed if one of them has.
REFUND_PARTS = """
update refund r set updated_at = $2,
    state = case when parts.failed then 'failed' else 'refunded' end
from (select bool_or(state = 'queued') as waits, bool_or(state = 'failed') as failed
      from payment where refund_id = $1 and again is null) parts
where r.refund_id = $1 and not parts.waits
"""

_EVENTS = {
    "charge": ("payment.intent.succeeded", "payment.intent.failed"),
    "hold": ("payment.intent.succeeded", "payment.intent.failed"),
    "capture": ("payment.intent.succeeded", "payment.intent.failed"),
    "release": ("payment.intent.succeeded", "payment.intent.failed"),
    "refund": ("refund.succeeded", "refund.failed"),
    "payout": ("payout.paid", "payout.failed"),
}


class Settling:
    def __init__(self, transactions: ContractTransactions) -> None:
        self._transactions = transactions
        self._listeners: dict[str, Listener] = {}
        self._waiting_listeners: dict[str, Listener] = {}

    def register(
        self, purpose: str, listener: Listener, *, on_waiting: Listener | None = None
    ) -> None:
        """`on_waiting` is called for a payment that the payer has to confirm with their bank."""
        self._listeners[purpose] = listener
        if on_waiting is not None:
            self._waiting_listeners[purpose] = on_waiting

    async def wait_for_payer(self, payment_id: str) -> bool:
        """Mark the payment, and tell the booking or card that waits for it; False if the payment is
        marked or final already."""

        async def work(tx: ContractTransaction) -> bool:
            return await self._wait_for_payer(tx, payment_id)

        return bool(await self._transactions.run(work))

    async def _wait_for_payer(self, tx: ContractTransaction, payment_id: str) -> bool:
        [found] = await tx.conn.fetch(sql.PAYMENT, payment_id)
        group = await lock_for_money(tx, found["group_id"])
        [row] = await tx.conn.fetch(sql.LOCK_PAYMENT, payment_id)
        payment = sql.read_payment(row)
        if payment.state != "queued" or payment.needs_payer:
            return False
        await tx.conn.execute(WAIT_FOR_PAYER, payment_id, tx.now_ms)
        payment = replace(payment, needs_payer=True, updated_at_ms=tx.now_ms)
        tx.emit(_event("payment.intent.requires_action", group, payment))
        listener = self._waiting_listeners.get(payment.purpose)
        if listener is not None:
            await listener(tx, payment)
        await tx.tell_booking_changed(group.thread_id)
        return True

    async def settle(self, payment_id: str, outcome: Outcome) -> bool:
        """Apply the outcome; False if it is pending or the payment is already final. A final
        payment never changes."""
        if outcome.status == "pending":
            return False

        async def work(tx: ContractTransaction) -> bool:
            return await self._settle(tx, payment_id, outcome)

        return bool(await self._transactions.run(work))

    async def _settle(self, tx: ContractTransaction, payment_id: str, outcome: Outcome) -> bool:
        found = await tx.conn.fetchrow(sql.PAYMENT, payment_id)
        if found is None:
            log.error("outcome of an unknown payment", extra={"subject": payment_id})
            return False
        group = await lock_for_money(tx, found["group_id"])
        [row] = await tx.conn.fetch(sql.LOCK_PAYMENT, payment_id)
        payment = sql.read_payment(row)
        if payment.state != "queued":
            _compare(payment, outcome)
            return False
        payment = await _keep(tx, payment, outcome)
        await _follow(tx, group, payment)
        _emit(tx, group, payment)
        listener = self._listeners.get(payment.purpose)
        if listener is not None:
            await listener(tx, payment)
        await _place_late_money(tx, payment)
        await tx.tell_booking_changed(group.thread_id)
        return True


async def lock_for_money(tx: ContractTransaction, group_id: str) -> Group:
    """Lock the thread, if it still exists, and the group."""
    thread_id = await thread_of(tx, group_id)
    if thread_id is not None:
        try:
            await tx.access(thread_id, None)
        except ThreadNotFound:
            # Money is settled even if the conversation was erased.
            log.warning("the thread of a payment is gone", extra={"subject": group_id})
    return await lock_group(tx, group_id)


def _compare(payment: Payment, outcome: Outcome) -> None:
    if payment.state != outcome.status:
        log.error(
            "a final payment got a different outcome",
            extra={"subject": payment.payment_id, "code": f"{payment.state}, {outcome.status}"},
        )


async def _keep(tx: ContractTransaction, payment: Payment, outcome: Outcome) -> Payment:
    failure_code = (outcome.failure_code or "failed") if outcome.status == "failed" else None
    await tx.conn.execute(
        KEEP_OUTCOME,
        payment.payment_id,
        outcome.status,
        outcome.provider_id,
        failure_code,
        tx.now_ms,
    )
    return replace(
        payment,
        state="succeeded" if outcome.status == "succeeded" else "failed",
        provider_id=outcome.provider_id or payment.provider_id,
        failure_code=failure_code,
        needs_payer=False,
        updated_at_ms=tx.now_ms,
    )


async def _follow(tx: ContractTransaction, group: Group, payment: Payment) -> None:
    """Write the ledger entries, and update the deposit, refund or leg that the payment was for."""
    has_succeeded = payment.state == "succeeded"
    if has_succeeded:
        await ledger.book(tx, ledger.entries_of(payment, group))
    if payment.operation == "hold":
        state = "held" if has_succeeded else "failed"
        await tx.conn.execute(DEPOSIT_HELD, payment.payment_id, state, tx.now_ms)
    elif payment.operation == "capture" and has_succeeded:
        taken = payment.leg_id, payment.amount_cents, tx.now_ms
        await tx.conn.execute(DEPOSIT_CAPTURED, *taken)
    elif payment.operation == "release" and has_succeeded:
        await tx.conn.execute(DEPOSIT_RELEASED, payment.source_payment, tx.now_ms)
    elif payment.operation == "refund":
        await tx.conn.execute(REFUND_PARTS, payment.refund_id, tx.now_ms)
    elif payment.operation == "payout":
        await _follow_payout(tx, group, payment)


async def _follow_payout(tx: ContractTransaction, group: Group, payment: Payment) -> None:
    leg = group.leg(payment.leg_id or "")
    if payment.state == "failed":
        await ledger.book(tx, [ledger.returned(payment, leg)])
    payout = _payout_after(leg.payout, payment.state)
    if payout != leg.payout:
        act = f"payout_{payout}"
        await change_leg(tx, leg, actor=None, role="server", act=act, payout=payout)


def _payout_after(before: Payout, outcome: PaymentState) -> Payout:
    """The leg's payout state after one of its payouts became final. A hold that began meanwhile
    stays. Of several payouts, a failed one shows until it is repeated."""
    if before == "held":
        return "held"
    if outcome == "failed":
        return "failed"
    return "paid" if before == "queued" else before


def _emit(tx: ContractTransaction, group: Group, payment: Payment) -> None:
    succeeded, failed = _EVENTS[payment.operation]
    tx.emit(_event(succeeded if payment.state == "succeeded" else failed, group, payment))


def _event(event: str, group: Group, payment: Payment) -> NewEvent:
    data = {"payment_id": payment.payment_id, "operation": payment.operation}
    if payment.failure_code is not None:
        data["failure_code"] = payment.failure_code
    return NewEvent(
        event,
        thread_id=group.thread_id,
        group_id=group.group_id,
        leg_id=payment.leg_id,
        card_id=payment.card_id,
        money=Money(payment.amount_cents, payment.currency),
        data=data,
    )


async def _place_late_money(tx: ContractTransaction, payment: Payment) -> None:
    """Money that comes in after its leg has ended is passed on at once: refunded if the leg was
    cancelled, paid to the seller if it was completed."""
    if payment.operation not in ("charge", "capture") or payment.state != "succeeded":
        return
    if payment.leg_id is None or payment.purpose == "confirm":
        return
    group = await lock_group(tx, payment.group_id)
    leg = group.leg(payment.leg_id)
    key = f"{payment.payment_id}:late"
    if leg.state is LegState.CANCELLED and payment.operation == "charge":
        await queue_refund(
            tx,
            group,
            leg,
            key=key,
            amount_cents=payment.amount_cents,
            purpose=UNDO,
            card_id=payment.card_id,
        )
    elif leg.state in (LegState.COMPLETED, LegState.CANCELLED):
        await queue_payout(tx, group, leg, key=key, purpose="complete")
