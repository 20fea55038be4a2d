"""Messages with files over HTTP: sending, reading, captions, the feed and the inbox."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from greenroom.conversations.attachments import FileUse, FileView
from tests.support.api import Api, Json, Person, path_of
from tests.support.uploads import TEXT, attached, process, shown, upload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .inside import Inside


def path_to(thread_id: str) -> str:
    return f"/v1/threads/{thread_id}/messages"


async def pair(api: Api) -> tuple[Person, Person, str]:
    ann, bob = await api.people("ann", "bob")
    return ann, bob, await ann.thread_with(bob)


async def send_file(api: Api, author: Person, thread_id: str, body: str = "", **more: Any) -> Json:
    file_id = await upload(api, author, thread_id, **more)
    return await author.send(thread_id, body, attachments=attached(file_id))


class TestSending:
    async def test_both_sides_see_the_files_before_they_are_processed(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        first, second = [await upload(api, ann, thread_id) for _ in range(2)]
        sent = await ann.send(thread_id, "The *plan*", attachments=attached(second, first))
        assert (sent["kind"], sent["body"]) == ("asset", "The *plan*")
        assert shown(sent) == [second, first]
        [seen] = (await bob.messages(thread_id))[-1:]
        assert shown(seen) == [second, first]
        attachment = seen["attachments"][0]
        assert attachment["kind"] == "preview"
        assert (attachment["name"], attachment["bytes"]) == ("call sheet.txt", len(TEXT))
        assert attachment["thumb"] is None
        assert attachment["file"]["state"] == "processing"
        assert attachment["file"]["renditions"] == []

    async def test_an_answer_without_files_has_an_empty_list(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        assert (await ann.send(thread_id))["attachments"] == []
        assert [each["attachments"] for each in await bob.messages(thread_id)] == [[], []]

    async def test_a_caption_may_be_left_out_and_a_text_may_not(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        file_id = await upload(api, ann, thread_id)
        draft = {"client_id": "no-caption", "attachments": attached(file_id)}
        answer = await ann.post(path_to(thread_id), draft)
        assert (answer.status_code, answer.json()["body"]) == (201, "")
        nothing: list[Json] = [{}, {"body": " "}, {"attachments": []}]
        for empty in nothing:
            refusal = await ann.refusal("POST", path_to(thread_id), {"client_id": "e", **empty})
            assert refusal == (422, "MSG_EMPTY")

    async def test_a_repeat_returns_the_message_and_other_files_are_refused(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        first, second = [await upload(api, ann, thread_id) for _ in range(2)]
        draft = ann.draft("Twice", attachments=attached(first))
        since = await bob.cursor()
        sent = await ann.post(path_to(thread_id), draft)
        again = await ann.post(path_to(thread_id), draft)
        assert (sent.status_code, again.status_code) == (201, 200)
        assert again.json() == sent.json()
        for other in ([second], [first, second], []):
            refusal = await ann.refusal(
                "POST", path_to(thread_id), {**draft, "attachments": attached(*other)}
            )
            assert refusal == (422, "IDEMPOTENCY_MISMATCH")
        assert len(await bob.sync(since)) == 1
        assert (await bob.row(thread_id))["unread_count"] == 2

    async def test_a_repeat_returns_the_message_after_its_file_is_gone(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        draft = ann.draft("Kept", attachments=attached(await upload(api, ann, thread_id)))
        sent = (await ann.post(path_to(thread_id), draft)).json()
        await ann.remove(sent)
        again = await ann.post(path_to(thread_id), draft)
        assert (again.status_code, again.json()["id"]) == (200, sent["id"])
        assert (again.json()["attachments"], again.json()["body"]) == ([], "")

    async def test_under_an_idempotency_key(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        draft = ann.draft("Key", attachments=attached(await upload(api, ann, thread_id)))
        sent = await ann.post(path_to(thread_id), draft, key="key-of-a-file")
        again = await ann.post(path_to(thread_id), draft, key="key-of-a-file")
        assert (sent.status_code, again.status_code) == (201, 200)
        assert shown(again.json()) == shown(sent.json())

    async def test_only_completed_uploads_of_ones_own_for_this_thread(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        elsewhere = await ann.thread_with(bob)
        theirs = await upload(api, bob, thread_id)
        other = await upload(api, ann, elsewhere)
        asked = {"thread_id": thread_id, "name": "a.txt", "mime": "text/plain", "bytes": 3}
        begun = await ann.post("/v1/uploads", {**asked, "purpose": "attachment"})
        for wrong in (theirs, other, begun.json()["upload"]["id"], "fil_" + "0" * 26, "x"):
            draft = ann.draft("Mine?", attachments=attached(wrong))
            assert await ann.refusal("POST", path_to(thread_id), draft) == (404, "NOT_FOUND")
        assert len(await bob.messages(thread_id)) == 1

    async def test_too_many_and_the_same_twice_are_refused(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        file_id = await upload(api, ann, thread_id)
        for wrong in ([file_id, file_id], [f"fil_{n:026d}" for n in range(11)]):
            draft = ann.draft("Many", attachments=attached(*wrong))
            assert await ann.refusal("POST", path_to(thread_id), draft) == (400, "INVALID_REQUEST")

    async def test_strangers_and_the_anonymous_learn_nothing(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        [eve] = await api.people("eve")
        file_id = await upload(api, ann, thread_id)
        draft = eve.draft("Mine!", attachments=attached(file_id))
        assert (await eve.refusal("POST", path_to(thread_id), draft))[0] == 404
        anonymous = await api.anonymous.refusal("POST", path_to(thread_id), draft)
        assert anonymous == (401, "UNAUTHENTICATED")

    async def test_a_first_message_has_no_files(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first = ann.draft("Hi", attachments=attached("fil_" + "0" * 26))
        new = {"kind": "inquiry", "to": bob.id, "first_message": first}
        assert await ann.refusal("POST", "/v1/threads", new) == (400, "INVALID_REQUEST")


class TestChanging:
    async def test_caption_changes_and_files_stay(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        sent = await send_file(api, ann, thread_id, "Before")
        assert (await ann.edit(sent, "After"))["attachments"][0]["file"]["id"] == shown(sent)[0]
        assert (await ann.edit(sent, ""))["body"] == ""
        [seen] = (await bob.messages(thread_id))[-1:]
        assert (seen["body"], shown(seen)) == ("", shown(sent))
        text = await ann.send(thread_id, "Words")
        refusal = await ann.refusal("PATCH", path_of(text), {"body": " "})
        assert refusal == (422, "MSG_EMPTY")

    async def test_tombstone_has_no_files_and_nobody_fetches_them(
        self, api: Api, inside: Inside
    ) -> None:
        ann, bob, thread_id = await pair(api)
        sent = await send_file(api, ann, thread_id, "Gone")
        [file_id] = shown(sent)
        await process(api)
        assert (await bob.get(f"/v1/files/{file_id}")).status_code == 200
        gone = await ann.remove(sent)
        assert (gone["attachments"], gone["kind"]) == ([], "asset")
        for viewer in (ann, bob):
            assert (await viewer.messages(thread_id))[-1]["attachments"] == []
            assert await viewer.refusal("GET", f"/v1/files/{file_id}") == (404, "NOT_FOUND")
            told = [each for each in await viewer.sync() if each["type"] == "file.changed"]
            assert told == []
        assert await inside.originals(thread_id, sent["id"]) == [("delete", "Gone")]


class TestFeed:
    async def test_others_hear_when_a_file_is_ready(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        sent = await send_file(api, ann, thread_id)
        since = {each.id: await each.cursor() for each in (ann, bob)}
        await process(api)
        for viewer in (ann, bob):
            [event] = await viewer.sync(since[viewer.id])
            assert (event["type"], event["thread_id"]) == ("file.changed", thread_id)
            assert event["message_id"] == sent["id"]
            assert event["file"]["id"] == shown(sent)[0]
            assert event["file"]["state"] == "ready"
            assert event["file"]["renditions"]
        assert (await bob.row(thread_id))["unread_count"] == 2

    async def test_an_unsent_file_is_its_owners_alone(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        since = {each.id: await each.cursor() for each in (ann, bob)}
        file_id = await upload(api, ann, thread_id)
        await process(api)
        [event] = await ann.sync(since[ann.id])
        assert (event["type"], event["file"]["id"]) == ("file.changed", file_id)
        assert "message_id" not in event
        assert await bob.sync(since[bob.id]) == []

    async def test_a_new_message_carries_its_files(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        since = await bob.cursor()
        sent = await send_file(api, ann, thread_id, "Look")
        [event] = await bob.sync(since)
        assert shown(event["message"]) == shown(sent)
        assert event["inbox"]["last_message"]["files"] == {"media": "other", "count": 1}
        assert event["inbox"]["has_files"] is True


class TestVisibility:
    async def test_a_blocked_authors_files_are_theirs_alone(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        await bob.block(ann)
        since = await bob.cursor()
        sent = await send_file(api, ann, thread_id)
        await process(api)
        assert (await ann.messages(thread_id))[-1]["id"] == sent["id"]
        assert await bob.sync(since) == []
        refusal = await bob.refusal("GET", f"/v1/files/{shown(sent)[0]}")
        assert refusal == (404, "NOT_FOUND")

    async def test_a_newcomer_gets_nothing_of_before(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        [cleo] = await api.people("cleo")
        before = await send_file(api, ann, thread_id)
        await api.backend.add(thread_id, cleo.id, "host")
        await process(api)
        after = await send_file(api, ann, thread_id)
        seen = [file for each in await cleo.messages(thread_id) for file in shown(each)]
        assert seen == shown(after)
        told = [each for each in await cleo.sync() if each["type"] == "file.changed"]
        assert told == []
        refusal = await cleo.refusal("GET", f"/v1/files/{shown(before)[0]}")
        assert refusal == (404, "NOT_FOUND")


class TestInbox:
    async def test_filter_and_last_message(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        plain = await ann.thread_with(bob)
        sent = await send_file(api, ann, thread_id, name="a.png", mime="image/png")
        for viewer in (ann, bob):
            found = await viewer.inbox(has_files=True)
            assert [each["thread"]["id"] for each in found["items"]] == [thread_id]
            [row] = [each["inbox"] for each in found["items"]]
            assert row["last_message"]["preview"] == ""
            assert row["last_message"]["files"] == {"media": "image", "count": 1}
            assert row["badges"] == []
            found = await viewer.inbox(has_files=False)
            assert [each["thread"]["id"] for each in found["items"]] == [plain]
            assert found["items"][0]["inbox"]["last_message"]["files"] is None
        await ann.remove(sent)
        assert (await bob.inbox(has_files=True))["items"] == []
        assert (await bob.row(thread_id))["last_message"]["files"] is None

    @pytest.mark.parametrize("wrong", ["maybe", ""])
    async def test_filter_takes_yes_or_no(self, api: Api, wrong: str) -> None:
        [ann] = await api.people("ann")
        refusal = await ann.refusal("GET", "/v1/inbox", params={"has_files": wrong})
        assert refusal == (400, "INVALID_REQUEST")


class TestLooking:
    async def test_a_page_is_one_look_and_none_without_files(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ann, bob, thread_id = await pair(api)
        looks: list[tuple[str | None, list[FileUse]]] = []
        files = api.rooms.files.files
        look = files.look

        async def counted(viewer: str | None, uses: Iterable[FileUse]) -> Mapping[str, FileView]:
            looks.append((viewer, list(uses)))
            return await look(viewer, looks[-1][1])

        monkeypatch.setattr(files, "look", counted)
        await ann.send(thread_id, "Words")
        await bob.messages(thread_id)
        await bob.sync()
        await bob.inbox()
        assert looks == []
        sent = [await send_file(api, ann, thread_id) for _ in range(3)]
        looks.clear()
        await bob.messages(thread_id)
        assert [viewer for viewer, _ in looks] == [bob.id]
        uses = [FileUse(shown(each)[0], thread_id, each["id"]) for each in sent]
        assert [replace(each, stamp=None) for each in looks[0][1]] == uses
        looks.clear()
        await bob.sync()
        assert [len(each) for _, each in looks] == [3]
        looks.clear()
        await ann.send(thread_id, "Words again")
        assert looks == []


async def test_threads_that_require_safe_mode_are_found(api: Api) -> None:
    ann, bob, thread_id = await pair(api)
    other = await ann.thread_with(bob)
    await api.rooms.store.change_thread(thread_id, {"safe_mode_required": True})
    found = await api.rooms.store.safe_mode_required([thread_id, other, thread_id])
    assert found == {thread_id}
    assert (await bob.thread(thread_id))["thread"]["safe_mode_required"] is True
