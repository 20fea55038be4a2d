"""Actions that depend on the booked time are refused, and timers wait, until that time."""

from __future__ import annotations

import pytest

from greenroom.bookings.model import LegState
from greenroom.cards.model import Card
from greenroom.kernel.errors import ActionInvalidState, Problem
from tests.support.clock import HOUR_MS

from .stage import Project, Stage

REVIEW_MS = 72 * HOUR_MS


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def complete(stage: Stage, project: Project, kind: str) -> Card:
    return await stage.make(project.seller, project.thread_id, "complete", {"kind": kind})


def actions(stage: Stage, card: Card, person: str) -> list[str]:
    shown = stage.cards.renderer.render_card(card, person)
    return [each.action for each in shown.available_actions]


async def test_work_by_time_is_not_done_before_its_time_has_begun(stage: Stage) -> None:
    project = await stage.project()
    with pytest.raises(ActionInvalidState, match="not done before the booked time") as refused:
        await complete(stage, project, "time_based")
    assert "Wait until the booked time has begun" in refused.value.hint
    stage.clock.now_ms = project.leg.start_ms
    card = await complete(stage, project, "time_based")
    await stage.act(project.buyer, card, "accept")
    assert (await stage.leg_of(project)).state is LegState.COMPLETED


@pytest.mark.parametrize("kind", ["milestone", "time_based"])
async def test_silence_accepts_nothing_before_the_end_and_the_review_time(
    stage: Stage, kind: str
) -> None:
    project = await stage.project(begun=kind == "time_based")
    card = await complete(stage, project, kind)
    assert card.expires_at_ms == project.leg.end_ms + REVIEW_MS
    stage.clock.now_ms = project.leg.end_ms + REVIEW_MS - 1
    await stage.cards.run_timer(card.id, "review")
    assert (await stage.leg_of(project)).payout == "none"
    stage.clock.now_ms += 1
    await stage.cards.run_timer(card.id, "review")
    assert (await stage.leg_of(project)).state is LegState.COMPLETED


async def test_work_that_is_handed_in_late_is_reviewed_from_then_on(stage: Stage) -> None:
    project = await stage.project()
    stage.clock.now_ms = project.leg.end_ms + 24 * HOUR_MS
    card = await complete(stage, project, "time_based")
    assert card.expires_at_ms == card.created_at_ms + REVIEW_MS


async def test_a_milestone_is_accepted_early_by_the_buyers_own_word(stage: Stage) -> None:
    project = await stage.project()
    card = await complete(stage, project, "milestone")
    await stage.act(project.buyer, card, "accept")
    assert (await stage.leg_of(project)).state is LegState.COMPLETED


async def test_a_timer_that_was_set_too_early_waits_for_the_end_of_the_work(stage: Stage) -> None:
    """As one of a version that did not know this rule, or of a server that was down meanwhile."""
    project = await stage.project()
    card = await complete(stage, project, "milestone")
    too_early = "update task set due_at = $2 where kind = 'timer' and key like $1 || '/%'"
    await stage.pool.execute(too_early, card.id, 1)
    await stage.pool.execute("update card set expires_at = $2 where card_id = $1", card.id, 1)
    await stage.cards.run_timer(card.id, "review")
    card = await stage.card(card)
    assert (card.state, card.version) == ("pending", 1)
    due_ms = project.leg.end_ms + REVIEW_MS
    assert (card.expires_at_ms, await stage.timers(card)) == (due_ms, {"review": due_ms})
    assert "accept" in actions(stage, card, project.buyer)


async def test_a_leg_that_moves_takes_its_timers_along(stage: Stage) -> None:
    project = await stage.project()
    work = await complete(stage, project, "milestone")
    options = [{"start": stage.at(24 * 60), "end": stage.at(24 * 60 + 5)}]
    first, second = [
        await stage.make(project.seller, project.thread_id, "reschedule", {"options": options})
        for _ in range(2)
    ]
    await stage.act(project.buyer, first, "accept", option=0)
    leg = await stage.leg_of(project)
    work = await stage.card(work)
    assert (work.expires_at_ms, work.version) == (leg.end_ms + REVIEW_MS, 1)
    assert await stage.timers(work) == {"review": work.expires_at_ms}
    # Sooner than the leg: what it was first.
    assert (await stage.card(second)).expires_at_ms == second.expires_at_ms
    await stage.check_history(work)


