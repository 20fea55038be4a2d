"""From a signed request to a file that its owner can fetch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from greenroom.files.store import Processed
from greenroom.kernel.errors import Unavailable
from tests.support.api import Json, answered

from .stage import TEXT, FileStage


async def test_an_upload_becomes_a_file_that_its_owner_can_fetch(stage: FileStage) -> None:
    file = await stage.upload()
    assert file["state"] == "processing"
    assert file["renditions"] == []
    await stage.work()
    ready = await stage.file(file)
    assert ready["state"] == "ready"
    [original] = [each for each in ready["renditions"] if each["kind"] == "original"]
    fetched = await stage.api.http.get(original["url"])
    assert (fetched.status_code, fetched.content) == (200, TEXT)


async def test_an_upload_in_parts_goes_on_where_it_stopped(stage: FileStage) -> None:
    data = TEXT * 100
    upload = await stage.begin(data, parts=True)
    assert [part["bytes"] for part in upload["parts"]] == [1000] * 4 + [len(data) - 4000]
    first, *rest = upload["parts"]
    assert (await stage.put(first, data[:1000])).status_code == 204
    answer = await stage.ann.post(f"/v1/uploads/{upload['id']}/complete", None)
    assert (answer.status_code, answer.json()["missing"]) == (409, [2, 3, 4, 5])
    again = answered(await stage.ann.get(f"/v1/uploads/{upload['id']}"), 200)["upload"]
    assert [part["received"] for part in again["parts"]] == [True] + [False] * 4
    for part in again["parts"][1:]:
        start = (part["number"] - 1) * 1000
        assert (await stage.put(part, data[start : start + part["bytes"]])).status_code == 204
    assert len(rest) == 4
    await stage.complete(upload)
    await stage.work()
    ready = await stage.file(upload["id"])
    fetched = await stage.api.http.get(ready["renditions"][0]["url"])
    assert fetched.content == data


async def test_a_full_disk_is_said_and_nothing_is_half_there(
    stage: FileStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = await stage.begin()

    async def full(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full.", retry_after_s=60)

    with monkeypatch.context() as patch:
        patch.setattr(stage.blobs, "put", full)
        answer = await stage.put(upload, TEXT)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    again = answered(await stage.ann.get(f"/v1/uploads/{upload['id']}"), 200)["upload"]
    assert not again["received"]
    assert (await stage.put(upload, TEXT)).status_code == 204


async def test_completed_by_many_at_once_it_is_processed_once(stage: FileStage) -> None:
    upload = await stage.begin()
    await stage.put(upload, TEXT)
    path = f"/v1/uploads/{upload['id']}/complete"
    answers = await asyncio.gather(*(stage.ann.call("POST", path) for _ in range(5)))
    assert {answered(each, 200)["file"]["state"] for each in answers} == {"processing"}
    tasks = await stage.pool.fetchval("select count(*) from task where key = $1", upload["id"])
    assert tasks == 1


async def test_cancelled_and_completed_at_once_it_is_one_of_the_two(stage: FileStage) -> None:
    for _ in range(5):
        upload = await stage.begin()
        await stage.put(upload, TEXT)
        path = f"/v1/uploads/{upload['id']}"
        completed, cancelled = await asyncio.gather(
            stage.ann.call("POST", f"{path}/complete"), stage.ann.delete(path)
        )
        assert cancelled.status_code == 204
        assert completed.status_code in (200, 404, 409)
        await stage.work()
        refusal = await stage.ann.refusal("POST", f"{path}/complete")
        assert refusal == (404, "NOT_FOUND")
        await stage.api.rooms.files.sweeping.delete_orphans(grace_s=-1)
        for key in (f"msg-quarantine/{upload['id']}/upload", original_of(stage, upload)):
            assert await stage.blobs.find(key) is None


async def test_put_by_two_at_once_the_file_is_one_of_the_two(stage: FileStage) -> None:
    upload = await stage.begin()
    other = TEXT[::-1]
    answers = await asyncio.gather(stage.put(upload, TEXT), stage.put(upload, other))
    assert {each.status_code for each in answers} <= {204, 409}
    await stage.complete(upload)
    await stage.work()
    [original] = (await stage.file(upload["id"]))["renditions"]
    assert (await stage.fetch(original)).content in (TEXT, other)


async def test_described_by_its_owner_only(stage: FileStage) -> None:
    file = await stage.ready()
    await stage.send(file)
    path = f"/v1/files/{file['id']}"
    described = answered(await stage.ann.patch(path, {"alt": " A  sheet\nof paper "}), 200)["file"]
    assert described["alt"] == "A sheet of paper"
    assert await stage.bob.refusal("PATCH", path, {"alt": "Mine"}) == (404, "NOT_FOUND")
    assert (await stage.file(file, stage.bob))["alt"] == "A sheet of paper"
    assert answered(await stage.ann.patch(path, {"alt": None}), 200)["file"]["alt"] is None


def original_of(stage: FileStage, upload: Json) -> str:
    return f"threads/{stage.thread_id}/attachments/{upload['id']}/original"


VOICE: dict[str, Any] = {"name": "note.webm", "mime": "audio/webm", "purpose": "voice"}
PHOTO: dict[str, Any] = {"name": "set.jpg", "mime": "image/jpeg"}


async def test_what_the_device_knows_of_a_file_is_shown_until_it_is_measured(
    stage: FileStage,
) -> None:
    said: dict[str, Any] = {"duration_ms": 4200, "peaks": [0, 40, 100]}
    voice = await stage.upload(**VOICE, **said)
    photo = await stage.upload(**PHOTO, width=300, height=400)
    await stage.send(voice, photo)
    seen = await stage.file(voice, stage.bob)
    assert (seen["duration_ms"], seen["peaks"]) == (4200, [0, 40, 100])
    seen = await stage.file(photo, stage.bob)
    assert (seen["state"], seen["width"], seen["height"]) == ("processing", 300, 400)
    store = stage.api.rooms.files.store
    await store.finish(voice["id"], Processed("ready", None, "audio"), [])
    await store.finish(photo["id"], Processed("ready", None, "image", width=600, height=800), [])
    assert (await stage.file(voice, stage.bob))["duration_ms"] == 4200
    assert (await stage.file(photo, stage.bob))["width"] == 600


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({**VOICE, "duration_ms": 302_000}, "ATTACHMENT_TOO_LARGE"),
        ({**VOICE, "duration_ms": 0}, "INVALID_REQUEST"),
        ({**VOICE, "peaks": [0] * 65}, "INVALID_REQUEST"),
        ({**VOICE, "peaks": [101]}, "INVALID_REQUEST"),
        ({**VOICE, "width": 3, "height": 4}, "INVALID_REQUEST"),
        ({**PHOTO, "peaks": [1]}, "INVALID_REQUEST"),
        ({**PHOTO, "width": 3}, "INVALID_REQUEST"),
        ({**PHOTO, "width": 0, "height": 1}, "INVALID_REQUEST"),
        ({**PHOTO, "width": 12_001, "height": 1}, "ATTACHMENT_TOO_LARGE"),
    ],
)
async def test_what_no_device_can_know_is_refused(
    stage: FileStage, said: dict[str, Any], code: str
) -> None:
    answer = await stage.ann.post("/v1/uploads", stage.request(**said))
    assert answer.json()["code"] == code
