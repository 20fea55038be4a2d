"""A booking from its proposal to its end, with the balances at each stage."""

from __future__ import annotations

import pytest

from greenroom.bookings.ending import complete_leg
from greenroom.bookings.legs import move_leg
from greenroom.bookings.model import Group, GroupState, Leg, LegState
from greenroom.bookings.money.provider import Outcome
from greenroom.bookings.transactions import ContractTransaction
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, NotFound, UserNotFound
from tests.support.clock import DAY_MS

from .stage import Stage


async def test_a_booking_is_proposed_confirmed_begun_completed_and_paid_out(stage: Stage) -> None:
    ann, bob, sue = await stage.people("ann", "bob", "sue")
    group = await stage.propose(
        ann,
        stage.leg(bob, price=30_000),
        stage.leg(sue, price=12_000, deposit=5_000, kind="studio"),
    )
    assert group.state is GroupState.PROPOSED
    assert stage.bank.asked == []

    group = await stage.confirm(group)
    assert group.state is GroupState.CONFIRMED
    assert [leg.state for leg in group.legs] == [LegState.CONFIRMED] * 2
    assert stage.bank.did("charge") == [42_000]
    assert stage.bank.did("hold") == [5_000]
    talent, studio = [await stage.balance(leg.leg_id) for leg in group.legs]
    assert (talent.paid_cents, talent.refundable_cents, talent.escrow_cents) == (30_000,) * 3
    assert (studio.paid_cents, studio.deposit_held_cents) == (12_000, 5_000)

    stage.clock.advance(days=30)
    for leg in group.legs:
        await stage.begin(leg)
    group = await stage.group(group.group_id)
    assert [leg.state for leg in group.legs] == [LegState.IN_PROGRESS] * 2

    for leg in group.legs:
        await stage.with_leg(leg.leg_id, _complete)
    await stage.run_payments()
    booking = await stage.booking(group.group_id)
    assert [leg.payout for leg in booking.group.legs] == ["paid", "paid"]
    assert sorted(stage.bank.did("payout")) == [12_000, 30_000]
    assert stage.bank.did("release") == [5_000]
    assert booking.deposits[group.legs[1].leg_id].state == "released"
    for leg in group.legs:
        balance = await stage.balance(leg.leg_id)
        assert (balance.escrow_cents, balance.refundable_cents) == (0, 0)
        assert balance.payout_cents == leg.price_cents
        assert balance.deposit_held_cents == 0


async def _complete(tx: ContractTransaction, group: Group, leg: Leg) -> Group:
    return await complete_leg(tx, group, leg, actor=group.buyer, role="buyer")


async def test_every_change_is_in_the_history_and_among_the_events(stage: Stage) -> None:
    group, leg = await stage.confirmed(deposit=1_000)
    await stage.bookings.cancel(group.group_id, None)
    await stage.run_payments()
    acts = [(subject, act, to) for subject, _, act, _, to in await stage.history(group.group_id)]
    assert [each[1:] for each in acts if each[0] == group.group_id] == [
        ("propose", "proposed"),
        ("confirm", "confirming"),
        ("confirmed", "confirmed"),
        ("cancel", "cancelled"),
    ]
    assert [each[1:] for each in acts if each[0] == leg.leg_id] == [
        ("propose", "proposed"),
        ("hold_slot", "proposed"),
        ("confirmed", "confirmed"),
        ("cancel", "cancelled"),
    ]
    assert await stage.events(group.group_id) == [
        "lbg.proposed",
        "payment.intent.created",
        "payment.intent.created",
        "payment.intent.succeeded",
        "payment.intent.succeeded",
        "leg.confirmed",
        "lbg.confirmed",
        "leg.cancelled",
        "refund.created",
        "lbg.cancelled",
        "refund.succeeded",
        "payment.intent.succeeded",
    ]


async def test_a_booking_that_costs_nothing_is_confirmed_at_once(stage: Stage) -> None:
    group, leg = await stage.confirmed(price=0)
    assert (group.state, leg.state) == (GroupState.CONFIRMED, LegState.CONFIRMED)
    assert stage.bank.asked == []


async def test_a_declined_charge_gives_everything_back(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, deposit=2_000))
    stage.bank.refuses = {"charge"}
    group = await stage.confirm(group)
    assert (group.state, group.failure_code) == (GroupState.PROPOSED, "card_declined")
    assert not group.legs[0].holds_slot
    assert stage.bank.did("hold") == [2_000]
    await stage.run_payments()
    assert stage.bank.did("release") == [2_000]

    stage.bank.refuses = set()
    group = await stage.confirm(group)
    assert (group.state, group.failure_code) == (GroupState.CONFIRMED, None)
    assert stage.bank.did("charge") == [10_000]
    assert (await stage.balance(group.legs[0].leg_id)).deposit_held_cents == 2_000


async def test_a_declined_deposit_refunds_the_charge_of_every_leg(stage: Stage) -> None:
    ann, bob, sue = await stage.people("ann", "bob", "sue")
    group = await stage.propose(
        ann, stage.leg(bob, price=700), stage.leg(sue, price=300, deposit=50)
    )
    stage.bank.refuses = {"hold"}
    group = await stage.confirm(group)
    assert group.state is GroupState.PROPOSED
    await stage.run_payments()
    assert sorted(stage.bank.did("refund")) == [300, 700]
    for leg in group.legs:
        assert (await stage.balance(leg.leg_id)).escrow_cents == 0


