"""Accepts connections at a limited rate, one per iteration of the event loop.

The event loop's own server accepts all waiting connections before it does anything else. With
thousands of them, that delays all open connections. Here other tasks run between two accepts, and
connections that are not accepted yet wait in the kernel's backlog.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

log = logging.getLogger("greenroom.server")

FULL_PAUSE_S = 0.5


class Acceptor:
    """Has the `close` and `wait_closed` of asyncio's server object, which uvicorn calls."""

    def __init__(
        self,
        listener: socket.socket,
        new_protocol: Callable[[], asyncio.Protocol],
        *,
        per_s: int,
        at_once: int,
        backlog: int,
        tls: Callable[[], ssl.SSLContext] | None = None,
        handshake_s: float | None = None,
        goodbye_s: float | None = None,
    ) -> None:
        """`tls` tells the context of the next connection; without it connections are plain. Its
        handshake takes at most `handshake_s`, and its end at most `goodbye_s`."""
        self._listener = listener
        self._new_protocol = new_protocol
        self._gap_s = 1 / per_s
        self._ahead_s = at_once / per_s
        self._next_s = 0.0
        self._backlog = backlog
        self._tls = tls
        self._handshake_s = handshake_s
        self._goodbye_s = goodbye_s
        self._loop = asyncio.get_running_loop()
        self._beginning: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self) -> None:
        self._listener.setblocking(False)
        self._listener.listen(self._backlog)
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        try:
            connection, _address = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            # No connection is waiting, or another process has accepted it.
            return
        except OSError:
            # No file descriptors are left.
            log.warning(
                "cannot accept connections; retrying. Raise the limit of open files (ulimit -n)"
                " if this repeats"
            )
            self._pause(FULL_PAUSE_S)
            return
        task = self._loop.create_task(self._begin(connection))
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)
        now_s = self._loop.time()
        self._next_s = max(self._next_s, now_s - self._ahead_s) + self._gap_s
        if self._next_s > now_s:
            self._pause(self._next_s - now_s)

    async def _begin(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await self._connect(connection)
        except (OSError, asyncio.CancelledError):
            connection.close()

    async def _connect(self, connection: socket.socket) -> None:
        if self._tls is None:
            await self._loop.connect_accepted_socket(self._new_protocol, connection)
            return
        await self._loop.connect_accepted_socket(
            self._new_protocol,
            connection,
            ssl=self._tls(),
            ssl_handshake_timeout=self._handshake_s,
            ssl_shutdown_timeout=self._goodbye_s,
        )

    def _pause(self, pause_s: float) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(pause_s, self._go_on)

    def _go_on(self) -> None:
        if not self._is_closed:
            self._loop.add_reader(self._listener, self._accept)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._loop.remove_reader(self._listener)
            if self._tls is not None:
                # A handshake may take long, and whoever is in one has not asked for anything yet.
                for handshake in self._beginning:
                    handshake.cancel()

    async def wait_closed(self) -> None:
        if self._beginning:
            await asyncio.wait(self._beginning)
