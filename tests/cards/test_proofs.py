"""Proofs: whose files they may show, what the buyer chooses, rounds and their time."""

from __future__ import annotations

from typing import Any

import pytest

from greenroom.bookings.model import LegState
from greenroom.cards.model import Card
from greenroom.kernel.errors import CardExpired, CardInvalid, UploadQuarantined

from .stage import Project, Stage

DAY_MS = 86_400_000


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def show(stage: Stage, project: Project, gallery: list[str], **more: Any) -> Card:
    payload = {"gallery": gallery, **more}
    return await stage.make(project.seller, project.thread_id, "proofs", payload)


async def places(stage: Stage, file_id: str) -> list[str]:
    rows = await stage.pool.fetch("select place from file_use where file_id = $1", file_id)
    return [row["place"] for row in rows]


async def test_a_card_shows_its_files_and_takes_them_into_use(stage: Stage) -> None:
    project = await stage.project()
    gallery = await stage.gallery(project, 3)
    card = await show(stage, project, gallery)
    assert card.totals == {"round": 1, "files": gallery}
    assert [await places(stage, each) for each in gallery] == [[card.id]] * 3
    assert card.message_id is not None
    message = await stage.rooms.store.message(project.buyer, project.thread_id, card.message_id)
    assert message is not None
    assert message.card is not None
    assert message.card["files"] == gallery
    assert "files" not in message.card["totals"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"state": "ready"}, None),
        ({"state": "uploading"}, CardInvalid),
        ({"state": "expired"}, CardInvalid),
        ({"state": "refused"}, UploadQuarantined),
        ({"state": "quarantined"}, UploadQuarantined),
        ({"purpose": "attachment"}, CardInvalid),
        ({"purpose": "receipt"}, CardInvalid),
        ({"thread_id": "thr_other"}, CardInvalid),
    ],
)
async def test_only_usable_proofs_of_this_thread_are_taken(
    stage: Stage, given: dict[str, str], problem: type[Exception] | None
) -> None:
    project = await stage.project()
    gallery = [await stage.file(project), await stage.file(project, **given)]
    if problem is None:
        assert (await show(stage, project, gallery)).state == "pending"
        return
    with pytest.raises(problem):
        await show(stage, project, gallery)
    assert await places(stage, gallery[0]) == []


async def test_files_of_others_do_not_exist(stage: Stage) -> None:
    project = await stage.project()
    for owner in (project.buyer, "somebody-else"):
        with pytest.raises(CardInvalid) as refused:
            await show(stage, project, [await stage.file(project, owner=owner)])
        with pytest.raises(CardInvalid) as unknown:
            await show(stage, project, ["fil_01a3185c6388jfnc9djwh4hwkc"])
        assert str(refused.value) == str(unknown.value)


async def test_the_same_picture_is_not_shown_twice(stage: Stage) -> None:
    project = await stage.project()
    file_id = await stage.file(project)
    with pytest.raises(CardInvalid):
        await show(stage, project, [file_id, file_id])


async def test_the_buyer_chooses_from_the_gallery(stage: Stage) -> None:
    project = await stage.project()
    gallery = await stage.gallery(project, 4)
    card = await show(stage, project, gallery, allow_selections=True, max_selections=2)
    strange = await stage.file(project)
    for selections in ([], [strange], [gallery[0], gallery[0]], gallery[:3]):
        with pytest.raises(CardInvalid):
            await stage.act(project.buyer, card, "approve", selections=selections)
    with pytest.raises(CardInvalid):
        await stage.act(project.buyer, card, "approve")
    card = await stage.act(project.buyer, card, "approve", selections=[gallery[3], gallery[1]])
    assert (card.state, card.totals["selections"]) == ("approved", [gallery[1], gallery[3]])
    events = await stage.pool.fetch(
        "select data from outbox where event = 'leg.proofs_approved' and card_id = $1",
        card.id,
    )
    assert [row["data"] for row in events] == ['{"files": 4, "selections": 2}']


async def test_without_a_choice_the_whole_is_approved(stage: Stage) -> None:
    project = await stage.project()
    gallery = await stage.gallery(project)
    card = await show(stage, project, gallery)
    with pytest.raises(CardInvalid):
        await stage.act(project.buyer, card, "approve", selections=gallery[:1])
    card = await stage.act(project.buyer, card, "approve")
    assert (card.state, card.totals) == ("approved", {"round": 1, "files": gallery})


