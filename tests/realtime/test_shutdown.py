"""A stopping server tells all clients, waits for none of them long, and ends."""

from __future__ import annotations

import asyncio

import httpx

from tests.support.api import Api

from .conftest import NewServer
from .listeners import Mute, until
from .server import STREAMS

RESTART = 1012


async def test_streams_end_with_the_word_to_come_back(api: Api, new_server: NewServer) -> None:
    [bob] = await api.people("bob")
    async with (
        new_server() as stopping,
        stopping.websocket(bob) as socket,
        stopping.event_source(bob) as source,
    ):
        stopping.begin_stop()
        close = await source.farewell()
        assert (close["code"], close["reconnect"]) == (RESTART, True)
        assert 0 <= close["retry_after_ms"] <= 5000
        assert await socket.ended() == RESTART
        assert "come back" in (socket.connection.close_reason or "")
        await stopping.stop()


async def test_long_poll_answers_at_once(api: Api, new_server: NewServer) -> None:
    [bob] = await api.people("bob")
    since = await bob.cursor()
    async with new_server() as stopping:
        asking = asyncio.create_task(stopping.sync(bob, since=since, wait=30))
        await until(lambda: bob.id in stopping.open_for)
        stopping.begin_stop()
        assert await asking == {"events": [], "cursor": since, "has_more": False}
        await stopping.stop()


async def test_those_who_do_not_listen_hold_nobody_up(api: Api, new_server: NewServer) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    await asyncio.gather(*(ann.send(thread_id, "x" * 2000) for _ in range(100)))
    async with new_server(unread_close_s=1, slow_reader_s=1) as stopping:
        with Mute(stopping, "websocket", bob) as his, Mute(stopping, "sse", bob) as hers:
            await his.open()
            await hers.open()
            await until(lambda: min(stopping.unsent_bytes()) > 0)
            await stopping.stop()


async def test_what_was_said_before_is_done(api: Api, new_server: NewServer) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    async with new_server() as stopping, stopping.websocket(ann) as socket:
        answers = [
            asyncio.create_task(
                stopping.call(
                    ann, "POST", f"/v1/threads/{thread_id}/messages", json=ann.draft(f"{number}")
                )
            )
            for number in range(20)
        ]
        await until(lambda: any(each.done() for each in answers))
        stopping.begin_stop()
        outcomes = await asyncio.gather(*answers, return_exceptions=True)
        assert await socket.ended() == RESTART
        await stopping.stop()
    promised = {
        each.json()["id"]
        for each in outcomes
        if isinstance(each, httpx.Response) and each.status_code == 201
    }
    assert promised
    assert promised <= {each["id"] for each in await bob.messages(thread_id)}


async def test_nobody_new_is_let_in(api: Api, new_server: NewServer) -> None:
    [bob] = await api.people("bob")
    async with new_server() as stopping:
        stopping.uvicorn.config.loaded_app.begin_drain()
        for transport in STREAMS:
            problem = await stopping.problem(transport, bob)
            assert (problem.status_code, problem.json()["code"]) == (503, "UNAVAILABLE")
            assert int(problem.headers["retry-after"]) >= 1
