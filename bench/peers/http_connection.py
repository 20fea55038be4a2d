"""A keep-alive HTTP connection with one request in flight, for load that goes by pairs."""

import asyncio
from typing import cast

import httptools


class HttpConnection(asyncio.Protocol):
    """Connects at the first request, and again after the server has closed an idle connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._turn = asyncio.Lock()
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body. Concurrent calls wait for each other in order."""
        loop = asyncio.get_running_loop()
        async with self._turn:
            if self._transport is None:
                await loop.create_connection(lambda: self, "127.0.0.1", self._port)
            self._answer = loop.create_future()
            self._opened().write(request)
            return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _opened(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._body.clear()

    def on_body(self, part: bytes) -> None:
        self._body += part

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((self._parser.get_status_code(), bytes(self._body)))

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(
                error or ConnectionError("the server closed the connection in mid-request")
            )
