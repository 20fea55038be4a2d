"""Blocks: nothing new passes, and to the one who is blocked it looks like silence."""

from __future__ import annotations

import pytest

from tests.support.api import Api, Json, Person


def path_to(thread_id: str) -> str:
    return f"/v1/threads/{thread_id}/messages"


def mark_in(thread: Json, person: Person) -> str | None:
    [seat] = [each for each in thread["participants"] if each["user_id"] == person.id]
    return seat["last_read"]["message_id"] if seat["last_read"] else None


async def view(person: Person, thread_id: str) -> list[object]:
    """All that a person can see of a thread, but for the place in their own feed."""
    thread = await person.thread(thread_id)
    del thread["sync_cursor"]
    return [thread, await person.messages(thread_id), (await person.inbox())["counts"]]


class TestBetweenTwo:
    async def test_blocked_sender_gets_their_message_and_nobody_else_does(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        api.clock.advance(seconds=1)
        await bob.block(ann)
        before, since, heard = await view(bob, thread_id), await bob.cursor(), await ann.cursor()
        hidden = await ann.send(thread_id, "Are you there?")
        assert await view(bob, thread_id) == before
        assert await bob.sync(since) == []
        assert await bob.cursor() == since
        assert (await ann.messages(thread_id))[-1] == hidden
        assert [each["message"]["id"] for each in await ann.sync(heard)] == [hidden["id"]]
        row = await ann.row(thread_id)
        assert row["last_message"]["preview"] == "Are you there?"

    async def test_hidden_message_answers_like_one_that_is_not_there(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.block(ann)
        hidden = await ann.send(thread_id)
        await bob.unblock(ann)
        messages = path_to(thread_id)
        refusals = [
            await bob.refusal("POST", f"/v1/threads/{thread_id}/read", {"up_to": hidden["id"]}),
            await bob.refusal("POST", messages, bob.draft(reply_to=hidden["id"])),
            await bob.refusal("PATCH", f"{messages}/{hidden['id']}", {"body": "x"}),
            await bob.refusal("DELETE", f"{messages}/{hidden['id']}"),
        ]
        assert refusals == [(404, "NOT_FOUND")] * 4

    async def test_edit_and_deletion_of_a_hidden_message_stay_hidden(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.block(ann)
        hidden = await ann.send(thread_id)
        before, since = await view(bob, thread_id), await bob.cursor()
        await ann.edit(hidden, "Please")
        await ann.remove(hidden)
        assert await bob.sync(since) == []
        assert await view(bob, thread_id) == before

    async def test_edit_of_an_earlier_message_does_not_pass(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        [seen] = await ann.messages(thread_id)
        await bob.block(ann)
        since = await bob.cursor()
        edited = {"body": "Something that Bob blocked Ann for"}
        refusal = await ann.refusal("PATCH", f"{path_to(thread_id)}/{seen['id']}", edited)
        assert refusal == (409, "EDIT_WINDOW_CLOSED")
        assert await bob.sync(since) == []
        assert (await bob.messages(thread_id))[0]["body"] == "Hello"

    async def test_whoever_blocked_unblocks_before_writing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.block(ann)
        blocked = (403, "MSG_BLOCKED_BY_USER")
        assert await bob.refusal("POST", path_to(thread_id), bob.draft()) == blocked
        new = {"kind": "invite", "to": ann.id, "first_message": bob.draft()}
        assert await bob.refusal("POST", "/v1/threads", new) == blocked
        assert len(await ann.messages(thread_id)) == 1

    async def test_unblocking_lets_new_messages_pass_and_not_the_hidden(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.block(ann)
        await ann.send(thread_id, "Hidden")
        await bob.unblock(ann)
        since = await bob.cursor()
        await ann.send(thread_id, "Seen")
        await bob.send(thread_id, "Hello again")
        assert [(m["seq"], m["body"]) for m in await bob.messages(thread_id)] == [
            (1, "Hello"), (3, "Seen"), (4, "Hello again"),
        ]  # fmt: skip
        assert [e["message"]["seq"] for e in await bob.sync(since)] == [3, 4]
        row = await bob.row(thread_id)
        assert row["unread_count"] == 2
        last = (await bob.messages(thread_id))[-1]
        assert (await bob.read(thread_id, last["id"]))["unread_count"] == 0

    async def test_page_before_a_hole_is_full(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.block(ann)
        for _ in range(3):
            await ann.send(thread_id, "Hidden")
        await bob.unblock(ann)
        await ann.send(thread_id)
        page = (await bob.get(path_to(thread_id), limit=2)).json()
        assert ([each["seq"] for each in page["items"]], page["has_more"]) == ([1, 5], False)

    @pytest.mark.parametrize("is_blocker_reading", [True, False])
    async def test_read_marks_stand_still_for_the_other(
        self, api: Api, is_blocker_reading: bool
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        [first] = await bob.messages(thread_id)
        await bob.read(thread_id, first["id"])
        second = await ann.send(thread_id)
        blocker, blocked = (bob, ann) if is_blocker_reading else (ann, bob)
        await blocker.block(blocked)
        since = await ann.cursor()
        row = await bob.read(thread_id, second["id"])
        assert (row["unread_count"], row["last_read"]["message_id"]) == (0, second["id"])
        assert await ann.sync(since) == []
        assert mark_in((await ann.thread(thread_id))["thread"], bob) == first["id"]
        await blocker.unblock(blocked)
        third = await ann.send(thread_id)
        await bob.read(thread_id, third["id"])
        assert mark_in((await ann.thread(thread_id))["thread"], bob) == third["id"]

    async def test_thread_started_by_someone_blocked_does_not_exist(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await bob.block(ann)
        since = await bob.cursor()
        thread_id = await ann.thread_with(bob)
        await ann.send(thread_id, "Hello?")
        assert await bob.refusal("GET", f"/v1/threads/{thread_id}") == (404, "THREAD_NOT_FOUND")
        assert (await bob.inbox())["items"] == []
        assert await bob.sync(since) == []
        await bob.unblock(ann)
        await ann.send(thread_id, "Now?")
        assert [m["body"] for m in await bob.messages(thread_id)] == ["Now?"]
        assert (await bob.row(thread_id))["unread_count"] == 1

    async def test_blocks_are_own_and_may_be_repeated(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for _ in range(2):
            await ann.block(bob)
        await bob.unblock(ann)
        assert await ann.refusal("POST", path_to(thread_id), ann.draft()) == (
            403, "MSG_BLOCKED_BY_USER",
        )  # fmt: skip
        for _ in range(2):
            await ann.unblock(bob)
        await ann.send(thread_id)

    async def test_nobody_blocks_themselves_or_a_stranger(self, api: Api) -> None:
        [ann] = await api.people("ann")
        for whom, refusal in (
            (ann.id, (400, "INVALID_REQUEST")),
            ("nobody.here", (404, "USER_NOT_FOUND")),
        ):
            assert await ann.refusal("POST", "/v1/blocks", {"user_id": whom}) == refusal

    async def test_blocking_is_not_told_to_anyone(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        before, since = await view(ann, thread_id), await ann.cursor()
        await bob.block(ann)
        assert await view(ann, thread_id) == before
        assert await ann.sync(since) == []


class TestAmongThree:
    async def test_third_person_sees_both_sides(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        await bob.block(ann)
        await ann.send(thread_id, "From Ann")
        await bob.send(thread_id, "From Bob")
        await carl.send(thread_id, "From Carl")
        seen = {
            person.id: [m["seq"] for m in await person.messages(thread_id)]
            for person in (ann, bob, carl)
        }
        assert seen == {ann.id: [1, 2, 4], bob.id: [1, 3, 4], carl.id: [1, 2, 3, 4]}
        counts = [(await each.row(thread_id))["unread_count"] for each in (ann, bob, carl)]
        assert counts == [1, 2, 3]

    async def test_thread_of_someone_blocked_appears_when_a_third_person_writes(
        self, api: Api
    ) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await bob.block(ann)
        thread_id = await ann.thread_with(bob, carl)
        assert (await bob.inbox())["items"] == []
        await carl.send(thread_id, "Hello both")
        assert [m["body"] for m in await bob.messages(thread_id)] == ["Hello both"]
        assert (await bob.row(thread_id))["unread_count"] == 1

    async def test_nobody_adds_whom_they_have_blocked(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await ann.block(carl)
        new = {"user_id": carl.id, "role": "host"}
        refusal = await ann.refusal("POST", f"/v1/threads/{thread_id}/participants", new)
        assert refusal == (403, "MSG_BLOCKED_BY_USER")

    async def test_being_added_by_someone_blocked_stays_unseen(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await carl.block(ann)
        since = await carl.cursor()
        new = {"user_id": carl.id, "role": "host"}
        added = await ann.post(f"/v1/threads/{thread_id}/participants", new)
        assert added.status_code == 200
        assert await carl.sync(since) == []
        assert (await carl.inbox())["items"] == []
        await bob.send(thread_id, "Hi Carl")
        assert [m["body"] for m in await carl.messages(thread_id)] == ["Hi Carl"]

    async def test_receipt_of_a_hidden_message_leaves_no_trace(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        await carl.block(ann)
        hidden = await ann.send(thread_id, "Carl does not see this")
        [first, _] = await bob.messages(thread_id)
        await bob.read(thread_id, first["id"])
        api.clock.advance(seconds=1)
        before, since = await view(carl, thread_id), await carl.cursor()
        await bob.read(thread_id, hidden["id"])
        assert await carl.sync(since) == []
        assert await view(carl, thread_id) == before
        shared = await bob.send(thread_id, "All see this")
        await bob.read(thread_id, shared["id"])
        for viewer in (ann, carl):
            assert mark_in((await viewer.thread(thread_id))["thread"], bob) == shared["id"]

    async def test_own_hidden_message_is_read_in_silence(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.block(ann)
        hidden = await ann.send(thread_id)
        await bob.unblock(ann)
        await ann.read(thread_id, hidden["id"])
        told = [e for e in await bob.sync() if e["type"] == "receipt"]
        assert hidden["id"] not in str(told)


class TestWhoIsNotThere:
    async def test_calls_that_name_a_person_agree_on_who_is_there(self, api: Api) -> None:
        """A profile card is for everybody with a token, so a block tells nothing more."""
        [ann] = await api.people("ann")
        start = {"kind": "inquiry", "to": "nobody.at.all", "first_message": ann.draft()}
        refusals = [
            await ann.refusal("GET", "/v1/users/nobody.at.all"),
            await ann.refusal("POST", "/v1/blocks", {"user_id": "nobody.at.all"}),
            await ann.refusal("POST", "/v1/threads", start),
        ]
        assert refusals == [(404, "USER_NOT_FOUND")] * 3
        assert (await ann.call("DELETE", "/v1/blocks/nobody.at.all")).status_code == 204