async def test_a_second_round_has_its_own_pictures_note_and_time(stage: Stage) -> None:
    project = await stage.project()
    first = await stage.gallery(project)
    card = await show(stage, project, first, note="Rough", expires_at=stage.at(48))
    assert card.expires_at_ms is not None
    card = await stage.act(project.buyer, card, "request_revision", notes="Warmer")
    assert (card.waits_for, card.expires_at_ms) == ((project.seller,), None)
    assert card.totals["revision_notes"] == "Warmer"
    # While it is the seller's turn, no time runs.
    stage.clock.advance(days=9)
    others = await stage.file(project, owner=project.buyer)
    with pytest.raises(CardInvalid):
        await stage.act(project.seller, card, "resubmit", gallery=[others])
    second = await stage.gallery(project, 2)
    card = await stage.act(project.seller, card, "resubmit", gallery=second)
    assert (card.state, card.payload) == ("pending", {"gallery": second})
    assert card.totals == {"round": 2, "files": second}
    assert card.expires_at_ms == card.updated_at_ms + 30 * DAY_MS
    assert [await places(stage, each) for each in second] == [[card.id]] * 2
    assert (await stage.run_timer(card, "expire")).state == "expired"


async def test_changes_are_asked_for_in_all_and_in_single_pictures(stage: Stage) -> None:
    project = await stage.project()
    gallery = await stage.gallery(project, 3)
    card = await show(stage, project, gallery)
    first, second = ({"file_id": each, "note": "Warmer"} for each in gallery[:2])
    strange = {"file_id": await stage.file(project), "note": "Warmer"}
    for notes in ([], [first, first], [strange]):
        with pytest.raises(CardInvalid):
            await stage.act(project.buyer, card, "request_revision", file_notes=notes)
    card = await stage.act(project.buyer, card, "request_revision", file_notes=[second, first])
    assert card.totals["file_notes"] == [first, second]
    card = await stage.act(project.seller, card, "resubmit", gallery=gallery)
    assert card.totals == {"round": 2, "files": gallery}


async def test_a_round_ends_at_its_time(stage: Stage) -> None:
    project = await stage.project()
    gallery = await stage.gallery(project)
    for hours in (-1, 24 * 30 + 1):
        with pytest.raises(CardInvalid):
            await show(stage, project, gallery, expires_at=stage.at(hours))
    card = await show(stage, project, gallery, expires_at=stage.at(24))
    assert await stage.timers(card) == {"expire": card.expires_at_ms}
    stage.clock.advance(hours=25)
    with pytest.raises(CardExpired):
        await stage.act(project.buyer, card, "approve")
    shown = stage.cards.renderer.render_card(card, project.buyer)
    assert shown.available_actions == []
    card = await stage.run_timer(card, "expire")
    assert (card.state, card.is_open) == ("expired", False)


async def test_a_watermark_is_promised_only_where_there_is_one(stage: Stage) -> None:
    project = await stage.project()
    plain, marked = await stage.file(project), await stage.file(project, watermark="Theo")
    with pytest.raises(CardInvalid):
        await show(stage, project, [plain, marked], watermark=True)
    card = await show(stage, project, [marked], watermark=True)
    card = await stage.act(project.buyer, card, "request_revision", notes="Another")
    with pytest.raises(CardInvalid):
        await stage.act(project.seller, card, "resubmit", gallery=[plain])
    assert (await stage.act(project.seller, card, "resubmit", gallery=[marked])).state == "pending"


async def test_a_picture_that_is_quarantined_later_keeps_its_place(stage: Stage) -> None:
    project = await stage.project()
    gallery = await stage.gallery(project)
    card = await show(stage, project, gallery, allow_selections=True)
    await stage.pool.execute("update file set state = 'quarantined' where file_id = $1", gallery[1])
    assert (await stage.card(card)).totals["files"] == gallery
    card = await stage.act(project.buyer, card, "approve", selections=[gallery[0]])
    assert card.state == "approved"


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (LegState.CANCELLED, "leg_cancelled"),
        (LegState.COMPLETED, "pending"),
        (LegState.DISPUTED, "pending"),
    ],
)
async def test_proofs_outlive_the_work_but_not_a_cancellation(
    stage: Stage, end: LegState, state: str
) -> None:
    project = await stage.project(begun=end is not LegState.CANCELLED)
    card = await show(stage, project, await stage.gallery(project))
    if end is LegState.CANCELLED:
        await stage.bookings.cancel(project.group.group_id, None)
    else:
        work = await stage.make(
            project.seller, project.thread_id, "complete", {"kind": "milestone"}
        )
        act, given = ("accept", {}) if end is LegState.COMPLETED else ("dispute", {"reason": "No"})
        await stage.act(project.buyer, work, act, **given)
    assert (await stage.leg_of(project)).state is end
    assert (await stage.card(card)).state == state


async def test_a_receipt_goes_with_an_expense(stage: Stage) -> None:
    project = await stage.project()
    payload = {"amount_cents": 900, "merchant": "Taxi", "date": "2027-01-10", "buyer_payable": True}
    picture = await stage.file(project)
    with pytest.raises(CardInvalid):
        await stage.make(
            *(project.seller, project.thread_id, "expense"), {**payload, "receipt_file_id": picture}
        )
    receipt = await stage.file(project, purpose="receipt")
    card = await stage.make(
        *(project.seller, project.thread_id, "expense"), {**payload, "receipt_file_id": receipt}
    )
    assert card.totals["files"] == [receipt]
    assert await places(stage, receipt) == [card.id]
