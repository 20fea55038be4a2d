"""Who loses access to a place gets no new address for its files, and old ones are dead at once."""

from __future__ import annotations

import pytest

from tests.support.api import Json, Person, answered

from .stage import FileStage

HIDDEN = (404, "NOT_FOUND")


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


async def shared(stage: FileStage) -> tuple[Json, Json, str]:
    """A file that Ann has sent to Bob, its message, and Bob's address of it."""
    file = await stage.ready()
    message = await stage.send(file)
    return file, message, await address(stage, file, stage.bob)


async def address(stage: FileStage, file: Json, viewer: Person) -> str:
    [original] = (await stage.file(file, viewer))["renditions"]
    url: str = original["url"]
    return url


async def check_lost(stage: FileStage, file: Json, url: str, viewer: Person) -> None:
    assert await viewer.refusal("GET", f"/v1/files/{file['id']}") == HIDDEN
    assert await viewer.refusal("POST", f"/v1/files/{file['id']}/reveal") == HIDDEN
    assert (await stage.api.http.get(url)).status_code == 404
    assert (await stage.api.http.head(url)).status_code == 404


async def test_a_removed_member(stage: FileStage) -> None:
    file, _, url = await shared(stage)
    assert (await stage.api.http.get(url)).status_code == 200
    await stage.bob.leave(stage.thread_id)
    await check_lost(stage, file, url, stage.bob)
    refusal = await stage.bob.refusal("GET", f"/v1/threads/{stage.thread_id}/files")
    assert refusal == (404, "THREAD_NOT_FOUND")
    assert (await stage.file(file))["state"] == "ready"


async def test_an_owner_who_has_left(stage: FileStage) -> None:
    file, _, _ = await shared(stage)
    unsent = await stage.ready()
    url, unsent_url = await address(stage, file, stage.ann), await address(stage, unsent, stage.ann)
    await stage.ann.leave(stage.thread_id)
    await check_lost(stage, file, url, stage.ann)
    await check_lost(stage, unsent, unsent_url, stage.ann)
    refusal = await stage.ann.refusal("POST", "/v1/uploads", stage.request())
    assert refusal == (404, "THREAD_NOT_FOUND")


async def test_who_joins_later_does_not_see_earlier_files(stage: FileStage) -> None:
    file, _, _ = await shared(stage)
    await stage.api.backend.add(stage.thread_id, stage.carl.id, "host")
    assert await stage.carl.refusal("GET", f"/v1/files/{file['id']}") == HIDDEN
    path = f"/v1/threads/{stage.thread_id}/files"
    assert answered(await stage.carl.get(path), 200)["items"] == []
    later = await stage.ready()
    await stage.send(later)
    assert (await stage.file(later, stage.carl))["state"] == "ready"
    listed = answered(await stage.carl.get(path), 200)["items"]
    assert [each["id"] for each in listed] == [later["id"]]


async def test_a_deleted_message(stage: FileStage) -> None:
    file, message, url = await shared(stage)
    own = await address(stage, file, stage.ann)
    await stage.ann.remove(message)
    await check_lost(stage, file, url, stage.bob)
    await check_lost(stage, file, own, stage.ann)
    for person in (stage.ann, stage.bob):
        path = f"/v1/threads/{stage.thread_id}/files"
        assert answered(await person.get(path), 200)["items"] == []


async def test_a_file_of_two_messages_lives_as_long_as_one_of_them(stage: FileStage) -> None:
    file, message, url = await shared(stage)
    again = await stage.send(file)
    assert len((await stage.bob.messages(stage.thread_id))[-1]["attachments"]) == 1
    await stage.ann.remove(message)
    assert (await stage.api.http.get(url)).status_code == 200
    await stage.ann.remove(again)
    await check_lost(stage, file, url, stage.bob)


async def test_a_blocked_sender_cannot_tell_and_their_file_reaches_nobody(
    stage: FileStage,
) -> None:
    await stage.bob.block(stage.ann)
    file = await stage.ready()
    since = await stage.bob.cursor()
    await stage.send(file)
    assert (await stage.file(file))["state"] == "ready"
    assert await stage.bob.refusal("GET", f"/v1/files/{file['id']}") == HIDDEN
    assert [each for each in await stage.bob.sync(since) if "file" in each["type"]] == []
    path = f"/v1/threads/{stage.thread_id}/files"
    assert answered(await stage.bob.get(path), 200)["items"] == []
    listed = answered(await stage.ann.get(path), 200)["items"]
    assert [each["id"] for each in listed] == [file["id"]]


async def test_a_file_that_is_processed_after_a_block_is_not_told_to_the_blocker(
    stage: FileStage,
) -> None:
    await stage.bob.block(stage.ann)
    since = await stage.bob.cursor()
    file = await stage.upload()
    await stage.send(file)
    await stage.work()
    assert await stage.bob.sync(since) == []
    assert (await stage.file(file))["state"] == "ready"


async def test_nobody_uploads_into_a_thread_that_they_do_not_see(stage: FileStage) -> None:
    refusal = await stage.carl.refusal("POST", "/v1/uploads", stage.request())
    assert refusal == (404, "THREAD_NOT_FOUND")


async def test_nobody_sends_a_file_of_somebody_else_or_of_another_thread(
    stage: FileStage,
) -> None:
    file = await stage.ready()
    other = await stage.ann.thread_with(stage.carl)
    path = "/v1/threads/{}/messages"
    attachments = [{"file_id": file["id"]}]
    draft = stage.bob.draft("", attachments=attachments)
    assert await stage.bob.refusal("POST", path.format(stage.thread_id), draft) == HIDDEN
    draft = stage.ann.draft("", attachments=attachments)
    assert await stage.ann.refusal("POST", path.format(other), draft) == HIDDEN


async def test_no_viewer_gets_anything_before_it_is_ready(stage: FileStage) -> None:
    upload = await stage.begin()
    refusal = (404, "NOT_FOUND")
    draft = stage.ann.draft("", attachments=[{"file_id": upload["id"]}])
    path = f"/v1/threads/{stage.thread_id}/messages"
    assert await stage.ann.refusal("POST", path, draft) == refusal
    await stage.put(upload, b"Call sheet: 9:00 make-up, 10:00 first set.")
    assert (await stage.file(upload["id"]))["renditions"] == []
    file = await stage.complete(upload)
    await stage.send(file)
    for person in (stage.ann, stage.bob):
        assert (await stage.file(file, person))["renditions"] == []
