"""How legs end: cancelled or completed, and where their money goes then."""

from greenroom.bookings.deeds import Deed, Told
from greenroom.bookings.legs import change_group, change_leg_state, lock_group
from greenroom.bookings.model import Group, GroupState, Leg, LegState
from greenroom.bookings.money import queue_payout, queue_refund, queue_release
from greenroom.kernel.money import Money


async def cancel_leg(
    deed: Deed,
    group: Group,
    leg: Leg,
    *,
    refund_cents: int,
    actor: str | None,
    role: str,
    card_id: str | None = None,
) -> Group:
    """The leg does not take place: its time is free again, the deposit goes back, and so does what
    is refunded. The rest is the seller's. With its last leg the group is cancelled.

    A leg that was never confirmed moves no money: what an attempt to confirm has taken is given
    back when the last of its payments is known."""
    cancelled = await change_leg_state(
        deed, leg, LegState.CANCELLED, actor=actor, role=role, act="cancel"
    )
    if leg.state is not LegState.PROPOSED:
        key = f"{leg.leg_id}:cancel"
        await queue_refund(
            deed,
            group,
            cancelled,
            key=key,
            amount_cents=refund_cents,
            purpose="cancel",
            card_id=card_id,
        )
        await queue_release(deed, group, cancelled, key=f"{key}:release", purpose="cancel")
        await queue_payout(deed, group, cancelled, key=f"{key}:payout", purpose="cancel")
    group = await lock_group(deed, group.group_id)
    if all(each.state is LegState.CANCELLED for each in group.legs):
        group = await change_group(
            deed, group, GroupState.CANCELLED, actor=actor, role=role, act="cancel"
        )
        money = Money(group.total_cents, group.currency)
        deed.tell(
            Told(
                "lbg.cancelled",
                actor,
                thread_id=group.thread_id,
                group_id=group.group_id,
                card_id=card_id,
                money=money,
            )
        )
    return group


async def complete_leg(
    deed: Deed, group: Group, leg: Leg, *, actor: str | None, role: str, act: str = "complete"
) -> Group:
    """Done as agreed: the deposit goes back and the seller is paid, unless the payout is held."""
    completed = await change_leg_state(
        deed, leg, LegState.COMPLETED, actor=actor, role=role, act=act
    )
    # A leg can be completed again after a dispute, hence the version.
    key = f"{leg.leg_id}:complete:{completed.version}"
    await queue_release(deed, group, completed, key=f"{key}:release", purpose="complete")
    await queue_payout(deed, group, completed, key=f"{key}:payout", purpose="complete")
    return await lock_group(deed, group.group_id)
