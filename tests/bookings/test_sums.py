"""The sums of a booking (agreed, paid, pending, failed, refunded, held) add up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import hypothesis.strategies as st
from hypothesis import given

from greenroom.bookings.model import Group, GroupState, Leg, LegState
from greenroom.bookings.money.sums import (
    Amendment,
    AmendmentState,
    Flow,
    LegMoney,
    Sums,
    add_up,
    sums_of,
)

if TYPE_CHECKING:
    from .stage import Stage

cents = st.integers(0, 1_000_000)
flows = st.builds(Flow, cents, cents)
cards = st.sampled_from(["crd_1", "crd_2", "crd_3"])
amendments = st.builds(
    Amendment, card_id=cards, amount_cents=cents, state=st.sampled_from(get_args(AmendmentState))
)
PRICE = 48_000
LEG = Leg(
    "leg_1", "lbg_1", 0, "talent", "bob", "A shoot", LegState.CONFIRMED, 0, 1, "UTC", PRICE, 5_000,
    True, 1, 0, None, "none", None, 0, 0,
)  # fmt: skip
GROUP = Group("lbg_1", "ann", "EUR", None, GroupState.CONFIRMED, (), 1, None, 0, 0, (LEG,))
PAID = Flow(PRICE)


@given(
    for_price=flows,
    for_cards=st.dictionaries(cards, flows),
    added=st.lists(amendments, unique_by=lambda each: each.card_id),
    state=st.sampled_from(LegState),
    group_state=st.sampled_from(GroupState),
    failure_code=st.none() | st.just("card_declined"),
)
def test_whatever_is_known_of_a_leg_its_sums_add_up(
    for_price: Flow,
    for_cards: dict[str, Flow],
    added: list[Amendment],
    state: LegState,
    group_state: GroupState,
    failure_code: str | None,
) -> None:
    leg = replace(LEG, state=state)
    group = replace(GROUP, state=group_state, failure_code=failure_code, legs=(leg,))
    sums = sums_of(group, leg, LegMoney(for_price, for_cards, added))
    assert sums.agreed_cents == sums.paid_cents + sums.pending_cents + sums.open_cents
    assert sums.paid_cents == sums.refunded_cents + sums.kept_cents + sums.paid_out_cents
    assert min(sums.open_cents, sums.failed_cents) >= 0


def test_a_failed_addition_is_no_part_of_what_is_agreed() -> None:
    money = LegMoney(
        for_price=PAID,
        for_cards={"crd_1": Flow(15_100)},
        amendments=[Amendment("crd_1", 15_100, "paid"), Amendment("crd_2", 1_013, "failed")],
    )
    sums = sums_of(GROUP, LEG, money)
    assert (sums.agreed_cents, sums.paid_cents) == (63_100, 63_100)
    assert (sums.failed_cents, sums.open_cents, sums.pending_cents) == (1_013, 0, 0)


def test_what_came_in_before_the_rest_failed_is_paid_and_the_rest_failed() -> None:
    """Overtime of a studio: part of it was in the deposit."""
    amendment = Amendment("crd_1", 9_013, "failed")
    sums = sums_of(GROUP, LEG, LegMoney(PAID, {"crd_1": Flow(5_000)}, [amendment]))
    assert (sums.agreed_cents, sums.paid_cents, sums.failed_cents) == (53_000, 53_000, 4_013)


def test_a_proposal_is_open_until_it_is_charged_and_failed_where_it_cannot_be() -> None:
    leg = replace(LEG, state=LegState.PROPOSED)
    group = replace(GROUP, state=GroupState.PROPOSED)
    assert sums_of(group, leg, LegMoney()) == Sums(agreed_cents=PRICE, open_cents=PRICE)
    confirming = replace(group, state=GroupState.CONFIRMING)
    asked = sums_of(confirming, leg, LegMoney(Flow(0, PRICE)))
    assert asked == Sums(agreed_cents=PRICE, pending_cents=PRICE)
    declined = replace(group, failure_code="card_declined")
    assert sums_of(declined, leg, LegMoney()) == Sums(failed_cents=PRICE)


def test_of_a_cancelled_leg_what_was_paid_is_left_and_nothing_is_open() -> None:
    leg = replace(LEG, state=LegState.CANCELLED)
    assert sums_of(GROUP, leg, LegMoney()) == Sums()
    after = sums_of(GROUP, leg, LegMoney(PAID, refunded_cents=24_000, paid_out_cents=24_000))
    assert (after.agreed_cents, after.paid_cents, after.kept_cents) == (PRICE, PRICE, 0)


def test_sums_of_legs_add_up_to_those_of_the_booking() -> None:
    one, other = (
        Sums(agreed_cents=3, paid_cents=2, open_cents=1),
        Sums(agreed_cents=4, held_cents=9),
    )
    assert add_up([one, other]) == Sums(agreed_cents=7, paid_cents=2, open_cents=1, held_cents=9)


async def test_what_a_failed_attempt_took_and_gave_back_was_never_paid(stage: Stage) -> None:
    """The charge succeeds, the deposit cannot be held: all goes back, and the next try counts."""
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, price=PRICE, deposit=5_000))
    [leg] = group.legs
    stage.bank.refuses = {"hold"}
    stage.bank.silent = {"refund"}
    await stage.confirm(group)
    assert await sums_shown(stage, group, leg) == Sums(failed_cents=PRICE)
    stage.bank.silent = set()
    await stage.run_payments()
    assert stage.bank.did("refund") == [PRICE]
    assert await sums_shown(stage, group, leg) == Sums(failed_cents=PRICE)
    stage.bank.refuses = set()
    await stage.confirm(group)
    assert await sums_shown(stage, group, leg) == Sums(
        agreed_cents=PRICE, paid_cents=PRICE, kept_cents=PRICE, held_cents=5_000
    )


async def sums_shown(stage: Stage, group: Group, leg: Leg) -> Sums:
    return (await stage.booking(group.group_id)).sums[leg.leg_id]
