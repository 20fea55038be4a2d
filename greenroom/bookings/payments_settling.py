"""How the outcome of a payment becomes part of the contract: once, whole, and for ever."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from greenroom.bookings import ledger
from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.deeds import Deed, Deeds, Told
from greenroom.bookings.legs import change_leg, lock_group, thread_of
from greenroom.bookings.model import Group, LegState, Payment, PaymentState, Payout
from greenroom.bookings.money import queue_payout, queue_refund
from greenroom.bookings.payments import Outcome
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.money import Money

log = logging.getLogger(__name__)

Listener = Callable[[Deed, Payment], Awaitable[None]]
"""What a purpose makes of an outcome, in the same deed. The thread, the group and its legs are
locked; the payment is final."""

KEEP_OUTCOME = """
update payment set state = $2, provider_id = coalesce($3, provider_id), failure_code = $4,
    updated_at = $5
where payment_id = $1
"""
DEPOSIT_HELD = "update deposit set state = $2, updated_at = $3 where payment_id = $1"
DEPOSIT_CAPTURED = """
update deposit set captured_cents = captured_cents + $2, updated_at = $3,
    state = case when captured_cents + $2 = amount_cents then 'captured' else state end
where leg_id = $1
"""
# Not where the leg has another hold by now.
DEPOSIT_RELEASED = """
update deposit set updated_at = $2,
    state = case when captured_cents > 0 then 'captured' else 'released' end
where payment_id = $1
"""
# A refund is over when all its parts are; one part that failed makes it a failure.
REFUND_PARTS = """
update refund r set updated_at = $2,
    state = case when parts.failed then 'failed' else 'refunded' end
from (select bool_or(state = 'queued') as waits, bool_or(state = 'failed') as failed
      from payment where refund_id = $1) parts
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
    def __init__(self, deeds: Deeds) -> None:
        self._deeds = deeds
        self._listeners: dict[str, Listener] = {}

    def register(self, purpose: str, listener: Listener) -> None:
        self._listeners[purpose] = listener

    async def settle(self, payment_id: str, outcome: Outcome) -> bool:
        """Whether this outcome was news. What is final stays as it is, whatever is said later."""
        if outcome.status == "pending":
            return False

        async def work(deed: Deed) -> bool:
            return await self._settle(deed, payment_id, outcome)

        return bool(await self._deeds.do(work))

    async def _settle(self, deed: Deed, payment_id: str, outcome: Outcome) -> bool:
        found = await deed.conn.fetchrow(sql.PAYMENT, payment_id)
        if found is None:
            log.error("an outcome for no payment", extra={"subject": payment_id})
            return False
        group = await _lock(deed, found["group_id"])
        [row] = await deed.conn.fetch(sql.LOCK_PAYMENT, payment_id)
        payment = sql.read_payment(row)
        if payment.state != "queued":
            _compare(payment, outcome)
            return False
        payment = await _keep(deed, payment, outcome)
        await _follow(deed, group, payment)
        _tell(deed, group, payment)
        listener = self._listeners.get(payment.purpose)
        if listener is not None:
            await listener(deed, payment)
        await _place_late_money(deed, payment)
        return True


async def _lock(deed: Deed, group_id: str) -> Group:
    thread_id = await thread_of(deed, group_id)
    if thread_id is not None:
        try:
            await deed.access(thread_id, None)
        except ThreadNotFound:
            # Money is settled also when its conversation has been erased.
            log.warning("a payment's thread is gone", extra={"subject": group_id})
    return await lock_group(deed, group_id)


def _compare(payment: Payment, outcome: Outcome) -> None:
    if payment.state != outcome.status:
        log.error(
            "a payment that is final was told another outcome",
            extra={"subject": payment.payment_id, "code": f"{payment.state}, {outcome.status}"},
        )


async def _keep(deed: Deed, payment: Payment, outcome: Outcome) -> Payment:
    failure_code = (outcome.failure_code or "failed") if outcome.status == "failed" else None
    await deed.conn.execute(
        KEEP_OUTCOME,
        payment.payment_id,
        outcome.status,
        outcome.provider_id,
        failure_code,
        deed.now_ms,
    )
    return replace(
        payment,
        state="succeeded" if outcome.status == "succeeded" else "failed",
        provider_id=outcome.provider_id or payment.provider_id,
        failure_code=failure_code,
        updated_at_ms=deed.now_ms,
    )


async def _follow(deed: Deed, group: Group, payment: Payment) -> None:
    """The ledger, and the row that the payment was for."""
    has_succeeded = payment.state == "succeeded"
    if has_succeeded:
        await ledger.book(deed, ledger.entries_of(payment, group))
    if payment.operation == "hold":
        state = "held" if has_succeeded else "failed"
        await deed.conn.execute(DEPOSIT_HELD, payment.payment_id, state, deed.now_ms)
    elif payment.operation == "capture" and has_succeeded:
        taken = payment.leg_id, payment.amount_cents, deed.now_ms
        await deed.conn.execute(DEPOSIT_CAPTURED, *taken)
    elif payment.operation == "release" and has_succeeded:
        await deed.conn.execute(DEPOSIT_RELEASED, payment.source_payment, deed.now_ms)
    elif payment.operation == "refund":
        await deed.conn.execute(REFUND_PARTS, payment.refund_id, deed.now_ms)
    elif payment.operation == "payout":
        await _follow_payout(deed, group, payment)


async def _follow_payout(deed: Deed, group: Group, payment: Payment) -> None:
    leg = group.leg(payment.leg_id or "")
    if payment.state == "failed":
        await ledger.book(deed, [ledger.returned(payment, leg)])
    payout = _payout_after(leg.payout, payment.state)
    if payout != leg.payout:
        act = f"payout_{payout}"
        await change_leg(deed, leg, actor=None, role="server", act=act, payout=payout)


def _payout_after(before: Payout, outcome: PaymentState) -> Payout:
    """One that was held meanwhile because of what else is kept for the leg stays held; of several,
    one that failed shows until it is made again."""
    if before == "held":
        return "held"
    if outcome == "failed":
        return "failed"
    return "paid" if before == "queued" else before


def _tell(deed: Deed, group: Group, payment: Payment) -> None:
    succeeded, failed = _EVENTS[payment.operation]
    data = {"payment_id": payment.payment_id, "operation": payment.operation}
    if payment.failure_code is not None:
        data["failure_code"] = payment.failure_code
    deed.tell(
        Told(
            succeeded if payment.state == "succeeded" else failed,
            thread_id=group.thread_id,
            group_id=group.group_id,
            leg_id=payment.leg_id,
            card_id=payment.card_id,
            money=Money(payment.amount_cents, payment.currency),
            data=data,
        )
    )


async def _place_late_money(deed: Deed, payment: Payment) -> None:
    """A charge that succeeds after its leg has ended goes on at once: back to the buyer of a leg
    that was cancelled, on to the seller of one that was completed."""
    if payment.operation not in ("charge", "capture") or payment.state != "succeeded":
        return
    if payment.leg_id is None or payment.purpose == "confirm":
        return
    group = await lock_group(deed, payment.group_id)
    leg = group.leg(payment.leg_id)
    key = f"{payment.payment_id}:late"
    if leg.state is LegState.CANCELLED and payment.operation == "charge":
        await queue_refund(
            deed,
            group,
            leg,
            key=key,
            amount_cents=payment.amount_cents,
            purpose="cancel",
            card_id=payment.card_id,
        )
    elif leg.state in (LegState.COMPLETED, LegState.CANCELLED):
        await queue_payout(deed, group, leg, key=key, purpose="complete")
