"""Writing to a person: which thread it goes into, what comes back, and what is refused."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from greenroom.accounts.model import UserChanges
from tests.support.api import Api, Json, Person

FIELDS = {
    "id": str,
    "conversationId": str,
    "senderId": str,
    "receiverId": str,
    "content": str,
    "type": str,
    "status": str,
    "createdAt": str,
    "updatedAt": str,
}


def new(to: Person | str, content: str = "Hello", **more: Any) -> Json:
    receiver = to if isinstance(to, str) else to.id
    return {"receiverId": receiver, "content": content, "type": "text", **more}


def pair(one: Person, other: Person) -> str:
    return "conv_" + "_".join(sorted((one.id, other.id)))


async def named(api: Api, *user_ids: str) -> list[Person]:
    for user_id in user_ids:
        await api.rooms.accounts.put_user(user_id, UserChanges())
    return [api.person(user_id) for user_id in user_ids]


class TestShape:
    async def test_message_field_for_field(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        answer = await ann.post("/messages/send", new(bob, "Can you start tomorrow?"))
        assert answer.status_code == 201
        assert answer.json().keys() == {"message", "conversationId"}
        message = answer.json()["message"]
        assert {name: type(value) for name, value in message.items()} == FIELDS
        [stored] = await ann.messages((await ann.inbox())["items"][0]["thread"]["id"])
        assert message == {
            "id": f"message_{api.clock.now_ms}_{stored['id'].removeprefix('msg_')}",
            "conversationId": pair(ann, bob),
            "senderId": ann.id,
            "receiverId": bob.id,
            "content": "Can you start tomorrow?",
            "type": "text",
            "status": "sent",
            "createdAt": stored["created_at"],
            "updatedAt": stored["created_at"],
        }
        assert answer.json()["conversationId"] == pair(ann, bob)

    async def test_body_is_kept_as_every_other(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        assert (await ann.write_to(bob, "  e\u0301\r\nx "))["content"] == "é\nx"
        refusal = await ann.refusal("POST", "/messages/send", new(bob, "x" * 2001))
        assert refusal == (422, "MSG_TOO_LONG")
        assert await ann.refusal("POST", "/messages/send", new(bob, " ")) == (422, "MSG_EMPTY")

    @pytest.mark.parametrize(
        "wrong", [{"type": "voice"}, {"fileUrl": "https://x"}, {"jobId": 1.5}, {"receiverid": "x"}]
    )
    async def test_what_is_of_another_form_is_refused(self, api: Api, wrong: Json) -> None:
        ann, bob = await api.people("ann", "bob")
        refusal = await ann.refusal("POST", "/messages/send", {**new(bob), **wrong})
        assert refusal == (400, "INVALID_REQUEST")


class TestWhere:
    async def test_first_starts_an_inquiry_and_the_rest_follow_from_both_sides(
        self, api: Api
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob, "one")
        await bob.write_to(ann, "two")
        await ann.write_to(bob, "three")
        [item] = (await bob.inbox())["items"]
        assert (item["thread"]["kind"], item["thread"]["opened_by"]) == ("inquiry", ann.id)
        roles = {each["user_id"]: each["role"] for each in item["thread"]["participants"]}
        assert roles == {ann.id: "buyer", bob.id: "seller"}
        said = [each["body"] for each in await bob.messages(item["thread"]["id"])]
        assert said == ["one", "two", "three"]

    async def test_goes_into_the_oldest_thread_of_just_the_two(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.thread_with(bob, carl)
        api.clock.advance(seconds=1)
        oldest = await bob.thread_with(ann)
        api.clock.advance(seconds=1)
        await ann.thread_with(bob)
        await ann.write_to(bob, "here")
        assert (await ann.messages(oldest))[-1]["body"] == "here"

    async def test_oldest_is_the_first_to_begin_whatever_the_clock_says(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first = await ann.thread_with(bob)
        for seconds in (0, 0, -60):
            api.clock.advance(seconds=seconds)
            await ann.thread_with(bob)
        api.clock.advance(seconds=60)
        await bob.write_to(ann, "here")
        assert (await ann.messages(first))[-1]["body"] == "here"

    async def test_a_third_person_takes_the_thread_away_for_good(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.write_to(bob, "between us")
        [first] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        await api.backend.add(first, carl.id, "host")
        await ann.write_to(bob, "still between us")
        assert [each["body"] for each in await carl.messages(first)] == [""]
        await carl.leave(first)
        await bob.write_to(ann, "and this")
        said = [each["content"] for each in await ann.poll(pair(ann, bob))]
        assert said == ["still between us", "and this"]

    async def test_after_one_left_a_new_thread_begins(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.leave(thread_id)
        for sender, receiver in ((bob, ann), (ann, bob)):
            await sender.write_to(receiver, f"from {sender.id}")
        said = [each["content"] for each in await bob.poll(pair(ann, bob))]
        assert said == [f"from {bob.id}", f"from {ann.id}"]

    async def test_nobody_who_joins_in_that_moment_reads_it(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)

        async def find_and_join(viewer: str, other: str) -> str:
            await api.backend.add(thread_id, carl.id, "host")
            return thread_id

        monkeypatch.setattr(api.rooms.store, "pair_thread", find_and_join)
        await ann.write_to(bob, "between us")
        assert [each["content"] for each in await bob.poll(thread_id)] == ["Hello", "between us"]
        assert await carl.poll(thread_id) == []

    async def test_who_has_just_left_begins_anew(
        self, api: Api, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        find = api.rooms.store.pair_thread

        async def find_and_leave(viewer: str, other: str) -> str | None:
            found = await find(viewer, other)
            if found == thread_id:
                await ann.leave(thread_id)
            return found

        monkeypatch.setattr(api.rooms.store, "pair_thread", find_and_leave)
        await ann.write_to(bob, "again")
        assert [each["content"] for each in await bob.poll(pair(ann, bob))] == ["again"]

    async def test_ids_with_underscores_do_not_mix(self, api: Api) -> None:
        a_b, c, a, b_c = await named(api, "u_b", "v", "u", "b_v")
        await a_b.write_to(c, "for v")
        await a.write_to(b_c, "for b_v")
        assert await a_b.conversations() != []
        [at_c], [at_b_c] = await c.poll("conv_u_b_v"), await b_c.poll("conv_b_v_u")
        assert (at_c["content"], at_b_c["content"]) == ("for v", "for b_v")
        assert at_c["conversationId"] == "conv_u_b_v"
        assert at_b_c["conversationId"] == "conv_b_v_u"

    async def test_two_pairs_of_one_name_stay_apart(self, api: Api) -> None:
        me, one, other = await named(api, "a_x_a", "x_a", "a_x")
        first, second = await me.write_to(one, "to x_a"), await me.write_to(other, "to a_x")
        assert first["conversationId"] != second["conversationId"]
        listed = {each["id"]: each["lastMessage"] for each in await me.conversations()}
        assert listed == {
            first["conversationId"]: "to x_a",
            second["conversationId"]: "to a_x",
        }
        for name, content in listed.items():
            assert [each["content"] for each in await me.poll(name)] == [content]

    async def test_pair_is_who_the_participants_are(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)

        async def found() -> list[str | None]:
            thread_of = api.rooms.store.pair_thread
            return [await thread_of(ann.id, bob.id), await thread_of(bob.id, ann.id)]

        assert await found() == [thread_id] * 2
        await bob.leave(thread_id)
        assert await found() == [None] * 2
        await api.backend.add(thread_id, bob.id, "seller")
        assert await found() == [thread_id] * 2
        await api.backend.add(thread_id, carl.id, "host")
        assert await found() == [None] * 2

    @pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
    async def test_key_of_the_pair_is_what_the_participants_say(
        self, api: Api, pool: asyncpg.Pool
    ) -> None:
        """Whatever way a participant row changes."""
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)

        async def key() -> str | None:
            found: str | None = await pool.fetchval(
                "select pair_key from thread where thread_id = $1", thread_id
            )
            return found

        together = f"{ann.id},{bob.id}"
        assert await key() == together
        await bob.leave(thread_id)
        assert await key() is None
        await api.backend.add(thread_id, bob.id, "seller")
        assert await key() == together
        await api.backend.add(thread_id, carl.id, "host")
        assert await key() is None
        await pool.execute("delete from thread_participant where user_id = $1", carl.id)
        assert await key() == together


class TestJobs:
    async def test_number_goes_in_and_comes_out_as_a_number(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.write_to(bob, jobId=42)
        await ann.write_to(carl, jobId="job-042")
        jobs = {each["participants"][1]: each["jobId"] for each in await ann.conversations()}
        assert jobs == {bob.id: 42, carl.id: "job-042"}
        assert [each["thread"]["job_id"] for each in (await bob.inbox())["items"]] == ["42"]

    async def test_only_the_people_of_a_registered_job(self, api: Api) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        job = {"participants": [ann.id, bob.id]}
        assert (await api.backend.put(f"/v1/jobs/of-{ann.id}", job)).status_code == 201
        await ann.write_to(bob, jobId=f"of-{ann.id}")
        await ann.write_to(carl)
        for receiver in (carl, dora):
            body = new(receiver, jobId=f"of-{ann.id}")
            assert await ann.refusal("POST", "/messages/send", body) == (404, "NOT_FOUND")
        assert await dora.conversations() == []


class TestRefused:
    async def test_unknown_receiver(self, api: Api) -> None:
        [ann] = await api.people("ann")
        for unknown in ("nobody-here", "not an id", "", "a,b", "x" * 65):
            refusal = await ann.refusal("POST", "/messages/send", new(unknown))
            assert refusal == (404, "USER_NOT_FOUND")

    async def test_oneself(self, api: Api) -> None:
        [ann] = await api.people("ann")
        refusal = await ann.refusal("POST", "/messages/send", new(ann))
        assert refusal == (400, "INVALID_REQUEST")

    async def test_whom_one_blocked(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.write_to(bob)
        await ann.block(bob)
        await ann.block(carl)
        for receiver in (bob, carl):
            refusal = await ann.refusal("POST", "/messages/send", new(receiver))
            assert refusal == (403, "MSG_BLOCKED_BY_USER")
        assert await carl.conversations() == []


class TestBlocked:
    async def test_blocked_author_alone_sees_what_they_send(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob, "before")
        await bob.block(ann)
        await ann.write_to(bob, "after")
        name = pair(ann, bob)
        assert [each["content"] for each in await ann.poll(name)] == ["before", "after"]
        assert [each["content"] for each in await bob.poll(name)] == ["before"]

    async def test_first_message_of_a_blocked_author_starts_what_only_they_see(
        self, api: Api
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        await bob.block(ann)
        await ann.write_to(bob, "hello?")
        await ann.write_to(bob, "hello??")
        assert len(await ann.poll(pair(ann, bob))) == 2
        assert await bob.conversations() == []
        refusal = await bob.refusal(
            "GET", "/messages/list", params={"conversationId": pair(ann, bob)}
        )
        assert refusal == (404, "THREAD_NOT_FOUND")

    async def test_after_the_unblock_both_meet_in_that_thread(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await bob.block(ann)
        await ann.write_to(bob, "hidden")
        await bob.unblock(ann)
        cursor = await bob.cursor()
        await bob.write_to(ann, "hello")
        await ann.write_to(bob, "at last")
        name = pair(ann, bob)
        assert [each["content"] for each in await ann.poll(name)] == ["hidden", "hello", "at last"]
        assert [each["content"] for each in await bob.poll(name)] == ["hello", "at last"]
        assert [each["type"] for each in await bob.sync(cursor)] == [
            "thread.changed",
            "message.new",
            "message.new",
            "receipt",
        ]
        assert len((await ann.inbox())["items"]) == len((await bob.inbox())["items"]) == 1
        assert (await bob.conversations())[0]["unreadCount"][bob.id] == 1


class TestRepeats:
    async def test_key_stands_for_the_message_as_it_is_now(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        for content in ("first of all", "into the thread"):
            body = new(bob, content, jobId=7)
            first = await ann.post("/messages/send", body, key=content)
            assert first.status_code == 201
            again = await ann.post("/messages/send", body, key=content)
            assert (again.status_code, again.content) == (200, first.content)
            for other in (new(bob, content), new(bob, "other", jobId=7)):
                mismatch = await ann.post("/messages/send", other, key=content)
                assert mismatch.json()["code"] == "IDEMPOTENCY_MISMATCH"
        [one, two] = await ann.messages((await ann.inbox())["items"][0]["thread"]["id"])
        await ann.edit(one, "edited")
        await bob.read(two["thread_id"], two["id"])
        now = await ann.post(
            "/messages/send", new(bob, "first of all", jobId=7), key="first of all"
        )
        assert (now.json()["message"]["content"], now.json()["message"]["status"]) == (
            "edited",
            "read",
        )

    async def test_repeat_finds_its_message_after_the_pair_has_moved(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        first = await ann.post("/messages/send", new(bob), key="k")
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        await api.backend.add(thread_id, carl.id, "host")
        again = await ann.post("/messages/send", new(bob), key="k")
        assert again.status_code == 200
        assert again.json()["message"]["id"] == first.json()["message"]["id"]
        assert again.json()["conversationId"] == thread_id
        assert len((await ann.inbox())["items"]) == 1

    async def test_key_of_one_person_under_another_receiver(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.post("/messages/send", new(bob), key="k")
        mismatch = await ann.post("/messages/send", new(carl), key="k")
        assert (mismatch.status_code, mismatch.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")
        assert await carl.conversations() == []

    async def test_keys_of_both_apis_do_not_meet(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path = f"/v1/threads/{thread_id}/messages"
        assert (await ann.post(path, ann.draft(), key="k")).status_code == 201
        assert (await ann.post("/messages/send", new(bob), key="k")).status_code == 201
