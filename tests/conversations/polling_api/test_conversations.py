"""Conversations as the simple API lists them, their messages page by page, and reading them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from greenroom.kernel.limits import Limits
from tests.support.api import Api, Json, Person

if TYPE_CHECKING:
    import httpx


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    """One connection, so that statements can be counted."""
    return replace(limits, read_connections=1)


def pair(one: Person, other: Person) -> str:
    return "conv_" + "_".join(sorted((one.id, other.id)))


async def page(viewer: Person, name: str, **params: Any) -> tuple[list[str], bool]:
    answer = await viewer.get("/messages/list", conversationId=name, **params)
    assert answer.status_code == 200, answer.text
    assert answer.json().keys() == {"messages", "hasMore"}
    return [each["content"] for each in answer.json()["messages"]], answer.json()["hasMore"]


async def mark(reader: Person, name: str, key: str | None = None) -> httpx.Response:
    return await reader.post("/messages/markAsRead", {"conversationId": name}, key=key)


async def statuses(viewer: Person, name: str) -> list[str]:
    return [each["status"] for each in await viewer.poll(name)]


class TestList:
    async def test_pages_forward_from_a_moment_and_the_newest_without_one(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        sent = [await ann.write_to(bob, str(number)) for number in range(7)]
        name = pair(ann, bob)
        assert await page(bob, name, limit=3) == (["4", "5", "6"], True)
        assert await page(bob, name, limit=7) == ([str(n) for n in range(7)], False)
        assert await page(bob, name, since=0, limit=3) == (["0", "1", "2"], True)
        assert await page(bob, name, since=sent[2]["createdAt"], limit=4) == (
            ["3", "4", "5", "6"],
            False,
        )
        at_ms = int(sent[4]["id"].split("_")[1])
        assert await page(bob, name, since=at_ms) == (["5", "6"], False)
        assert await page(bob, name, since=at_ms - 1) == (["4", "5", "6"], False)
        assert await page(bob, name, since=sent[6]["updatedAt"]) == ([], False)

    @pytest.mark.parametrize("limit", [0, 51, -1])
    async def test_limit_is_one_to_fifty(self, api: Api, limit: int) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob)
        params = {"conversationId": pair(ann, bob), "limit": limit}
        refusal = await ann.refusal("GET", "/messages/list", params=params)
        assert refusal == (400, "INVALID_REQUEST")

    async def test_what_the_server_says_is_not_listed_and_fills_no_page(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first = await ann.write_to(bob, "one")
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        for _ in range(2):
            await bob.leave(thread_id)
            await api.backend.add(thread_id, bob.id, "seller")
        promote = f"/v1/threads/{thread_id}/promote"
        assert (await api.backend.post(promote, {"leg_id": "leg_1"})).status_code == 200
        name = pair(ann, bob)
        assert await page(ann, name, limit=1) == (["one"], False)
        assert await page(ann, name, since=first["createdAt"], limit=1) == ([], False)
        await ann.write_to(bob, "two")
        assert await page(ann, name, limit=1) == (["two"], True)
        assert await page(ann, name, since=0, limit=1) == (["one"], True)
        assert await page(ann, name, since=first["createdAt"], limit=1) == (["two"], False)
        [listed] = await ann.conversations()
        assert listed["lastMessage"] == "two"

    async def test_last_message_is_a_persons_even_when_the_server_spoke_after_it(
        self, api: Api
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        sent = await ann.write_to(bob, "said")
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        api.clock.advance(minutes=1)
        promote = f"/v1/threads/{thread_id}/promote"
        assert (await api.backend.post(promote, {"leg_id": "leg_1"})).status_code == 200
        [listed] = await bob.conversations()
        assert (listed["lastMessage"], listed["lastMessageAt"]) == ("said", sent["createdAt"])
        assert listed["updatedAt"] > listed["lastMessageAt"]

    async def test_deleted_is_empty_and_edited_is_new_text(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        for content in ("one", "two"):
            await ann.write_to(bob, content)
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        one, two = await ann.messages(thread_id)
        api.clock.advance(minutes=1)
        await ann.remove(two)
        edited = await ann.edit(one, "One")
        shown = await bob.poll(pair(ann, bob))
        assert [each["content"] for each in shown] == ["One", ""]
        assert shown[0]["updatedAt"] == edited["edited_at"]
        assert all(each["updatedAt"] > each["createdAt"] for each in shown)
        [listed] = await bob.conversations()
        assert (listed["lastMessage"], listed["unreadCount"]) == ("", {bob.id: 1, ann.id: 0})

    async def test_any_thread_by_its_own_id(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        await carl.send(thread_id, "from carl")
        hello, from_carl = await bob.poll(thread_id)
        assert (hello["senderId"], hello["receiverId"]) == (ann.id, bob.id)
        assert (from_carl["senderId"], from_carl["receiverId"]) == (carl.id, ann.id)
        assert {hello["conversationId"], from_carl["conversationId"]} == {thread_id}

    async def test_outsider_cannot_tell_a_conversation_from_none(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        await ann.write_to(bob)
        [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        nowhere = "thr_019e33c9ac00zzzzzzzzzzzzzz"
        names = [thread_id, pair(ann, bob), pair(ann, carl), nowhere, "conv_", "conv__", "", "x"]
        for method, path in (("GET", "/messages/list"), ("POST", "/messages/markAsRead")):
            answers = []
            for name in names:
                given: Json = {"conversationId": name}
                answers.append(
                    await carl.call(method, path, params=given)
                    if method == "GET"
                    else await carl.call(method, path, given)
                )
            bodies = [{**each.json(), "corr_id": ""} for each in answers]
            assert bodies == [bodies[0]] * len(bodies)
            assert (bodies[0]["status"], bodies[0]["code"]) == (404, "THREAD_NOT_FOUND")


class TestConversations:
    async def test_conversation_field_for_field(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        opened = await ann.write_to(bob, "Hi! I can start tomorrow", jobId=42)
        api.clock.advance(minutes=2)
        last = await bob.write_to(ann, "Great!  What\ntime?")
        assert await ann.conversations() == [
            {
                "id": pair(ann, bob),
                "participants": [ann.id, bob.id],
                "jobId": 42,
                "lastMessage": "Great! What time?",
                "lastMessageAt": last["createdAt"],
                "unreadCount": {ann.id: 1, bob.id: 1},
                "createdAt": opened["createdAt"],
                "updatedAt": last["createdAt"],
            }
        ]

    async def test_optional_fields_are_left_out(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await api.backend.add(thread_id, carl.id, "host")
        [listed] = await carl.conversations()
        assert listed.keys() == {"id", "participants", "unreadCount", "createdAt", "updatedAt"}
        assert listed["unreadCount"].keys() == {carl.id}

    async def test_last_activity_first_whatever_is_pinned(self, api: Api) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        for other in (bob, carl, dora):
            await ann.write_to(other)
            api.clock.advance(seconds=1)
        oldest = (await ann.inbox())["items"][-1]["thread"]["id"]
        assert (await ann.patch(f"/v1/threads/{oldest}/me", {"pinned": True})).status_code == 200
        await carl.write_to(ann)
        listed = [each["id"] for each in await ann.conversations()]
        assert listed == [pair(ann, carl), pair(ann, dora), pair(ann, bob)]

    async def test_only_the_oldest_thread_of_two_goes_by_their_names(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        oldest = await ann.thread_with(bob)
        api.clock.advance(seconds=1)
        second, group = await bob.thread_with(ann), await ann.thread_with(bob, carl)
        assert {each["id"] for each in await ann.conversations()} == {
            pair(ann, bob),
            second,
            group,
        }
        for name, thread_id in ((pair(ann, bob), oldest), (second, second)):
            await ann.send(thread_id, f"in {name}")
            assert (await bob.poll(name))[-1]["content"] == f"in {name}"
            assert (await bob.poll(name))[-1]["conversationId"] == name
            assert await bob.poll(thread_id) == await bob.poll(name)

    async def test_someone_left_alone_still_reads(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.leave(thread_id)
        [listed] = await ann.conversations()
        assert (listed["id"], listed["participants"]) == (thread_id, [ann.id, bob.id])
        assert len(await ann.poll(thread_id)) == 1
        assert await bob.conversations() == []

    async def test_at_most_the_hundred_newest(self, api: Api) -> None:
        [ann] = await api.people("ann")
        others = await api.people(*(f"other{number}" for number in range(101)))
        for other in others:
            api.clock.advance(seconds=0.001)
            await other.write_to(ann)
        listed = await ann.conversations()
        assert [each["id"] for each in listed] == [pair(ann, each) for each in others[:0:-1]]

    @pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
    async def test_costs_the_same_with_one_and_with_many(self, api: Api) -> None:
        ann, *others = await api.people("ann", *(f"other{number}" for number in range(30)))
        statements: list[str] = []
        async with api.rooms._kept.pools[0].acquire() as connection:
            connection.add_query_logger(lambda record: statements.append(record.query))
        counts = []
        await ann.write_to(others[0])
        for more in (others[:1], others[1:]):
            for other in more:
                await other.write_to(ann)
            for path in (
                "/messages/conversations",
                f"/messages/list?conversationId={pair(ann, others[0])}",
            ):
                await ann.call("GET", path)
                statements.clear()
                await ann.call("GET", path)
                counts.append(len(statements))
        # Two of each begin and end the one snapshot that conversations are read in.
        assert counts == [4, 5, 4, 5]


class TestReading:
    async def test_reads_up_to_the_newest_and_tells_the_sender(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        for content in ("one", "two"):
            await ann.write_to(bob, content)
        name = pair(ann, bob)
        assert await statuses(ann, name) == ["sent", "sent"]
        answer = await mark(bob, name)
        assert answer.json() == {
            "conversationId": name,
            "unreadCount": {bob.id: 0, ann.id: 0},
        }
        assert await statuses(ann, name) == await statuses(bob, name) == ["read", "read"]
        await ann.write_to(bob, "three")
        assert await statuses(ann, name) == ["read", "read", "sent"]
        [at_ann], [at_bob] = await ann.conversations(), await bob.conversations()
        assert at_ann["unreadCount"] == at_bob["unreadCount"] == {ann.id: 0, bob.id: 1}

    async def test_is_the_same_mark_as_everywhere(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob)
        [thread_id] = [each["thread"]["id"] for each in (await bob.inbox())["items"]]
        cursor = await ann.cursor()
        await mark(bob, pair(ann, bob))
        assert [each["type"] for each in await ann.sync(cursor)] == ["receipt"]
        assert (await bob.row(thread_id))["unread_count"] == 0
        sent = await ann.send(thread_id)
        await bob.read(thread_id, sent["id"])
        assert await statuses(ann, pair(ann, bob)) == ["read", "read"]

    async def test_block_looks_like_someone_who_does_not_read(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob, "read")
        name = pair(ann, bob)
        await mark(bob, name)
        await ann.write_to(bob, "read without a sign of it")
        await bob.block(ann)
        await ann.write_to(bob, "unseen")
        await mark(bob, name)
        assert await statuses(ann, name) == ["read", "sent", "sent"]
        [at_ann], [at_bob] = await ann.conversations(), await bob.conversations()
        assert at_ann["unreadCount"] == {ann.id: 0, bob.id: 2}
        assert at_bob["unreadCount"] == {ann.id: 0, bob.id: 0}

    async def test_others_unread_is_counted_to_a_limit(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        for number in range(105):
            await ann.write_to(bob, str(number))
        [at_ann], [at_bob] = await ann.conversations(), await bob.conversations()
        assert at_ann["unreadCount"][bob.id] == 100
        assert at_bob["unreadCount"][bob.id] == 105

    async def test_someone_who_has_seen_nothing_yet(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await api.backend.add(thread_id, carl.id, "host")
        assert (await mark(carl, thread_id)).json()["unreadCount"] == {carl.id: 0}

    async def test_repeat_under_a_key_is_the_first_answer(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.write_to(bob)
        name = pair(ann, bob)
        first = await mark(bob, name, key="k")
        await ann.write_to(bob)
        again = await mark(bob, name, key="k")
        assert again.content == first.content
        assert (await bob.conversations())[0]["unreadCount"][bob.id] == 1
