"""Wake-ups between servers are hints: if they are lost or repeated, nothing is missed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NoReturn

import asyncpg
import pytest

from greenroom.conversations.store import Changes, FeedPosition
from tests.support.api import Api

from .conftest import NewServer
from .listeners import until
from .server import STREAMS, TRANSPORTS, Server

# Than the next recheck that comes by itself, with the tenth beat.
SOONER_S = 5

CUT_BUSES = """
select pg_terminate_backend(pid) from pg_stat_activity
where application_name = 'greenroom-bus' and datname = current_database()
"""


async def refuse() -> NoReturn:
    raise ConnectionRefusedError


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_what_is_written_on_one_server_is_heard_on_the_other(
    api: Api, server: Server, other: Server, transport: str
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with (
        server.listen(transport, bob, await bob.cursor()) as here,
        other.listen(transport, bob, await bob.cursor()) as there,
    ):
        for at in (server, other):
            path = f"/v1/threads/{thread_id}/messages"
            sent = (await at.call(ann, "POST", path, json=ann.draft())).json()
            for listener in (here, there):
                assert (await listener.hear())["message"]["id"] == sent["id"]


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_bus_that_is_cut_delays_and_loses_nothing(
    api: Api, other: Server, pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await api.people("ann", "bob")
    first = (await ann.start(bob))["message"]
    thread_id = first["thread_id"]
    async with other.websocket(bob) as socket, other.event_source(bob) as source:
        for stream in (socket, source):
            await stream.hear_until(first)
        other.rooms.realtime._ticks = 0
        with monkeypatch.context() as cable:
            cable.setattr(other.rooms.bus, "_connect", refuse)
            await pool.fetch(CUT_BUSES)
            await until(lambda: not other.rooms.bus.is_connected)
            sent = await ann.send(thread_id)
            await other.beat()
            async with asyncio.timeout(SOONER_S):
                for stream in (socket, source):
                    assert await stream.hear_until(sent)
            late = [await ann.send(thread_id) for _ in range(3)]
        # Connected again it makes good by itself what it has missed.
        for stream in (socket, source):
            events = await stream.hear_until(late[-1])
            assert [each["message"]["id"] for each in events] == [each["id"] for each in late]


@pytest.mark.parametrize("transport", STREAMS)
async def test_hints_that_never_come_are_made_good_by_the_recheck(
    api: Api, server: Server, other: Server, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    ann, bob = await api.people("ann", "bob")
    sent = (await ann.start(bob))["message"]
    thread_id = sent["thread_id"]
    monkeypatch.setattr(server.rooms.bus, "publish", lambda _topic, _items: None)
    for at in (server, other):
        async with at.stream(transport, bob) as stream:
            await stream.hear_until(sent)
            for _ in range(2):
                sent = await ann.send(thread_id)
                hearing = asyncio.create_task(stream.hear_until(sent))
                async with asyncio.timeout(SOONER_S):
                    while not hearing.done():
                        await at.rooms.realtime.feeds.recheck()
                [event] = await hearing
                assert event["type"] == "message.new"


async def test_recheck_comes_with_the_tenth_beat(
    api: Api, server: Server, other: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await api.people("ann", "bob")
    first = (await ann.start(bob))["message"]
    monkeypatch.setattr(server.rooms.bus, "publish", lambda _topic, _items: None)
    async with other.websocket(bob) as socket:
        await socket.hear_until(first)
        sent = await ann.send(first["thread_id"])
        await other.beat(10)
        assert await socket.hear_until(sent)


async def test_recheck_counts_for_those_who_are_being_served_too(
    api: Api, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await api.people("ann", "bob")
    first = (await ann.start(bob))["message"]
    store, gate, has_looked = server.rooms.store, asyncio.Event(), asyncio.Event()
    look = store.changes_of_many

    async def look_and_wait(positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        pages = await look(positions, limit)
        has_looked.set()
        await gate.wait()
        return pages

    server.rooms.realtime._ticks = 0
    monkeypatch.setattr(server.rooms.bus, "publish", lambda _topic, _items: None)
    monkeypatch.setattr(store, "changes_of_many", look_and_wait)
    async with server.websocket(bob) as socket:
        await has_looked.wait()
        sent = await ann.send(first["thread_id"])
        await server.rooms.realtime.feeds.recheck()
        gate.set()
        async with asyncio.timeout(SOONER_S):
            assert await socket.hear_until(sent)


@pytest.mark.parametrize("conversations", ["dynamodb"], indirect=True)
async def test_servers_without_a_bus_hear_of_each_other_with_the_next_beat(
    api: Api, new_server: NewServer
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with (
        new_server(nats_url=None) as first,
        new_server(nats_url=None) as second,
        second.websocket(bob, since=await bob.cursor()) as socket,
    ):
        for _ in range(2):
            path = f"/v1/threads/{thread_id}/messages"
            sent = (await first.call(ann, "POST", path, json=ann.draft())).json()
            await second.beat()
            async with asyncio.timeout(SOONER_S):
                assert await socket.hear_until(sent)


async def test_nats_wakes_the_other_server_too(
    api: Api, new_server: NewServer, nats_url: str
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with (
        new_server(nats_url=nats_url) as first,
        new_server(nats_url=nats_url) as second,
        first.websocket(ann, since=await ann.cursor()) as hers,
        second.websocket(bob, since=await bob.cursor(), watch=thread_id) as his,
    ):
        answer = await hers.ask("send", thread_id=thread_id, **ann.draft())
        assert (await his.hear_of("message.new"))["message"]["id"] == answer["message"]["id"]
        await hers.ask("typing", thread_id=thread_id, on=True)
        assert (await his.hear_of("typing"))["user_id"] == ann.id
