"""A booking that is confirmed again holds a new deposit, whatever happened to the first."""

from __future__ import annotations

from greenroom.bookings.model import GroupState

from .stage import Stage


async def test_a_late_release_of_the_first_attempt_leaves_the_second_deposit_held(
    stage: Stage,
) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, deposit=2_000))
    stage.bank.refuses, stage.bank.silent = {"charge"}, {"release"}
    group = await stage.confirm(group)
    assert group.state is GroupState.PROPOSED
    stage.bank.refuses = set()
    group = await stage.confirm(group)
    assert group.state is GroupState.CONFIRMED
    stage.bank.silent = set()
    await stage.run_payments()
    assert stage.bank.did("release") == [2_000]
    leg_id = group.legs[0].leg_id
    assert (await stage.booking(group.group_id)).deposits[leg_id].state == "held"
    assert (await stage.balance(leg_id)).deposit_held_cents == 2_000


async def test_a_hold_that_could_not_be_released_is_not_taken_from_the_second(
    stage: Stage,
) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, deposit=2_000))
    stage.bank.refuses = {"charge", "release"}
    group = await stage.confirm(group)
    await stage.run_payments()
    stage.bank.refuses = set()
    group = await stage.confirm(group)
    assert (await stage.balance(group.legs[0].leg_id)).deposit_held_cents == 2_000
    await stage.bookings.cancel(group.group_id, None)
    await stage.run_payments()
    assert stage.bank.did("release") == [2_000]
