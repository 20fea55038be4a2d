"""How a booking becomes binding: the slots are taken, the money is asked for, and when the last
payment of the attempt is known, either everything stands or everything is given back."""

from collections.abc import Sequence

from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.deeds import Deed, Told
from greenroom.bookings.legs import (
    change_group,
    change_leg_state,
    give_slots_back,
    lock_group,
    take_slots,
)
from greenroom.bookings.model import Group, GroupState, LegState, Payment
from greenroom.bookings.money import queue_charge, queue_hold, queue_refund, queue_release
from greenroom.bookings.standing import standing_of
from greenroom.conversations.postings import Notice, Posting, Promotion, ThreadFacts
from greenroom.kernel.errors import ActionInvalidState, ThreadNotFound
from greenroom.kernel.money import Money

PURPOSE = "confirm"
BECOMES_PROJECT = ("inquiry", "invite")


async def begin(deed: Deed, group: Group, facts: ThreadFacts | None) -> Group:
    """Take the slots and ask for the money. What costs nothing is confirmed at once."""
    if group.state is not GroupState.PROPOSED:
        raise ActionInvalidState(
            f"Only a proposed booking is confirmed; this one is {group.state}."
        )
    if facts is not None and not _can_show(group, facts):
        raise ActionInvalidState("Its thread belongs to another booking.")
    group = await take_slots(deed, group)
    group = await change_group(
        deed, group, GroupState.CONFIRMING, actor=None, role="backend", act="confirm"
    )
    attempt = f"{group.group_id}:{group.version}"
    if group.total_cents > 0:
        only = group.legs[0] if len(group.legs) == 1 else None
        await queue_charge(
            deed,
            group,
            only,
            key=f"{attempt}:charge",
            amount_cents=group.total_cents,
            purpose=PURPOSE,
        )
    deposits = [leg for leg in group.legs if leg.deposit_cents > 0]
    for leg in deposits:
        key = f"{attempt}:hold:{leg.leg_id}"
        await queue_hold(deed, group, leg, key=key, purpose=PURPOSE)
    if group.total_cents == 0 and not deposits:
        group = await _stand(deed, group)
    return group


async def on_payment(deed: Deed, payment: Payment) -> None:
    """Listens to the payments of an attempt; the last one that is known decides."""
    prefix = ":".join([*payment.key.split(":")[:2], ""])
    rows = await deed.conn.fetch(sql.PAYMENTS_OF_ATTEMPT, payment.group_id, prefix)
    payments = [sql.read_payment(row) for row in rows]
    if any(each.state == "queued" for each in payments):
        return
    group = await lock_group(deed, payment.group_id)
    failure_code = next((each.failure_code for each in payments if each.state == "failed"), None)
    if failure_code is None and not await _can_still_show(deed, group):
        failure_code = "thread_unavailable"
    if group.state is GroupState.CONFIRMING and failure_code is None:
        await _stand(deed, group)
        return
    await _give_back(deed, group, payments)
    # A booking that was cancelled meanwhile stays so.
    if group.state is GroupState.CONFIRMING:
        await _fall(deed, group, failure_code)


async def _can_still_show(deed: Deed, group: Group) -> bool:
    if group.thread_id is None:
        return True
    try:
        return _can_show(group, await deed.access(group.thread_id, None))
    except ThreadNotFound:
        return False


def _can_show(group: Group, facts: ThreadFacts) -> bool:
    """Whether the thread can become this booking's project, or is it already."""
    if facts.kind in BECOMES_PROJECT:
        return True
    is_ours = facts.group_id == group.group_id
    return is_ours or facts.leg_id in {leg.leg_id for leg in group.legs}


async def _stand(deed: Deed, group: Group) -> Group:
    group = await change_group(
        deed, group, GroupState.CONFIRMED, actor=None, role="server", act="confirmed"
    )
    for leg in group.legs:
        if leg.state is LegState.PROPOSED:
            confirmed = await change_leg_state(
                deed, leg, LegState.CONFIRMED, actor=None, role="server", act="confirmed"
            )
            group = group.with_leg(confirmed)
    _tell(deed, group, "lbg.confirmed")
    if group.thread_id is not None:
        only = group.legs[0].leg_id if len(group.legs) == 1 else None
        promotes = Promotion(None if only else group.group_id, only)
        await _post(deed, group, Notice("booking.confirmed", _params(group)), promotes)
    return group


async def _fall(deed: Deed, group: Group, failure_code: str | None) -> None:
    group = await give_slots_back(deed, group)
    group = await change_group(
        deed,
        group,
        GroupState.PROPOSED,
        actor=None,
        role="server",
        act="payment_failed",
        failure_code=failure_code,
    )
    _tell(deed, group, "lbg.payment_failed")
    params = {**_params(group), "failure_code": failure_code}
    try:
        await _post(deed, group, Notice("booking.payment_failed", params), None)
    except ThreadNotFound:
        # Nobody is left to be told; the booking itself says why.
        return


async def _give_back(deed: Deed, group: Group, payments: Sequence[Payment]) -> None:
    for payment in payments:
        if payment.state != "succeeded":
            continue
        key = f"{payment.payment_id}:back"
        if payment.operation == "hold":
            leg = group.leg(payment.leg_id or "")
            await queue_release(deed, group, leg, key=key, purpose="cancel")
            continue
        for leg in group.legs:
            await queue_refund(
                deed,
                group,
                leg,
                key=f"{key}:{leg.leg_id}",
                amount_cents=leg.price_cents,
                purpose="cancel",
            )


async def _post(deed: Deed, group: Group, notice: Notice, promotes: Promotion | None) -> None:
    if group.thread_id is None:
        return
    standing = await standing_of(deed, group, group.thread_id)
    posting = Posting(group.thread_id, promotes=promotes, notices=(notice,), standing=standing)
    await deed.post(posting)


def _params(group: Group) -> dict[str, str | int | None]:
    return {
        "booking_id": group.group_id,
        "amount_cents": group.total_cents,
        "currency": group.currency,
    }


def _tell(deed: Deed, group: Group, event: str) -> None:
    money = Money(group.total_cents, group.currency)
    deed.tell(Told(event, thread_id=group.thread_id, group_id=group.group_id, money=money))
