"""Delivered: what a client has acknowledged, as far as those who wrote may know."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.api import Api, Json, Person

from .server import STREAMS, TRANSPORTS, Server


async def receipts(person: Person, since: str | None = None) -> list[tuple[str, str, int]]:
    """Who, what kind, up to where: in the order of this person's feed."""
    found = [each["receipt"] for each in await person.sync(since) if each["type"] == "receipt"]
    return [(each["user_id"], each["kind"], each["seq"]) for each in found]


def seat_of(thread: Json, person: Person) -> Json:
    [seat] = [each for each in thread["participants"] if each["user_id"] == person.id]
    found: Json = seat
    return found


async def delivered(viewer: Person, thread_id: str, person: Person) -> Json | None:
    thread = (await viewer.thread(thread_id))["thread"]
    mark: Json | None = seat_of(thread, person)["last_delivered"]
    return mark


class TestAcknowledging:
    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_whoever_comes_with_a_cursor_has_what_was_before_it(
        self, api: Api, server: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        sent = await ann.send(thread_id)
        async with server.listen("websocket", ann, await ann.cursor()) as hers:
            last = await bob.cursor()
            await ann.send(thread_id, "Not yet")
            async with server.listen(transport, bob, last) as his:
                await his.hear()
                receipt = (await hers.hear_of("receipt"))["receipt"]
        assert receipt == {
            "user_id": bob.id, "kind": "delivered", "message_id": sent["id"], "seq": 2,
            "at": receipt["at"],
        }  # fmt: skip

    @pytest.mark.parametrize("transport", STREAMS)
    async def test_stream_says_it_as_it_goes(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with (
            server.websocket(ann, since=await ann.cursor()) as hers,
            other.websocket(bob, since=await bob.cursor()) as his,
        ):
            assert (await hers.hear_of("receipt"))["receipt"]["seq"] == 1
            for seq in (2, 3):
                sent = await ann.send(thread_id)
                [event] = await his.hear_until(sent)
                if transport == "websocket":
                    await his.say({"type": "ack", "cursor": event["cursor"]})
                else:
                    await other.ack(bob, event["cursor"])
                receipt = (await hers.hear_of("receipt"))["receipt"]
                assert (receipt["kind"], receipt["seq"]) == ("delivered", seq)

    async def test_polling_without_a_cursor_says_nothing(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        await server.sync(bob)
        async with server.websocket(bob) as socket:
            await socket.hear()
        assert await receipts(ann) == []

    async def test_many_messages_arrive_with_one_receipt(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for _ in range(4):
            await ann.send(thread_id)
        await server.ack(bob, await bob.cursor())
        assert await receipts(ann) == [(bob.id, "delivered", 5)]

    async def test_goes_forward_only_however_acknowledgements_come(
        self, api: Api, server: Server, other: Server, seed: random.Random
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for _ in range(30):
            await ann.send(thread_id)
        cursors = [each["cursor"] for each in await bob.sync()]
        seed.shuffle(cursors)
        await asyncio.gather(*(seed.choice((server, other)).ack(bob, cursor) for cursor in cursors))
        told = await receipts(ann)
        seqs = [seq for _, _, seq in told]
        assert seqs == sorted(set(seqs))
        assert told[-1] == (bob.id, "delivered", 31)
        before = await ann.cursor()
        for cursor in cursors[:5]:
            await server.ack(bob, cursor)
        assert await receipts(ann, before) == []

    async def test_cursor_of_elsewhere_counts_for_nothing(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        await ann.thread_with(bob)
        cursor = "0000-" + (await bob.cursor()).partition("-")[2]
        async with server.websocket(bob) as socket:
            await server.ack(bob, cursor)
            assert (await socket.ask("ack", cursor=cursor))["type"] == "done"
            assert (await server.sync(bob, since=cursor))["events"][0]["type"] == "reset"
        assert await receipts(ann) == []

    async def test_cursor_ahead_counts_for_nothing_that_comes_later(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        ahead = (await bob.cursor()).partition("-")[0] + "-ffffffff"
        async with server.websocket(bob) as socket:
            await server.ack(bob, ahead)
            assert (await socket.ask("ack", cursor=ahead))["type"] == "done"
            assert (await server.sync(bob, since=ahead))["events"][0]["type"] == "reset"
        since = await ann.cursor()
        await ann.send(thread_id)
        await server.sync(bob, since=(await bob.sync())[0]["cursor"])
        assert await receipts(ann, since) == []
        await server.ack(bob, await bob.cursor())
        assert await receipts(ann, since) == [(bob.id, "delivered", 2)]

    async def test_is_no_news_to_those_who_acknowledge(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await bob.send(thread_id)
        for _ in range(3):
            for person in (ann, bob):
                await server.ack(person, await person.cursor())
        assert await receipts(ann) == [(bob.id, "delivered", 1)]
        assert await receipts(bob) == [(ann.id, "delivered", 2)]

    async def test_calls_of_strangers_and_backends_are_refused(
        self, api: Api, server: Server
    ) -> None:
        body = {"cursor": "0000-1"}
        for who, status in ((None, 401), (api.backend, 403)):
            answer = await server.call(who, "POST", "/v1/sync/ack", json=body)
            assert answer.status_code == status


class TestWhoMayKnow:
    async def test_everybody_in_the_thread_and_nobody_else(self, api: Api, server: Server) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        await ann.thread_with(bob, carl)
        await bob.thread_with(dora)
        await server.ack(bob, await bob.cursor())
        for person in (ann, carl):
            assert await receipts(person) == [(bob.id, "delivered", 1)]
        assert await receipts(dora) == []

    @pytest.mark.parametrize("is_blocker_acking", [True, False])
    async def test_not_across_a_block(
        self, api: Api, server: Server, is_blocker_acking: bool
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        last = await bob.cursor()
        blocker, blocked = (bob, ann) if is_blocker_acking else (ann, bob)
        await blocker.block(blocked)
        await server.ack(bob, last)
        assert await receipts(ann) == []
        assert await delivered(ann, thread_id, bob) is None
        await blocker.unblock(blocked)
        await ann.send(thread_id)
        await server.ack(bob, await bob.cursor())
        assert await receipts(ann) == [(bob.id, "delivered", 2)]

    async def test_not_of_messages_that_only_some_see(self, api: Api, server: Server) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        await carl.block(ann)
        await ann.send(thread_id, "Carl does not see this")
        await server.ack(bob, await bob.cursor())
        for viewer in (ann, carl):
            assert await receipts(viewer) == [(bob.id, "delivered", 1)]
        since = await ann.cursor()
        await ann.send(thread_id, "Nor this")
        await server.ack(bob, await bob.cursor())
        assert await receipts(ann, since) == []

    async def test_not_in_threads_of_more_than_ten(self, api: Api, server: Server) -> None:
        ann, *others = await api.people("ann", *(f"other{number}" for number in range(10)))
        small, large = await ann.thread_with(*others[:9]), await ann.thread_with(*others)
        for person in others:
            await server.ack(person, await person.cursor())
        assert await delivered(ann, small, others[0]) is not None
        assert await delivered(ann, large, others[0]) is None
        assert {each[0] for each in await receipts(ann)} == {each.id for each in others[:9]}
        events = [each for each in await ann.sync() if each["type"] == "receipt"]
        assert {each["thread_id"] for each in events} == {small}

    async def test_not_of_what_was_there_before_one_came(self, api: Api, server: Server) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        await api.backend.add(thread_id, carl.id, "support")
        await server.ack(bob, await bob.cursor())
        assert await receipts(ann) == [(bob.id, "delivered", 1)]
        assert await receipts(carl) == []


class TestAgreement:
    async def test_thread_shows_what_the_events_tell(
        self, api: Api, server: Server, other: Server, seed: random.Random
    ) -> None:
        people = await api.people("ann", "bob", "carl")
        thread_id = await people[0].thread_with(*people[1:])

        async def act(person: Person) -> None:
            for _ in range(10):
                if seed.random() < 0.5:
                    await person.send(thread_id)
                else:
                    await seed.choice((server, other)).ack(person, await person.cursor())

        await asyncio.gather(*(act(person) for person in people))
        for viewer in people:
            marks: dict[str, Json] = {}
            for event in await viewer.sync():
                if event["type"] == "receipt" and event["receipt"]["kind"] == "delivered":
                    receipt = event["receipt"]
                    mark = {"message_id": receipt["message_id"], "at": receipt["at"]}
                    assert mark["message_id"] > marks.get(receipt["user_id"], {}).get(
                        "message_id", ""
                    )
                    marks[receipt["user_id"]] = mark
            thread = (await viewer.thread(thread_id))["thread"]
            for person in people:
                if person is not viewer:
                    assert seat_of(thread, person)["last_delivered"] == marks.get(person.id)

    async def test_simple_api_goes_from_sent_to_delivered_to_read(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        message = await ann.write_to(bob)
        conversation = message["conversationId"]

        async def status() -> str:
            [shown] = await ann.poll(conversation)
            found: str = shown["status"]
            return found

        assert message["status"] == await status() == "sent"
        await server.ack(bob, await bob.cursor())
        assert await status() == "delivered"
        [event] = [each for each in await bob.sync() if each["type"] == "message.new"]
        await bob.read(event["thread_id"], event["message"]["id"])
        assert await status() == "read"
        assert await receipts(ann) == [(bob.id, "delivered", 1), (bob.id, "read", 1)]
