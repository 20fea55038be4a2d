"""The sandbox's socket: one HTTP/1.1 request per connection, on this machine only.

It is not the product's own server, because a sandbox must be able to hang up without an answer.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus

import httptools

REQUEST_BYTES = 256 * 1024
REQUEST_S = 30.0
READ_BYTES = 64 * 1024


@dataclass(slots=True)
class Request:
    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes


Handle = Callable[[Request], Awaitable[Response | None]]
"""Answers a request; None hangs up without an answer."""


class SandboxServer:
    def __init__(self, handle: Handle, *, host: str, port: int) -> None:
        self._handle = handle
        self._host = host
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Listen, and return the port."""
        self._server = await asyncio.start_server(self._accept, self._host, self._port)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, httptools.HttpParserError):
                async with asyncio.timeout(REQUEST_S):
                    request = await _receive(reader)
                response = await self._handle(request)
                if response is not None:
                    writer.write(_head(response) + response.body)
                    await writer.drain()
        finally:
            writer.close()


async def _receive(reader: asyncio.StreamReader) -> Request:
    reading = _Reading()
    parser = httptools.HttpRequestParser(reading)
    size = 0
    while not reading.is_complete:
        data = await reader.read(READ_BYTES)
        size += len(data)
        if not data or size > REQUEST_BYTES:
            raise EOFError
        parser.feed_data(data)
    reading.request.method = parser.get_method().decode("latin-1")
    reading.request.body = b"".join(reading.chunks)
    return reading.request


def _head(response: Response) -> bytes:
    return (
        f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(response.body)}\r\n"
        "connection: close\r\n\r\n"
    ).encode("latin-1")


class _Reading:
    """Collects the request from the parser's callbacks."""

    def __init__(self) -> None:
        self.request = Request()
        self.chunks: list[bytes] = []
        self.is_complete = False

    def on_url(self, url: bytes) -> None:
        self.request.path += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.request.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self.chunks.append(body)

    def on_message_complete(self) -> None:
        self.is_complete = True
