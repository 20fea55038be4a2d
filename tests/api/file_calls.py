"""The calls about uploads and files, and what they need to be made."""

from __future__ import annotations

from typing import Any

from tests.support.api import Json, answered

from .matrix import Entry, Request, Scene, missing, of, of_thread

TEXT = b"Call sheet"
QUARANTINE = "update file set state = 'quarantined', reason = 'virus' where file_id = $1"
BAND = "update file set media = 'image', band = $2 where file_id = $1"


def an_upload(scene: Scene, **more: Any) -> Json:
    asked = {"thread_id": scene.thread_id, "name": "call sheet.txt", "mime": "text/plain"}
    return {**asked, "bytes": len(TEXT), "purpose": "attachment", **more}


async def begin(scene: Scene) -> None:
    answer = await scene.ann.post("/v1/uploads", an_upload(scene))
    scene.ids["upload_id"] = scene.ids["file_id"] = answered(answer, 201)["upload"]["id"]


async def begin_and_put(scene: Scene) -> None:
    answer = await scene.ann.post("/v1/uploads", an_upload(scene))
    upload = answered(answer, 201)["upload"]
    scene.ids["upload_id"] = scene.ids["file_id"] = upload["id"]
    put = await scene.api.http.put(upload["url"], content=TEXT, headers=upload["headers"])
    assert put.status_code == 204, put.text


async def complete(scene: Scene) -> None:
    await begin_and_put(scene)
    path = f"/v1/uploads/{scene.ids['upload_id']}/complete"
    answered(await scene.ann.call("POST", path), 200)


async def send(scene: Scene) -> None:
    await complete(scene)
    attachments = [{"file_id": scene.ids["file_id"]}]
    await scene.ann.send(scene.thread_id, "Have a look", attachments=attachments)


async def process(scene: Scene) -> None:
    await send(scene)
    await scene.api.rooms.contract.worker.run_until_idle()


async def quarantine(scene: Scene) -> None:
    await process(scene)
    await scene.pool.execute(QUARANTINE, scene.ids["file_id"])


async def make_explicit(scene: Scene) -> None:
    await scene.pool.execute(BAND, scene.ids["file_id"], 2)


FILES: dict[str, Entry] = {
    "begin_upload": Entry(
        lambda s: Request(json=an_upload(s)),
        status=201,
        repeated=201,
        wrong=lambda s: Request(json=an_upload(s, bytes=10**9)),
        code="ATTACHMENT_TOO_LARGE",
        other=lambda _: {"name": "another.txt"},
    ),
    "get_upload": Entry(
        lambda s: of(s, "upload_id"),
        wrong=lambda s: of(s, "upload_id"),
        code="ACTION_INVALID_STATE",
        spoil=complete,
        prepare=begin,
    ),
    "complete_upload": Entry(
        lambda s: of(s, "upload_id"),
        wrong=lambda s: of(s, "upload_id"),
        code="ACTION_INVALID_STATE",
        spoil=begin,
        prepare=begin_and_put,
    ),
    "cancel_upload": Entry(
        lambda s: of(s, "upload_id"),
        status=204,
        repeated=204,
        wrong=lambda s: of(s, "upload_id"),
        code="ACTION_INVALID_STATE",
        spoil=send,
        prepare=begin,
    ),
    "get_file": Entry(
        lambda s: of(s, "file_id"),
        wrong=missing("file_id"),
        code="NOT_FOUND",
        prepare=send,
    ),
    "edit_file": Entry(
        lambda s: of(s, "file_id", json={"alt": "A sheet of paper"}),
        wrong=lambda s: of(s, "file_id", json={"alt": "A" * 1000}),
        code="INVALID_REQUEST",
        prepare=send,
    ),
    "reveal_file": Entry(
        lambda s: of(s, "file_id"),
        wrong=lambda s: of(s, "file_id"),
        code="SAFE_MODE_BLOCKED",
        spoil=make_explicit,
        prepare=process,
    ),
    "list_files": Entry(
        lambda s: of_thread(s, query={"kind": "other"}),
        wrong=lambda s: of_thread(s, query={"cursor": "nonsense"}),
        code="INVALID_REQUEST",
        prepare=send,
    ),
    "list_quarantined": Entry(
        lambda _: Request(),
        wrong=lambda _: Request(query={"cursor": "nonsense"}),
        code="INVALID_REQUEST",
    ),
    "release_file": Entry(
        lambda s: of(s, "file_id", json={"reason": "A false alarm"}),
        repeated=409,
        wrong=lambda s: of(s, "file_id", json={"reason": "A false alarm"}),
        code="ACTION_INVALID_STATE",
        spoil=process,
        other=lambda _: {"reason": "Another"},
        prepare=quarantine,
    ),
    "delete_file": Entry(
        lambda s: of(s, "file_id", json={"reason": "A stolen picture"}),
        repeated=409,
        wrong=missing("file_id", json={"reason": "Gone"}),
        code="NOT_FOUND",
        other=lambda _: {"reason": "Another"},
        prepare=process,
    ),
}
