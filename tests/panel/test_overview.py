"""The panel's overview: its tabs, the booking, and coming deadlines."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from greenroom.kernel.clock import rfc3339
from tests.support.api import Api, Json, Person

from .test_panel import LATER, SHA256, Project


def counts(panel: Json) -> dict[str, int | None]:
    return {each["tab"]: each["count"] for each in panel["tabs"] if each["available"]}


def timers(panel: Json) -> list[tuple[str, str | None, str | None]]:
    return [(each["kind"], each["card_id"], each["leg_id"]) for each in panel["timers"]]


async def test_before_there_is_a_booking_only_files_and_actions_are_there(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    panel = (await bob.get(f"/v1/threads/{thread_id}/panel")).json()["panel"]
    assert [each["tab"] for each in panel["tabs"]] == [
        *LATER,
        "files",
        "docs",
        "expenses",
        "actions",
    ]
    assert counts(panel) == {"files": 0, "actions": 0}
    assert (panel["booking"], panel["leg_id"], panel["timers"]) == (None, None, [])


async def test_the_booking_is_the_one_that_its_parties_read(api: Api, pool: asyncpg.Pool) -> None:
    legs = {"price_cents": 10_000}, {"price_cents": 7_000, "deposit_cents": 1_000}
    project = await Project.confirmed(api, pool, *legs)
    booking = (await project.ann.get(f"/v1/bookings/{project.booking_id}")).json()["booking"]
    for viewer in (project.ann, project.bob, project.sue):
        panel = await project.panel(viewer)
        assert panel["booking"] == booking
        assert counts(panel) == {"files": 0, "docs": 0, "expenses": None, "actions": 0}


async def test_someone_in_the_thread_sees_what_its_tabs_show(api: Api, pool: asyncpg.Pool) -> None:
    """A host has no part in the booking, but is shown all its money by the expenses."""
    project = await Project.confirmed(api, pool, {"price_cents": 10_000})
    carl = project.carl
    path = f"/v1/bookings/{project.booking_id}"
    assert await carl.refusal("GET", path) == (404, "NOT_FOUND")
    await api.backend.add(project.thread_id, carl.id, "host")
    assert await project.tab(carl, "expenses") == await project.tab(project.ann, "expenses")
    assert (await project.panel(carl))["booking"] == (await project.ann.get(path)).json()["booking"]
    await carl.leave(project.thread_id)
    refused = await carl.refusal("GET", f"/v1/threads/{project.thread_id}/panel")
    assert refused == (404, "THREAD_NOT_FOUND")


async def test_a_thread_that_names_one_leg_knows_nothing_of_the_others(
    api: Api, pool: asyncpg.Pool
) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 7_000}, {"price_cents": 5_000})
    thread_id = await project.ann.thread_with(project.sue)
    path = f"/v1/threads/{thread_id}"
    answer = await api.backend.post(f"{path}/promote", {"leg_id": project.legs[1]})
    assert answer.status_code == 200, answer.text
    panel = (await project.sue.get(f"{path}/panel")).json()["panel"]
    assert panel["leg_id"] == project.legs[1]
    booking = panel["booking"]
    assert (booking["id"], booking["total"]["amount_cents"]) == (project.booking_id, 5_000)
    assert [leg["id"] for leg in booking["legs"]] == [project.legs[1]]
    expenses = (await project.sue.get(f"{path}/panel/expenses")).json()["data"]
    assert [leg["leg_id"] for leg in expenses["legs"]] == [project.legs[1]]
    assert expenses["sums"]["agreed"]["amount_cents"] == 5_000


@pytest.mark.parametrize("name", ["group_id", "leg_id"])
async def test_a_booking_that_is_kept_elsewhere_is_not_shown(api: Api, name: str) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    answer = await api.backend.post(f"/v1/threads/{thread_id}/promote", {name: "one-of-theirs"})
    assert answer.status_code == 200, answer.text
    panel = (await ann.get(f"/v1/threads/{thread_id}/panel")).json()["panel"]
    assert panel["booking"] is None
    assert panel["leg_id"] == ("one-of-theirs" if name == "leg_id" else None)
    assert counts(panel) == {"files": 0, "actions": 0}


async def test_counts_are_cards_that_wait_for_the_viewer_and_what_they_have_yet_to_sign(
    api: Api, pool: asyncpg.Pool
) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 10_000})
    ann, bob = project.ann, project.bob
    documents = []
    for signers in ([ann.id, bob.id], [bob.id]):
        new = {"title": "Model release", "sha256": SHA256, "signers": signers}
        answer = await api.backend.post(f"/v1/bookings/{project.booking_id}/documents", new)
        documents.append(answer.json()["document"]["id"])

    async def waiting(viewer: Person) -> tuple[Any, Any]:
        shown = counts(await project.panel(viewer))
        return shown["docs"], shown["actions"]

    assert (await waiting(ann), await waiting(bob)) == ((1, 0), (2, 0))
    card = await project.make(ann, "sign", document_id=documents[1])
    assert (await waiting(ann), await waiting(bob)) == ((1, 0), (2, 1))
    await project.act(bob, card, "sign", sha256=SHA256)
    assert (await waiting(ann), await waiting(bob)) == ((1, 0), (1, 0))


async def test_timers_are_what_is_still_to_come_the_next_first(
    api: Api, pool: asyncpg.Pool
) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 10_000})
    [leg] = project.legs
    items = [{"title": "Lights", "qty": 1, "unit_cents": 1_500}]
    extras = await project.make(project.bob, "extras", items=items)
    refund = await project.make(project.ann, "refund", reason="Rain")
    panel = await project.panel(project.ann)
    assert timers(panel) == [
        ("card_expires", extras["id"], leg),
        ("leg_starts", None, leg),
        ("leg_ends", None, leg),
    ]
    assert panel["timers"][0]["at"] == extras["expires_at"]
    assert [each["at"] for each in panel["timers"][1:]] == [
        "2027-06-01T10:00:00.000Z",
        "2027-06-01T12:00:00.000Z",
    ]
    await project.act(project.bob, refund, "accept")
    done = await project.make(project.bob, "complete", kind="milestone")
    assert ("review_ends", done["id"], leg) in timers(await project.panel(project.ann))
    await project.act(project.ann, done, "accept")
    # A leg that has ended has no times any more, and nothing that was open about it has.
    assert timers(await project.panel(project.bob)) == []


async def test_what_is_past_is_no_timer(api: Api, pool: asyncpg.Pool) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 0})
    items = [{"title": "Lights", "qty": 1, "unit_cents": 1_500}]
    extras = await project.make(project.bob, "extras", items=items)
    [leg] = project.legs
    assert timers(await project.panel(project.ann))[0] == ("card_expires", extras["id"], leg)
    # Its worker has not come round yet: the card is open, its time is over.
    api.clock.advance(days=7, seconds=1)
    assert timers(await project.panel(project.ann)) == [
        ("leg_starts", None, leg),
        ("leg_ends", None, leg),
    ]


def can_make(panel: Json) -> set[str]:
    return {each["type"] for each in panel["can_make"]}


async def test_a_disputed_booking_offers_no_next_one(api: Api, pool: asyncpg.Pool) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 5_000})
    done = await project.make(project.bob, "complete", kind="milestone")
    await project.act(project.ann, done, "dispute", reason="Not done")
    assert can_make(await project.panel(project.ann)) == {"refund", "sign"}


async def test_only_what_would_not_be_refused_is_offered(api: Api, pool: asyncpg.Pool) -> None:
    start_ms = api.clock() + 3_600_000
    times = {"start": rfc3339(start_ms), "end": rfc3339(start_ms + 3_600_000)}
    project = await Project.confirmed(api, pool, {"price_cents": 0, **times})
    ann, bob = project.ann, project.bob
    always = {"reschedule", "extras", "cancel", "sign", "location"}
    # Nothing was paid: nothing can be asked back.
    assert can_make(await project.panel(ann)) == always
    assert can_make(await project.panel(bob)) == always | {
        *("expense", "complete", "deliverable", "proofs")
    }
    api.clock.advance(hours=1)
    begun = {"extras", "overtime", "cancel", "sign", "location"}
    assert can_make(await project.panel(ann)) == begun
    done = await project.make(bob, "complete", kind="time_based")
    assert can_make(await project.panel(ann)) == begun - {"overtime"}
    await project.act(ann, done, "accept")
    # The next booking can be talked about; about this one little is left to do.
    panel = await project.panel(bob)
    assert can_make(panel) == {"deliverable", "proofs", "propose_time", "sign", "location"}
    legs = {each["type"]: each["leg_ids"] for each in panel["can_make"]}
    assert (legs["deliverable"], legs["propose_time"]) == (list(project.legs), [])
