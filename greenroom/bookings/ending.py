"""Ending a leg: cancel or complete it, and queue the refund, release and payout that follow."""

from greenroom.bookings.legs import change_group, change_leg_state, lock_group, stage_of_states
from greenroom.bookings.model import Group, GroupState, Leg, LegState
from greenroom.bookings.money.orders import queue_payout, queue_refund, queue_release
from greenroom.bookings.transactions import ContractTransaction, NewEvent
from greenroom.kernel.money import Money


async def cancel_leg(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    refund_cents: int,
    actor: str | None,
    role: str,
    card_id: str | None = None,
) -> Group:
    """Cancel a leg: free its slot, release the deposit, refund `refund_cents` and pay the rest to
    the seller. When the last leg is cancelled, so is the group.

    For a leg that was never confirmed no money moves here: `confirming.on_payment` undoes the
    payments of an unfinished attempt when the last of them is final."""
    cancelled = await change_leg_state(
        tx, leg, LegState.CANCELLED, actor=actor, role=role, act="cancel"
    )
    if leg.state is not LegState.PROPOSED:
        key = f"{leg.leg_id}:cancel"
        await queue_refund(
            tx,
            group,
            cancelled,
            key=key,
            amount_cents=refund_cents,
            purpose="cancel",
            card_id=card_id,
        )
        await queue_release(tx, group, cancelled, key=f"{key}:release", purpose="cancel")
        await queue_payout(tx, group, cancelled, key=f"{key}:payout", purpose="cancel")
    group = await lock_group(tx, group.group_id)
    if all(each.state is LegState.CANCELLED for each in group.legs):
        group = await change_group(
            tx, group, GroupState.CANCELLED, actor=actor, role=role, act="cancel"
        )
        _emit(tx, group, "lbg.cancelled", actor, card_id)
    elif stage_of_states(each.state for each in group.legs) == "completed":
        _emit(tx, group, "lbg.completed", actor, card_id)
    return group


async def complete_leg(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    actor: str | None,
    role: str,
    act: str = "complete",
) -> Group:
    """Complete a leg: release the deposit and pay the seller, unless the payout is held."""
    completed = await change_leg_state(tx, leg, LegState.COMPLETED, actor=actor, role=role, act=act)
    # A leg can be completed again after a dispute, so the key contains the version.
    key = f"{leg.leg_id}:complete:{completed.version}"
    await queue_release(tx, group, completed, key=f"{key}:release", purpose="complete")
    await queue_payout(tx, group, completed, key=f"{key}:payout", purpose="complete")
    group = await lock_group(tx, group.group_id)
    if stage_of_states(each.state for each in group.legs) == "completed":
        _emit(tx, group, "lbg.completed", actor)
    return group


def _emit(
    tx: ContractTransaction,
    group: Group,
    event: str,
    actor: str | None,
    card_id: str | None = None,
) -> None:
    tx.emit(
        NewEvent(
            event,
            actor,
            thread_id=group.thread_id,
            group_id=group.group_id,
            card_id=card_id,
            money=Money(group.total_cents, group.currency),
        )
    )
