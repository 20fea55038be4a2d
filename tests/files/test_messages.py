"""Files in messages: the other side sees what it may, from the moment it may."""

from __future__ import annotations

import pytest

from .stage import TEXT, FileStage

BOTH = pytest.mark.parametrize("conversations", ["postgres", "dynamodb"], indirect=True)


@pytest.fixture(scope="module")
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


@BOTH
async def test_the_other_side_gets_a_placeholder_that_becomes_the_file(stage: FileStage) -> None:
    file = await stage.upload()
    since = await stage.bob.cursor()
    message = await stage.send(file)
    [shown] = (await stage.bob.messages(stage.thread_id))[-1]["attachments"]
    assert (shown["file"]["state"], shown["file"]["renditions"]) == ("processing", [])
    await stage.work()
    changed = [each for each in await stage.bob.sync(since) if each["type"] == "file.changed"]
    assert [each["file"]["state"] for each in changed] == ["ready"]
    assert changed[0]["message_id"] == message["id"]
    [original] = changed[0]["file"]["renditions"]
    assert (await stage.fetch(original)).content == TEXT


@BOTH
async def test_nobody_else_sees_the_file_of_an_unsent_message(stage: FileStage) -> None:
    file = await stage.ready()
    for person in (stage.bob, stage.carl):
        assert await person.refusal("GET", f"/v1/files/{file['id']}") == (404, "NOT_FOUND")
    await stage.send(file)
    assert (await stage.file(file, stage.bob))["state"] == "ready"
    assert await stage.carl.refusal("GET", f"/v1/files/{file['id']}") == (404, "NOT_FOUND")
