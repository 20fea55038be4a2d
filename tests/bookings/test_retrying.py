"""Failed refunds, releases and payouts are listed, their money is paid to nobody else, and they are
tried again once."""

from __future__ import annotations

import asyncio

import pytest

from greenroom.bookings.ending import cancel_leg, complete_leg
from greenroom.bookings.model import Group, GroupState, Leg, Payment
from greenroom.bookings.money.payout_holds import hold_payout
from greenroom.bookings.money.retrying import Retrying
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, NotFound
from greenroom.platform.idempotency import Kept

from .stage import Stage


@pytest.fixture
def retrying(stage: Stage) -> Retrying:
    return Retrying(stage.transactions)


async def failed(retrying: Retrying, leg: Leg) -> list[Payment]:
    return [each for each in await retrying.failed("", 1000) if each.leg_id == leg.leg_id]


async def cancelled(stage: Stage, *, refuses: set[str], refund: int = 600) -> tuple[Group, Leg]:
    group, leg = await stage.confirmed(price=1_000, deposit=300)
    stage.bank.refuses = refuses
    await stage.with_leg(
        leg.leg_id,
        lambda tx, group, leg: cancel_leg(
            tx, group, leg, refund_cents=refund, actor=None, role="backend"
        ),
    )
    await stage.run_payments()
    stage.bank.refuses = set()
    return group, leg


async def again(retrying: Retrying, payment: Payment) -> Payment:
    made = await retrying.retry(payment.payment_id)
    assert not isinstance(made, Kept)
    return made


@pytest.mark.parametrize("operation", ["refund", "release", "payout"])
async def test_what_failed_is_listed_and_made_again_once(
    stage: Stage, retrying: Retrying, operation: str
) -> None:
    _, leg = await cancelled(stage, refuses={operation})
    [payment] = await failed(retrying, leg)
    assert (payment.operation, payment.failure_code) == (operation, "card_declined")
    made = await asyncio.gather(*(again(retrying, payment) for _ in range(5)))
    assert len({each.payment_id for each in made}) == 1
    assert made[0].key == f"{payment.payment_id}:again"
    assert await failed(retrying, leg) == []
    await stage.run_payments()
    assert stage.bank.did(operation).count(payment.amount_cents) == 1
    balance = await stage.balance(leg.leg_id)
    assert (balance.escrow_cents, balance.owed_cents, balance.deposit_held_cents) == (0, 0, 0)
    await stage.check_ledger()


async def test_what_fails_again_is_listed_again(stage: Stage, retrying: Retrying) -> None:
    _, leg = await cancelled(stage, refuses={"refund"})
    [first] = await failed(retrying, leg)
    stage.bank.refuses = {"refund"}
    made = await again(retrying, first)
    await stage.run_payments()
    assert [each.payment_id for each in await failed(retrying, leg)] == [made.payment_id]
    refund = await stage.pool.fetchval(
        "select state from refund where refund_id = $1", made.refund_id
    )
    assert refund == "failed"
    stage.bank.refuses = set()
    await again(retrying, made)
    await stage.run_payments()
    refund = await stage.pool.fetchval(
        "select state from refund where refund_id = $1", made.refund_id
    )
    assert refund == "refunded"


async def test_a_charge_that_could_not_go_back_is_not_paid_to_the_seller(
    stage: Stage, retrying: Retrying
) -> None:
    """The deposit fails, the charge is to go back and does not, and the booking is confirmed
    again: both charges are kept, and only one of them is the seller's."""
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob, price=1_000, deposit=300))
    stage.bank.refuses = {"hold", "refund"}
    group = await stage.confirm(group)
    await stage.run_payments()
    assert group.state is GroupState.PROPOSED
    stage.bank.refuses = set()
    group = await stage.confirm(group)
    assert group.state is GroupState.CONFIRMED
    leg = group.legs[0]
    assert (await stage.balance(leg.leg_id)).owed_cents == 1_000
    await stage.with_leg(
        leg.leg_id,
        lambda tx, group, leg: complete_leg(tx, group, leg, actor=None, role="buyer"),
    )
    await stage.run_payments()
    assert stage.bank.did("payout") == [1_000]
    [owed] = await failed(retrying, leg)
    await again(retrying, owed)
    await stage.run_payments()
    assert stage.bank.did("refund") == [1_000]
    assert (await stage.balance(leg.leg_id)).escrow_cents == 0


async def test_only_what_failed_is_tried_again(stage: Stage, retrying: Retrying) -> None:
    group, leg = await stage.confirmed(price=1_000)
    charge = await stage.pool.fetchval(
        "select payment_id from payment where group_id = $1 and operation = 'charge'",
        group.group_id,
    )
    with pytest.raises(ActionInvalidState, match="failed"):
        await retrying.retry(charge)
    with pytest.raises(NotFound):
        await retrying.retry("pay_none")
    assert await failed(retrying, leg) == []


async def completed(stage: Stage) -> Leg:
    _, leg = await stage.confirmed(price=1_000)
    await stage.with_leg(
        leg.leg_id,
        lambda tx, group, leg: complete_leg(tx, group, leg, actor=None, role="buyer"),
    )
    return leg


async def hold(stage: Stage, leg: Leg) -> Leg:
    return await stage.with_leg(leg.leg_id, lambda tx, _, leg: hold_payout(tx, leg, "disputed"))


async def test_a_payout_that_is_queued_is_stopped(stage: Stage, retrying: Retrying) -> None:
    leg = await completed(stage)
    assert (await hold(stage, leg)).payout == "held"
    await stage.run_payments()
    assert stage.bank.did("payout") == []
    assert (await stage.balance(leg.leg_id)).escrow_cents == 1_000
    # It has not failed: nobody has to try it again.
    assert await failed(retrying, leg) == []
    await stage.check_ledger()


async def test_a_payout_that_was_sent_is_not_stopped(stage: Stage) -> None:
    leg = await completed(stage)
    await stage.pool.execute(
        "update payment set sent_at = now() where leg_id = $1 and operation = 'payout'", leg.leg_id
    )
    assert (await hold(stage, leg)).payout == "queued"
    await stage.run_payments()
    assert stage.bank.did("payout") == [1_000]


async def test_a_payout_that_failed_is_not_made_again_while_it_is_held(
    stage: Stage, retrying: Retrying
) -> None:
    leg = await completed(stage)
    stage.bank.refuses = {"payout"}
    await stage.run_payments()
    assert (await hold(stage, leg)).payout == "held"
    [payment] = await failed(retrying, leg)
    with pytest.raises(ActionConflict, match="held"):
        await retrying.retry(payment.payment_id)
