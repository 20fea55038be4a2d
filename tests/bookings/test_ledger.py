"""The ledger: entries sum to zero, nothing is changed, and no more is paid out than came in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from greenroom.bookings.ending import cancel_leg, complete_leg
from greenroom.bookings.model import Group, Leg, Payment
from greenroom.bookings.money import ledger
from greenroom.bookings.money.orders import (
    queue_capture,
    queue_charge,
    queue_payout,
    queue_refund,
    queue_release,
)
from greenroom.bookings.money.payout_holds import hold_payout
from greenroom.bookings.transactions import ContractTransaction
from greenroom.kernel.errors import ActionConflict, ActionInvalidState

from .stage import Stage

Work = Callable[[ContractTransaction, Group, Leg], Awaitable[Payment | None]]

REFUND_STATE = "select state from refund where refund_id = $1"


# Keys are of one leg here: what was asked for another leg before is another matter.


def _charge(key: str, cents: int) -> Work:
    async def work(tx: ContractTransaction, group: Group, leg: Leg) -> Payment | None:
        return await queue_charge(
            tx, group, leg, key=f"{key} {leg.leg_id}", amount_cents=cents, purpose="card"
        )

    return work


def _refund(
    key: str, cents: int
) -> Callable[[ContractTransaction, Group, Leg], Awaitable[str | None]]:
    async def work(tx: ContractTransaction, group: Group, leg: Leg) -> str | None:
        return await queue_refund(
            tx, group, leg, key=f"{key} {leg.leg_id}", amount_cents=cents, purpose="card"
        )

    return work


def _capture(key: str, cents: int) -> Work:
    async def work(tx: ContractTransaction, group: Group, leg: Leg) -> Payment | None:
        return await queue_capture(
            tx, group, leg, key=f"{key} {leg.leg_id}", amount_cents=cents, purpose="card"
        )

    return work


def _release(key: str) -> Work:
    async def work(tx: ContractTransaction, group: Group, leg: Leg) -> Payment | None:
        return await queue_release(tx, group, leg, key=f"{key} {leg.leg_id}", purpose="card")

    return work


def _payout(key: str) -> Work:
    async def work(tx: ContractTransaction, group: Group, leg: Leg) -> Payment | None:
        return await queue_payout(tx, group, leg, key=f"{key} {leg.leg_id}", purpose="complete")

    return work


async def _complete(tx: ContractTransaction, group: Group, leg: Leg) -> Group:
    return await complete_leg(tx, group, leg, actor=None, role="server")


async def test_the_database_refuses_an_entry_that_does_not_balance(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    entry = """
    with e as (insert into money_entry (entry_id, kind, key, currency, group_id, at)
               values ($1, 'charge', $1, 'EUR', $2, $3))
    insert into money_posting (entry_id, place, account, amount_cents)
    select $1, p.place, p.account, p.cents from unnest($4::smallint[], $5::text[], $6::bigint[])
        as p (place, account, cents)
    """
    accounts = ["provider:EUR", f"escrow:{leg.leg_id}"]
    for number, cents in enumerate(([100, -99], [100, 100])):
        args = f"ent_bad{number}", group.group_id, stage.clock(), [0, 1], accounts, cents
        with pytest.raises(asyncpg.CheckViolationError):
            await stage.pool.execute(entry, *args)
    alone = "insert into money_entry values ($1, 'charge', $1, 'EUR', $2, null, null, null, $3)"
    with pytest.raises(asyncpg.CheckViolationError):
        await stage.pool.execute(alone, "ent_alone", group.group_id, stage.clock())


async def test_an_entry_is_of_one_currency(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    await stage.pool.execute(
        "insert into money_account (account, kind, currency) values ('provider:USD', 'provider', "
        "'USD') on conflict do nothing"
    )
    mixed = """
    with e as (insert into money_entry (entry_id, kind, key, currency, group_id, at)
               values ('ent_mixed', 'charge', 'ent_mixed', 'EUR', $1, $2))
    insert into money_posting values ('ent_mixed', 0, 'provider:USD', 5), ('ent_mixed', 1, $3, -5)
    """
    with pytest.raises(asyncpg.CheckViolationError):
        await stage.pool.execute(mixed, group.group_id, stage.clock(), f"escrow:{leg.leg_id}")


@pytest.mark.parametrize("table", ["money_entry", "money_posting", "history"])
@pytest.mark.parametrize("change", ["delete from {}", "truncate {} cascade"])
async def test_the_books_are_never_rewritten(stage: Stage, table: str, change: str) -> None:
    await stage.confirmed()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await stage.pool.execute(change.format(table))


async def test_no_posting_entry_or_step_is_ever_changed(stage: Stage) -> None:
    await stage.confirmed()
    for change in (
        "update money_posting set amount_cents = amount_cents + 1",
        "update money_entry set kind = 'refund'",
        "update history set act = 'nothing'",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await stage.pool.execute(change)


async def test_a_refund_is_never_more_than_was_paid(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000)
    with pytest.raises(ActionConflict):
        await stage.with_leg(leg.leg_id, _refund("too-much", 1_001))
    first = await stage.with_leg(leg.leg_id, _refund("part", 400))
    assert first is not None
    # What is on its way counts as gone.
    with pytest.raises(ActionConflict):
        await stage.with_leg(leg.leg_id, _refund("rest-and-more", 601))
    assert await stage.with_leg(leg.leg_id, _refund("nothing", 0)) is None
    await stage.with_leg(leg.leg_id, _refund("rest", 600))
    await stage.run_payments()
    balance = await stage.balance(leg.leg_id)
    assert (balance.refunded_cents, balance.refundable_cents) == (1_000, 0)
    assert await stage.pool.fetchval(REFUND_STATE, first) == "refunded"


async def test_the_database_refuses_a_refund_that_the_code_has_let_through(stage: Stage) -> None:
    group, leg = await stage.confirmed(price=1_000)
    [charge] = await stage.pool.fetch("select * from payment where group_id = $1", group.group_id)

    async def book_too_much(tx: ContractTransaction, group: Group, leg: Leg) -> None:
        payment = Payment(
            "pay_x", "x", "refund", "card", group.group_id, leg.leg_id, None, group.buyer, 1_001,
            "EUR", charge["payment_id"], "succeeded", None, None, None, None, False, 0, 0,
        )  # fmt: skip
        await ledger.book(tx, ledger.entries_of(payment, group))

    with pytest.raises(asyncpg.CheckViolationError, match="never_more_out_than_in"):
        await stage.with_leg(leg.leg_id, book_too_much)


async def test_a_refund_takes_from_the_newest_charges_first(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000)
    stage.clock.advance(minutes=1)
    extra = await stage.with_leg(leg.leg_id, _charge("extra", 300))
    await stage.run_payments()
    assert extra is not None
    refund_id = await stage.with_leg(leg.leg_id, _refund("back", 500))
    parts = await stage.pool.fetch(
        "select source_payment, amount_cents from payment where refund_id = $1 order by key",
        refund_id,
    )
    assert parts[0]["source_payment"] == extra.payment_id
    assert [part["amount_cents"] for part in parts] == [300, 200]
    await stage.run_payments()
    assert (await stage.balance(leg.leg_id)).refundable_cents == 800


async def test_a_failed_refund_leaves_the_money_where_it_was(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000)
    stage.bank.refuses = {"refund"}
    refund_id = await stage.with_leg(leg.leg_id, _refund("back", 500))
    assert refund_id is not None
    await stage.run_payments()
    assert await stage.pool.fetchval(REFUND_STATE, refund_id) == "failed"
    assert (await stage.balance(leg.leg_id)).refundable_cents == 1_000


async def test_a_key_asks_for_money_once(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000, deposit=500)
    charge, capture, refund = _charge("c", 50), _capture("d", 100), _refund("e", 900)
    firsts = [await stage.with_leg(leg.leg_id, work) for work in (charge, capture)]
    refunded = await stage.with_leg(leg.leg_id, refund)
    await stage.run_payments()
    again = [await stage.with_leg(leg.leg_id, work) for work in (charge, capture)]
    assert [each and each.payment_id for each in again] == [
        each and each.payment_id for each in firsts
    ]
    assert await stage.with_leg(leg.leg_id, refund) == refunded
    assert await stage.queued() == []


async def test_a_deposit_is_captured_in_parts_and_the_rest_is_released(stage: Stage) -> None:
    group, leg = await stage.confirmed(price=1_000, deposit=500, kind="studio")
    with pytest.raises(ActionConflict):
        await stage.with_leg(leg.leg_id, _capture("too-much", 501))
    await stage.with_leg(leg.leg_id, _capture("part", 200))
    with pytest.raises(ActionConflict):
        await stage.with_leg(leg.leg_id, _capture("more-than-left", 301))
    await stage.run_payments()
    balance = await stage.balance(leg.leg_id)
    assert (balance.deposit_captured_cents, balance.deposit_held_cents) == (200, 300)
    assert balance.escrow_cents == 1_200
    # Only what was charged is refunded.
    assert (balance.paid_cents, balance.refundable_cents) == (1_000, 1_000)

    await stage.with_leg(leg.leg_id, _release("rest"))
    assert await stage.with_leg(leg.leg_id, _release("again")) is None
    with pytest.raises(ActionConflict):
        await stage.with_leg(leg.leg_id, _capture("late", 1))
    await stage.run_payments()
    deposit = (await stage.booking(group.group_id)).deposits[leg.leg_id]
    assert (deposit.state, deposit.captured_cents) == ("captured", 200)
    assert (await stage.balance(leg.leg_id)).deposit_held_cents == 0


async def test_a_payout_that_fails_can_be_made_again(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000)
    stage.bank.refuses = {"payout"}
    await stage.with_leg(leg.leg_id, _complete)
    await stage.run_payments()
    assert (await stage.group(leg.group_id)).legs[0].payout == "failed"
    assert (await stage.balance(leg.leg_id)).escrow_cents == 1_000
    stage.bank.refuses = set()
    await stage.with_leg(leg.leg_id, _payout("again"))
    await stage.run_payments()
    assert (await stage.group(leg.group_id)).legs[0].payout == "paid"
    assert stage.bank.did("payout") == [1_000]


async def test_of_several_payouts_one_that_failed_shows(stage: Stage) -> None:
    for refused in (0, 1):
        _, leg = await stage.confirmed(price=1_000)
        await stage.with_leg(leg.leg_id, _charge("late", 70))
        [late] = await stage.queued()
        await stage.with_leg(leg.leg_id, _complete)
        await stage.run(late)
        for number, payout in enumerate(await stage.queued()):
            stage.bank.refuses = {"payout"} if number == refused else set()
            await stage.run(payout)
        assert (await stage.group(leg.group_id)).legs[0].payout == "failed"
        assert (await stage.balance(leg.leg_id)).escrow_cents in (70, 1_000)
        stage.bank.refuses = set()
        await stage.with_leg(leg.leg_id, _payout("again"))
        await stage.run_payments()
        assert (await stage.group(leg.group_id)).legs[0].payout == "paid"


async def test_a_held_payout_is_not_paid(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000)

    async def hold(tx: ContractTransaction, group: Group, leg: Leg) -> Leg:
        return await hold_payout(tx, leg, "disputed")

    held = await stage.with_leg(leg.leg_id, hold)
    assert (held.payout, held.payout_held_reason) == ("held", "disputed")
    await stage.with_leg(leg.leg_id, _complete)
    await stage.run_payments()
    assert stage.bank.did("payout") == []


async def test_a_charge_that_succeeds_after_its_leg_has_ended_goes_on_at_once(
    stage: Stage,
) -> None:
    _, cancelled = await stage.confirmed(price=1_000)
    _, completed = await stage.confirmed(price=2_000)
    for leg in (cancelled, completed):
        await stage.with_leg(leg.leg_id, _charge("late", 70))

    async def cancel(tx: ContractTransaction, group: Group, leg: Leg) -> Group:
        return await cancel_leg(tx, group, leg, refund_cents=1_000, actor=None, role="backend")

    await stage.with_leg(cancelled.leg_id, cancel)
    await stage.with_leg(completed.leg_id, _complete)
    await stage.run_payments()
    assert sorted(stage.bank.did("refund")) == [70, 1_000]
    assert sorted(stage.bank.did("payout")) == [70, 2_000]
    with pytest.raises(ActionInvalidState):
        await stage.with_leg(cancelled.leg_id, _charge("after the end", 1))


async def test_what_a_cancelled_leg_does_not_refund_is_the_sellers(stage: Stage) -> None:
    group, leg = await stage.confirmed(price=1_000, deposit=300, in_hours=100)
    await stage.bookings.cancel(group.group_id, "buyer")
    await stage.run_payments()
    assert stage.bank.did("refund") == [500]
    assert stage.bank.did("payout") == [500]
    assert stage.bank.did("release") == [300]
    assert (await stage.balance(leg.leg_id)).escrow_cents == 0


async def test_cancelling_leaves_completed_legs_as_they_are(stage: Stage) -> None:
    ann, bob, sue = await stage.people("ann", "bob", "sue")
    group = await stage.propose(ann, stage.leg(bob, price=100), stage.leg(sue, price=200))
    group = await stage.confirm(group)
    await stage.with_leg(group.legs[0].leg_id, _complete)
    await stage.bookings.cancel(group.group_id, "seller")
    await stage.run_payments()
    group = await stage.group(group.group_id)
    assert [leg.state for leg in group.legs] == ["completed", "cancelled"]
    assert group.state == "confirmed"
    assert (stage.bank.did("refund"), stage.bank.did("payout")) == ([200], [100])
    with pytest.raises(ActionInvalidState):
        await stage.bookings.cancel(group.group_id, "seller")