async def test_a_new_time_is_not_agreed_on_once_the_old_one_has_begun(stage: Stage) -> None:
    project = await stage.project(in_hours=48)
    options = {"options": [{"start": stage.at(24 * 5), "end": stage.at(24 * 5 + 1)}]}
    card = await stage.make(project.seller, project.thread_id, "reschedule", options)
    assert card.expires_at_ms == project.leg.start_ms
    stage.clock.now_ms = project.leg.start_ms
    assert actions(stage, card, project.buyer) == []
    with pytest.raises(Problem):
        await stage.act(project.buyer, card, "accept", option=0)
    for payload, name in ((options, "reschedule"), (_proposal(stage), "propose_time")):
        with pytest.raises(ActionInvalidState, match="has begun"):
            await stage.make(project.seller, project.thread_id, name, payload)
    assert (await stage.run_timer(card, "expire")).state == "expired"
    assert (await stage.leg_of(project)).start_ms == project.leg.start_ms


def _proposal(stage: Stage) -> dict[str, str]:
    return {"start": stage.at(24 * 6), "end": stage.at(24 * 6 + 1), "timezone": "Europe/Vienna"}


async def test_overtime_is_neither_started_nor_charged_before_the_work(stage: Stage) -> None:
    project = await stage.project()
    payload = {"rate_cents_per_hour": 6000, "minutes": 30}
    with pytest.raises(ActionInvalidState, match="not begun"):
        await stage.make(project.seller, project.thread_id, "overtime", payload)
    # One that a version without this rule has let be made.
    stage.clock.now_ms, before_ms = project.leg.start_ms, stage.clock()
    card = await stage.make(project.seller, project.thread_id, "overtime", payload)
    stage.clock.now_ms = before_ms
    assert actions(stage, card, project.buyer) == ["decline"]
    with pytest.raises(ActionInvalidState, match="not begun"):
        await stage.act(project.buyer, card, "accept")


async def test_overtime_and_handing_in_do_not_cross(stage: Stage) -> None:
    project = await stage.project(begun=True)
    payload = {"rate_cents_per_hour": 6000}
    clock = await stage.make(project.seller, project.thread_id, "overtime", payload)
    with pytest.raises(ActionInvalidState, match="Overtime"):
        await complete(stage, project, "time_based")
    await stage.act(project.seller, clock, "withdraw")
    await complete(stage, project, "time_based")
    with pytest.raises(ActionInvalidState, match="handed in"):
        await stage.make(project.seller, project.thread_id, "overtime", payload)


async def test_a_buyer_who_asks_for_money_back_is_not_silent(stage: Stage) -> None:
    project = await stage.project(begun=True)
    card = await complete(stage, project, "time_based")
    await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Too dark"})
    card = await stage.run_timer(card, "review")
    assert card.state == "pending"
    assert (await stage.leg_of(project)).payout == "none"
    assert (await stage.act(project.buyer, card, "accept")).state == "accepted"


async def test_accepted_work_can_be_disputed_for_two_weeks(stage: Stage) -> None:
    project = await stage.project(begun=True)
    card = await complete(stage, project, "time_based")
    card = await stage.act(project.buyer, card, "accept")
    assert actions(stage, card, project.buyer) == ["dispute"]
    stage.clock.advance(days=14, seconds=1)
    assert actions(stage, card, project.buyer) == []
    with pytest.raises(ActionInvalidState, match="two weeks"):
        await stage.act(project.buyer, card, "dispute", reason="It was never done")


async def test_what_the_time_of_a_card_has_passed_is_not_offered(stage: Stage) -> None:
    """Though the timer has not fired yet."""
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "extras", _lamp())
    assert "accept" in actions(stage, card, project.buyer)
    stage.clock.advance(days=7)
    assert actions(stage, card, project.buyer) == []


def _lamp() -> dict[str, object]:
    return {"items": [{"title": "Lamp", "qty": 1, "unit_cents": 500}]}
