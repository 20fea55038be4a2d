"""What the payment provider tells about payments that are final already: the buyer disputes one
with their bank, a refund or a payout came back, a deposit is no longer held."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from asyncpg import Record

from greenroom.bookings import sql
from greenroom.bookings.ending import complete_leg
from greenroom.bookings.legs import change_leg_state
from greenroom.bookings.model import ENDED, UNDER_WAY, Group, Leg, LegState, Payment
from greenroom.bookings.money.orders import queue_payout
from greenroom.bookings.money.payout_holds import free_payout, hold_payout
from greenroom.bookings.money.settling import lock_for_money
from greenroom.bookings.standing import standing_of
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions, NewEvent
from greenroom.conversations.thread_updates import Notice, ThreadUpdate
from greenroom.kernel.errors import ThreadNotFound
from greenroom.kernel.money import Money
from greenroom.platform.postgres.pool import unavailable_on_failure

DisputeState = Literal["open", "won", "lost"]
LateEvent = Literal["refund.returned", "payout.reversed", "deposit.expired"]

ACT = "dispute_payment"
REASON = "payment_disputed"

log = logging.getLogger("greenroom.payments")

PAYMENT_OF_PROVIDER = f"""
select {sql.PAYMENT_COLUMNS} from payment
where provider_id = $1 and operation in ('charge', 'hold', 'capture')
order by payment_id limit 1
"""  # noqa: S608 (names of our own)
OPEN = """
insert into payment_dispute (dispute_id, payment_id, reason, amount_cents, currency, state,
                             opened_at)
values ($1, $2, $3, $4, $5, 'open', $6)
on conflict do nothing returning 1
"""
CLOSE = """
update payment_dispute set state = $2, closed_at = $3 where dispute_id = $1 and state = 'open'
returning 1
"""
IS_DISPUTED = """
select exists (
    select from payment_dispute d join payment p using (payment_id)
    where d.state = 'open' and p.group_id = $1 and (p.leg_id = $2 or p.leg_id is null))
"""
# How a leg came to be disputed, and what it was before.
BECAME_DISPUTED = """
select act, from_state from history
where subject = $1 and to_state = 'disputed' and from_state <> 'disputed'
order by seq desc limit 1
"""
DISPUTES = """
select d.dispute_id, d.payment_id, d.reason, d.amount_cents, d.currency, d.state, d.opened_at,
    d.closed_at, p.group_id, p.leg_id
from payment_dispute d join payment p using (payment_id)
where d.dispute_id > $1 and ($2::text is null or d.state = $2) order by d.dispute_id limit $3
"""


@dataclass(frozen=True, slots=True)
class DisputeReport:
    """`provider_id` is the provider's own id of the disputed charge."""

    dispute_id: str
    provider_id: str
    reason: str
    amount_cents: int
    currency: str
    state: DisputeState


@dataclass(frozen=True, slots=True)
class Dispute:
    dispute_id: str
    payment_id: str
    group_id: str
    leg_id: str | None
    reason: str
    amount_cents: int
    currency: str
    state: DisputeState
    opened_at_ms: int
    closed_at_ms: int | None


class PaymentDisputes:
    def __init__(self, transactions: ContractTransactions) -> None:
        self._transactions = transactions

    async def take(self, report: DisputeReport) -> bool:
        """Apply a report once, in whatever order reports come. While a dispute is open its legs
        are `disputed` and their sellers are not paid. When it is won they are again what they
        were; when it is lost the backend decides, as about every dispute. False if the payment is
        not ours."""

        async def work(tx: ContractTransaction) -> bool:
            found = await tx.conn.fetchrow(PAYMENT_OF_PROVIDER, report.provider_id)
            if found is None:
                return False
            payment = sql.read_payment(found)
            group = await lock_for_money(tx, payment.group_id)
            await _open(tx, group, payment, report)
            if report.state != "open":
                await _close(tx, payment, report)
            return True

        return bool(await self._transactions.run(work))

    async def note_late(self, payment: Payment, event: LateEvent) -> None:
        """Tell other systems. The payment and the ledger stay as they are: a person looks at it."""

        async def work(tx: ContractTransaction) -> None:
            tx.emit(_event(event, payment, {"operation": payment.operation}))

        log.error("a final payment was undone at the provider: %s", event, extra=_told(payment))
        await self._transactions.run(work)

    @unavailable_on_failure()
    async def list(self, after: str, limit: int, state: DisputeState | None) -> Sequence[Dispute]:
        rows = await self._transactions.pool.fetch(DISPUTES, after, state, limit)
        return [_read(row) for row in rows]


