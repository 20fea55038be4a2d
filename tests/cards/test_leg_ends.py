"""When a leg ends, its open cards are closed in the same transaction, whoever ends it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from greenroom.bookings.model import LegState
from greenroom.bookings.money.retrying import Retrying
from greenroom.cards.model import Card, Json
from greenroom.kernel.errors import ActionInvalidState

from .stage import Project, Stage

End = Callable[[Stage, Project], Awaitable[object]]


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


def lamp() -> Json:
    return {"items": [{"title": "Lamp", "qty": 1, "unit_cents": 500}]}


async def by_card(stage: Stage, project: Project) -> None:
    card = await stage.make(project.buyer, project.thread_id, "cancel", {"reason": "Ill"})
    await stage.act(project.seller, card, "accept")


async def by_backend(stage: Stage, project: Project) -> None:
    await stage.bookings.cancel(project.group.group_id, None)


async def by_acceptance(stage: Stage, project: Project) -> None:
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    await stage.act(project.buyer, card, "accept")


async def by_silence(stage: Stage, project: Project) -> None:
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    await stage.run_timer(card, "review")


async def by_dispute(stage: Stage, project: Project) -> None:
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    await stage.act(project.buyer, card, "dispute", reason="Not done")


ENDS: dict[End, str] = {
    by_card: "leg_cancelled",
    by_backend: "leg_cancelled",
    by_acceptance: "leg_completed",
    by_dispute: "leg_disputed",
}


async def make_one_of_each(stage: Stage, project: Project) -> list[Card]:
    times = {"start": stage.at(48), "end": stage.at(50)}
    expense = {"amount_cents": 900, "merchant": "Taxi", "date": "2027-01-10", "buyer_payable": True}
    made = [
        (project.seller, "extras", lamp()),
        (project.seller, "expense", expense),
        (project.seller, "reschedule", {"options": [times]}),
        (project.buyer, "location", {"lat": 48.2, "lon": 16.4, "until": stage.at(2)}),
    ]
    return [await stage.make(who, project.thread_id, name, payload) for who, name, payload in made]


@pytest.mark.parametrize("end", ENDS)
async def test_the_end_of_a_leg_closes_its_open_cards(stage: Stage, end: End) -> None:
    project = await stage.project()
    cards = await make_one_of_each(stage, project)
    await end(stage, project)
    for card in cards:
        closed, history = await stage.cards.access(None, card.id)
        assert (closed.state, closed.version) == (ENDS[end], 2)
        assert (closed.is_open, closed.waits_for, closed.expires_at_ms) == (False, (), None)
        assert await stage.timers(closed) == {}
        assert [(row.act, row.role) for row in history] == [
            ("create", history[0].role),
            ("close", "server"),
        ]
        for person in (project.buyer, project.seller):
            shown = stage.cards.renderer.render_card(closed, person)
            assert shown.available_actions == []
            assert shown.labels is not None
            assert shown.labels.state.startswith("Closed: ")
        await stage.check_history(closed)
    # The location is erased as when it ends by itself.
    assert (await stage.card(cards[-1])).payload == {}
    assert await standing(stage, project) == (0, False)


async def standing(stage: Stage, project: Project) -> tuple[int, bool]:
    """How many cards the thread waits for, and whether anybody's inbox says so."""
    thread, _ = await _found(stage, project.buyer, project.thread_id)
    needs = [
        (await _found(stage, person, project.thread_id))[1]
        for person in (project.buyer, project.seller)
    ]
    return thread, any(needs)


async def _found(stage: Stage, person: str, thread_id: str) -> tuple[int, bool]:
    found = await stage.rooms.store.thread(person, thread_id)
    assert found is not None
    thread = found[0]
    assert thread.inbox is not None
    return thread.open_cards, thread.inbox.needs_action


@pytest.mark.parametrize("end", ENDS)
async def test_the_thread_shows_the_closed_card(stage: Stage, end: End) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "extras", lamp())
    await end(stage, project)
    page = await stage.rooms.store.messages(
        project.buyer, project.thread_id, before=None, after=None, limit=50
    )
    assert page is not None
    [shown] = [
        message.card
        for message in page.items
        if message.card is not None and message.card["id"] == card.id
    ]
    assert (shown["state"], shown["expires_at"]) == (ENDS[end], None)


async def test_a_leg_that_silence_completes_closes_its_cards_too(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "expense", {
        "amount_cents": 900, "merchant": "Taxi", "date": "2027-01-10", "buyer_payable": True,
    })  # fmt: skip
    await by_silence(stage, project)
    assert (await stage.card(card)).state == "leg_completed"


async def test_of_several_legs_only_the_one_that_ends_loses_its_cards(stage: Stage) -> None:
    project = await stage.project(sellers=2)
    cards = [
        await stage.make(seller, project.thread_id, "extras", {**lamp(), "leg_id": leg.leg_id})
        for seller, leg in zip(project.sellers, project.group.legs, strict=True)
    ]
    reason = {"reason": "Ill", "leg_id": project.leg.leg_id}
    cancel = await stage.make(project.buyer, project.thread_id, "cancel", reason)
    await stage.act(project.seller, cancel, "accept")
    assert [(await stage.card(card)).state for card in cards] == ["leg_cancelled", "pending"]


