"""Nobody is booked twice at the same time."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from greenroom.bookings.legs import change_leg_state, move_leg
from greenroom.bookings.model import Group, GroupState, Leg, LegState
from greenroom.bookings.transactions import ContractTransaction
from greenroom.kernel.errors import ActionConflict, ActionInvalidState
from tests.support.clock import HOUR_MS

from .stage import Stage

RACERS = 200
HELD = "select count(*) from leg where seller = $1 and holds_slot"


async def test_of_200_who_want_one_slot_exactly_one_gets_it(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    groups = [await stage.propose(ann, stage.leg(bob)) for _ in range(RACERS)]

    async def race(group: Group) -> bool:
        try:
            await stage.bookings.confirm(group.group_id)
        except ActionConflict:
            return False
        return True

    won = await asyncio.gather(*(race(group) for group in groups))
    assert sum(won) == 1
    assert await stage.pool.fetchval(HELD, bob) == 1
    await stage.run_payments()
    assert stage.bank.did("charge") == [10_000]
    winner = groups[won.index(True)]
    assert (await stage.group(winner.group_id)).state is GroupState.CONFIRMED


async def test_bookings_that_want_the_same_sellers_in_other_orders_do_not_block_each_other(
    stage: Stage,
) -> None:
    ann, bob, sue = await stage.people("ann", "bob", "sue")
    groups = [
        await stage.propose(ann, *(stage.leg(each) for each in sellers))
        for sellers in [(bob, sue), (sue, bob)] * 10
    ]
    outcomes = await asyncio.gather(
        *(stage.bookings.confirm(group.group_id) for group in groups), return_exceptions=True
    )
    refused = [each for each in outcomes if each is not None]
    assert len(refused) == len(groups) - 1
    assert {type(each) for each in refused} == {ActionConflict}


async def test_all_legs_get_their_slots_or_none_does(stage: Stage) -> None:
    ann, bob, sue, zoe = await stage.people("ann", "bob", "sue", "zoe")
    await stage.confirm(await stage.propose(ann, stage.leg(sue)))
    group = await stage.propose(ann, stage.leg(bob), stage.leg(sue), stage.leg(zoe))
    with pytest.raises(ActionConflict) as refused:
        await stage.bookings.confirm(group.group_id)
    taken = group.legs[1].leg_id
    assert refused.value.extra == {"leg_id": taken}
    assert refused.value.detail is not None
    assert taken in refused.value.detail
    assert "lbg_" not in refused.value.detail
    assert not any(leg.holds_slot for leg in (await stage.group(group.group_id)).legs)
    assert await stage.queued() == []


async def test_slots_that_touch_do_not_overlap(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    for in_hours in (100, 102, 98):
        group = await stage.propose(ann, stage.leg(bob, in_hours=in_hours, hours=2))
        assert (await stage.confirm(group)).state is GroupState.CONFIRMED
    group = await stage.propose(ann, stage.leg(bob, in_hours=101.9, hours=0.2))
    with pytest.raises(ActionConflict):
        await stage.bookings.confirm(group.group_id)


async def test_a_cancelled_booking_gives_its_slot_back(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    await stage.bookings.cancel(group.group_id, "buyer")
    [eve] = await stage.people("eve")
    again = await stage.propose(eve, stage.leg(leg.seller))
    assert (await stage.confirm(again)).state is GroupState.CONFIRMED


async def test_a_leg_does_not_move_where_its_seller_is_taken_and_the_deed_goes_on(
    stage: Stage,
) -> None:
    ann, bob = await stage.people("ann", "bob")
    first = await stage.confirm(await stage.propose(ann, stage.leg(bob, in_hours=100)))
    second = await stage.confirm(await stage.propose(ann, stage.leg(bob, in_hours=200)))
    wanted = first.legs[0].start_ms + HOUR_MS

    async def move_or_stay(tx: ContractTransaction, group: Group, leg: Leg) -> Leg:
        with pytest.raises(ActionConflict):
            await move_leg(
                tx, leg, wanted, wanted + HOUR_MS, actor=ann, role="buyer", act="reschedule"
            )
        later = wanted + 10 * HOUR_MS
        return await move_leg(
            tx, leg, later, later + HOUR_MS, actor=ann, role="buyer", act="reschedule"
        )

    moved = await stage.with_leg(second.legs[0].leg_id, move_or_stay)
    assert moved.start_ms == wanted + 10 * HOUR_MS
    acts = [step for step in await stage.history(second.group_id) if step[2] == "reschedule"]
    assert len(acts) == 1
    assert (await stage.events(second.group_id)).count("leg.moved") == 1


async def test_the_database_itself_refuses_a_slot_that_is_taken(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    other = await stage.propose(group.buyer, stage.leg(leg.seller))
    with pytest.raises(asyncpg.ExclusionViolationError):
        await stage.pool.execute(
            "update leg set holds_slot = true where group_id = $1", other.group_id
        )


@pytest.mark.parametrize("state", [LegState.COMPLETED, LegState.IN_PROGRESS])
async def test_a_leg_that_has_begun_does_not_move(stage: Stage, state: LegState) -> None:
    _, leg = await stage.confirmed()

    async def begin_and_move(tx: ContractTransaction, group: Group, leg: Leg) -> None:
        leg = await change_leg_state(tx, leg, state, actor=None, role="server", act="test")
        times = leg.start_ms + 1, leg.end_ms
        await move_leg(tx, leg, *times, actor=None, role="server", act="test")

    with pytest.raises(ActionInvalidState):
        await stage.with_leg(leg.leg_id, begin_and_move)


async def test_a_leg_takes_only_the_steps_that_are_its_own(stage: Stage) -> None:
    group, leg = await stage.confirmed()

    async def back(tx: ContractTransaction, group: Group, leg: Leg) -> Leg:
        to = LegState.PROPOSED
        return await change_leg_state(tx, leg, to, actor=None, role="server", act="test")

    with pytest.raises(ActionInvalidState):
        await stage.with_leg(leg.leg_id, back)
    assert (await stage.group(group.group_id)).legs == (leg,)
