"""Flow control of a connection: when it is read, and aborting a client that reads no answers.

Written against uvicorn 0.54. `BufferedFlowControl` overrides `pause_reading` and `resume_reading`
of `uvicorn.protocols.http.flow_control.FlowControl` and sets its `read_paused`.
"""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class BufferedFlowControl(FlowControl):
    """Resuming first parses the bytes that have already arrived, then reads from the socket."""

    def __init__(self, transport: asyncio.Transport, read_on: Callable[[], None]) -> None:
        super().__init__(transport)
        self._read_on = read_on

    def pause_reading(self) -> None:
        self.read_paused = True

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._read_on()


class ReaderWatch:
    """Aborts a connection if the client reads nothing for `patience_s` although data is waiting.

    It only runs while nothing new is written, so the buffer shrinks only if the client reads."""

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, patience_s: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._patience_s = patience_s
        self._unread_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.stop()
        self._unread_bytes = self._transport.get_write_buffer_size()
        if self._unread_bytes:
            self._timer = self._loop.call_later(self._patience_s, self._check)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        if self._transport.get_write_buffer_size() >= self._unread_bytes:
            self._transport.abort()
        else:
            self.start()
