"""Disconnected clients use no resources."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.api import Api

from .listeners import Mute, until
from .server import STREAMS, Server


@pytest.fixture(autouse=True)
async def nothing_is_left(server: Server) -> AsyncIterator[None]:
    """Of every request there are no tasks, streams, followers or watches when it is over."""
    yield
    state, realtime = server.uvicorn.server_state, server.rooms.realtime
    await until(lambda: not server.open_for and not state.tasks)
    await until(lambda: not realtime.feeds._followers and not realtime.feeds._queue)
    await until(lambda: not server.rooms.presence._watches._of_thread)
    await until(lambda: not stream_tasks())


def stream_tasks() -> list[str]:
    """Whatever runs on behalf of a single connection."""
    names = [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()]
    return [
        name
        for name in names
        if name.startswith(("EventStream.", "Connection._drain", "_hang_up", "LongPoll."))
        or name == "RequestResponseCycle.run_asgi"
    ]


@pytest.mark.parametrize("transport", STREAMS)
async def test_stream_that_its_client_closes_is_forgotten(
    api: Api, server: Server, transport: str
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with server.stream(transport, bob, watch=thread_id) as stream:
        await stream.hear()
        assert server.open_for == [bob.id]
    await until(lambda: not server.open_for)
    await ann.send(thread_id)


@pytest.mark.parametrize("transport", STREAMS)
async def test_stream_whose_client_vanishes_is_forgotten(
    api: Api, server: Server, transport: str
) -> None:
    [bob] = await api.people("bob")
    with Mute(server, transport, bob) as his:
        await his.open()
        await until(lambda: server.open_for == [bob.id])


@pytest.mark.parametrize("transport", STREAMS)
async def test_slow_reader_that_vanishes_is_forgotten(
    api: Api, server: Server, transport: str
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    await asyncio.gather(*(ann.send(thread_id, "x" * 2000) for _ in range(120)))
    with Mute(server, transport, bob) as his:
        await his.open()
        await until(lambda: max(server.unsent_bytes()) > 64 * 1024)


async def test_long_poll_that_its_client_gave_up_is_forgotten(api: Api, server: Server) -> None:
    [bob] = await api.people("bob")
    since = await bob.cursor()
    asking = asyncio.create_task(server.sync(bob, since=since, wait=30))
    await until(lambda: server.open_for == [bob.id])
    asking.cancel()
    await asyncio.wait([asking])


async def test_nothing_that_was_sent_before_is_lost_with_the_connection(
    api: Api, server: Server
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with server.websocket(ann) as socket:
        await socket.say({"type": "send", "thread_id": thread_id, **ann.draft("Last words")})
    async with server.websocket(bob) as his:
        while (event := await his.hear_of("message.new"))["message"]["body"] != "Last words":
            pass
    assert event["message"]["seq"] == 2
