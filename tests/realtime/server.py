"""Real servers in the tests' own event loop, to be reached as clients reach them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from greenroom.bootstrap import Rooms, http_app
from greenroom.platform.bus.port import LonelyBus
from greenroom.platform.tokens.verifying import sign_token
from greenroom.server import _config, _Server, bind
from tests.support.api import Client, Person
from tests.support.waiting import PATIENCE_S

from .listeners import (
    PATHS,
    SMALL_BUFFER_BYTES,
    EventSource,
    Json,
    Polling,
    Stream,
    WebSocket,
    credentials,
    until,
)

LONG_WAIT_S = 5

TRANSPORTS = ("poll", "longpoll", "sse", "websocket")
STREAMS = ("sse", "websocket")


def token_of(person: Person, *, ttl_s: int = 600) -> str:
    return sign_token(person._secret, person.id, clock=person._clock, ttl_s=ttl_s)


class _InProcess(_Server):
    """Signals stay the test run's own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Server:
    """One process of the installation, but for the process. Starts and stops with `async with`."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self._listener = bind("127.0.0.1", 0)
        # Connections inherit it: what a client does not read is soon ours to keep.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER_BYTES)
        self.port: int = self._listener.getsockname()[1]
        self._ready = asyncio.Event()
        config = _config(lambda: http_app(rooms), rooms.settings.limits)
        self.uvicorn = _InProcess(config, self._listener, lambda _port: self._ready.set())

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def open_for(self) -> list[str]:
        """Whoever has a stream here."""
        return self.rooms.realtime.streams.users()

    async def __aenter__(self) -> Server:
        self.http = httpx.AsyncClient(
            base_url=f"http://{self.address}", timeout=PATIENCE_S, trust_env=False
        )
        self._serving = asyncio.create_task(self.uvicorn.serve(sockets=[self._listener]))
        async with asyncio.timeout(PATIENCE_S):
            await self._ready.wait()
            if not isinstance(self.rooms.bus, LonelyBus):
                # So that nobody's first hint is lost.
                await until(lambda: self.rooms.bus.is_connected)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()
        await self.stop()

    def unsent_bytes(self) -> list[int]:
        """What waits in each connection's buffer."""
        connections = self.uvicorn.server_state.connections
        return [each.transport.get_write_buffer_size() for each in connections]

    async def beat(self, times: int = 1) -> None:
        """What happens once a second, and all that follows from it."""
        for _ in range(times):
            self.rooms.realtime.tick()
        await self.rooms.realtime.settled()

    def begin_stop(self) -> None:
        """What SIGTERM does."""
        self.uvicorn.should_exit = True

    async def stop(self) -> None:
        self.begin_stop()
        async with asyncio.timeout(PATIENCE_S):
            await self._serving

    async def call(
        self,
        who: Client | None,
        method: str,
        path: str,
        *,
        json: Any = None,
        headers: dict[str, str] | None = None,
        **params: Any,
    ) -> httpx.Response:
        given = {name: value for name, value in params.items() if value is not None}
        headers = {**credentials(who), **(headers or {})}
        return await self.http.request(method, path, json=json, headers=headers, params=given)

    async def sync(self, person: Person, **params: Any) -> Json:
        answer = await self.call(person, "GET", "/v1/sync", **params)
        assert answer.status_code == 200, answer.text
        page: Json = answer.json()
        return page

    async def ack(self, person: Person, cursor: str) -> None:
        answer = await self.call(person, "POST", "/v1/sync/ack", json={"cursor": cursor})
        assert answer.status_code == 204, answer.text

    async def ticket(self, person: Person, **headers: str) -> str:
        answer = await self.call(person, "POST", "/v1/tickets", headers=headers)
        assert answer.status_code == 201, answer.text
        ticket: str = answer.json()["ticket"]
        return ticket

    @contextlib.asynccontextmanager
    async def listen(
        self, transport: str, person: Person, since: str | None = None
    ) -> AsyncIterator[Polling | Stream]:
        if transport in STREAMS:
            async with self.stream(transport, person, since=since) as stream:
                yield stream
        else:
            yield Polling(self, person, LONG_WAIT_S if transport == "longpoll" else 0, since)

    @contextlib.asynccontextmanager
    async def stream(
        self,
        transport: str,
        who: Client | None,
        *,
        token: str | None = None,
        headers: dict[str, str] | None = None,
        path: str | None = None,
        **params: Any,
    ) -> AsyncIterator[Stream]:
        """With the person's own token unless another one is given."""
        path = path or PATHS[transport]
        headers = {**credentials(who, token), **(headers or {})}
        query = httpx.QueryParams({name: value for name, value in params.items() if value})
        if transport == "websocket":
            async with self._websocket(path, query, headers) as connection:
                yield WebSocket(connection)
        else:
            request = self.http.stream("GET", path, params=query, headers=headers)
            async with request as response:
                if response.status_code != 200:
                    await response.aread()
                    raise RefusedError(response)
                source = EventSource(response)
                await source.start()
                yield source

    @contextlib.asynccontextmanager
    async def websocket(
        self, who: Client | None, *, token: str | None = None, **params: Any
    ) -> AsyncIterator[WebSocket]:
        async with self.stream("websocket", who, token=token, **params) as stream:
            assert isinstance(stream, WebSocket)
            yield stream

    @contextlib.asynccontextmanager
    async def event_source(
        self, who: Client | None, *, token: str | None = None, **params: Any
    ) -> AsyncIterator[EventSource]:
        async with self.stream("sse", who, token=token, **params) as stream:
            assert isinstance(stream, EventSource)
            yield stream

    @contextlib.asynccontextmanager
    async def _websocket(
        self, path: str, query: httpx.QueryParams, headers: dict[str, str]
    ) -> AsyncIterator[ClientConnection]:
        opening = connect(
            f"ws://{self.address}{path}?{query}",
            additional_headers=headers,
            compression=None,
            proxy=None,
            open_timeout=PATIENCE_S,
            ping_interval=None,
            max_queue=None,
        )
        try:
            async with opening as connection:
                yield connection
        except InvalidStatus as refused:
            answer = refused.response
            raise RefusedError(
                httpx.Response(
                    answer.status_code,
                    headers=list(answer.headers.raw_items()),
                    content=bytes(answer.body),
                )
            ) from None

    async def refusal(self, transport: str, who: Client | None, **more: Any) -> tuple[int, str]:
        """The status and code of the problem that a client meets instead of a stream."""
        problem = await self.problem(transport, who, **more)
        return problem.status_code, problem.json()["code"]

    async def problem(self, transport: str, who: Client | None, **more: Any) -> httpx.Response:
        try:
            async with self.stream(transport, who, **more):
                raise AssertionError("the stream has opened")
        except RefusedError as refused:
            answer = refused.answer
            check_problem(answer)
            return answer


class RefusedError(Exception):
    def __init__(self, answer: httpx.Response) -> None:
        super().__init__(answer.status_code, answer.text)
        self.answer = answer


def check_problem(answer: httpx.Response) -> None:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document = answer.json()
    assert document["status"] == answer.status_code
    assert document["corr_id"] == answer.headers["x-correlation-id"]
    assert document["title"]
    assert document["hint"]
