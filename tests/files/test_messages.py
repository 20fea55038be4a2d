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


@BOTH
async def test_a_page_that_is_read_again_shows_each_change_at_once(stage: FileStage) -> None:
    file = await stage.ready()
    await stage.send(file)

    async def shown() -> dict[str, object]:
        [attachment] = (await stage.bob.messages(stage.thread_id))[-1]["attachments"]
        view: dict[str, object] = attachment["file"]
        return view

    first = await shown()
    assert await shown() == first
    assert (first["alt"], first["visibility"]) == (None, "clear")
    await stage.ann.patch(f"/v1/files/{file['id']}", {"alt": "a note"})
    assert await shown() == {**first, "alt": "a note"}
    # Nobody has rated it, it counts as suggestive, and Safe-Mode is on.
    await stage.pool.execute(
        "update file set media = 'image', band = null where file_id = $1", file["id"]
    )
    blurred = await shown()
    assert (blurred["visibility"], blurred["renditions"]) == ("blurred", [])
    await stage.bob.post(f"/v1/files/{file['id']}/reveal", {})
    assert (await shown())["visibility"] == "clear"
    await stage.pool.execute("update file set state = 'quarantined' where file_id = $1", file["id"])
    quarantined = await shown()
    assert (quarantined["state"], quarantined["renditions"]) == ("quarantined", [])


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_a_page_that_is_read_again_asks_nothing_about_files_that_have_not_changed(
    stage: FileStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await stage.send(await stage.ready())
    first = await stage.bob.messages(stage.thread_id)
    assert sum(len(message["attachments"]) for message in first) >= 3

    async def fail(*_: object) -> None:
        raise AssertionError("the files were read again")

    monkeypatch.setattr(stage.api.rooms.files.store, "_look", fail)
    assert await stage.bob.messages(stage.thread_id) == first
