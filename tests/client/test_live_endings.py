"""Expired tokens, replaced devices, and networks that block transports."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from greenroom_client import Client, ClientLimits, Kind
from tests.support.server_process import ServerProcess, token_of
from tests.support.waiting import PATIENCE_S, until

from .pair import Pair, read_messages
from .proxy import Proxy

QUICK = ClientLimits(
    open_timeout_s=1, poll_open_s=0.05, climb_after_s=0.3, climb_cap_s=0.3, ack_interval_s=0.05
)


KINDS: tuple[Kind, ...] = ("ws", "sse")


async def read_forever(client: Client) -> None:
    async for _ in client.events():
        pass


class ShortTokens:
    """Tokens of two seconds each; the server gives five more."""

    def __init__(self, user: str) -> None:
        self._user = user
        self.given = 0
        self.is_broken = False

    async def __call__(self) -> str:
        if self.is_broken:
            raise RuntimeError("the backend is away")
        self.given += 1
        return token_of(self._user, ttl_s=2)


async def live_on_short_tokens(pair: Pair, kind: Kind, is_over: asyncio.Event) -> None:
    tokens = ShortTokens(pair.ada)
    async with pair.client(pair.ada, token=tokens, transports=(kind,)) as ada:
        await ada.use(kind)
        line = ada._feed.line
        await is_over.wait()
        assert ada._feed.line is line
        assert tokens.given > 2


async def come_back_with_a_fresh_token(pair: Pair, kind: Kind) -> None:
    """The stream ends with its token, which the application could not replace in time."""
    tokens = ShortTokens(pair.ben)
    async with pair.client(pair.ben, token=tokens, transports=(kind,), limits=QUICK) as ben:
        reading = asyncio.create_task(read_forever(ben))
        await until(lambda: ben.transport == kind, "the stream")
        tokens.is_broken = True
        await until(lambda: ben.transport is None, "the end of the token")
        tokens.is_broken = False
        await until(lambda: ben.transport == kind, "the stream again")
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_streams_live_as_long_as_there_are_fresh_tokens(pair: Pair) -> None:
    await pair.start()
    is_over = asyncio.Event()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        for kind in KINDS:
            group.create_task(live_on_short_tokens(pair, kind, is_over))
        # Those that are told of none have ended by then.
        await asyncio.gather(*(come_back_with_a_fresh_token(pair, kind) for kind in KINDS))
        is_over.set()


async def test_one_device_too_many_takes_the_place_of_the_oldest(pair: Pair) -> None:
    """This server lets a person have three."""
    await pair.start()
    clients = [pair.client(pair.ada, limits=QUICK) for _ in range(4)]
    for client in clients:
        await client.__aenter__()
    try:
        readings = []
        for client in clients:
            await client.use("sse" if client is clients[0] else "ws")
            readings.append(asyncio.create_task(read_forever(client)))
        await until(lambda: clients[0].transport is None, "the farewell")
        assert all(client.transport for client in clients[1:])
        clients[0].touch()
        await until(lambda: clients[0].transport == "sse", "the person's return")
        await until(lambda: clients[1].transport is None, "the next farewell")
    finally:
        for client in clients:
            await client.__aexit__()
        await asyncio.gather(*readings)


@pytest.fixture
async def proxy(server: ServerProcess) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as running:
        yield running


@pytest.mark.parametrize("how", ["refuses", "drops", "swallows"])
async def test_a_network_without_websockets_gets_sse_and_later_a_websocket(
    pair: Pair, proxy: Proxy, how: str
) -> None:
    [thread_id] = await pair.start()
    proxy.to_websockets = how
    async with Client(proxy.url, lambda: token_of(pair.ada), limits=QUICK) as ada:
        await ada.load()
        reading = asyncio.ensure_future(read_messages(ada, 2))
        await until(lambda: ada.transport == "sse", "the next best")
        await ada.send(thread_id, "over SSE")
        proxy.to_websockets = "passes"
        await until(lambda: ada.transport == "ws", "the best")
        await ada.send(thread_id, "over a WebSocket")
        bodies = [each["body"] for each in await reading]
        assert bodies == ["over SSE", "over a WebSocket"]


async def test_a_network_that_holds_streams_back_gets_long_polls(pair: Pair, proxy: Proxy) -> None:
    [thread_id] = await pair.start()
    proxy.to_websockets, proxy.to_streams = "refuses", "swallows"
    limits = ClientLimits(open_timeout_s=0.3)
    async with Client(proxy.url, lambda: token_of(pair.ada), limits=limits) as ada:
        await ada.load()
        reading = asyncio.ensure_future(read_messages(ada, 1))
        await until(lambda: ada.transport == "long-poll", "the third best")
        await ada.send(thread_id, "over a long-poll")
        assert [each["body"] for each in await reading] == ["over a long-poll"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_connection_that_dies_in_silence_is_noticed(
    pair: Pair, proxy: Proxy, kind: Kind
) -> None:
    """Nothing comes through any more, and nobody says so."""
    [thread_id] = await pair.start()
    limits = ClientLimits(
        ping_interval_s=0.2,
        ping_timeout_s=0.2,
        silence_s=0.5,
        close_timeout_s=0.1,
        answer_timeout_s=0.5,
    )
    async with Client(proxy.url, lambda: token_of(pair.ada), limits=limits) as ada:
        await ada.load()
        await ada.use(kind)
        reading = asyncio.ensure_future(read_messages(ada, 1))
        proxy.freeze()
        await until(lambda: ada.transport is None, "the discovery")
        sent = await ada.send(thread_id, "after the silence")
        assert [each["id"] for each in await reading] == [sent["id"]]


@pytest.fixture(scope="module")
async def server(open_home: Path, database_url: str) -> AsyncIterator[ServerProcess]:
    environment = {"GREENROOM_LIMIT_STREAMS_PER_USER": "3"}
    started = ServerProcess(open_home, {**environment, "GREENROOM_DATABASE_URL": database_url})
    await asyncio.to_thread(started.start)
    yield started
    await asyncio.to_thread(started.stop)
    print(*started.complaints()[-20:], sep="\n")
