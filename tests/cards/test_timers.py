"""Timers of cards fire at their time and once."""

from __future__ import annotations

import asyncio

import pytest

from greenroom.bookings.model import LegState
from greenroom.cards.model import Card
from tests.support.clock import HOUR_MS

from .stage import Stage

DAY_MS = 86_400_000


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def propose(stage: Stage, person: str, thread_id: str, hours: float) -> Card:
    times = {"start": stage.at(hours), "end": stage.at(hours + 1)}
    payload = {**times, "timezone": "Europe/Vienna"}
    return await stage.make(person, thread_id, "propose_time", payload)


async def test_a_proposal_expires_after_a_week_or_when_its_time_has_come(stage: Stage) -> None:
    buyer, _, thread_id = await stage.inquiry()
    begun_ms = stage.clock()
    far, near = [await propose(stage, buyer, thread_id, hours) for hours in (24 * 30, 24)]
    assert far.expires_at_ms == far.created_at_ms + 7 * DAY_MS
    assert near.expires_at_ms is not None
    assert near.expires_at_ms < begun_ms + 2 * DAY_MS
    assert await stage.timers(near) == {"expire": near.expires_at_ms}
    assert (await stage.run_timer(near, "expire")).state == "expired"
    assert (await stage.card(far)).state == "pending"


async def test_a_timer_ends_with_the_state_that_it_is_for(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id, 24)
    card = await stage.act(seller, card, "decline")
    assert (await stage.timers(card), card.expires_at_ms) == ({}, None)
    stage.clock.advance(days=9)
    await stage.cards.run_timer(card.id, "expire")
    assert (await stage.card(card)).state == "declined"


async def test_a_timer_that_is_not_due_does_nothing(stage: Stage) -> None:
    buyer, _, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id, 24)
    await stage.cards.run_timer(card.id, "expire")
    assert (await stage.card(card)).state == "pending"
    assert await stage.timers(card)


async def test_a_timer_that_fires_many_times_at_once_fires_once(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    stage.clock.now_ms = project.leg.end_ms + 72 * HOUR_MS
    await asyncio.gather(*(stage.cards.run_timer(card.id, "review") for _ in range(20)))
    card, history = await stage.cards.access(None, card.id)
    assert (card.state, card.version) == ("auto_accepted", 2)
    assert [(row.act, row.role, row.actor) for row in history[1:]] == [
        ("auto_accept", "server", None)
    ]
    assert (await stage.leg_of(project)).state is LegState.COMPLETED
    assert await stage.timers(card) == {}


async def test_a_timer_runs_on_between_states_that_it_is_for(stage: Stage) -> None:
    project = await stage.project()
    document_id = await stage.document(project, [project.buyer, project.seller])
    card = await stage.make(project.buyer, project.thread_id, "sign", {"document_id": document_id})
    due_ms = card.expires_at_ms
    stage.clock.advance(days=10)
    card = await stage.act(project.buyer, card, "sign", sha256="ab" * 32)
    assert card.expires_at_ms == due_ms
    assert (await stage.run_timer(card, "expire")).state == "expired"


async def test_a_timer_that_has_become_impossible_leaves_the_card_to_people(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    await stage.make(project.buyer, project.thread_id, "refund", {"reason": "Too dark"})
    card = await stage.run_timer(card, "review")
    assert (card.state, card.expires_at_ms) == ("pending", None)
    assert await stage.timers(card) == {}
    shown = stage.cards.renderer.render_card(card, project.seller)
    assert [each.action for each in shown.available_actions] == ["withdraw"]
    assert (await stage.act(project.seller, card, "withdraw")).state == "withdrawn"


async def test_timers_of_what_is_not_there_are_let_go(stage: Stage) -> None:
    insert = "insert into task (kind, key, due_at) values ('timer', $1, $2)"
    buyer, _, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id, 24)
    for subject, name in (("crd_gone", "expire"), (card.id, "no_such_timer")):
        await stage.pool.execute(insert, f"{subject}/{name}", stage.clock())
        await stage.cards.run_timer(subject, name)
        left = "select count(*) from task where kind = 'timer' and key = $1"
        assert await stage.pool.fetchval(left, f"{subject}/{name}") == 0


async def test_a_card_expires_also_when_its_thread_is_gone(stage: Stage) -> None:
    project = await stage.project()
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "milestone"})
    await stage.pool.execute("update card set thread_id = 'thr_gone' where card_id = $1", card.id)
    stage.clock.now_ms = project.leg.end_ms + 72 * HOUR_MS
    await stage.cards.run_timer(card.id, "review")
    state = await stage.pool.fetchval("select state from card where card_id = $1", card.id)
    assert state == "auto_accepted"
    await stage.pool.execute(
        "update thread set open_cards = 0 where thread_id = $1", project.thread_id
    )
    await stage.pool.execute(
        "update inbox_index set needs_action = false where thread_id = $1", project.thread_id
    )
