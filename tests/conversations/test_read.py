"""Read marks, receipts, unread counts, and the inbox that shows them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.api import Api, Json, Person


def mark_in(thread: Json, person: Person) -> str | None:
    """How far others see that this person has read."""
    [seat] = [each for each in thread["participants"] if each["user_id"] == person.id]
    return seat["last_read"]["message_id"] if seat["last_read"] else None


def is_of_delivery(event: Json) -> bool:
    """Syncing acknowledges, and the others hear of that too."""
    return bool(event["type"] == "receipt" and event["receipt"]["kind"] == "delivered")


class TestReading:
    async def test_unread_counts_what_others_wrote_after_the_mark(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        second = await ann.send(thread_id)
        await bob.send(thread_id, "My own")
        await ann.send(thread_id)
        assert (await bob.row(thread_id))["unread_count"] == 3
        inbox = await bob.read(thread_id, second["id"])
        assert (inbox["unread_count"], inbox["last_read"]["message_id"]) == (1, second["id"])
        assert (await ann.row(thread_id))["unread_count"] == 1

    async def test_mark_only_moves_forward(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        [first] = await bob.messages(thread_id)
        second = await ann.send(thread_id)
        after = await bob.read(thread_id, second["id"])
        since, heard = await ann.cursor(), await bob.cursor()
        api.clock.advance(seconds=1)
        for up_to in (first["id"], second["id"]):
            assert await bob.read(thread_id, up_to) == after
        assert await ann.sync(since) == await bob.sync(heard) == []

    async def test_others_get_a_receipt_and_the_reader_their_row(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        message = await ann.send(thread_id)
        places = [await each.cursor() for each in (ann, bob, carl)]
        await bob.read(thread_id, message["id"])
        [to_ann], [to_bob], [to_carl] = [
            [event for event in await each.sync(place) if not is_of_delivery(event)]
            for each, place in zip((ann, bob, carl), places, strict=True)
        ]
        assert to_ann["receipt"] == {
            "user_id": bob.id,
            "kind": "read",
            "message_id": message["id"],
            "seq": 2,
            "at": to_ann["at"],
        }
        assert to_carl["receipt"] == to_ann["receipt"]
        assert (to_bob["type"], to_bob["inbox"]["unread_count"]) == ("inbox.changed", 0)
        assert mark_in((await ann.thread(thread_id))["thread"], bob) == message["id"]

    async def test_message_that_is_not_there_is_not_read(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        [elsewhere] = await bob.messages(await ann.thread_with(bob))
        for up_to in (elsewhere["id"], "msg_nowhere", ""):
            refusal = await bob.refusal("POST", f"/v1/threads/{thread_id}/read", {"up_to": up_to})
            assert refusal == (404, "NOT_FOUND")
        assert (await bob.row(thread_id))["unread_count"] == 1

    async def test_receipt_names_no_message_from_before_one_joined(self, api: Api) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        old = await ann.send(thread_id, "Between us")
        await api.backend.add(thread_id, carl.id, "host")
        since = await carl.cursor()
        await bob.read(thread_id, old["id"])
        assert old["id"] not in str(await carl.sync(since))


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["send", "read", "delete"]), st.integers(0, 1), st.integers(0, 9)
        ),
        max_size=12,
    )
)
async def test_unread_is_exact_after_any_history(
    api: Api, steps: list[tuple[str, int, int]]
) -> None:
    pair = await api.people("ann", "bob")
    started = await pair[0].start(pair[1])
    thread_id, sent, marks = started["thread"]["id"], [started["message"]], ["", ""]
    for verb, who, place in steps:
        person, message = pair[who], sent[place % len(sent)]
        if verb == "send":
            sent.append(await person.send(thread_id))
        elif verb == "read":
            await person.read(thread_id, message["id"])
            marks[who] = max(marks[who], message["id"])
        elif message["author_id"] == person.id:
            sent[place % len(sent)] = await person.remove(message)
    for person, mark in zip(pair, marks, strict=True):
        theirs = [m for m in sent if m["author_id"] != person.id and not m["deleted_at"]]
        unread = sum(message["id"] > mark for message in theirs)
        assert (await person.row(thread_id))["unread_count"] == unread


class TestInbox:
    async def test_last_activity_comes_first(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        threads = []
        for _ in range(3):
            api.clock.advance(seconds=1)
            threads.append(await ann.thread_with(bob))
        api.clock.advance(seconds=1)
        await bob.send(threads[1])
        order = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
        assert order == [threads[1], threads[2], threads[0]]

    async def test_pages_follow_each_other_without_gap_or_repeat(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        threads = {await ann.thread_with(bob) for _ in range(5)}
        seen: list[str] = []
        cursor: Json = {}
        while True:
            page = await bob.inbox(limit=2, **cursor)
            seen += [each["thread"]["id"] for each in page["items"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert len(seen) == 5
        assert set(seen) == threads

    async def test_counts_are_of_threads_with_something_unread(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        first, second = await ann.start(bob), await ann.start(bob)
        await ann.send(second["thread"]["id"])
        assert (await bob.inbox())["counts"]["all"] == 2
        await bob.read(first["thread"]["id"], first["message"]["id"])
        assert (await bob.inbox())["counts"]["all"] == 1
        assert (await ann.inbox())["counts"]["all"] == 0

    async def test_preview_is_one_short_line(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        started = await ann.start(bob, body="One\n\ntwo " + "x" * 200)
        last = (await bob.row(started["thread"]["id"]))["last_message"]
        assert last["preview"].startswith("One two xxx")
        assert (len(last["preview"]), last["preview"][-1]) == (140, "…")

    @pytest.mark.parametrize(
        "params",
        [{"limit": 0}, {"limit": 101}, {"cursor": "x"}, {"cursor": "!"}, {"cursor": ""},
         {"folder": "secret"}, {"cursor": "fffffffffffffffffffff.x"}, {"cursor": "LTE.eA"}],
    )  # fmt: skip
    async def test_bad_pages_are_refused(self, api: Api, params: Json) -> None:
        [ann] = await api.people("ann")
        assert await ann.refusal("GET", "/v1/inbox", params=params) == (400, "INVALID_REQUEST")
