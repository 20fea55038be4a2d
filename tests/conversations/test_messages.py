"""Sending, editing and deleting messages, and paging through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from greenroom.kernel.ids import id_time_ms
from tests.support.api import Api, Json, Person

if TYPE_CHECKING:
    from .inside import Inside


def path_to(thread_id: str) -> str:
    return f"/v1/threads/{thread_id}/messages"


def path_of(message: Json) -> str:
    return f"{path_to(message['thread_id'])}/{message['id']}"


async def pair(api: Api) -> tuple[Person, Person, str]:
    ann, bob = await api.people("ann", "bob")
    return ann, bob, await ann.thread_with(bob)


class TestSending:
    async def test_author_gets_the_message_and_the_other_side_sees_the_same(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        sent = await ann.send(thread_id, "One **two**")
        assert (sent["seq"], sent["kind"], sent["edited_at"]) == (2, "text", None)
        assert sent["body_html"] == "<p>One <strong>two</strong></p>"
        assert sent.pop("client_id") == "c2"
        assert (await bob.messages(thread_id))[-1] == sent

    async def test_repeat_returns_the_message_and_writes_nothing(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        draft, since = ann.draft("Once"), await bob.cursor()
        first = await ann.post(path_to(thread_id), draft)
        again = await ann.post(path_to(thread_id), draft)
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert len(await bob.sync(since)) == 1
        assert (await bob.row(thread_id))["unread_count"] == 2

    async def test_repeat_is_told_by_what_will_be_stored(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        draft = ann.draft("Café\nnow")
        await ann.post(path_to(thread_id), draft)
        same = await ann.post(path_to(thread_id), {**draft, "body": " Cafe\u0301\r\nnow\u0007 "})
        assert same.status_code == 200

    async def test_client_id_stands_for_one_body_thread_and_reply(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        elsewhere = await ann.thread_with(bob)
        draft = ann.draft("Once")
        first = (await ann.post(path_to(thread_id), draft)).json()
        mismatch = (422, "IDEMPOTENCY_MISMATCH")
        for path, other in (
            (path_to(thread_id), {"body": "Twice"}),
            (path_to(thread_id), {"reply_to": first["id"]}),
            (path_to(elsewhere), {}),
        ):
            assert await ann.refusal("POST", path, {**draft, **other}) == mismatch
        theirs = await bob.post(path_to(thread_id), draft)
        assert theirs.status_code == 201

    async def test_repeat_after_an_edit_returns_the_edited_form(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        draft = ann.draft("First")
        first = (await ann.post(path_to(thread_id), draft)).json()
        edited = await ann.edit(first, "Second")
        assert (await ann.post(path_to(thread_id), draft)).json() == edited
        other = {**draft, "body": "Second"}
        assert await ann.refusal("POST", path_to(thread_id), other) == (
            422, "IDEMPOTENCY_MISMATCH",
        )  # fmt: skip

    async def test_repeat_after_a_deletion_returns_the_tombstone(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        draft = ann.draft("Gone")
        tombstone = await ann.remove((await ann.post(path_to(thread_id), draft)).json())
        again = await ann.post(path_to(thread_id), draft)
        assert (again.status_code, again.json()) == (200, tombstone)

    async def test_reply_names_a_message_of_the_same_thread(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        [first] = await bob.messages(thread_id)
        reply = await bob.send(thread_id, "Yes", reply_to=first["id"])
        assert (await ann.messages(thread_id))[-1]["reply_to"] == first["id"] == reply["reply_to"]
        [elsewhere] = await bob.messages(await ann.thread_with(bob))
        for unseen in (elsewhere["id"], "msg_nowhere", ""):
            draft = bob.draft(reply_to=unseen)
            assert await bob.refusal("POST", path_to(thread_id), draft) == (404, "NOT_FOUND")

    @pytest.mark.parametrize("text", ["x" * 2000, "e\u0301" * 2000, " " + "x" * 2000, "😀" * 2000])
    async def test_two_thousand_characters_are_counted_after_normalising(
        self, api: Api, text: str
    ) -> None:
        ann, _, thread_id = await pair(api)
        assert len((await ann.send(thread_id, text))["body"]) == 2000
        longer = ann.draft("y" + text.strip())
        assert await ann.refusal("POST", path_to(thread_id), longer) == (422, "MSG_TOO_LONG")

    @pytest.mark.parametrize(
        "text", ["", " ", "\n\t", "\u200b", "\u2060\ufeff", "\u0007", "\u202e", "\u3164", "\u00ad"]
    )
    async def test_body_without_a_visible_character_is_empty(self, api: Api, text: str) -> None:
        ann, _, thread_id = await pair(api)
        assert await ann.refusal("POST", path_to(thread_id), ann.draft(text)) == (422, "MSG_EMPTY")

    @pytest.mark.parametrize("client_id", ["!", "~" * 64, "a/b?c#d%"])
    async def test_client_id_is_up_to_64_printable_characters(
        self, api: Api, client_id: str
    ) -> None:
        ann, _, thread_id = await pair(api)
        sent = await ann.post(path_to(thread_id), {"client_id": client_id, "body": "Hello"})
        assert (sent.status_code, sent.json()["client_id"]) == (201, client_id)

    @pytest.mark.parametrize("client_id", ["", "x" * 65, "a b", "é", "a\n", "\u0000", None, 7])
    async def test_other_client_ids_are_refused(self, api: Api, client_id: Any) -> None:
        ann, _, thread_id = await pair(api)
        draft = {"client_id": client_id, "body": "Hello"}
        assert await ann.refusal("POST", path_to(thread_id), draft) == (400, "INVALID_REQUEST")

    async def test_muted_person_reads_but_does_not_write(self, api: Api, inside: Inside) -> None:
        ann, bob, thread_id = await pair(api)
        await inside.mute(thread_id, ann.id, api.clock() + 60_000)
        assert await ann.refusal("POST", path_to(thread_id), ann.draft()) == (403, "FORBIDDEN")
        assert len(await ann.messages(thread_id)) == 1
        await bob.send(thread_id)
        api.clock.advance(minutes=1)
        await ann.send(thread_id)

    async def test_muted_person_does_not_edit(self, api: Api, inside: Inside) -> None:
        ann, _, thread_id = await pair(api)
        message = await ann.send(thread_id)
        await inside.mute(thread_id, ann.id, api.clock() + 60_000)
        edit = await ann.patch(path_of(message), {"body": "Said all the same"})
        assert edit.status_code == 403


class TestOrder:
    async def test_place_and_time_grow_though_the_clock_is_set_back(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        await ann.send(thread_id)
        api.clock.advance(hours=-1)
        for author in (bob, carl, bob):
            await author.send(thread_id)
        api.clock.advance(hours=1)
        await ann.send(thread_id)
        found = await bob.messages(thread_id)
        assert [each["seq"] for each in found] == list(range(1, 7))
        ids = [each["id"] for each in found]
        assert ids == sorted(ids)
        times = [each["created_at"] for each in found]
        assert times == sorted(set(times))
        assert len({id_time_ms(each) for each in ids}) == len(ids)

    async def test_time_in_the_id_is_when_it_was_written(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        api.clock.advance(seconds=1.234)
        sent = await ann.send(thread_id)
        assert id_time_ms(sent["id"]) == api.clock()


class TestEditing:
    async def test_edit_is_shown_to_all_and_the_original_kept(
        self, api: Api, inside: Inside
    ) -> None:
        ann, bob, thread_id = await pair(api)
        message, since = await ann.send(thread_id, "Frist"), await bob.cursor()
        edited = await ann.edit(message, "First")
        assert (edited["body"], edited["seq"], edited["created_at"]) == (
            "First", message["seq"], message["created_at"],
        )  # fmt: skip
        [event] = await bob.sync(since)
        assert (event["type"], event["message"]["body"]) == ("message.edited", "First")
        assert event["inbox"]["last_message"]["preview"] == "First"
        await ann.edit(message, "Fist")
        originals = await inside.originals(thread_id, message["id"])
        assert originals == [("edit", "Frist"), ("edit", "First")]

    async def test_window_is_fifteen_minutes(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        api.clock.advance(seconds=1)
        message = await ann.send(thread_id, "Draft")
        api.clock.advance(minutes=15)
        await ann.edit(message, "Final")
        api.clock.advance(seconds=0.001)
        assert await ann.refusal("PATCH", path_of(message), {"body": "Too late"}) == (
            409, "EDIT_WINDOW_CLOSED",
        )  # fmt: skip
        assert (await ann.edit(message, "Final"))["body"] == "Final"

    async def test_same_body_again_changes_nothing(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        message, since = await ann.send(thread_id, "Same"), await bob.cursor()
        assert (await ann.edit(message, " Same "))["edited_at"] is None
        assert await bob.sync(since) == []

    async def test_only_the_author_changes_a_message(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        message = await ann.send(thread_id, "Mine")
        assert await bob.refusal("PATCH", path_of(message), {"body": "x"}) == (403, "FORBIDDEN")
        assert await bob.refusal("DELETE", path_of(message)) == (403, "FORBIDDEN")
        assert (await ann.messages(thread_id))[-1]["body"] == "Mine"

    async def test_notices_are_neither_edited_nor_deleted(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        [carl] = await api.people("carl")
        new = {"user_id": carl.id, "role": "host"}
        await ann.post(f"/v1/threads/{thread_id}/participants", new)
        notice = (await ann.messages(thread_id))[-1]
        assert (notice["kind"], notice["author_id"]) == ("system", ann.id)
        assert await ann.refusal("PATCH", path_of(notice), {"body": "x"}) == (403, "FORBIDDEN")
        assert await ann.refusal("DELETE", path_of(notice)) == (403, "FORBIDDEN")

    async def test_edit_follows_the_rules_of_messages(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        message = await ann.send(thread_id)
        for body, code in (("x" * 2001, "MSG_TOO_LONG"), ("\u200b", "MSG_EMPTY")):
            assert await ann.refusal("PATCH", path_of(message), {"body": body}) == (422, code)

    async def test_message_of_another_thread_is_not_found(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        elsewhere = await ann.send(await ann.thread_with(bob))
        wrong = path_of({**elsewhere, "thread_id": thread_id})
        assert await ann.refusal("PATCH", wrong, {"body": "x"}) == (404, "NOT_FOUND")
        assert await ann.refusal("DELETE", wrong) == (404, "NOT_FOUND")


class TestDeleting:
    async def test_deletion_leaves_an_empty_place_and_keeps_the_original(
        self, api: Api, inside: Inside
    ) -> None:
        ann, bob, thread_id = await pair(api)
        message, since = await ann.send(thread_id, "**Oops**"), await bob.cursor()
        tombstone = await ann.remove(message)
        assert (tombstone["body"], tombstone["body_html"], tombstone["seq"]) == ("", "", 2)
        assert tombstone["deleted_at"] is not None
        [event] = await bob.sync(since)
        assert (event["type"], event["message"]["body"]) == ("message.deleted", "")
        row = await bob.row(thread_id)
        assert (row["last_message"]["preview"], row["unread_count"]) == ("", 1)
        assert await inside.originals(thread_id, message["id"]) == [("delete", "**Oops**")]

    async def test_deleted_body_is_in_no_earlier_event(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        since = await bob.cursor()
        message = await ann.send(thread_id, "Secret")
        await ann.edit(message, "Secret, edited")
        await ann.remove(message)
        told = await bob.sync(since)
        assert [each["type"] for each in told] == [
            "message.new", "message.edited", "message.deleted",
        ]  # fmt: skip
        assert {each["message"]["body"] for each in told} == {""}

    async def test_only_those_who_had_not_read_it_have_one_less_unread(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        message = await ann.send(thread_id, "Oops")
        await bob.read(thread_id, message["id"])
        await ann.send(thread_id, "Later")
        await ann.remove(message)
        counts = [(await each.row(thread_id))["unread_count"] for each in (ann, bob, carl)]
        assert counts == [0, 1, 2]

    async def test_deleting_twice_is_once_and_editing_after_is_not_found(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        message = await ann.send(thread_id)
        tombstone, since = await ann.remove(message), await bob.cursor()
        api.clock.advance(seconds=1)
        assert await ann.remove(message) == tombstone
        assert await ann.refusal("PATCH", path_of(message), {"body": "x"}) == (404, "NOT_FOUND")
        assert await bob.sync(since) == []

    async def test_old_messages_can_be_deleted(self, api: Api) -> None:
        ann, _, thread_id = await pair(api)
        message = await ann.send(thread_id)
        api.clock.advance(days=100)
        assert (await ann.remove(message))["deleted_at"] is not None


class TestPaging:
    async def test_newest_page_by_default_and_older_ones_before_it(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        for number in range(2, 8):
            await ann.send(thread_id, f"Number {number}")
        pages: list[list[int]] = []
        bounds: Json = {}
        while True:
            page = (await bob.get(path_to(thread_id), limit=3, **bounds)).json()
            pages.append([each["seq"] for each in page["items"]])
            bounds = {"before": page["items"][0]["id"]}
            if not page["has_more"]:
                break
        assert pages == [[5, 6, 7], [2, 3, 4], [1]]

    async def test_newer_pages_after_a_message(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        [first] = await bob.messages(thread_id)
        for _ in range(4):
            await ann.send(thread_id)
        page = (await bob.get(path_to(thread_id), after=first["id"], limit=3)).json()
        assert ([each["seq"] for each in page["items"]], page["has_more"]) == ([2, 3, 4], True)
        last = page["items"][-1]["id"]
        page = (await bob.get(path_to(thread_id), after=last, limit=3)).json()
        assert ([each["seq"] for each in page["items"]], page["has_more"]) == ([5], False)

    async def test_bounds_need_not_be_messages(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        [first] = await bob.messages(thread_id)
        api.clock.advance(seconds=1)
        await ann.send(thread_id)
        between = first["id"][:-14] + "z" * 14
        assert [m["seq"] for m in await bob.messages(thread_id, before=between)] == [1]
        assert [m["seq"] for m in await bob.messages(thread_id, after=between)] == [2]

    @pytest.mark.parametrize("bound", ["before", "after"])
    @pytest.mark.parametrize("text", ["", "msg_", "msg_~", "yesterday", "thr_" + "0" * 26])
    async def test_a_bound_that_is_no_message_id_is_refused(
        self, api: Api, bound: str, text: str
    ) -> None:
        _, bob, thread_id = await pair(api)
        answer = await bob.get(path_to(thread_id), **{bound: text})
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
        assert bound in answer.json()["hint"]

    @pytest.mark.parametrize("limit", ["0", "51", "-1", "many", "1.5", ""])
    async def test_limit_is_one_to_fifty(self, api: Api, limit: str) -> None:
        _, bob, thread_id = await pair(api)
        assert len(await bob.messages(thread_id, limit=50)) == 1
        refusal = await bob.refusal("GET", path_to(thread_id), params={"limit": limit})
        assert refusal == (400, "INVALID_REQUEST")

    async def test_cursor_of_a_page_goes_on_without_a_gap(self, api: Api) -> None:
        ann, bob, thread_id = await pair(api)
        page = (await bob.get(path_to(thread_id))).json()
        sent = await ann.send(thread_id)
        [event] = await bob.sync(page["sync_cursor"])
        assert event["message"]["id"] == sent["id"]
