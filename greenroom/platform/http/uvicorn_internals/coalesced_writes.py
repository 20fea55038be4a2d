"""uvicorn's HTTP protocol with one write to the socket per answer.

uvicorn writes the head and the body separately, which takes two system calls and wakes the client
twice. Here both are collected until the end of the event loop's iteration and written together.

Written against uvicorn 0.54. `CoalescingProtocol` overrides `connection_made` of
`uvicorn.protocols.http.httptools_impl.HttpToolsProtocol`, to wrap the transport.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class CoalescingProtocol(HttpToolsProtocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        close = self._closer(transport)
        super().connection_made(Coalesced(transport, self.loop, close))  # type: ignore[arg-type]

    def _closer(self, transport: asyncio.Transport) -> Callable[[], None]:
        """How the connection is closed when everything has been written to the transport."""
        return transport.close


class Coalesced:
    """A transport that joins the writes of one loop iteration. Ignores writes after `close`."""

    __slots__ = ("_close", "_is_closed", "_loop", "_transport", "_waiting")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        close: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._close = close
        self._is_closed = False
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        if self._is_closed:
            return
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        self._flush()
        if not self._is_closed:
            self._is_closed = True
            self._close()

    def abort(self) -> None:
        self._is_closed = True
        self._waiting.clear()
        self._transport.abort()

    @property
    def raw(self) -> asyncio.Transport:
        return self._transport

    def is_closing(self) -> bool:
        return self._is_closed or self._transport.is_closing()

    def _flush(self) -> None:
        if self._waiting and not self._transport.is_closing():
            self._transport.write(b"".join(self._waiting))
        self._waiting.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
