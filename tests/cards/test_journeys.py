"""Typical uses of each type of card, from its creation to its end."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from greenroom.bookings.model import LegState
from greenroom.bookings.proposals import check_proposal
from greenroom.cards.model import Card
from greenroom.kernel.clock import parse_rfc3339
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    ActionStaleVersion,
    CardExpired,
    CardInvalid,
    Forbidden,
    NotFound,
    RateLimited,
    ThreadNotFound,
)
from greenroom.kernel.limits import Limits
from tests.support.bookings import made

from .stage import SHA256, Stage


async def propose(stage: Stage, person: str, thread_id: str, hours: float = 48) -> Card:
    payload = {
        "start": stage.at(hours),
        "end": stage.at(hours + 2),
        "timezone": "Europe/Vienna",
        "note": "In the morning?",
    }
    return await stage.make(person, thread_id, "propose_time", payload)


async def test_a_proposed_time_is_agreed_before_there_is_a_booking(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id)
    assert (card.state, card.is_open, card.waits_for) == ("pending", True, (seller,))
    card = await stage.act(seller, card, "accept")
    assert (card.state, card.leg_id, card.is_open) == ("accepted", None, False)


async def test_a_time_that_is_accepted_is_the_legs_time(stage: Stage) -> None:
    project = await stage.project(confirm=False)
    card = await propose(stage, project.seller, project.thread_id)
    assert card.leg_id == project.leg.leg_id
    await stage.act(project.buyer, card, "accept")
    assert (await stage.leg_of(project)).start_ms == parse_rfc3339(card.payload["start"])


async def test_a_time_that_was_proposed_before_the_booking_is_set_on_it(stage: Stage) -> None:
    project = await stage.project(confirm=False)
    await stage.pool.execute("update booking_group set thread_id = null where group_id = $1",
                             project.group.group_id)  # fmt: skip
    card = await propose(stage, project.buyer, project.thread_id)
    assert card.leg_id is None
    await stage.pool.execute("update booking_group set thread_id = $2 where group_id = $1",
                             project.group.group_id, project.thread_id)  # fmt: skip
    card = await stage.act(project.seller, card, "accept")
    assert card.leg_id == project.leg.leg_id
    assert (await stage.leg_of(project)).start_ms == parse_rfc3339(card.payload["start"])


async def test_a_time_that_is_taken_leaves_the_card_as_it_was(stage: Stage) -> None:
    first = await stage.project(in_hours=48)
    buyer, seller = first.buyer, first.seller
    thread_id = await stage.threads.open(buyer, [seller], "Another", f"{buyer}-2")
    second = stage.leg(seller, in_hours=24 * 20)
    proposal = check_proposal(
        buyer=buyer,
        currency="EUR",
        legs=[second],
        policy=stage.bookings.policy,
        thread_id=thread_id,
        now_ms=stage.clock(),
    )
    group = made(await stage.bookings.create(proposal)).group
    await stage.bookings.confirm(group.group_id)
    await stage.run_payments()
    times = {"start": stage.at(48), "end": stage.at(50)}
    card = await stage.make(buyer, thread_id, "reschedule", {"options": [times]})
    with pytest.raises(ActionConflict, match="not free"):
        await stage.act(seller, card, "accept", option=0)
    assert await stage.card(card) == card
    await stage.act(seller, card, "decline")


async def test_a_counter_offer_is_a_card_of_the_other(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id)
    more = {"start": stage.at(72), "end": stage.at(73), "timezone": "Europe/Vienna"}
    card = await stage.act(seller, card, "counter", **more)
    assert card.state == "countered"
    answer_id = await stage.pool.fetchval(
        "select card_id from card where answers_card = $1", card.id
    )
    answer, history = await stage.cards.access(buyer, answer_id)
    assert (answer.created_by, answer.waits_for) == (seller, (buyer,))
    assert answer.payload == more
    assert [row.act for row in history] == ["create"]
    kinds = await stage.pool.fetch(
        "select kind, card_id from message where thread_id = $1 order by seq", thread_id
    )
    assert [tuple(row) for row in kinds[1:]] == [("card", card.id), ("card", answer.id)]
    assert answer.message_id is not None
    await stage.act(buyer, answer, "accept")


async def test_a_counter_offer_that_is_none_changes_nothing(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id)
    past = {"start": stage.at(-2), "end": stage.at(-1), "timezone": "Europe/Vienna"}
    with pytest.raises(CardInvalid, match="future"):
        await stage.act(seller, card, "counter", **past)
    with pytest.raises(CardInvalid, match="input"):
        await stage.act(seller, card, "counter", start=stage.at(1))
    assert await stage.card(card) == card


async def test_a_leg_is_rescheduled_to_the_option_that_was_chosen(stage: Stage) -> None:
    project = await stage.project()
    options = [{"start": stage.at(h), "end": stage.at(h + 1)} for h in (100, 200)]
    payload = {"options": options, "reason": "Rain"}
    card = await stage.make(project.seller, project.thread_id, "reschedule", payload)
    assert card.totals["old_range"]["timezone"] == "Europe/Vienna"
    with pytest.raises(CardInvalid, match="option"):
        await stage.act(project.buyer, card, "accept", option=2)
    card = await stage.act(project.buyer, card, "accept", option=1)
    assert card.totals["option"] == 1
    assert (await stage.leg_of(project)).start_ms == parse_rfc3339(options[1]["start"])


async def test_deliverables_go_round_until_they_are_approved(stage: Stage) -> None:
    project = await stage.project()
    first, second = [await stage.manifest(project) for _ in range(2)]
    payload = {"manifest_id": first}
    card = await stage.make(project.seller, project.thread_id, "deliverable", payload)
    card = await stage.act(project.buyer, card, "request_revision", notes="Brighter")
    assert (card.totals["revision_notes"], card.waits_for) == ("Brighter", (project.seller,))
    card = await stage.act(project.seller, card, "resubmit", manifest_id=second)
    assert (card.totals, card.payload["manifest_id"]) == ({"round": 2}, second)
    card = await stage.act(project.buyer, card, "approve")
    assert (await stage.leg_of(project)).deliverables_accepted_at_ms == stage.clock()


async def test_a_manifest_of_another_thread_is_not_delivered(stage: Stage) -> None:
    project, other = await stage.project(), await stage.project()
    payload = {"manifest_id": await stage.manifest(other)}
    with pytest.raises(CardInvalid, match="manifest"):
        await stage.make(project.seller, project.thread_id, "deliverable", payload)


async def test_work_that_is_accepted_is_paid_out(stage: Stage) -> None:
    project = await stage.project(begun=True, price=7_000)
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "time_based"})
    await stage.act(project.buyer, card, "accept")
    await stage.run_payments()
    leg = await stage.leg_of(project)
    assert (leg.state, leg.payout) == (LegState.COMPLETED, "paid")
    row = await stage.pool.fetchrow(
        "select stage, open_cards from thread where thread_id = $1", project.thread_id
    )
    assert tuple(row or ()) == ("completed", 0)


async def test_work_that_is_disputed_is_not_paid_out(stage: Stage) -> None:
    project = await stage.project(begun=True)
    card = await stage.make(project.seller, project.thread_id, "complete", {"kind": "time_based"})
    await stage.act(project.buyer, card, "dispute", reason="It was never done")
    await stage.run_payments()
    leg = await stage.leg_of(project)
    assert (leg.state, leg.payout) == (LegState.DISPUTED, "held")
    found = await stage.pool.fetchval(
        "select stage from thread where thread_id = $1", project.thread_id
    )
    assert found == "disputed"


async def test_nobody_signs_another_text_than_they_have_seen(stage: Stage) -> None:
    project = await stage.project()
    document_id = await stage.document(project, [project.buyer, project.seller])
    payload = {"document_id": document_id}
    card = await stage.make(project.seller, project.thread_id, "sign", payload)
    with pytest.raises(ActionConflict):
        await stage.act(project.buyer, card, "sign", sha256="cd" * 32)
    card = await stage.act(project.buyer, card, "sign", sha256=SHA256)
    assert card.waits_for == (project.seller,)
    with pytest.raises(ActionInvalidState):
        await stage.act(project.buyer, card, "sign", sha256=SHA256)


async def test_one_card_at_a_time_asks_for_signatures_on_a_document(stage: Stage) -> None:
    project = await stage.project()
    payload = {"document_id": await stage.document(project, [project.buyer])}
    card = await stage.make(project.seller, project.thread_id, "sign", payload)
    with pytest.raises(ActionConflict, match="already asks"):
        await stage.make(project.buyer, project.thread_id, "sign", payload)
    await stage.act(project.seller, card, "withdraw")
    again = await stage.make(project.buyer, project.thread_id, "sign", payload)
    assert again.waits_for == (project.buyer,)


async def test_a_document_of_another_booking_is_not_signed_here(stage: Stage) -> None:
    project, other = await stage.project(), await stage.project()
    document_id = await stage.document(other, [other.buyer])
    with pytest.raises(CardInvalid, match="document"):
        await stage.make(project.buyer, project.thread_id, "sign", {"document_id": document_id})


async def test_an_older_version_gets_the_card_as_it_is_now(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id)
    declined = await stage.act(seller, card, "decline")
    with pytest.raises(ActionStaleVersion) as refused:
        await stage.act(buyer, card, "withdraw")
    shown = refused.value.extra["card"]
    assert (shown["state"], shown["version"], shown["available_actions"]) == ("declined", 2, [])
    with pytest.raises(ActionInvalidState):
        await stage.act(buyer, declined, "withdraw")
    with pytest.raises(CardInvalid, match="version"):
        made(await stage.cards.act(buyer, card.id, "withdraw", 9, {}))


async def test_a_hundred_acceptances_are_one_transition_and_one_charge(stage: Stage) -> None:
    project = await stage.project()
    items = [{"title": "Lamp", "qty": 1, "unit_cents": 500}]
    card = await stage.make(project.seller, project.thread_id, "extras", {"items": items})

    async def accept() -> str:
        try:
            return (await stage.act(project.buyer, card, "accept")).state
        except ActionStaleVersion as refused:
            return f"stale: {refused.extra['card']['state']}"

    answers = await asyncio.gather(*(accept() for _ in range(100)))
    assert answers.count("charging") == 1
    assert answers.count("stale: charging") == 99
    assert await stage.payments(card) == [("charge", 500, "queued")]
    _, history = await stage.cards.access(None, card.id)
    assert [row.act for row in history] == ["create", "accept"]


async def test_an_outsider_does_not_learn_that_there_is_a_card(stage: Stage) -> None:
    buyer, _, thread_id = await stage.inquiry()
    [eve] = await stage.people("eve")
    card = await propose(stage, buyer, thread_id)
    for call in (
        stage.act(eve, card, "accept"),
        stage.cards.access(eve, card.id),
        stage.cards.access(eve, "crd_nothing"),
    ):
        with pytest.raises(NotFound) as refused:
            await call
        assert refused.value.code == "NOT_FOUND"
    with pytest.raises(ThreadNotFound):
        await propose(stage, eve, thread_id)


async def test_others_in_the_thread_look_on(stage: Stage) -> None:
    project = await stage.project(sellers=2)
    _, bystander = project.sellers
    payload = {"leg_id": project.leg.leg_id, "kind": "milestone"}
    card = await stage.make(project.seller, project.thread_id, "complete", payload)
    assert (await stage.cards.access(bystander, card.id))[0] == card
    with pytest.raises(ActionInvalidState):
        await stage.act(bystander, card, "accept")
    with pytest.raises(Forbidden):
        await stage.make(bystander, project.thread_id, "complete", payload)


async def test_with_several_legs_it_must_be_said_which_is_meant(stage: Stage) -> None:
    project = await stage.project(sellers=2)
    items = [{"title": "Lamp", "qty": 1, "unit_cents": 500}]
    with pytest.raises(CardInvalid, match="leg_id"):
        await stage.make(project.buyer, project.thread_id, "extras", {"items": items})
    own = await stage.make(project.seller, project.thread_id, "extras", {"items": items})
    assert own.leg_id == project.leg.leg_id
    payload = {"items": items, "leg_id": "leg_other"}
    with pytest.raises(CardInvalid, match="leg_id is not"):
        await stage.make(project.buyer, project.thread_id, "extras", payload)
    with pytest.raises(CardInvalid, match="2 people on the other side"):
        await propose(stage, project.buyer, project.thread_id)


async def test_a_type_is_made_where_and_by_whom_the_catalogue_says(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    with pytest.raises(CardInvalid, match="project"):
        await stage.make(seller, thread_id, "complete", {"kind": "milestone"})
    with pytest.raises(CardInvalid, match="no card type of this name"):
        await stage.make(buyer, thread_id, "dance", {})
    project = await stage.project()
    with pytest.raises(Forbidden, match="not made by the buyer"):
        await stage.make(project.buyer, project.thread_id, "complete", {"kind": "milestone"})


async def test_one_person_makes_so_many_cards_in_a_minute(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    payload = {"lat": 1, "lon": 2, "until": stage.at(2)}
    for _ in range(Limits().cards_per_minute):
        made(await stage.cards.create(buyer, thread_id, "location", payload))
    with pytest.raises(RateLimited) as refused:
        await stage.cards.create(buyer, thread_id, "location", payload)
    assert refused.value.retry_after_s == 2
    made(await stage.cards.create(seller, thread_id, "location", payload))


async def test_so_many_cards_wait_in_one_thread(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    cards = [await propose(stage, buyer, thread_id) for _ in range(Limits().open_cards)]
    with pytest.raises(ActionConflict, match="decide some first"):
        await propose(stage, seller, thread_id)
    await stage.act(seller, cards[0], "decline")
    await propose(stage, seller, thread_id)


async def needs_action(stage: Stage, thread_id: str) -> dict[str, bool]:
    rows = await stage.pool.fetch(
        "select user_id, needs_action from inbox_index where thread_id = $1", thread_id
    )
    return {row["user_id"]: row["needs_action"] for row in rows}


async def test_the_thread_knows_what_waits_for_whom(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    first, second = [await propose(stage, person, thread_id) for person in (buyer, seller)]
    opened = "select open_cards from thread where thread_id = $1"
    assert await needs_action(stage, thread_id) == {buyer: True, seller: True}
    assert await stage.pool.fetchval(opened, thread_id) == 2
    await stage.act(seller, first, "decline")
    assert await needs_action(stage, thread_id) == {buyer: True, seller: False}
    await stage.act(seller, second, "withdraw")
    assert await needs_action(stage, thread_id) == {buyer: False, seller: False}
    assert await stage.pool.fetchval(opened, thread_id) == 0


async def test_a_card_whose_time_is_over_is_not_acted_on(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id, hours=5)
    stage.clock.advance(hours=5)
    with pytest.raises(CardExpired):
        await stage.act(seller, card, "accept")
    assert (await stage.run_timer(card, "expire")).state == "expired"


@pytest.mark.parametrize(
    "payload",
    [
        {"start": "2027-13-01T10:00:00Z", "end": "2027-13-01T11:00:00Z"},
        {"start": "2020-01-01T10:00:00Z", "end": "2020-01-01T11:00:00Z"},
        {"start": "2099-01-01T10:00:00Z", "end": "2099-01-01T09:00:00Z"},
        {"start": "2030-01-01T10:00:00Z", "end": "2030-01-01T11:00:00Z", "timezone": "Mars/Base"},
        {"start": "soon", "end": "later"},
        {"start": 5, "end": 6},
    ],
)
async def test_times_that_make_no_sense_are_refused(
    stage: Stage, payload: dict[str, object]
) -> None:
    buyer, _, thread_id = await stage.inquiry()
    with pytest.raises(CardInvalid):
        await stage.make(buyer, thread_id, "propose_time", {"timezone": "Europe/Vienna", **payload})


async def test_every_transition_is_told_without_what_people_wrote(stage: Stage) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id)
    await stage.act(seller, card, "decline")
    rows = await stage.pool.fetch(
        "select event, actor, data::text from outbox where card_id = $1 order by id",
        card.id,
    )
    assert [(row["event"], row["actor"]) for row in rows] == [
        ("action.create", buyer),
        ("action.state_change", seller),
    ]
    assert '"from": "pending"' in rows[1]["data"]
    assert all("morning" not in row["data"] for row in rows)


async def test_a_plain_answer_takes_six_statements(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer, seller, thread_id = await stage.inquiry()
    card = await propose(stage, buyer, thread_id)
    asked: list[str] = []
    original: Any = vars(asyncpg.Connection)["_execute"]

    async def counted(self: object, query: str, *args: Any, **more: Any) -> Any:
        asked.append(query)
        return await original(self, query, *args, **more)

    monkeypatch.setattr(asyncpg.Connection, "_execute", counted)
    await stage.act(seller, card, "decline")
    # Where it is, its thread, itself, its new state, the thread's message, the history.
    assert len(asked) == 6, asked
