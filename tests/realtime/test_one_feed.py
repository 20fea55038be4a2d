"""All transports deliver the same events, once and in the same order."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.support.api import Api, Json, Person
from tests.support.clock import FakeClock

from .listeners import until
from .server import STREAMS, TRANSPORTS, Server

NUMBER_AHEAD = "ffffff"


async def history(ann: Person, bob: Person) -> list[Json]:
    """Something of every type, in Bob's feed."""
    thread_id = await ann.thread_with(bob)
    message = await ann.send(thread_id, "*Hello*")
    await ann.edit(message, "**Hello**")
    gone = await ann.send(thread_id, "Never mind")
    await ann.remove(gone)
    answer = await bob.send(thread_id, "Hi", reply_to=message["id"])
    await ann.read(thread_id, answer["id"])
    await bob.patch(f"/v1/threads/{thread_id}/me", {"starred": True})
    return await bob.sync()


class TestAllTransports:
    async def test_tell_the_same_in_the_same_order_and_the_same_json(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        events = await history(ann, bob)
        assert {each["type"] for each in events} >= {
            "thread.changed", "message.new", "message.edited", "message.deleted", "receipt",
            "inbox.changed",
        }  # fmt: skip
        for since, rest in ((None, events), (events[3]["cursor"], events[4:])):
            for transport in TRANSPORTS:
                async with server.listen(transport, bob, since) as listener:
                    heard = await listener.hear_many(len(rest))
                assert json.dumps(heard) == json.dumps(rest), transport

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_tell_what_happens_while_they_listen(
        self, api: Api, server: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with server.listen(transport, bob, await bob.cursor()) as listener:
            for number in range(3):
                sent = await ann.send(thread_id, f"{number}")
                event = await listener.hear()
                assert (event["type"], event["message"]["id"]) == ("message.new", sent["id"])

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_begin_at_the_oldest_event_kept(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        since = (await bob.sync())[0]["cursor"]
        clock.advance(days=8)
        await server.rooms.prune()
        kept = await ann.send(thread_id, "Still here")
        async with server.listen(transport, bob) as listener:
            assert (await listener.hear())["message"]["id"] == kept["id"]
        async with server.listen(transport, bob, since) as listener:
            assert (await listener.hear())["type"] == "reset"

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_reset_whoever_comes_with_a_cursor_that_means_nothing(
        self, api: Api, server: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        head = await bob.cursor()
        epoch = head.partition("-")[0]
        for since in ("0000-1", f"{epoch}-{NUMBER_AHEAD}"):
            head = await bob.cursor()
            async with server.listen(transport, bob, since) as listener:
                event = await listener.hear()
                assert event == {"type": "reset", "cursor": head, "at": event["at"]}
                sent = await ann.send(thread_id)
                [event] = await listener.hear_until(sent)
                assert event["type"] == "message.new"

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_go_through_more_than_a_page(
        self, api: Api, server: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await asyncio.gather(*(ann.send(thread_id, f"{number}") for number in range(120)))
        events = await bob.sync()
        assert len(events) == 122
        async with server.listen(transport, bob) as listener:
            assert await listener.hear_many(len(events)) == events
            last = await ann.send(thread_id, "One more")
            [_] = await listener.hear_until(last)

    @pytest.mark.parametrize("transport", TRANSPORTS)
    async def test_refuse_what_is_no_cursor(self, api: Api, server: Server, transport: str) -> None:
        [bob] = await api.people("bob")
        if transport in STREAMS:
            refusal = await server.refusal(transport, bob, since="yesterday")
        else:
            wait = 1 if transport == "longpoll" else 0
            answer = await server.call(bob, "GET", "/v1/sync", since="yesterday", wait=wait)
            refusal = answer.status_code, answer.json()["code"]
        assert refusal == (400, "INVALID_REQUEST")


class TestEventSource:
    async def test_goes_on_after_the_last_event_id_whatever_the_address_says(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        events = await history(ann, bob)
        headers = {"last-event-id": events[4]["cursor"]}
        since = events[0]["cursor"]
        async with server.stream("sse", bob, since=since, headers=headers) as source:
            assert await source.hear_many(len(events) - 5) == events[5:]

    async def test_is_not_buffered_or_kept_on_its_way(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        async with server.event_source(bob) as source:
            headers = source.response.headers
            assert headers["content-type"] == "text/event-stream"
            assert headers["cache-control"] == "no-store"
            assert headers["x-accel-buffering"] == "no"
            assert "content-length" not in headers
            assert source.hello["stream"].startswith("str_")

    async def test_head_tells_of_the_stream_and_opens_none(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        answer = await server.call(bob, "HEAD", "/v1/stream")
        assert (answer.status_code, answer.content) == (200, b"")
        assert bob.id not in server.open_for


class TestLongPoll:
    async def test_answers_with_the_first_event(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        since = await bob.cursor()
        asking = asyncio.create_task(server.sync(bob, since=since, wait=30))
        await until(lambda: bob.id in server.open_for)
        sent = await ann.send(thread_id)
        page = await asking
        assert [each["message"]["id"] for each in page["events"]] == [sent["id"]]
        assert page["cursor"] == page["events"][-1]["cursor"]
        assert page["has_more"] is False
        assert bob.id not in server.open_for

    async def test_is_empty_after_its_time(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        since = await bob.cursor()
        page = await server.sync(bob, since=since, wait=1)
        assert page == {"events": [], "cursor": since, "has_more": False}

    @pytest.mark.parametrize("wait", [0, 30])
    async def test_is_a_page_like_any_other(self, api: Api, server: Server, wait: int) -> None:
        ann, bob = await api.people("ann", "bob")
        events = await history(ann, bob)
        page = await server.sync(bob, wait=wait, limit=3)
        assert page == {"events": events[:3], "cursor": events[2]["cursor"], "has_more": True}
        page = await server.sync(bob, wait=wait, limit=100, since=page["cursor"])
        assert page == {
            "events": events[3:], "cursor": events[-1]["cursor"], "has_more": False,
        }  # fmt: skip

    async def test_larger_than_the_streams_page_leads_on(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        for number in range(70):
            await ann.send(thread_id, f"{number}")
        page = await server.sync(bob, wait=30, limit=100)
        rest = await server.sync(bob, since=page["cursor"])
        assert page["has_more"] is True
        assert page["events"] + rest["events"] == await bob.sync()

    @pytest.mark.parametrize(
        "params", [{"wait": 31}, {"wait": -1}, {"wait": "soon"}, {"wait": 1, "limit": 0},
                   {"wait": 1, "limit": 101}],
    )  # fmt: skip
    async def test_takes_half_a_minute_and_a_page_at_most(
        self, api: Api, server: Server, params: Json
    ) -> None:
        [bob] = await api.people("bob")
        answer = await server.call(bob, "GET", "/v1/sync", **params)
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
