"""The operators' verbs: trust and admin only, with a reason that is recorded."""

from __future__ import annotations

import pytest

from tests.support.api import Json, answered

from .stage import TEXT, FileStage

QUARANTINE = """
update file set state = 'quarantined', reason = 'virus', renditions = '[]' where file_id = $1
"""
REASON = {"reason": "A false alarm"}


async def quarantined(stage: FileStage) -> Json:
    file = await stage.upload()
    await stage.send(file)
    await stage.pool.execute("delete from task where key = $1", file["id"])
    await stage.pool.execute(QUARANTINE, file["id"])
    return file


@pytest.mark.parametrize("role", [None, "support", "finance"])
async def test_for_others_the_desk_does_not_exist(stage: FileStage, role: str | None) -> None:
    file = await quarantined(stage)
    person = stage.api.person(stage.bob.id, operator_role=role)
    for verb in ("release", "delete"):
        path = f"/v1/desk/files/{file['id']}/{verb}"
        assert await person.refusal("POST", path, REASON) == (404, "NOT_FOUND")
    assert await person.refusal("GET", "/v1/desk/files") == (404, "NOT_FOUND")
    assert (await stage.file(file))["state"] == "quarantined"


@pytest.mark.parametrize("role", ["trust", "admin"])
async def test_release(stage: FileStage, role: str) -> None:
    file = await quarantined(stage)
    operator = stage.api.person("olga", operator_role=role)
    listed = answered(await operator.get("/v1/desk/files"), 200)["items"]
    assert file["id"] in {each["id"] for each in listed}
    path = f"/v1/desk/files/{file['id']}/release"
    answered(await operator.post(path, REASON), 200)
    await stage.work()
    ready = await stage.file(file, stage.bob)
    [original] = [each for each in ready["renditions"] if each["kind"] == "original"]
    assert (await stage.fetch(original)).content == TEXT
    row = await stage.pool.fetchrow("select * from file_audit where file_id = $1", file["id"])
    assert row is not None
    assert (row["actor"], row["role"], row["act"], row["reason"], row["from_state"]) == (
        "olga",
        role,
        "release",
        "A false alarm",
        "quarantined",
    )
    assert await operator.refusal("POST", path, REASON) == (409, "ACTION_INVALID_STATE")


async def test_delete(stage: FileStage) -> None:
    file = await stage.ready()
    await stage.send(file)
    [original] = (await stage.file(file, stage.bob))["renditions"]
    since = await stage.bob.cursor()
    operator = stage.api.person("olga", operator_role="trust")
    path = f"/v1/desk/files/{file['id']}/delete"
    deleted = answered(await operator.post(path, REASON, key="once"), 200)
    assert deleted["file"]["state"] == "expired"
    assert answered(await operator.post(path, REASON, key="once"), 200) == deleted
    assert (await stage.fetch(original)).status_code == 404
    events = [each for each in await stage.bob.sync(since) if each["type"] == "file.changed"]
    assert [each["file"]["state"] for each in events] == ["expired"]
    assert await operator.refusal("POST", path, REASON) == (409, "ACTION_INVALID_STATE")


@pytest.mark.parametrize("reason", ["", "   ", "x" * 501])
async def test_a_reason_is_required(stage: FileStage, reason: str) -> None:
    file = await quarantined(stage)
    operator = stage.api.person("olga", operator_role="trust")
    path = f"/v1/desk/files/{file['id']}/release"
    refusal = await operator.refusal("POST", path, {"reason": reason})
    assert refusal == (400, "INVALID_REQUEST")


async def test_a_hold_keeps_even_what_an_operator_would_delete(stage: FileStage) -> None:
    file = await stage.ready()
    await stage.api.rooms.upkeep.hold(stage.thread_id, "File 7")
    operator = stage.api.person("olga", operator_role="admin")
    path = f"/v1/desk/files/{file['id']}/delete"
    assert await operator.refusal("POST", path, REASON) == (409, "ACTION_INVALID_STATE")
