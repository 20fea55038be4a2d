"""The simple API beside its document: what is delivered, what has changed, and which job it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.api import Api, Json, Person


def pair(one: Person, other: Person) -> str:
    return "conv_" + "_".join(sorted((one.id, other.id)))


async def statuses(viewer: Person, name: str) -> list[str]:
    return [each["status"] for each in await viewer.poll(name)]


async def changed(viewer: Person, name: str, since: Any, **params: Any) -> tuple[list[Json], bool]:
    query = {"conversationId": name, "updatedSince": since, **params}
    answer = await viewer.get("/messages/list", **query)
    assert answer.status_code == 200, answer.text
    return answer.json()["messages"], answer.json()["hasMore"]


class TestDelivered:
    async def test_listing_delivers_and_reading_reads(self, api: Api) -> None:
        """By the five calls of this API alone."""
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        for content in ("one", "two"):
            await ann.write_to(bob, content)
        assert await statuses(ann, name) == ["sent", "sent"]
        assert await statuses(bob, name) == ["delivered", "delivered"]
        assert await statuses(ann, name) == ["delivered", "delivered"]
        await ann.write_to(bob, "three")
        assert await statuses(ann, name) == ["delivered", "delivered", "sent"]
        answer = await bob.post("/messages/markAsRead", {"conversationId": name})
        assert answer.status_code == 200
        assert await statuses(ann, name) == ["read", "read", "read"]

    async def test_only_what_is_listed_is_delivered(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        sent = [await ann.write_to(bob, str(number)) for number in range(4)]
        await bob.poll(name, since=0, limit=2)
        assert await statuses(ann, name) == ["delivered", "delivered", "sent", "sent"]
        await bob.poll(name, since=sent[1]["createdAt"])
        assert await statuses(ann, name) == ["delivered"] * 4

    async def test_feed_tells_the_sender_once(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        await ann.write_to(bob)
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        [message] = await ann.messages(thread_id)
        cursor = await ann.cursor()
        for _ in range(3):
            await bob.poll(name)
        [told] = await ann.sync(cursor)
        assert (told["type"], told["receipt"]["kind"]) == ("receipt", "delivered")
        assert told["receipt"]["message_id"] == message["id"]
        assert (await ann.thread(thread_id))["thread"]["participants"] == [
            {**each, "last_delivered": {"message_id": message["id"], "at": told["at"]}}
            if each["user_id"] == bob.id
            else each
            for each in (await ann.thread(thread_id))["thread"]["participants"]
        ]

    async def test_block_looks_like_someone_who_is_away(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        await ann.write_to(bob, "before")
        await bob.block(ann)
        cursor = await ann.cursor()
        await bob.poll(name)
        assert await statuses(ann, name) == ["sent"]
        assert await ann.sync(cursor) == []

    async def test_own_messages_deliver_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob)
        cursor = await bob.cursor()
        await ann.poll(pair(ann, bob))
        assert await bob.sync(cursor) == []


class TestJob:
    async def test_conversation_has_the_latest_and_each_message_its_own(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        first = await ann.write_to(bob, "one", jobId=42)
        second = await bob.write_to(ann, "two")
        third = await ann.write_to(bob, "three", jobId="loft 7")
        assert [each.get("jobId") for each in (first, second, third)] == [42, None, "loft 7"]
        for viewer in (ann, bob):
            shown = [each.get("jobId") for each in await viewer.poll(name)]
            assert shown == [42, None, "loft 7"]
            [listed] = await viewer.conversations()
            assert listed["jobId"] == "loft 7"

    async def test_others_hear_that_the_thread_is_about_another(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob, "one", jobId=1)
        cursor = await bob.cursor()
        await ann.write_to(bob, "two", jobId=2)
        told = {each["type"]: each for each in await bob.sync(cursor)}
        assert told.keys() == {"message.new", "thread.changed"}
        assert told["thread.changed"]["thread"]["job_id"] == "2"
        cursor = await bob.cursor()
        await ann.write_to(bob, "three", jobId=2)
        assert [each["type"] for each in await bob.sync(cursor)] == ["message.new"]

    async def test_repeat_under_a_key_changes_nothing(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob, "zero")
        new = {"receiverId": bob.id, "content": "one", "type": "text", "jobId": 1}
        first = await ann.post("/messages/send", new, key="job")
        await ann.write_to(bob, "two", jobId=2)
        again = await ann.post("/messages/send", new, key="job")
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json()["message"] == first.json()["message"]
        [listed] = await ann.conversations()
        assert listed["jobId"] == 2
        assert len(await bob.poll(pair(ann, bob))) == 3

    async def test_job_of_others_is_none_of_theirs(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.write_to(carl, jobId=5)
        job = f"of-{ann.id}"
        members = {"participants": [ann.id, bob.id]}
        assert (await api.backend.put(f"/v1/jobs/{job}", members)).status_code == 201
        new = {"receiverId": carl.id, "content": "Hello", "type": "text", "jobId": job}
        assert await ann.refusal("POST", "/messages/send", new) == (404, "NOT_FOUND")
        [listed] = await carl.conversations()
        assert listed["jobId"] == 5


class TestChanges:
    async def test_changes_come_by_themselves_and_since_stays_with_new_ones(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        for content in ("one", "two", "three"):
            await ann.write_to(bob, content)
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        one, two, _ = await ann.messages(thread_id)
        last = (await bob.poll(name))[-1]
        assert await changed(bob, name, 0) == ([], False)
        api.clock.advance(minutes=1)
        await ann.edit(two, "Two")
        await ann.remove(one)
        assert await bob.poll(name, since=last["createdAt"]) == []
        found, has_more = await changed(bob, name, last["updatedAt"])
        assert [(each["content"], each.get("deleted")) for each in found] == [
            ("Two", None),
            ("", True),
        ]
        assert not has_more
        assert found[0]["updatedAt"] < found[1]["updatedAt"]
        assert await changed(bob, name, found[1]["updatedAt"]) == ([], False)
        assert [each.get("deleted") for each in await bob.poll(name)] == [True, None, None]

    async def test_pages_miss_no_change_however_fast_they_come(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        name = pair(ann, bob)
        for number in range(5):
            await ann.write_to(bob, str(number))
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        said = await ann.messages(thread_id)
        # The clock stands still meanwhile.
        for number in (3, 0, 4, 1, 2):
            await ann.edit(said[number], f"{number} again")
        seen: list[str] = []
        since: Any = 0
        has_more = True
        while has_more:
            found, has_more = await changed(bob, name, since, limit=2)
            seen += [each["content"] for each in found]
            since = found[-1]["updatedAt"]
        assert seen == [f"{number} again" for number in (3, 0, 4, 1, 2)]

    async def test_what_one_may_not_see_does_not_come(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        [first] = await ann.messages(thread_id)
        await api.backend.add(thread_id, carl.id, "host")
        await ann.edit(first, "Before Carl came")
        assert await changed(carl, thread_id, 0) == ([], False)
        assert len((await changed(bob, thread_id, 0))[0]) == 1

    @pytest.mark.parametrize("params", [{"since": 0, "updatedSince": 0}, {"updatedSince": "now"}])
    async def test_moments_are_asked_for_one_at_a_time(self, api: Api, params: Json) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob)
        query = {"conversationId": pair(ann, bob), **params}
        refused = await ann.refusal("GET", "/messages/list", params=query)
        assert refused == (400, "INVALID_REQUEST")

    @pytest.mark.parametrize("since", [2**52, "9999-12-31T23:59:59.999Z", "1970-01-01"])
    async def test_any_moment_can_be_asked_for(self, api: Api, since: Any) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob)
        assert await changed(bob, pair(ann, bob), since) == ([], False)
