"""Confirming a booking: take the sellers' slots, charge the buyer and hold the deposits. When the
last payment of the attempt is final, either the whole booking is confirmed or everything is undone.
"""

from collections.abc import Sequence

from greenroom.bookings import sql
from greenroom.bookings.legs import (
    change_group,
    change_leg_state,
    give_slots_back,
    lock_group,
    take_slots,
)
from greenroom.bookings.model import Group, GroupState, LegState, Payment
from greenroom.bookings.money.orders import (
    UNDO,
    queue_charge,
    queue_hold,
    queue_refund,
    queue_release,
)
from greenroom.bookings.standing import standing_of
from greenroom.bookings.transactions import ContractTransaction, NewEvent
from greenroom.conversations.thread_updates import Notice, Promotion, ThreadFacts, ThreadUpdate
from greenroom.kernel.errors import ActionInvalidState, ThreadNotFound
from greenroom.kernel.money import Money

PURPOSE = "confirm"
BECOMES_PROJECT = ("inquiry", "invite")


async def begin(tx: ContractTransaction, group: Group, facts: ThreadFacts | None) -> Group:
    """Take the slots and queue the payments. A booking that costs nothing is confirmed at once."""
    if group.state is not GroupState.PROPOSED:
        raise ActionInvalidState(
            f"Only a proposed booking is confirmed; this one is {group.state}."
        )
    if facts is not None and not _can_show(group, facts):
        raise ActionInvalidState("Its thread belongs to another booking.")
    group = await take_slots(tx, group)
    group = await change_group(
        tx, group, GroupState.CONFIRMING, actor=None, role="backend", act="confirm"
    )
    attempt = f"{group.group_id}:{group.version}"
    if group.total_cents > 0:
        only = group.legs[0] if len(group.legs) == 1 else None
        await queue_charge(
            tx,
            group,
            only,
            key=f"{attempt}:charge",
            amount_cents=group.total_cents,
            purpose=PURPOSE,
        )
    deposits = [leg for leg in group.legs if leg.deposit_cents > 0]
    for leg in deposits:
        key = f"{attempt}:hold:{leg.leg_id}"
        await queue_hold(tx, group, leg, key=key, purpose=PURPOSE)
    if group.total_cents == 0 and not deposits:
        group = await _confirm_all(tx, group)
    return group


async def on_payment(tx: ContractTransaction, payment: Payment) -> None:
    """Called for each payment of an attempt that becomes final. The last one decides."""
    prefix = ":".join([*payment.key.split(":")[:2], ""])
    rows = await tx.conn.fetch(sql.PAYMENTS_OF_ATTEMPT, payment.group_id, prefix)
    payments = [sql.read_payment(row) for row in rows]
    if any(each.state == "queued" for each in payments):
        return
    group = await lock_group(tx, payment.group_id)
    failure_code = next((each.failure_code for each in payments if each.state == "failed"), None)
    if failure_code is None and not await _can_still_show(tx, group):
        failure_code = "thread_unavailable"
    if group.state is GroupState.CONFIRMING and failure_code is None:
        await _confirm_all(tx, group)
        return
    await _give_back(tx, group, payments)
    # A booking that was cancelled meanwhile stays cancelled.
    if group.state is GroupState.CONFIRMING:
        await _fail(tx, group, failure_code)


async def _can_still_show(tx: ContractTransaction, group: Group) -> bool:
    if group.thread_id is None:
        return True
    try:
        return _can_show(group, await tx.access(group.thread_id, None))
    except ThreadNotFound:
        return False


def _can_show(group: Group, facts: ThreadFacts) -> bool:
    """Whether the thread can become this booking's project, or already is."""
    if facts.kind in BECOMES_PROJECT:
        return True
    is_ours = facts.group_id == group.group_id
    return is_ours or facts.leg_id in {leg.leg_id for leg in group.legs}


async def _confirm_all(tx: ContractTransaction, group: Group) -> Group:
    group = await change_group(
        tx, group, GroupState.CONFIRMED, actor=None, role="server", act="confirmed"
    )
    for leg in group.legs:
        if leg.state is LegState.PROPOSED:
            confirmed = await change_leg_state(
                tx, leg, LegState.CONFIRMED, actor=None, role="server", act="confirmed"
            )
            group = group.with_leg(confirmed)
    _emit(tx, group, "lbg.confirmed")
    if group.thread_id is not None:
        await tx.close_cards(group.thread_id, [leg.leg_id for leg in group.legs])
        notice = Notice("booking.confirmed", _params(group))
        await _update_thread(tx, group, notice, promotion_of(group))
    return group


def promotion_of(group: Group) -> Promotion:
    """A thread names a booking of one leg by the leg, and any other by the group."""
    only = group.legs[0].leg_id if len(group.legs) == 1 else None
    return Promotion(None if only else group.group_id, only)


async def _fail(tx: ContractTransaction, group: Group, failure_code: str | None) -> None:
    group = await give_slots_back(tx, group)
    group = await change_group(
        tx,
        group,
        GroupState.PROPOSED,
        actor=None,
        role="server",
        act="payment_failed",
        failure_code=failure_code,
    )
    _emit(tx, group, "lbg.payment_failed")
    params = {**_params(group), "failure_code": failure_code}
    try:
        await _update_thread(tx, group, Notice("booking.payment_failed", params), None)
    except ThreadNotFound:
        # The thread was erased. The booking's failure_code says why it failed.
        return


async def _give_back(tx: ContractTransaction, group: Group, payments: Sequence[Payment]) -> None:
    for payment in payments:
        if payment.state != "succeeded":
            continue
        key = f"{payment.payment_id}:back"
        if payment.operation == "hold":
            leg = group.leg(payment.leg_id or "")
            await queue_release(tx, group, leg, key=key, purpose="cancel")
            continue
        for leg in group.legs:
            await queue_refund(
                tx,
                group,
                leg,
                key=f"{key}:{leg.leg_id}",
                amount_cents=leg.price_cents,
                purpose=UNDO,
            )


async def _update_thread(
    tx: ContractTransaction, group: Group, notice: Notice, promotes: Promotion | None
) -> None:
    if group.thread_id is None:
        return
    standing = await standing_of(tx, group.thread_id)
    update = ThreadUpdate(group.thread_id, promotes=promotes, notices=(notice,), standing=standing)
    await tx.update_thread(update)


def _params(group: Group) -> dict[str, str | int | None]:
    return {
        "booking_id": group.group_id,
        "amount_cents": group.total_cents,
        "currency": group.currency,
    }


def _emit(tx: ContractTransaction, group: Group, event: str) -> None:
    money = Money(group.total_cents, group.currency)
    tx.emit(NewEvent(event, thread_id=group.thread_id, group_id=group.group_id, money=money))
