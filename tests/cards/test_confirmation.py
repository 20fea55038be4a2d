"""Confirming a booking closes earlier time proposals; afterwards only a `reschedule` card
moves it."""

from __future__ import annotations

import pytest

from greenroom.bookings.proposals import check_proposal
from greenroom.cards.model import Card
from greenroom.kernel.errors import ActionInvalidState
from tests.support.bookings import made

from .stage import Project, Stage


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def propose(stage: Stage, person: str, thread_id: str) -> Card:
    times = {"start": stage.at(48), "end": stage.at(50), "timezone": "Europe/Vienna"}
    return await stage.make(person, thread_id, "propose_time", times)


async def confirm(stage: Stage, group_id: str) -> None:
    await stage.bookings.confirm(group_id)
    await stage.run_payments()


async def check_closed(stage: Stage, card: Card, project: Project) -> None:
    closed = await stage.card(card)
    assert (closed.state, closed.is_open, closed.waits_for) == ("leg_confirmed", False, ())
    assert await stage.timers(closed) == {}
    labels = {
        locale: stage.cards.renderer.render_card(closed, project.buyer, locale).labels
        for locale in ("en", "de")
    }
    assert {locale: label.state for locale, label in labels.items() if label} == {
        "en": "Closed: the booking was confirmed",
        "de": "Geschlossen: Die Buchung wurde bestätigt",
    }
    with pytest.raises(ActionInvalidState):
        await stage.act(project.buyer, closed, "accept")
    assert (await stage.leg_of(project)).start_ms == project.leg.start_ms
    await stage.check_history(closed)
    await stage.check()


@pytest.mark.parametrize("price", [0, 10_000])
async def test_the_confirmation_closes_times_that_were_proposed_for_the_booking(
    stage: Stage, price: int
) -> None:
    project = await stage.project(confirm=False, price=price)
    card = await propose(stage, project.seller, project.thread_id)
    await confirm(stage, project.group.group_id)
    await check_closed(stage, card, project)
    page = await stage.rooms.store.messages(
        project.buyer, project.thread_id, before=None, after=None, limit=50
    )
    assert page is not None
    shown = [message.card["state"] for message in page.items if message.card is not None]
    assert shown == ["leg_confirmed"]


async def test_the_confirmation_closes_times_that_were_proposed_in_the_inquiry(
    stage: Stage,
) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, seller, thread_id)
    proposal = check_proposal(
        buyer=buyer,
        currency="EUR",
        legs=[stage.leg(seller)],
        policy=stage.bookings.policy,
        thread_id=thread_id,
        now_ms=stage.clock(),
    )
    group = made(await stage.bookings.create(proposal)).group
    await confirm(stage, group.group_id)
    project = Project(buyer, seller, thread_id, group, group.legs[0], [seller])
    await check_closed(stage, card, project)


async def test_a_booking_does_not_move_while_it_is_being_paid(stage: Stage) -> None:
    project = await stage.project(confirm=False)
    card = await propose(stage, project.seller, project.thread_id)
    await stage.bookings.confirm(project.group.group_id)
    with pytest.raises(ActionInvalidState, match="being confirmed"):
        await stage.act(project.buyer, card, "accept")
    stage.bank.refuses = {"charge"}
    await stage.run_payments()
    # It was not confirmed: the proposal stands.
    assert (await stage.act(project.buyer, card, "accept")).state == "accepted"


async def test_a_confirmed_booking_is_moved_by_rescheduling_only(stage: Stage) -> None:
    project = await stage.project()
    with pytest.raises(ActionInvalidState, match="is confirmed") as refused:
        await propose(stage, project.seller, project.thread_id)
    assert "reschedule" in (refused.value.hint or "")
