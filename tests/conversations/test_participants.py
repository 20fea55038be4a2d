"""Who comes into a thread, who goes, and what they see of it."""

from __future__ import annotations

import pytest

from tests.support.api import Api, Json, Person


def seats(thread_id: str) -> str:
    return f"/v1/threads/{thread_id}/participants"


async def seated(viewer: Person, thread_id: str) -> Json:
    """Everyone in the thread with their role and standing."""
    thread = (await viewer.thread(thread_id))["thread"]
    return {each["user_id"]: (each["role"], each["status"]) for each in thread["participants"]}


class TestJoining:
    async def test_both_parties_and_the_backend_bring_people_in(self, api: Api) -> None:
        ann, bob, carl, dora, ed = await api.people("ann", "bob", "carl", "dora", "ed")
        thread_id = await ann.thread_with(bob)
        for by, who in ((ann, carl), (bob, dora), (api.backend, ed)):
            added = await by.post(seats(thread_id), {"user_id": who.id, "role": "host"})
            assert added.status_code == 200
            listed = [each["user_id"] for each in added.json()["thread"]["participants"]]
            assert who.id in listed
        assert (await seated(ed, thread_id))[dora.id] == ("host", "active")

    async def test_others_in_the_thread_do_not(self, api: Api) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        thread_id = await ann.thread_with(bob)
        for role in ("host", "support", "admin"):
            await api.backend.add(thread_id, carl.id, role)
            new = {"user_id": dora.id, "role": "host"}
            assert await carl.refusal("POST", seats(thread_id), new) == (403, "FORBIDDEN")
            await carl.leave(thread_id)

    @pytest.mark.parametrize("role", ["support", "admin"])
    async def test_only_the_backend_seats_operators(self, api: Api, role: str) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        new = {"user_id": carl.id, "role": role}
        assert await ann.refusal("POST", seats(thread_id), new) == (403, "FORBIDDEN")
        await api.backend.add(thread_id, carl.id, role)
        assert (await seated(ann, thread_id))[carl.id] == (role, "active")

    async def test_unknown_people_and_roles_are_refused(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for new, refusal in (
            ({"user_id": "nobody.here", "role": "host"}, (404, "USER_NOT_FOUND")),
            ({"user_id": bob.id, "role": "owner"}, (400, "INVALID_REQUEST")),
        ):
            assert await ann.refusal("POST", seats(thread_id), new) == refusal

    async def test_newcomer_sees_what_is_written_after_they_join(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        old = await bob.send(thread_id, "Just between us")
        since = await carl.cursor()
        await api.backend.add(thread_id, carl.id, "host")
        row = await carl.row(thread_id)
        assert (row["unread_count"], row["last_message"]["system"]["code"]) == (
            1, "participant.added",
        )  # fmt: skip
        new = await ann.send(thread_id, "Welcome")
        assert [each["seq"] for each in await carl.messages(thread_id)] == [3, 4]
        assert [e["type"] for e in await carl.sync(since)] == [
            "thread.changed", "message.new", "message.new",
        ]  # fmt: skip
        path = f"/v1/threads/{thread_id}"
        assert await carl.refusal("POST", f"{path}/read", {"up_to": old["id"]}) == (
            404, "NOT_FOUND",
        )  # fmt: skip
        reply = carl.draft(reply_to=old["id"])
        assert await carl.refusal("POST", f"{path}/messages", reply) == (404, "NOT_FOUND")
        assert (await carl.read(thread_id, new["id"]))["unread_count"] == 0

    async def test_edit_of_an_older_message_does_not_reach_a_newcomer(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        old = await ann.send(thread_id, "Draft")
        await api.backend.add(thread_id, carl.id, "host")
        since, unread = await carl.cursor(), (await carl.row(thread_id))["unread_count"]
        await ann.edit(old, "Better")
        await ann.remove(old)
        assert await carl.sync(since) == []
        assert (await carl.row(thread_id))["unread_count"] == unread

    async def test_adding_someone_who_is_in_changes_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        since = await ann.cursor()
        await api.backend.add(thread_id, bob.id, "host")
        assert await ann.sync(since) == []
        assert (await seated(ann, thread_id))[bob.id] == ("seller", "active")

    async def test_everyone_hears_of_a_newcomer_in_a_notice(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await ann.post(seats(thread_id), {"user_id": carl.id, "role": "host"})
        [_, notice] = await bob.messages(thread_id)
        assert (notice["kind"], notice["author_id"], notice["body"]) == ("system", ann.id, "")
        assert notice["system"]["params"] == {"user_id": carl.id, "role": "host"}
        assert (await bob.row(thread_id))["unread_count"] == 2
        assert (await ann.row(thread_id))["unread_count"] == 0


class TestLeaving:
    async def test_whoever_leaves_hears_of_it_once_and_of_nothing_later(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        since = await carl.cursor()
        await carl.leave(thread_id)
        await ann.send(thread_id, "Between us again")
        [last] = await carl.sync(since)
        assert (last["type"], last["thread_id"]) == ("thread.changed", thread_id)
        assert "thread" not in last
        assert await carl.refusal("GET", f"/v1/threads/{thread_id}") == (404, "THREAD_NOT_FOUND")
        sent = await carl.refusal("POST", f"/v1/threads/{thread_id}/messages", carl.draft())
        assert sent == (404, "THREAD_NOT_FOUND")
        assert (await carl.inbox())["items"] == []

    async def test_others_see_who_left_and_who_was_removed(self, api: Api) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        thread_id = await ann.thread_with(bob, carl)
        await api.backend.add(thread_id, dora.id, "host")
        await carl.leave(thread_id)
        await bob.delete(f"{seats(thread_id)}/{dora.id}")
        left, removed = (await ann.messages(thread_id))[-2:]
        assert left["system"] == {"code": "participant.left", "params": {"user_id": carl.id}}
        assert removed["system"]["code"] == "participant.removed"
        assert (left["author_id"], removed["author_id"]) == (carl.id, bob.id)
        assert (await seated(ann, thread_id))[carl.id] == ("seller", "left")

    @pytest.mark.parametrize("role", ["host", "support", "admin"])
    async def test_parties_remove_others(self, api: Api, role: str) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        for by in (ann, bob, api.backend):
            await api.backend.add(thread_id, carl.id, role)
            since = await carl.cursor()
            assert (await by.delete(f"{seats(thread_id)}/{carl.id}")).status_code == 204
            [last] = await carl.sync(since)
            assert (last["type"], "thread" in last) == ("thread.changed", False)

    async def test_parties_do_not_remove_each_other_nor_do_guests(self, api: Api) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        thread_id = await ann.thread_with(bob)
        await api.backend.add(thread_id, carl.id, "host")
        await api.backend.add(thread_id, dora.id, "admin")
        for by, whom in ((ann, bob), (bob, ann), (carl, dora), (carl, ann), (dora, carl)):
            refusal = await by.refusal("DELETE", f"{seats(thread_id)}/{whom.id}")
            assert refusal == (403, "FORBIDDEN")
        assert (await api.backend.delete(f"{seats(thread_id)}/{bob.id}")).status_code == 204

    async def test_nobody_is_removed_twice_nor_without_being_there(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await bob.leave(thread_id)
        for by in (ann, api.backend):
            for whom in (bob, carl):
                refusal = await by.refusal("DELETE", f"{seats(thread_id)}/{whom.id}")
                assert refusal == (404, "USER_NOT_FOUND")

    async def test_whoever_comes_back_starts_anew(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        beginning = await carl.cursor()
        await bob.send(thread_id, "Seen once")
        await carl.leave(thread_id)
        await bob.send(thread_id, "Never seen")
        await ann.post(seats(thread_id), {"user_id": carl.id, "role": "host"})
        await bob.send(thread_id, "Welcome back")
        assert [each["body"] for each in await carl.messages(thread_id)] == ["", "Welcome back"]
        assert (await carl.row(thread_id))["unread_count"] == 2
        told = [e["message"]["body"] for e in await carl.sync(beginning) if "message" in e]
        assert told == ["", "Welcome back"]

    async def test_earlier_events_of_a_thread_one_has_left_are_gone(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        since = await bob.cursor()
        thread_id = await ann.thread_with(bob)
        message = await ann.send(thread_id, "Hello again")
        await ann.edit(message, "Hello once more")
        await bob.leave(thread_id)
        events = await bob.sync(since)
        assert {each["type"] for each in events} == {"thread.changed"}
        assert all("thread" not in each for each in events)