async def _open(
    tx: ContractTransaction, group: Group, payment: Payment, report: DisputeReport
) -> None:
    of = (payment.payment_id, report.reason, report.amount_cents, report.currency)
    if not await tx.conn.fetchval(OPEN, report.dispute_id, *of, tx.now_ms):
        return
    log.warning("a payment is disputed", extra=_told(payment))
    legs = _legs_of(group, payment)
    for leg in legs:
        await _dispute_leg(tx, leg)
    tx.emit(_event("payment.disputed", payment, _data(report), report))
    await _show(tx, group, "booking.payment_disputed", legs)


async def _dispute_leg(tx: ContractTransaction, leg: Leg) -> None:
    if leg.state in UNDER_WAY:
        leg = await change_leg_state(tx, leg, LegState.DISPUTED, actor=None, role="server", act=ACT)
    if leg.state is not LegState.PROPOSED and leg.payout != "held":
        await hold_payout(tx, leg, REASON)


async def _close(tx: ContractTransaction, payment: Payment, report: DisputeReport) -> None:
    if not await tx.conn.fetchval(CLOSE, report.dispute_id, report.state, tx.now_ms):
        return
    group = await lock_for_money(tx, payment.group_id)
    legs = _legs_of(group, payment)
    if report.state == "won":
        for leg in legs:
            if not await tx.conn.fetchval(IS_DISPUTED, group.group_id, leg.leg_id):
                await _restore_leg(tx, group, leg, report)
    tx.emit(_event(f"payment.dispute_{report.state}", payment, _data(report), report))
    await _show(tx, group, f"booking.payment_dispute_{report.state}", legs)


async def _restore_leg(
    tx: ContractTransaction, group: Group, leg: Leg, report: DisputeReport
) -> None:
    """A leg that a person has disputed too stays disputed."""
    if leg.state in ENDED and leg.payout_held_reason == REASON:
        leg = await free_payout(tx, leg)
        key = f"{leg.leg_id}:{report.dispute_id}"
        await queue_payout(tx, group, leg, key=key, purpose="complete")
        return
    if leg.state is not LegState.DISPUTED:
        return
    before = await tx.conn.fetchrow(BECAME_DISPUTED, leg.leg_id)
    if before is None or before["act"] != ACT:
        return
    leg = await free_payout(tx, leg)
    to = LegState(before["from_state"])
    if to is LegState.COMPLETED:
        await complete_leg(tx, group, leg, actor=None, role="server", act="dispute_won")
    else:
        await change_leg_state(tx, leg, to, actor=None, role="server", act="dispute_won")


def _legs_of(group: Group, payment: Payment) -> list[Leg]:
    return [leg for leg in group.legs if payment.leg_id in (None, leg.leg_id)]


async def _show(tx: ContractTransaction, group: Group, code: str, legs: Sequence[Leg]) -> None:
    if group.thread_id is None:
        return
    try:
        await tx.close_cards(group.thread_id, [leg.leg_id for leg in legs])
        standing = await standing_of(tx, group.thread_id)
        notice = Notice(code, {"booking_id": group.group_id})
        await tx.update_thread(ThreadUpdate(group.thread_id, notices=(notice,), standing=standing))
    except ThreadNotFound:
        log.warning("the thread of a disputed payment is gone", extra={"subject": group.group_id})


def _data(report: DisputeReport) -> dict[str, Any]:
    return {"dispute_id": report.dispute_id, "reason": report.reason}


def _event(
    event: str, payment: Payment, data: dict[str, Any], report: DisputeReport | None = None
) -> NewEvent:
    money = Money(payment.amount_cents, payment.currency)
    if report is not None:
        money = Money(report.amount_cents, report.currency)
    return NewEvent(
        event,
        group_id=payment.group_id,
        leg_id=payment.leg_id,
        card_id=payment.card_id,
        money=money,
        data={"payment_id": payment.payment_id, **data},
    )


def _told(payment: Payment) -> dict[str, str]:
    return {"subject": payment.payment_id}


def _read(row: Record) -> Dispute:
    return Dispute(
        dispute_id=row["dispute_id"],
        payment_id=row["payment_id"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        reason=row["reason"],
        amount_cents=row["amount_cents"],
        currency=row["currency"],
        state=row["state"],
        opened_at_ms=row["opened_at"],
        closed_at_ms=row["closed_at"],
    )
