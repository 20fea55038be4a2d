"""In random histories of operations and provider answers no cent is created or lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from greenroom.bookings.ending import cancel_leg, complete_leg
from greenroom.bookings.model import Group, GroupState, Leg
from greenroom.bookings.money.orders import (
    balance_of,
    queue_capture,
    queue_charge,
    queue_payout,
    queue_refund,
    queue_release,
)
from greenroom.bookings.money.payout_holds import hold_payout
from greenroom.bookings.transactions import ContractTransaction
from greenroom.conversations.thread_updates import AppliedUpdate, ThreadFacts, ThreadUpdates
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, Problem, ThreadNotFound

from .stage import Stage

SEEDS = range(12)
STEPS = 25
OPERATIONS = ("charge", "refund", "capture", "release", "payout")
PROVIDER = """
select coalesce(sum(p.amount_cents), 0)::bigint from money_posting p join money_entry e
using (entry_id) where e.group_id = any($1::text[]) and p.account = $2
"""


class Play:
    """Somebody who does one thing after another to a leg, allowed or not."""

    def __init__(self, stage: Stage, leg_id: str, seed: int) -> None:
        self.stage = stage
        self.leg_id = leg_id
        self.dice = random.Random(seed)
        self.seed = seed

    async def step(self, number: int) -> None:
        act = self.dice.choice(
            ["charge", "refund", "capture", "release", "payout", "hold", "pay", "weather"]
            + ["complete", "cancel"] * (number > STEPS // 2)
        )
        if act == "pay":
            await self.stage.run_payments()
        elif act == "weather":
            self.stage.bank.refuses = {each for each in OPERATIONS if self.dice.random() < 0.3}
        else:
            cents = self.dice.randint(1, 400)
            try:
                await self.stage.with_leg(
                    self.leg_id, lambda tx, group, leg: _act(tx, group, leg, act, cents, number)
                )
            except (ActionConflict, ActionInvalidState):
                return


async def _act(
    tx: ContractTransaction, group: Group, leg: Leg, act: str, cents: int, number: int
) -> None:
    key = f"{leg.leg_id} {number}"
    if act == "charge":
        await queue_charge(tx, group, leg, key=key, amount_cents=cents, purpose="card")
    elif act == "refund":
        await queue_refund(tx, group, leg, key=key, amount_cents=cents, purpose="card")
    elif act == "capture":
        await queue_capture(tx, group, leg, key=key, amount_cents=cents, purpose="card")
    elif act == "release":
        await queue_release(tx, group, leg, key=key, purpose="card")
    elif act == "payout":
        await queue_payout(tx, group, leg, key=key, purpose="card")
    elif act == "hold":
        await hold_payout(tx, leg, "disputed")
    elif act == "complete":
        await complete_leg(tx, group, leg, actor=None, role="server")
    else:
        refund_cents = (await balance_of(tx, leg.leg_id)).refundable_cents // 2
        await cancel_leg(tx, group, leg, refund_cents=refund_cents, actor=None, role="server")


@pytest.mark.parametrize("seed", SEEDS)
async def test_in_any_history_our_books_and_the_banks_agree(stage: Stage, seed: int) -> None:
    group, leg = await stage.confirmed(price=1_000, deposit=600)
    play = Play(stage, leg.leg_id, seed)
    for number in range(STEPS):
        await play.step(number)
        await stage.check_ledger()
        balance = await stage.balance(leg.leg_id)
        assert 0 <= balance.refundable_cents <= balance.paid_cents - balance.refunded_cents
        assert balance.deposit_held_cents >= 0
        assert balance.escrow_cents >= 0
    await stage.run_payments()

    def bank(operation: str) -> int:
        return sum(stage.bank.did(operation))

    in_the_bank = bank("charge") + bank("capture") - bank("refund") - bank("payout")
    in_our_books = await stage.pool.fetchval(PROVIDER, [group.group_id], "provider:EUR")
    assert in_our_books == in_the_bank
    still_held = await stage.pool.fetchval(PROVIDER, [group.group_id], "holds:EUR")
    assert still_held == bank("hold") - bank("capture") - bank("release")
    balance = await stage.balance(leg.leg_id)
    assert balance.escrow_cents == in_the_bank
    assert balance.deposit_held_cents == still_held


async def test_of_many_refunds_at_once_only_what_was_paid_goes_back(stage: Stage) -> None:
    _, leg = await stage.confirmed(price=1_000)

    async def refund(number: int) -> str | None:
        async def work(tx: ContractTransaction, group: Group, leg: Leg) -> str | None:
            key = f"{leg.leg_id} {number}"
            return await queue_refund(tx, group, leg, key=key, amount_cents=150, purpose="card")

        try:
            return await stage.with_leg(leg.leg_id, work)
        except ActionConflict:
            return None

    refunds = await asyncio.gather(*(refund(number) for number in range(30)))
    assert sum(each is not None for each in refunds) == 6
    await stage.run_payments()
    assert (await stage.balance(leg.leg_id)).refundable_cents == 100


async def test_confirming_and_cancelling_at_once_ends_one_way(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    groups = [await stage.propose(ann, stage.leg(bob, in_hours=30 * n)) for n in range(1, 11)]

    async def either(group: Group) -> Sequence[object]:
        return await asyncio.gather(
            stage.bookings.confirm(group.group_id),
            stage.bookings.cancel(group.group_id, None),
            return_exceptions=True,
        )

    for group, outcomes in zip(
        groups, await asyncio.gather(*(either(group) for group in groups)), strict=True
    ):
        problems = [each for each in outcomes if each is not None]
        assert all(isinstance(each, Problem) for each in problems)
        await stage.run_payments()
        after = await stage.group(group.group_id)
        assert after.state is GroupState.CANCELLED
        assert not after.legs[0].holds_slot
        assert (await stage.balance(after.legs[0].leg_id)).escrow_cents == 0
    assert sum(stage.bank.did("refund")) == sum(stage.bank.did("charge"))


class NoThreads:
    """Every conversation has been erased."""

    async def access(self, *_: object, **__: object) -> ThreadFacts:
        raise ThreadNotFound

    async def access_without_lock(self, *_: object) -> ThreadFacts:
        raise ThreadNotFound

    async def apply(self, *_: object) -> AppliedUpdate:
        raise ThreadNotFound

    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        """There is nothing to show."""

    async def catch_up(self, thread_id: str) -> None:
        """Nor to catch up with."""


async def test_money_is_settled_also_when_its_conversation_is_gone(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob))
    await stage.bookings.confirm(group.group_id)
    gone: ThreadUpdates = NoThreads()
    stage.transactions._thread_updates = gone
    await stage.run_payments()
    group = await stage.group(group.group_id)
    assert (group.state, group.failure_code) == (GroupState.PROPOSED, "thread_unavailable")
    assert (stage.bank.did("charge"), stage.bank.did("refund")) == ([10_000], [10_000])
