"""The files tab, and files in cards and expenses: as each viewer may see them."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from greenroom.kernel.ids import make_id, system_randomness
from tests.support.api import Api, Json, Person

from .test_panel import SHA256, Project

INSERT = """
insert into file (file_id, thread_id, owner_user, purpose, name, mime, bytes, state, reason, media,
                  band, band_source, renditions, created_at)
values ($1, $2, $3, $4, 'a.jpg', 'image/jpeg', 1000, $5, $6, 'image', $7, 'classifier', $8, $9)
"""
NOTE_USE = "insert into file_use (file_id, place, at) values ($1, $2, $3)"
EXPENSE = {"amount_cents": 900, "merchant": "Taxi", "date": "2027-01-10", "buyer_payable": True}


async def put_file(project: Project, owner: Person, purpose: str, **given: Any) -> str:
    file_id, now_ms = make_id("fil", project.api.clock(), system_randomness()), project.api.clock()
    folder = f"msg-previews/{project.thread_id}/{file_id}"
    renditions = [
        {"kind": kind, "key": f"{folder}/{kind}.webp", "mime": "image/webp", "bytes": 10}
        for kind in ("thumb", "blurred")
    ]
    await project.pool.execute(
        INSERT,
        file_id,
        project.thread_id,
        owner.id,
        purpose,
        given.get("state", "ready"),
        given.get("reason"),
        given.get("band", 0),
        json.dumps(renditions if given.get("state", "ready") == "ready" else []),
        now_ms,
    )
    return file_id


@pytest.fixture
async def project(api: Api, pool: asyncpg.Pool) -> Project:
    return await Project.confirmed(api, pool, {"price_cents": 10_000})


def kinds(file: Json) -> list[str]:
    return [each["kind"] for each in file["renditions"]]


async def test_the_tab_shows_proofs_finals_and_attachments(project: Project) -> None:
    ann, bob, api = project.ann, project.bob, project.api
    gallery = [await put_file(project, bob, "proof") for _ in range(3)]
    proofs = await project.make(bob, "proofs", gallery=gallery, allow_selections=True)
    item = {"name": "a.zip", "bytes": 1, "sha256": SHA256, "url": "https://files.example/a.zip"}
    path = f"/v1/threads/{project.thread_id}/manifests"
    manifest = (await bob.post(path, {"items": [item]})).json()["manifest"]
    delivered = await project.make(bob, "deliverable", manifest_id=manifest["id"])

    shown = await project.tab(ann, "files")
    [row] = shown["proofs"]
    assert (row["card_id"], row["created_by"], row["round"]) == (proofs["id"], bob.id, 1)
    assert row["message_id"] == proofs["message_id"]
    assert [each["id"] for each in row["files"]] == gallery
    assert (row["state"], row["selections"]) == ("pending", [])
    [finals] = shown["finals"]
    assert finals["manifest"] == manifest
    assert finals["cards"] == [
        {"card_id": delivered["id"], "message_id": delivered["message_id"], "state": "pending"}
    ]
    assert shown["attachments"] == {"items": [], "next_cursor": None}

    await project.act(ann, proofs, "approve", selections=gallery[1:2])
    [row] = (await project.tab(bob, "files"))["proofs"]
    assert (row["state"], row["selections"]) == ("approved", gallery[1:2])
    assert await api.anonymous.refusal("GET", path) == (401, "UNAUTHENTICATED")


async def test_attachments_are_those_of_messages(project: Project) -> None:
    """Proofs and receipts stand with their cards."""
    files = {
        purpose: await put_file(project, project.bob, purpose)
        for purpose in ("attachment", "voice", "proof", "receipt")
    }
    sent = await project.bob.send(project.thread_id, "Here")
    for file_id in files.values():
        await project.pool.execute(NOTE_USE, file_id, sent["id"], project.api.clock())
    shown = (await project.tab(project.ann, "files"))["attachments"]["items"]
    assert {each["id"] for each in shown} == {files["attachment"], files["voice"]}
    assert {each["owner_id"] for each in shown} == {project.bob.id}


async def test_the_overview_counts_what_waits_there(project: Project) -> None:
    async def count(viewer: Person) -> tuple[bool, int]:
        tabs = {each["tab"]: each for each in (await project.panel(viewer))["tabs"]}
        return tabs["files"]["available"], tabs["files"]["count"]

    assert await count(project.ann) == (True, 0)
    gallery = [await put_file(project, project.bob, "proof")]
    card = await project.make(project.bob, "proofs", gallery=gallery)
    assert (await count(project.ann), await count(project.bob)) == ((True, 1), (True, 0))
    await project.act(project.ann, card, "request_revision", notes="Warmer")
    assert (await count(project.ann), await count(project.bob)) == ((True, 0), (True, 1))


async def test_each_viewer_gets_what_safe_mode_allows(project: Project) -> None:
    """In the card, in the list of actions, in the tab, and in the answers to making and acting."""
    bands = [await put_file(project, project.bob, "proof", band=band) for band in (0, 1, 2)]
    path = f"/v1/threads/{project.thread_id}/cards"
    new = {"type": "proofs", "payload": {"gallery": bands}}
    made = [(await project.bob.post(path, new, key="proofs")).json() for _ in range(2)]
    assert made[0] == made[1]
    card = made[0]["card"]
    places = [card["files"], made[0]["message"]["card"]["files"]]
    moved = await project.act(project.ann, card, "request_revision", notes="Warmer")
    for key in (None, "too-late"):
        stale = await project.ann.post(
            f"/v1/cards/{card['id']}/approve", {"version": card["version"]}, key=key
        )
        assert (stale.status_code, stale.json()["card"]["version"]) == (409, moved["version"])
        places.append(stale.json()["card"]["files"])
    for viewer in (project.ann, project.bob):
        page = (await viewer.get(f"/v1/cards/{card['id']}")).json()["card"]
        [open_card] = (await project.tab(viewer, "actions"))["cards"]
        [row] = (await project.tab(viewer, "files"))["proofs"]
        places += [page["files"], open_card["files"], row["files"]]
    for files in places:
        assert [each["visibility"] for each in files] == ["clear", "blurred", "hidden"]
        assert [kinds(each) for each in files] == [["thumb"], ["blurred"], []]


async def test_a_picture_that_was_quarantined_keeps_its_place_without_an_address(
    project: Project,
) -> None:
    gallery = [await put_file(project, project.bob, "proof") for _ in range(2)]
    card = await project.make(project.bob, "proofs", gallery=gallery)
    await project.pool.execute(
        "update file set state = 'quarantined', reason = 'virus', renditions = '[]' "
        "where file_id = $1",
        gallery[0],
    )
    for viewer, reason in ((project.ann, None), (project.bob, "virus")):
        shown = (await viewer.get(f"/v1/cards/{card['id']}")).json()["card"]["files"]
        assert [each["id"] for each in shown] == gallery
        assert [each["state"] for each in shown] == ["quarantined", "ready"]
        assert (shown[0]["reason"], shown[0]["renditions"]) == (reason, [])


async def test_whoever_sees_the_card_sees_its_files_and_nobody_else(project: Project) -> None:
    gallery = [await put_file(project, project.bob, "proof")]
    path = f"/v1/files/{gallery[0]}"
    assert await project.ann.refusal("GET", path) == (404, "NOT_FOUND")
    await project.make(project.bob, "proofs", gallery=gallery)
    for viewer in (project.ann, project.bob):
        assert (await viewer.get(path)).json()["file"]["id"] == gallery[0]
    assert await project.carl.refusal("GET", path) == (404, "NOT_FOUND")


async def test_files_of_others_are_refused_as_if_they_did_not_exist(project: Project) -> None:
    path = f"/v1/threads/{project.thread_id}/cards"
    theirs = await put_file(project, project.ann, "proof")
    details = []
    for file_id in (theirs, "fil_01a3185c6388jfnc9djwh4hwkc"):
        answer = await project.bob.post(path, {"type": "proofs", "payload": {"gallery": [file_id]}})
        assert (answer.status_code, answer.json()["code"]) == (422, "CARD_INVALID")
        details.append(answer.json()["detail"])
    assert details[0] == details[1]
    held = await put_file(project, project.bob, "proof", state="quarantined")
    new = {"type": "proofs", "payload": {"gallery": [held]}}
    assert await project.bob.refusal("POST", path, new) == (409, "UPLOAD_QUARANTINED")


async def test_a_receipt_is_with_its_expense(project: Project) -> None:
    receipt = await put_file(project, project.bob, "receipt")
    card = await project.make(project.bob, "expense", **EXPENSE, receipt_file_id=receipt)
    assert [each["id"] for each in card["files"]] == [receipt]
    paid = await project.act(project.ann, card, "accept")
    assert paid["state"] == "paid"
    without = await project.make(project.bob, "expense", **EXPENSE)
    await project.act(project.ann, without, "accept")
    for viewer in (project.ann, project.bob):
        [leg] = (await project.tab(viewer, "expenses"))["legs"]
        first, second = leg["amendments"]
        assert (first["receipt"]["id"], kinds(first["receipt"])) == (receipt, ["thumb"])
        assert second["receipt"] is None