async def test_a_charge_under_way_when_its_leg_is_cancelled_goes_back(stage: Stage) -> None:
    project = await stage.project(price=10_000)
    card = await stage.make(project.seller, project.thread_id, "extras", lamp())
    card = await stage.act(project.buyer, card, "accept")
    assert card.state == "charging"
    await by_backend(stage, project)
    card = await stage.card(card)
    assert (card.state, card.totals["in_flight_cents"]) == ("leg_cancelled", 500)
    await stage.run_payments()
    card = await stage.card(card)
    assert (card.state, card.totals["returned_cents"]) == ("leg_cancelled", 500)
    assert "in_flight_cents" not in card.totals
    balance = await stage.balance(project.leg.leg_id)
    assert (balance.paid_cents, balance.refunded_cents) == (10_500, 10_500)
    await stage.check_history(card)


async def test_a_charge_that_fails_after_its_leg_was_cancelled_is_over(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "extras", lamp())
    card = await stage.act(project.buyer, card, "accept")
    stage.bank.refuses = {"charge"}
    await by_backend(stage, project)
    await stage.run_payments()
    card = await stage.card(card)
    assert card.state == "leg_cancelled"
    assert not {"in_flight_cents", "returned_cents"} & card.totals.keys()


async def test_a_charge_under_way_when_the_work_is_accepted_is_the_sellers(stage: Stage) -> None:
    project = await stage.project(price=10_000)
    card = await stage.make(project.seller, project.thread_id, "extras", lamp())
    card = await stage.act(project.buyer, card, "accept")
    await by_acceptance(stage, project)
    assert (await stage.card(card)).is_open is False
    await stage.check()
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"
    assert (await stage.balance(project.leg.leg_id)).payout_cents == 10_500


async def test_a_charge_that_fails_after_the_work_was_accepted_leaves_nothing_open(
    stage: Stage,
) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "extras", lamp())
    card = await stage.act(project.buyer, card, "accept")
    await by_acceptance(stage, project)
    stage.bank.refuses = {"charge"}
    await stage.run_payments()
    card = await stage.card(card)
    assert (card.state, card.totals["failure_code"]) == ("leg_completed", "card_declined")
    state = await stage.pool.fetchval("select state from amendment where card_id = $1", card.id)
    assert state == "void"


async def test_what_the_catalogue_lets_outlive_the_end_stays(stage: Stage) -> None:
    project = await stage.project()
    document_id = await stage.document(project, [project.buyer])
    deliverable = {"manifest_id": await stage.manifest(project)}
    delivered = await stage.make(project.seller, project.thread_id, "deliverable", deliverable)
    await by_acceptance(stage, project)
    signed = await stage.make(
        project.seller, project.thread_id, "sign", {"document_id": document_id}
    )
    assert (await stage.act(project.buyer, delivered, "approve")).state == "approved"
    assert (await stage.act(project.buyer, signed, "sign", sha256="ab" * 32)).state == "signed"


async def test_deliverables_of_a_cancelled_leg_are_closed_and_not_made(stage: Stage) -> None:
    project = await stage.project()
    payload = {"manifest_id": await stage.manifest(project)}
    card = await stage.make(project.seller, project.thread_id, "deliverable", payload)
    card = await stage.act(project.buyer, card, "request_revision", notes="Brighter")
    await by_card(stage, project)
    assert (await stage.card(card)).state == "leg_cancelled"
    with pytest.raises(ActionInvalidState, match="was cancelled"):
        await stage.make(project.seller, project.thread_id, "deliverable", payload)


async def test_a_refund_is_asked_for_as_long_as_there_is_something_to_refund(stage: Stage) -> None:
    project = await stage.project(price=5_000)
    pending = await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Dark"})
    await by_dispute(stage, project)
    assert (await stage.card(pending)).state == "pending"
    await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Dark"})

    other = await stage.project(price=5_000)
    asked = await stage.make(other.buyer, other.thread_id, "refund", {"reason": "Dark"})
    await by_acceptance(stage, other)
    assert (await stage.card(asked)).state == "leg_completed"
    with pytest.raises(ActionInvalidState, match="Nothing"):
        await stage.make(other.buyer, other.thread_id, "refund", {"reason": "Dark"})


async def test_no_time_is_proposed_and_no_place_shared_while_a_booking_is_disputed(
    stage: Stage,
) -> None:
    project = await stage.project()
    await by_dispute(stage, project)
    times = {"start": stage.at(48), "end": stage.at(50), "timezone": "Europe/Vienna"}
    place = {"lat": 48.2, "lon": 16.4, "until": stage.at(2)}
    for name, payload in (("propose_time", times), ("location", place)):
        with pytest.raises(ActionInvalidState, match="disputed"):
            await stage.make(project.buyer, project.thread_id, name, payload)


