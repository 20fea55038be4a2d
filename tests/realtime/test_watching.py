"""Typing and presence over streams: of watched threads, once per person, on whichever server."""

from __future__ import annotations

import pytest

from greenroom.kernel.clock import rfc3339
from tests.support.api import Api, Json, Person
from tests.support.clock import FakeClock

from .listeners import Stream
from .server import STREAMS, Server

Sign = tuple[str, str, bool]


async def settled(*servers: Server) -> None:
    for server in servers * 2:
        await server.rooms.presence.settled()


def sign(event: Json) -> Sign:
    assert "cursor" not in event
    is_on: bool = event["on"] if event["type"] == "typing" else event["online"]
    return event["type"], event["user_id"], is_on


async def typing(stream: Stream) -> Sign:
    return sign(await stream.hear_of("typing"))


@pytest.mark.parametrize("transport", STREAMS)
class TestTyping:
    async def test_is_told_on_the_other_server_and_so_is_its_end(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with (
            other.stream(transport, ann, watch=thread_id) as hers,
            server.websocket(bob) as his,
        ):
            await his.ask("typing", thread_id=thread_id, on=True)
            event = await hers.hear_of("typing")
            assert event == {
                "type": "typing", "thread_id": thread_id, "user_id": bob.id, "on": True,
                "at": event["at"],
            }  # fmt: skip
            await his.ask("typing", thread_id=thread_id, on=False)
            assert await typing(hers) == ("typing", bob.id, False)

    async def test_ends_with_the_message(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with (
            other.stream(transport, ann, watch=thread_id) as hers,
            server.websocket(bob) as his,
        ):
            await his.ask("typing", thread_id=thread_id, on=True)
            assert await typing(hers) == ("typing", bob.id, True)
            await his.ask("send", thread_id=thread_id, **bob.draft())
            assert await typing(hers) == ("typing", bob.id, False)

    async def test_of_several_devices_shows_once_and_ends_by_itself(
        self, api: Api, server: Server, other: Server, clock: FakeClock, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with (
            other.stream(transport, ann, watch=thread_id) as hers,
            server.websocket(bob) as phone,
            other.websocket(bob) as laptop,
        ):
            for device in (phone, laptop):
                await device.ask("typing", thread_id=thread_id, on=True)
            assert await typing(hers) == ("typing", bob.id, True)
            clock.advance(seconds=6)
            await laptop.ask("typing", thread_id=thread_id, on=True)
            await phone.ask("typing", thread_id=thread_id, on=False)
            await settled(server, other)
            for _ in range(2):
                clock.advance(seconds=5)
                await other.beat()
            # Ten seconds after what the laptop said last, and not before.
            event = await hers.hear_of("typing")
            assert (event["on"], event["at"]) == (False, rfc3339(clock()))
            await laptop.ask("typing", thread_id=thread_id, on=True)
            assert await typing(hers) == ("typing", bob.id, True)

    async def test_ends_with_its_connection(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with other.stream(transport, ann, watch=thread_id) as hers:
            async with server.websocket(bob) as his:
                await his.ask("typing", thread_id=thread_id, on=True)
                assert await typing(hers) == ("typing", bob.id, True)
            assert await typing(hers) == ("typing", bob.id, False)

    async def test_elsewhere_is_not_told(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        watched, unwatched = await ann.thread_with(bob), await ann.thread_with(bob)
        async with (
            other.stream(transport, ann, watch=watched) as hers,
            server.websocket(bob) as his,
        ):
            await his.ask("typing", thread_id=unwatched, on=True)
            await settled(server, other)
            await his.ask("typing", thread_id=watched, on=True)
            assert (await hers.hear_of("typing"))["thread_id"] == watched

    async def test_that_began_before_is_told_to_whoever_comes(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with server.websocket(bob) as his:
            await his.ask("typing", thread_id=thread_id, on=True)
            async with other.stream(transport, ann, watch=thread_id) as hers:
                assert await typing(hers) == ("typing", bob.id, True)


class TestWatch:
    async def test_takes_the_place_of_the_one_before(
        self, api: Api, server: Server, other: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        before, after = await ann.thread_with(bob), await ann.thread_with(bob)
        async with other.websocket(ann, watch=before) as hers, server.websocket(bob) as his:
            await hers.ask("watch", threads=[after])
            for thread_id in (before, after):
                await his.ask("typing", thread_id=thread_id, on=True)
            assert (await hers.hear_of("typing"))["thread_id"] == after
            await hers.ask("watch", threads=[])
            await his.ask("typing", thread_id=after, on=False)
            await settled(server, other)
            assert [each for each in await hers.heard() if each["type"] == "typing"] == []

    async def test_that_is_refused_leaves_the_one_before(self, api: Api, server: Server) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        own, others = await ann.thread_with(bob), await bob.thread_with(carl)
        async with server.websocket(ann, watch=own) as hers, server.websocket(bob) as his:
            refusal = await hers.refusal("watch", threads=[own, others])
            assert refusal == (404, "THREAD_NOT_FOUND")
            await his.ask("typing", thread_id=own, on=True)
            assert await typing(hers) == ("typing", bob.id, True)

    async def test_ends_for_someone_removed(self, api: Api, server: Server, other: Server) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        async with other.websocket(carl, watch=thread_id) as hers, server.websocket(bob) as his:
            await his.ask("typing", thread_id=thread_id, on=True)
            assert await typing(hers) == ("typing", bob.id, True)
            path = f"/v1/threads/{thread_id}/participants/{carl.id}"
            await server.call(api.backend, "DELETE", path)
            assert await typing(hers) == ("typing", bob.id, False)
            await his.ask("typing", thread_id=thread_id, on=False)
            await his.ask("typing", thread_id=thread_id, on=True)
            await settled(server, other)
            assert [each for each in await hers.heard() if each["type"] == "typing"] == []


@pytest.mark.parametrize("transport", STREAMS)
class TestPresence:
    async def test_comes_with_a_stream_and_goes_a_minute_after_it(
        self, api: Api, server: Server, other: Server, clock: FakeClock, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        clock.advance(minutes=2)
        async with other.stream(transport, ann, watch=thread_id) as hers:
            async with server.stream(transport, bob):
                await server.beat()
                event = await hers.hear_of("presence")
                assert event == {
                    "type": "presence", "thread_id": thread_id, "user_id": bob.id,
                    "online": True, "at": event["at"],
                }  # fmt: skip
                clock.advance(seconds=50)
                for _ in range(server.rooms.settings.limits.presence_refresh_s + 1):
                    await server.beat()
                await settled(server, other)
            clock.advance(seconds=55)
            await other.beat()
            assert await online(ann, thread_id) == [bob.id]
            clock.advance(seconds=10)
            await other.beat()
            assert sign(await hers.hear_of("presence")) == ("presence", bob.id, False)

    async def test_is_given_by_polling_too(
        self, api: Api, server: Server, other: Server, clock: FakeClock, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        clock.advance(minutes=2)
        async with other.stream(transport, ann, watch=thread_id) as hers:
            await server.sync(bob)
            await server.beat()
            assert sign(await hers.hear_of("presence")) == ("presence", bob.id, True)


async def online(viewer: Person, thread_id: str) -> list[str]:
    answer = await viewer.get(f"/v1/threads/{thread_id}/presence")
    people: list[Json] = answer.json()["items"]
    return [each["user_id"] for each in people if each["online"]]