async def test_a_booking_waits_until_all_its_payments_are_known(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, deposit=2_000))
    stage.bank.silent = {"hold"}
    group = await stage.confirm(group)
    assert group.state is GroupState.CONFIRMING
    assert group.legs[0].state is LegState.PROPOSED
    with pytest.raises(ActionInvalidState):
        await stage.bookings.confirm(group.group_id)
    stage.bank.silent = set()
    await stage.run_payments()
    assert (await stage.group(group.group_id)).state is GroupState.CONFIRMED


async def test_a_booking_cancelled_while_its_charge_is_on_its_way_pays_all_of_it_back(
    stage: Stage,
) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, deposit=2_000, in_hours=1))
    stage.bank.silent = {"hold"}
    await stage.confirm(group)
    await stage.bookings.cancel(group.group_id, "buyer")
    assert (await stage.group(group.group_id)).state is GroupState.CANCELLED
    stage.bank.silent = set()
    await stage.run_payments()
    assert stage.bank.did("refund") == [10_000]
    assert stage.bank.did("release") == [2_000]
    assert (await stage.group(group.group_id)).state is GroupState.CANCELLED


async def test_an_outcome_counts_once_and_is_never_undone(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    [charge] = await stage.pool.fetch(
        "select payment_id from payment where group_id = $1", group.group_id
    )
    assert not await stage.settling.settle(charge["payment_id"], Outcome("succeeded", "x", None))
    assert not await stage.settling.settle(charge["payment_id"], Outcome("failed", None, "late"))
    assert not await stage.settling.settle(charge["payment_id"], Outcome("pending", None, None))
    assert not await stage.settling.settle("pay_unknown", Outcome("succeeded", "x", None))
    assert (await stage.balance(leg.leg_id)).paid_cents == 10_000
    assert (await stage.group(group.group_id)).state is GroupState.CONFIRMED


async def test_a_confirmed_booking_makes_its_thread_a_project(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    assert group.thread_id is not None
    view = await stage.threads.show(group.thread_id)
    assert view is not None
    assert (view.kind, view.state, view.leg_id, view.group_id) == (
        "project",
        "confirmed",
        leg.leg_id,
        None,
    )


async def test_a_thread_has_one_booking_at_a_time(stage: Stage) -> None:
    ann, bob, eve = await stage.people("ann", "bob", "eve")
    group = await stage.propose(ann, stage.leg(bob))
    with pytest.raises(ActionConflict):
        await stage.propose(ann, stage.leg(bob), thread_id=group.thread_id)
    with pytest.raises(ActionInvalidState):
        await stage.propose(ann, stage.leg(eve), thread_id=group.thread_id)
    await stage.bookings.cancel(group.group_id, None)
    again = await stage.propose(ann, stage.leg(bob), thread_id=group.thread_id)
    assert (await stage.confirm(again)).state is GroupState.CONFIRMED
    with pytest.raises(ActionConflict):
        await stage.propose(ann, stage.leg(bob), thread_id=group.thread_id)


async def test_unknown_people_book_nothing(stage: Stage) -> None:
    [ann] = await stage.people("ann")
    with pytest.raises(UserNotFound):
        await stage.propose(ann, stage.leg("nobody-at-all"))


async def test_only_the_parties_see_a_booking(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    for party in (group.buyer, leg.seller, None):
        booking = await stage.bookings.access_booking(party, group.group_id)
        assert booking.group.group_id == group.group_id
    [eve] = await stage.people("eve")
    with pytest.raises(NotFound):
        await stage.bookings.access_booking(eve, group.group_id)
    with pytest.raises(NotFound):
        await stage.bookings.access_booking(None, "lbg_unknown")


async def test_a_leg_begins_at_the_time_it_was_moved_to(stage: Stage) -> None:
    _, leg = await stage.confirmed(in_hours=24)

    async def move(tx: ContractTransaction, group: Group, leg: Leg) -> Leg:
        times = leg.start_ms + DAY_MS, leg.end_ms + DAY_MS
        return await move_leg(tx, leg, *times, actor=group.buyer, role="buyer", act="reschedule")

    moved = await stage.with_leg(leg.leg_id, move)
    assert (moved.version, moved.sequence) == (leg.version + 1, leg.sequence + 1)
    due = "select due_at from task where kind = 'timer' and key = $1 || '/begin'"
    assert await stage.pool.fetchval(due, leg.leg_id) == leg.start_ms + DAY_MS
    stage.clock.advance(days=1)
    await stage.begin(leg)
    assert await stage.pool.fetchval(due, leg.leg_id) == leg.start_ms + DAY_MS
    stage.clock.advance(days=1)
    await stage.begin(leg)
    assert await stage.pool.fetchval(due, leg.leg_id) is None
    assert (await stage.group(leg.group_id)).legs[0].state is LegState.IN_PROGRESS
