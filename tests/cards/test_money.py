"""Prices of cards, and what is asked of the payment provider."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from greenroom.bookings.model import LegState
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, CardInvalid

from .stage import Project, Stage


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


def lamps(qty: int = 2, unit_cents: int = 500, **more: Any) -> dict[str, Any]:
    return {"items": [{"title": "Lamp", "qty": qty, "unit_cents": unit_cents, **more}]}


async def amendment(stage: Stage, project: Project) -> list[tuple[Any, ...]]:
    rows = await stage.pool.fetch(
        "select kind, amount_cents, state from amendment where leg_id = $1", project.leg.leg_id
    )
    return [tuple(row) for row in rows]


async def test_extras_are_priced_by_the_server_charged_and_paid(stage: Stage) -> None:
    project = await stage.project(price=10_000)
    card = await stage.make(project.seller, project.thread_id, "extras", lamps(3, 700))
    assert (card.totals["total_cents"], card.totals["currency"]) == (2100, "EUR")
    assert card.waits_for == (project.buyer,)

    card = await stage.act(project.buyer, card, "accept")
    assert (card.state, card.waits_for) == ("charging", ())
    assert await stage.payments(card) == [("charge", 2100, "queued")]
    assert await amendment(stage, project) == [("extras", 2100, "pending")]

    await stage.run_payments()
    card = await stage.card(card)
    assert (card.state, card.is_open) == ("paid", False)
    assert await amendment(stage, project) == [("extras", 2100, "paid")]
    assert (await stage.balance(project.leg.leg_id)).paid_cents == 12_100


@pytest.mark.parametrize("where", ["payload", "item"])
async def test_a_total_that_the_client_names_is_not_taken(stage: Stage, where: str) -> None:
    project = await stage.project()
    payload = {**lamps(), "total_cents": 1} if where == "payload" else lamps(amount_cents=1)
    with pytest.raises(CardInvalid):
        await stage.make(project.seller, project.thread_id, "extras", payload)


async def test_a_failed_charge_can_be_tried_again(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.buyer, project.thread_id, "extras", lamps())
    card = await stage.act(project.seller, card, "accept")
    stage.bank.refuses = {"charge"}
    await stage.run_payments()
    card = await stage.card(card)
    assert (card.state, card.totals["failure_code"]) == ("failed", "card_declined")
    assert card.waits_for == (project.buyer,)
    assert await amendment(stage, project) == [("extras", 1000, "failed")]

    stage.bank.refuses = set()
    card = await stage.act(project.buyer, card, "retry")
    assert "failure_code" not in card.totals
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"
    assert [row[2] for row in await stage.payments(card)] == ["failed", "succeeded"]
    assert await amendment(stage, project) == [("extras", 1000, "paid")]


async def test_a_failed_charge_can_be_let_go(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.buyer, project.thread_id, "extras", lamps())
    card = await stage.act(project.seller, card, "accept")
    stage.bank.refuses = {"charge"}
    await stage.run_payments()
    card = await stage.act(project.buyer, await stage.card(card), "decline")
    assert card.state == "declined"
    assert await amendment(stage, project) == [("extras", 1000, "void")]


async def test_caps_hold_over_all_extras_of_a_leg(stage: Stage) -> None:
    project = await stage.project()
    cap = stage.cards.catalogue.type("extras").caps["travel"]
    taxi = {"title": "Taxi", "kind": "travel", "unit_cents": 100}
    payload = {"items": [{**taxi, "qty": cap.max_qty + 1}]}
    with pytest.raises(ActionConflict, match=f"At most {cap.max_qty}"):
        await stage.make(project.seller, project.thread_id, "extras", payload)
    first, second = [
        await stage.make(
            project.seller, project.thread_id, "extras", {"items": [{**taxi, "qty": qty}]}
        )
        for qty in (cap.max_qty - 1, 2)
    ]
    await stage.act(project.buyer, first, "accept")
    with pytest.raises(ActionConflict, match="travel"):
        await stage.act(project.buyer, second, "accept")
    assert (await stage.card(second)).state == "pending"
    await stage.run_payments()
    with pytest.raises(ActionConflict):
        await stage.act(project.buyer, second, "accept")


async def test_an_invented_kind_is_no_way_around_the_caps(stage: Stage) -> None:
    project = await stage.project()
    most = stage.cards.catalogue.type("extras").caps["default"].max_qty
    items = [
        {"title": "Lamp", "kind": f"lamp_{n}", "qty": most // 2 + 1, "unit_cents": 1}
        for n in range(2)
    ]
    with pytest.raises(ActionConflict, match="default"):
        await stage.make(project.seller, project.thread_id, "extras", {"items": items})


async def test_the_sum_of_a_kind_is_capped_too(stage: Stage) -> None:
    project = await stage.project()
    cap = stage.cards.catalogue.type("extras").caps["default"]
    with pytest.raises(ActionConflict, match=f"{cap.max_total_cents} cents"):
        await stage.make(
            project.seller, project.thread_id, "extras", lamps(1, cap.max_total_cents + 1)
        )


async def test_overtime_of_known_length_is_charged_at_once(stage: Stage) -> None:
    project = await stage.project(begun=True)
    payload = {"rate_cents_per_hour": 6000, "minutes": 50}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    assert (card.state, card.totals["total_cents"]) == ("charging", 5000)


async def test_a_clock_counts_begun_quarters(stage: Stage) -> None:
    project = await stage.project(begun=True)
    payload = {"rate_cents_per_hour": 6000}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    assert card.state == "running"
    stage.clock.advance(minutes=31)
    card = await stage.act(project.seller, card, "stop")
    assert (card.totals["minutes"], card.totals["total_cents"]) == (45, 4500)
    card = await stage.run_timer(card, "confirm")
    assert card.state == "charging"
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"


async def test_a_clock_that_nobody_stops_ends_after_a_day(stage: Stage) -> None:
    project = await stage.project(begun=True)
    payload = {"rate_cents_per_hour": 6000}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    stage.clock.advance(days=3)
    card = await stage.run_timer(card, "stop")
    assert (card.state, card.totals["minutes"]) == ("ran_out", 24 * 60)
    # Nobody has looked at it: silence is not a yes to a whole day.
    assert await stage.timers(card) == {}
    assert (await stage.act(project.buyer, card, "decline")).state == "declined"


async def test_a_studio_takes_overtime_from_the_deposit_first(stage: Stage) -> None:
    project = await stage.project(begun=True, kind="studio", deposit=3_000)
    payload = {"rate_cents_per_hour": 5000, "minutes": 60}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    assert sorted(await stage.payments(card)) == [
        ("capture", 3000, "queued"),
        ("charge", 2000, "queued"),
    ]
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"
    balance = await stage.balance(project.leg.leg_id)
    assert (balance.deposit_captured_cents, balance.deposit_held_cents) == (3000, 0)


async def test_a_deposit_that_is_enough_leaves_nothing_to_charge(stage: Stage) -> None:
    project = await stage.project(begun=True, kind="studio", deposit=9_000)
    payload = {"rate_cents_per_hour": 5000, "minutes": 60}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    assert await stage.payments(card) == [("capture", 5000, "queued")]
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"


async def test_a_retry_repeats_only_what_failed(stage: Stage) -> None:
    project = await stage.project(begun=True, kind="studio", deposit=3_000)
    payload = {"rate_cents_per_hour": 5000, "minutes": 60}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    stage.bank.refuses = {"charge"}
    await stage.run_payments()
    card = await stage.card(card)
    assert card.state == "failed"
    stage.bank.refuses = set()
    card = await stage.act(project.buyer, card, "retry")
    assert ("charge", 2000, "queued") in await stage.payments(card)
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"
    paid = [row for row in await stage.payments(card) if row[2] == "succeeded"]
    assert sorted(paid) == [("capture", 3000, "succeeded"), ("charge", 2000, "succeeded")]


async def test_what_came_in_before_a_failure_goes_back_when_it_is_declined(stage: Stage) -> None:
    project = await stage.project(begun=True, kind="studio", deposit=3_000)
    payload = {"rate_cents_per_hour": 5000, "minutes": 60}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    stage.bank.refuses = {"charge"}
    await stage.run_payments()
    card = await stage.act(project.buyer, await stage.card(card), "decline")
    await stage.run_payments()
    assert ("refund", 3000, "succeeded") in await stage.payments(card)
    assert (await stage.card(card)).state == "declined"


async def test_an_expense_that_nobody_pays_is_in_the_sellers_books(stage: Stage) -> None:
    project = await stage.project()
    payload = {
        "amount_cents": 900,
        "merchant": "Taxi",
        "date": "2027-01-10",
        "buyer_payable": False,
    }
    card = await stage.make(project.seller, project.thread_id, "expense", payload)
    card = await stage.act(project.buyer, card, "accept")
    assert card.state == "accepted"
    assert await stage.payments(card) == []
    assert await amendment(stage, project) == [("expense", 900, "booked")]


async def test_a_refund_is_at_most_what_was_paid(stage: Stage) -> None:
    project = await stage.project(price=5_000)
    payload = {"reason": "Too dark", "amount_cents": 5_001}
    with pytest.raises(ActionConflict, match="At most 5000 cents"):
        await stage.make(project.buyer, project.thread_id, "refund", payload)
    part, everything = [
        await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Dark", **more})
        for more in ({"amount_cents": 2_000}, {})
    ]
    assert everything.totals["amount_cents"] == 5_000
    card = await stage.act(project.seller, part, "accept")
    assert card.state == "refunding"
    with pytest.raises(ActionConflict, match="At most 3000 cents"):
        await stage.act(project.seller, everything, "accept")
    await stage.run_payments()
    assert (await stage.card(card)).state == "refunded"
    assert (await stage.balance(project.leg.leg_id)).refunded_cents == 2_000


async def test_nothing_paid_is_nothing_to_refund(stage: Stage) -> None:
    project = await stage.project(price=0)
    with pytest.raises(ActionInvalidState, match="Nothing"):
        await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Dark"})


async def test_a_refund_that_failed_can_be_tried_again(stage: Stage) -> None:
    project = await stage.project(price=5_000)
    card = await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Dark"})
    card = await stage.act(project.seller, card, "accept")
    stage.bank.refuses = {"refund"}
    await stage.run_payments()
    card = await stage.card(card)
    assert (card.state, card.waits_for) == ("failed", (project.seller,))
    stage.bank.refuses = set()
    card = await stage.act(project.seller, card, "retry")
    await stage.run_payments()
    assert (await stage.card(card)).state == "refunded"


async def test_a_cancellation_is_quoted_with_the_deposit_that_it_gives_back(stage: Stage) -> None:
    project = await stage.project(price=10_000, kind="studio", deposit=2_500)
    card = await stage.make(project.buyer, project.thread_id, "cancel", {"reason": "Ill"})
    assert card.totals["quote"]["deposit_cents"] == 2_500
    await stage.act(project.seller, card, "accept")
    await stage.run_payments()
    assert (await stage.balance(project.leg.leg_id)).deposit_held_cents == 0


@pytest.mark.parametrize(
    ("by", "in_hours", "refund"),
    [("buyer", 24 * 8, 10_000), ("buyer", 24 * 3, 5_000), ("buyer", 5, 0), ("seller", 5, 10_000)],
)
async def test_a_cancellation_is_quoted_and_then_done_as_quoted(
    stage: Stage, by: str, in_hours: float, refund: int
) -> None:
    project = await stage.project(price=10_000, in_hours=in_hours)
    creator, other = project.person(by), project.person({"buyer": "seller"}.get(by, "buyer"))
    card = await stage.make(creator, project.thread_id, "cancel", {"reason": "Ill"})
    assert card.totals["quote"]["refund_cents"] == refund
    card = await stage.act(other, card, "accept")
    await stage.run_payments()
    assert (await stage.leg_of(project)).state is LegState.CANCELLED
    assert (await stage.balance(project.leg.leg_id)).refunded_cents == refund
    with pytest.raises((ActionInvalidState, CardInvalid)):
        await stage.make(creator, project.thread_id, "cancel", {"reason": "Ill"})


async def test_money_is_not_added_to_a_leg_that_is_over(stage: Stage) -> None:
    project = await stage.project()
    extras = await stage.make(project.seller, project.thread_id, "extras", lamps())
    done = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    await stage.act(project.buyer, done, "accept")
    with pytest.raises(ActionInvalidState, match="completed"):
        await stage.make(project.seller, project.thread_id, "extras", lamps())
    extras = await stage.card(extras)
    assert extras.state == "leg_completed"
    with pytest.raises(ActionInvalidState):
        await stage.act(project.buyer, extras, "accept")
    await stage.run_payments()
    assert (await stage.balance(project.leg.leg_id)).payout_cents == 10_000


async def test_nothing_is_charged_for_a_leg_that_is_cancelled(stage: Stage) -> None:
    project = await stage.project(begun=True, price=0)
    extras = await stage.make(project.seller, project.thread_id, "extras", lamps())
    clock = await stage.make(
        project.seller, project.thread_id, "overtime", {"rate_cents_per_hour": 6000}
    )
    clock = await stage.act(project.buyer, clock, "accept")
    cancel = await stage.make(project.buyer, project.thread_id, "cancel", {"reason": "Ill"})
    await stage.act(project.seller, cancel, "accept")
    for card in (extras, clock):
        closed = await stage.card(card)
        assert (closed.state, closed.waits_for) == ("leg_cancelled", ())
        assert ("stopped_at" in closed.totals) == (card is clock)
        assert await stage.timers(closed) == {}
        with pytest.raises(ActionInvalidState, match="leg_cancelled"):
            await stage.act(project.buyer, closed, "stop")
    stage.clock.advance(days=3)
    await stage.cards.run_timer(clock.id, "stop")
    assert await stage.payments(clock) == []


async def test_what_costs_nothing_is_paid_at_once(stage: Stage) -> None:
    project = await stage.project(begun=True)
    payload = {"rate_cents_per_hour": 1, "minutes": 1}
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    card = await stage.act(project.buyer, card, "accept")
    assert (card.state, card.version) == ("paid", 3)
    assert await stage.payments(card) == []
    _, history = await stage.cards.access(None, card.id)
    assert [(row.act, row.role) for row in history[1:]] == [
        ("accept", "buyer"),
        ("succeeded", "server"),
    ]


async def test_caps_hold_when_everything_is_accepted_at_once(stage: Stage) -> None:
    project = await stage.project()
    cap = stage.cards.catalogue.type("extras").caps["travel"]
    payload = {"items": [{"title": "Taxi", "kind": "travel", "qty": 3, "unit_cents": 100}]}
    cards = [
        await stage.make(project.seller, project.thread_id, "extras", payload) for _ in range(10)
    ]
    outcomes = await asyncio.gather(
        *(stage.act(project.buyer, card, "accept") for card in cards), return_exceptions=True
    )
    accepted = [each for each in outcomes if not isinstance(each, BaseException)]
    assert len(accepted) == cap.max_qty // 3
    assert all(isinstance(each, ActionConflict) for each in outcomes if each not in accepted)


async def test_refunds_at_once_are_together_at_most_what_was_paid(stage: Stage) -> None:
    project = await stage.project(price=5_000)
    payload = {"reason": "Dark", "amount_cents": 1_500}
    cards = [
        await stage.make(project.buyer, project.thread_id, "refund", payload) for _ in range(8)
    ]
    outcomes = await asyncio.gather(
        *(stage.act(project.seller, card, "accept") for card in cards), return_exceptions=True
    )
    assert sum(isinstance(each, ActionConflict) for each in outcomes) == 5
    await stage.run_payments()
    assert (await stage.balance(project.leg.leg_id)).refunded_cents == 4_500
