"""The clients that people listen to their feeds with, over each of the transports."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Protocol

import httpx
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.support.api import Client, Person
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from .server import Server

LOOK_S = 0.005
SMALL_BUFFER_BYTES = 8192
LARGE_BUFFER_BYTES = 1024 * 1024

HANDSHAKE = {
    "connection": "upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
PATHS = {"sse": "/v1/stream", "websocket": "/v1/ws"}

Json = dict[str, Any]


async def until(condition: Callable[[], bool]) -> None:
    """Waits for what nobody announces."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "waited in vain"
        await asyncio.sleep(LOOK_S)


def credentials(who: Client | None, token: str | None = None) -> dict[str, str]:
    given = f"Bearer {token}" if token else who.authorization() if who else None
    return {} if given is None else {"authorization": given}


class Listener(Protocol):
    """Somebody's feed over one of the transports."""

    async def hear(self) -> Json:
        """The next event."""
        ...


class Listening:
    """What all listeners can do with `hear`."""

    async def hear_many(self: Listener, count: int) -> list[Json]:
        return [await self.hear() for _ in range(count)]

    async def hear_until(self: Listener, message: Json) -> list[Json]:
        """Everything before and with the news of this message."""
        events = [await self.hear()]
        while events[-1].get("message", {}).get("id") != message["id"]:
            events.append(await self.hear())
        return events

    async def hear_of(self: Listener, *types: str) -> Json:
        """The next event of these types; others are passed over."""
        while (event := await self.hear())["type"] not in types:
            pass
        return event


class Polling(Listening):
    def __init__(self, server: Server, person: Person, wait_s: int, since: str | None) -> None:
        self._server = server
        self._person = person
        self._wait_s = wait_s
        self._waiting: deque[Json] = deque()
        self.since = since

    async def hear(self) -> Json:
        async with asyncio.timeout(PATIENCE_S):
            while not self._waiting:
                page = await self._server.sync(self._person, since=self.since, wait=self._wait_s)
                self._waiting.extend(page["events"])
                self.since = page["cursor"]
        return self._waiting.popleft()


class EventSource(Listening):
    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._blocks = _sse_blocks(response)
        self.hello: Json = {}

    async def start(self) -> None:
        block = await self.next_block()
        assert block.keys() == {"retry"}, block
        block = await self.next_block()
        assert block["event"] == "hello", block
        self.hello = json.loads(block["data"])

    async def next_block(self) -> dict[str, str]:
        """The fields of what comes next, comments left out; empty when the stream has ended."""
        async with asyncio.timeout(PATIENCE_S):
            return await anext(self._blocks, {})

    async def hear(self) -> Json:
        block = await self.next_block()
        while block.keys() == {"id"}:
            block = await self.next_block()
        assert block, "the stream has ended"
        assert "event" not in block, block
        event: Json = json.loads(block["data"])
        assert event.get("cursor") == block.get("id")
        return event

    async def farewell(self) -> Json:
        """The last thing on the stream; what comes before it is passed over."""
        last = block = await self.next_block()
        while block:
            last, block = block, await self.next_block()
        assert last["event"] == "close", last
        close: Json = json.loads(last["data"])
        return close

    async def ended(self) -> int:
        code: int = (await self.farewell())["code"]
        return code


async def _sse_blocks(response: httpx.Response) -> AsyncIterator[dict[str, str]]:
    block: dict[str, str] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line and not line.startswith(":"):
            assert name not in block, line
            block[name] = value
        elif block:
            yield block
            block = {}


class WebSocket(Listening):
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self._waiting: deque[Json] = deque()
        self._refs = itertools.count(1)

    async def say(self, frame: Json | str | bytes) -> None:
        text = json.dumps(frame) if isinstance(frame, dict) else frame
        await self.connection.send(text)

    async def ask(self, frame_type: str, **fields: Any) -> Json:
        """The answer. What comes before it is kept to be heard."""
        ref = str(next(self._refs))
        await self.say({"type": frame_type, "ref": ref, **fields})
        while (frame := await self._receive()).get("ref") != ref:
            self._waiting.append(frame)
        return frame

    async def refusal(self, frame_type: str, **fields: Any) -> tuple[int, str]:
        """The status and code of the problem that a frame meets."""
        answer = await self.ask(frame_type, **fields)
        assert answer["type"] == "error", answer
        assert answer["corr_id"].startswith("cor_")
        assert answer["hint"]
        return answer["status"], answer["code"]

    async def hear(self) -> Json:
        """The next frame, whatever it is."""
        return self._waiting.popleft() if self._waiting else await self._receive()

    async def heard(self) -> list[Json]:
        """What has come by now."""
        await self.ask("ping")
        frames = list(self._waiting)
        self._waiting.clear()
        return frames

    async def ended(self) -> int:
        """The code that the server closes with; what comes before it is passed over."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._receive()
        assert self.connection.close_code is not None
        return self.connection.close_code

    async def _receive(self) -> Json:
        async with asyncio.timeout(PATIENCE_S):
            frame: Json = json.loads(await self.connection.recv())
        return frame


Stream = EventSource | WebSocket


class Mute:
    """A connection to a stream whose client reads when a test says so. Ends with `with`."""

    def __init__(self, server: Server, transport: str, person: Person) -> None:
        self._server = server
        self._socket = socket.socket()
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        headers = {"host": server.address, **credentials(person)}
        if transport == "websocket":
            headers |= HANDSHAKE
        lines = [f"GET {PATHS[transport]} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        self._request = "\r\n".join([*lines, "", ""]).encode()

    def __enter__(self) -> Mute:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(PATIENCE_S):
            await loop.sock_connect(self._socket, ("127.0.0.1", self._server.port))
            await loop.sock_sendall(self._socket, self._request)
            head = b""
            while b"\r\n\r\n" not in head:
                head += await loop.sock_recv(self._socket, 1)
        assert head.split()[1] in (b"101", b"200"), head

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def read_until(self, text: bytes, times: int = 1) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE_BUFFER_BYTES)
        read = b""
        async with asyncio.timeout(PATIENCE_S):
            while read.count(text) < times:
                data = await asyncio.get_running_loop().sock_recv(self._socket, 65536)
                assert data, "the server has hung up"
                read += data
