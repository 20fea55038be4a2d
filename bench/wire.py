"""Minimal clients for HTTP, server-sent events and WebSockets, so that the server is measured and
not the client."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, cast

import httptools

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
LAST = 0x80
MASKED = 0x80
# A mask is required; zeros leave the payload unchanged.
MASK = b"\0\0\0\0"

Heard = Callable[[bytes], None]
Broke = Callable[[Exception], None]


class RefusedError(Exception):
    """The server did not open the stream, and may have said when to try again."""

    def __init__(self, status: int, retry_after_s: float | None) -> None:
        super().__init__(f"refused with {status}")
        self.status = status
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


class HttpClient(asyncio.Protocol):
    """A keep-alive connection with one request at a time."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parts: list[bytes] = []
        self._answer: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, port: int) -> Self:
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(cls, "127.0.0.1", port)
        return client

    async def ask(self, request: bytes) -> Answer:
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, part: bytes) -> None:
        self._parts.append(part)

    def on_message_complete(self) -> None:
        body, self._parts = b"".join(self._parts), []
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(self._parser.get_status_code(), body))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("the server closed the connection"))


class EventSource(asyncio.Protocol):
    """Passes on the data of each event with an id, which are the feed's. Ends as `Socket` does."""

    def __init__(self, request: bytes, heard: Heard, broke: Broke) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._heard = heard
        self._broke = broke
        self._parser = httptools.HttpResponseParser(self)
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def close(self) -> None:
        self._broke = _ignore
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status == 200:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(RefusedError(status, None))

    def on_body(self, part: bytes) -> None:
        *events, self._rest = (self._rest + part).split(b"\n\n")
        for event in events:
            head, separator, data = event.partition(b"\ndata: ")
            if separator and head.startswith(b"id: "):
                self._heard(data)
            elif head.startswith(b"event: close"):
                self._broke(ConnectionError(f"the server closed the stream: {data!r}"))

    def connection_lost(self, error: Exception | None) -> None:
        error = error or ConnectionError("the server closed the connection")
        if self.opened.done():
            self._broke(error)
        else:
            self.opened.set_exception(error)


class Socket(asyncio.Protocol):
    """A WebSocket. `opened` fails with RefusedError; a later end goes to `broke`."""

    def __init__(self, request: bytes, heard: Heard, broke: Broke) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._heard = heard
        self._broke = broke
        self._rest = b""
        self._transport: asyncio.Transport | None = None

    def tell(self, text: bytes) -> None:
        self._write(TEXT, text)

    def cut(self) -> None:
        """Close without a close frame, as if the network was lost."""
        self._broke = _ignore
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        rest = self._rest + data if self._rest else data
        if not self.opened.done():
            head, separator, rest = rest.partition(b"\r\n\r\n")
            if not separator:
                self._rest = head
                return
            self._open(head)
        self._rest = self._take_frames(rest)

    def _open(self, head: bytes) -> None:
        status = int(head[9:12])
        if status == 101:
            self.opened.set_result(None)
            return
        _, _, after = head.lower().partition(b"\r\nretry-after: ")
        after_s = float(after.partition(b"\r\n")[0]) if after else None
        self.opened.set_exception(RefusedError(status, after_s))
        self.cut()

    def _take_frames(self, data: bytes) -> bytes:
        """Handle complete frames; returns the bytes of an incomplete one."""
        start, size = 0, len(data)
        while size - start >= 2:
            first, length, body = data[start], data[start + 1], start + 2
            if length >= 126:
                body += 2 if length == 126 else 8
                length = int.from_bytes(data[start + 2 : body], "big")
            end = body + length
            if end > size or body > size:
                break
            self._take(first, data[body:end])
            start = end
        return data[start:] if start else data

    def _take(self, first: int, payload: bytes) -> None:
        if first == LAST | TEXT:
            self._heard(payload)
        elif first == LAST | PING:
            self._write(PONG, payload)
        elif first == LAST | CLOSE:
            self._broke(ConnectionError(f"the server closed the WebSocket: {payload!r}"))
            self.cut()

    def _write(self, kind: int, payload: bytes) -> None:
        assert self._transport is not None
        size = len(payload)
        length = bytes([MASKED | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self._transport.write(bytes([LAST | kind]) + length + MASK + payload)

    def connection_lost(self, error: Exception | None) -> None:
        error = error or ConnectionError("the server closed the connection")
        if self.opened.done():
            self._broke(error)
        else:
            self.opened.set_exception(error)


def upgrade(path: str, token: str) -> bytes:
    """The request that opens a WebSocket."""
    lines = [
        f"GET {path} HTTP/1.1",
        "host: bench",
        f"authorization: Bearer {token}",
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def _ignore(_: Exception) -> None:
    """Used after this side has closed the connection."""
