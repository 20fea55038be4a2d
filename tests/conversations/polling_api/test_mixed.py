"""One conversation, two faces: whatever two people do by either API, both tell the same."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from tests.support import IS_FULL
from tests.support.api import Api, Json, Person

ACTS = (
    ["write"] * 5
    + ["send"] * 3
    + ["poll"] * 4
    + ["edit", "delete", "read", "mark", "block", "unblock", "notice", "thread", "tick"]
)


class Talk:
    """Two people, and what each has polled so far."""

    def __init__(self, api: Api, one: Person, other: Person) -> None:
        self.api = api
        self.people = (one, other)
        self.name = "conv_" + "_".join(sorted((one.id, other.id)))
        self.polled: dict[str, list[Json]] = {one.id: [], other.id: []}
        self.threads: dict[str, str] = {}

    async def act(self, what: str, number: int) -> None:
        one, other = self.people[:: 1 if number % 2 else -1]
        thread_id = await self.thread_of(one)
        if what == "write":
            new = {"receiverId": other.id, "content": f"w{number}", "type": "text"}
            assert (await one.post("/messages/send", new)).status_code in (201, 403)
        elif what == "poll":
            await self.poll(one)
        elif what == "tick":
            self.api.clock.advance(seconds=number / 100 - 0.1)
        elif what == "block":
            await one.block(other)
        elif what == "unblock":
            await one.unblock(other)
        elif thread_id is not None:
            await self.act_in(thread_id, what, one, number)

    async def act_in(self, thread_id: str, what: str, one: Person, number: int) -> None:
        path = f"/v1/threads/{thread_id}"
        said = await one.messages(thread_id)
        own = [each for each in said if each["author_id"] == one.id]
        if what == "send":
            answer = await one.post(f"{path}/messages", one.draft(f"s{number}"))
            assert answer.status_code in (201, 403)
        elif what == "edit" and own:
            message_id = own[number % len(own)]["id"]
            await one.patch(f"{path}/messages/{message_id}", {"body": f"e{number}"})
        elif what == "delete" and own:
            await one.remove(own[number % len(own)])
        elif what == "read":
            await one.read(thread_id, said[number % len(said)]["id"])
        elif what == "mark":
            body = {"conversationId": self.name}
            assert (await one.post("/messages/markAsRead", body)).status_code == 200
            assert (await one.row(thread_id))["unread_count"] == 0
        elif what == "notice":
            await self.api.backend.post(f"{path}/promote", {"leg_id": "leg_1"})
        elif what == "thread" and all([await self.thread_of(each) for each in self.people]):
            # Another thread of the two changes nothing of the first.
            new = {"kind": "inquiry", "to": self.other(one).id, "first_message": one.draft("x")}
            await one.post("/v1/threads", new)

    def other(self, one: Person) -> Person:
        return self.people[0] if one is self.people[1] else self.people[1]

    async def thread_of(self, viewer: Person) -> str | None:
        """The pair's thread: the first that ever came into this inbox."""
        if viewer.id not in self.threads:
            for item in (await viewer.inbox())["items"]:
                self.threads[viewer.id] = item["thread"]["id"]
        return self.threads.get(viewer.id)

    async def poll(self, viewer: Person) -> None:
        seen = self.polled[viewer.id]
        since: Any = seen[-1]["createdAt"] if seen else 0
        params = {"conversationId": self.name, "since": since, "limit": 50}
        answer = await viewer.get("/messages/list", **params)
        if await self.thread_of(viewer) is None:
            assert answer.status_code == 404
            return
        assert answer.status_code == 200, answer.text
        seen += answer.json()["messages"]
        if answer.json()["hasMore"]:
            await self.poll(viewer)

    async def check(self, viewer: Person) -> None:
        await self.poll(viewer)
        thread_id = await self.thread_of(viewer)
        fed = [
            each["message"]
            for each in await viewer.sync()
            if each["type"] == "message.new" and each["thread_id"] == thread_id
        ]
        told = [each for each in fed if each["kind"] == "text"]
        polled = self.polled[viewer.id]
        assert [each["id"].rpartition("_")[2] for each in polled] == [
            each["id"].removeprefix("msg_") for each in told
        ]
        if thread_id is None:
            return
        now = await self.everything(viewer)
        assert [(each["content"], each["createdAt"], each["senderId"]) for each in now] == [
            (each["body"], each["created_at"], each["author_id"]) for each in told
        ]
        await self.check_reading(viewer, thread_id, now, fed)

    async def everything(self, viewer: Person) -> list[Json]:
        found: list[Json] = []
        more = True
        while more:
            since = found[-1]["createdAt"] if found else 0
            params = {"conversationId": self.name, "since": since, "limit": 3}
            page = (await viewer.get("/messages/list", **params)).json()
            found += page["messages"]
            more = page["hasMore"]
        return found

    async def check_reading(
        self, viewer: Person, thread_id: str, now: list[Json], fed: list[Json]
    ) -> None:
        thread = (await viewer.thread(thread_id))["thread"]
        marks, delivered = [
            {
                each["user_id"]: (each[kind] or {"message_id": ""})["message_id"]
                for each in thread["participants"]
            }
            for kind in ("last_read", "last_delivered")
        ]
        for each in now:
            message_id, receiver = "msg_" + each["id"].rpartition("_")[2], each["receiverId"]
            has_it = receiver == viewer.id or message_id <= delivered[receiver]
            unread = "delivered" if has_it else "sent"
            assert each["status"] == ("read" if message_id <= marks[receiver] else unread)
        [listed] = [each for each in await viewer.conversations() if each["id"] == self.name]
        assert listed["unreadCount"] == {
            user_id: sum(
                each["id"] > mark and each["author_id"] != user_id and not each["deleted_at"]
                for each in fed
            )
            for user_id, mark in marks.items()
        }
        assert listed.get("lastMessage") == (now[-1]["content"] if now else None)


@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 20)), max_size=25))
@settings(
    max_examples=40 if IS_FULL else 12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
async def test_polling_and_the_feed_agree_for_both(api: Api, acts: list[tuple[str, int]]) -> None:
    talk = Talk(api, *await api.people("ann_a", "bob_b"))
    for what, number in acts:
        await talk.act(what, number)
    for person in talk.people:
        await talk.check(person)
