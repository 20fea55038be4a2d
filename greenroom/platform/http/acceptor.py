"""Accepting connections one per turn of the loop, and no faster than their requests can be read.

The event loop's own server accepts all that wait before it does anything else, and a crowd of
thousands is a long time. Here those who are inside get their turn between any two newcomers. Those
who are not yet accepted wait in the kernel, where they cost nothing.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

log = logging.getLogger("greenroom.server")

FULL_PAUSE_S = 0.5


class Acceptor:
    """Stands in for the server object of asyncio: it closes, and waits until it is closed."""

    def __init__(
        self,
        listener: socket.socket,
        new_protocol: Callable[[], asyncio.Protocol],
        *,
        per_s: int,
        at_once: int,
        backlog: int,
    ) -> None:
        self._listener = listener
        self._new_protocol = new_protocol
        self._gap_s = 1 / per_s
        self._ahead_s = at_once / per_s
        self._next_s = 0.0
        self._backlog = backlog
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
            # Nobody waits, or another process was faster.
            return
        except OSError:
            # No file descriptors are left: those who wait can wait a little longer.
            log.warning("cannot accept connections just now; trying again")
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
            await self._loop.connect_accepted_socket(self._new_protocol, connection)
        except OSError:
            connection.close()

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

    async def wait_closed(self) -> None:
        if self._beginning:
            await asyncio.wait(self._beginning)