async def test_a_time_for_the_next_booking_is_proposed_after_the_last_one_is_over(
    stage: Stage,
) -> None:
    project = await stage.project()
    await by_acceptance(stage, project)
    times = {"start": stage.at(48), "end": stage.at(50), "timezone": "Europe/Vienna"}
    card = await stage.make(project.buyer, project.thread_id, "propose_time", times)
    assert card.leg_id is None
    assert (await stage.act(project.seller, card, "accept")).state == "accepted"
    assert (await stage.leg_of(project)).state is LegState.COMPLETED


async def test_what_an_earlier_version_left_open_is_closed_at_the_start(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "extras", lamp())
    await stage.pool.execute(
        "update leg set state = 'cancelled' where leg_id = $1", project.leg.leg_id
    )
    await stage.cards.close_left_open()
    assert (await stage.card(card)).state == "leg_cancelled"


async def test_a_dispute_stops_a_payout_that_was_not_sent_and_says_so(stage: Stage) -> None:
    project = await stage.project(begun=True)
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "time_based"})
    card = await stage.act(project.buyer, card, "accept")
    assert (await stage.leg_of(project)).payout == "queued"
    card = await stage.act(project.buyer, card, "dispute", reason="Not one picture")
    assert (card.state, card.totals["payout"]) == ("disputed", "held")
    await stage.run_payments()
    leg = await stage.leg_of(project)
    assert (leg.state, leg.payout) == (LegState.DISPUTED, "held")
    assert (await stage.balance(leg.leg_id)).payout_cents == 0


async def test_a_dispute_after_the_payout_says_that_the_money_has_left(stage: Stage) -> None:
    project = await stage.project(begun=True)
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "time_based"})
    card = await stage.act(project.buyer, card, "accept")
    await stage.run_payments()
    card = await stage.act(project.buyer, card, "dispute", reason="Not one picture")
    assert (card.state, card.totals["payout"]) == ("disputed", "sent")
    leg = await stage.leg_of(project)
    assert (leg.state, leg.payout) == (LegState.DISPUTED, "paid")


async def test_a_leg_that_is_disputed_after_its_payout_is_not_cancelled(stage: Stage) -> None:
    project = await stage.project(begun=True)
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "time_based"})
    card = await stage.act(project.buyer, card, "accept")
    await stage.run_payments()
    await stage.act(project.buyer, card, "dispute", reason="Not one picture")
    before = await stage.group(project.group.group_id)
    with pytest.raises(ActionInvalidState, match="paid already") as refused:
        await stage.bookings.cancel(project.group.group_id, None)
    assert "/complete" in refused.value.hint
    assert await stage.group(project.group.group_id) == before


async def test_the_backend_ends_a_dispute_after_the_payout_and_the_thread_is_free_again(
    stage: Stage,
) -> None:
    project = await stage.project(begun=True)
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "time_based"})
    card = await stage.act(project.buyer, card, "accept")
    await stage.run_payments()
    before = await stage.balance(project.leg.leg_id)
    await stage.act(project.buyer, card, "dispute", reason="Not one picture")
    await stage.bookings.end_dispute(project.group.group_id)
    await stage.run_payments()
    leg = await stage.leg_of(project)
    assert (leg.state, leg.payout) == (LegState.COMPLETED, "paid")
    assert await stage.balance(leg.leg_id) == before
    with pytest.raises(ActionInvalidState, match="disputed"):
        await stage.bookings.end_dispute(project.group.group_id)


async def test_a_dispute_that_ends_for_the_seller_pays_what_was_held_once(stage: Stage) -> None:
    project = await stage.project(price=5_000, begun=True)
    await by_dispute(stage, project)
    assert (await stage.leg_of(project)).payout == "held"
    await stage.bookings.end_dispute(project.group.group_id)
    await stage.run_payments()
    leg = await stage.leg_of(project)
    assert (leg.state, leg.payout) == (LegState.COMPLETED, "paid")
    assert (await stage.balance(leg.leg_id)).payout_cents == 5_000


async def test_a_leg_that_is_disputed_before_its_payout_is_cancelled_and_given_back(
    stage: Stage,
) -> None:
    project = await stage.project(price=5_000)
    await by_dispute(stage, project)
    await by_backend(stage, project)
    await stage.run_payments()
    assert (await stage.balance(project.leg.leg_id)).refunded_cents == 5_000


async def test_a_refund_of_a_card_is_made_again_as_its_people_would(stage: Stage) -> None:
    retrying = Retrying(stage.transactions)
    retrying.register("card", stage.cards.retry_payment)
    project = await stage.project(price=5_000)
    card = await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Dark"})
    card = await stage.act(project.seller, card, "accept")
    stage.bank.refuses = {"refund"}
    await stage.run_payments()
    assert (await stage.card(card)).state == "failed"
    stage.bank.refuses = set()
    [payment] = [each for each in await retrying.failed("", 1000) if each.card_id == card.id]
    made = await retrying.retry(payment.payment_id)
    assert made == await retrying.retry(payment.payment_id)
    assert (await stage.card(card)).state == "refunding"
    await stage.run_payments()
    assert (await stage.card(card)).state == "refunded"
    assert (await stage.balance(project.leg.leg_id)).refunded_cents == 5_000
    assert [each for each in await retrying.failed("", 1000) if each.card_id == card.id] == []
