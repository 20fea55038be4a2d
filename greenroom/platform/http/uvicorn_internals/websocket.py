"""uvicorn's WebSocket protocol, with writes that never wait, bounded reads and a bounded close.

ASGI's `send` waits as long as the client reads slowly; here the writer decides how long to wait. A
connection whose client is gone is aborted, because an orderly close would wait for an answer that
never comes. A frame of six bytes becomes hundreds in memory, so data is parsed in small pieces, one
per iteration of the event loop, and not while a frame waits to be handled.

Written against uvicorn 0.54 and websockets 17. `SocketProtocol` overrides methods of
`uvicorn.protocols.websockets.websockets_sansio_impl.WebSocketsSansIOProtocol`: the asyncio
callbacks, the `handle_` methods, `send`, `receive`, `send_receive_event_to_app`,
`keepalive_timeout` and `shutdown`. It uses `conn`, `queue`, `frames`, `read_paused`, `writable`,
`close_sent` and `close_timer`.
"""

import asyncio
import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import State

from greenroom.kernel.errors import InvalidRequest
from greenroom.platform.http.connections.frame_limit import FrameLimit

BAD_FRAME = 4400
TOO_MANY_FRAMES = 4429

PIECE_BYTES = 1024
FRAGMENTS = 1000
"""The most fragments of one message; a client can send empty ones at almost no cost."""

# uvicorn logs the URL of each connection, which may contain a ticket.
_quiet = logging.getLogger("greenroom.websocket")
_quiet.setLevel(logging.WARNING)


class SocketProtocol(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _quiet
        self._close_timeout_s: float = self.app.limits.unread_close_s

        self._frame_limit = FrameLimit(self.app.limits)
        self._unread = memoryview(b"")
        self._turn: asyncio.Handle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._unread = memoryview(b"")
        if self._turn is not None:
            self._turn.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread = memoryview(bytes(self._unread) + data)
        if self._turn is None:
            self._read_on()
        # The complete request was passed in: if it is no handshake by now, it never will be.
        if not self.handshake_initiated and not self.close_sent:
            self._refuse_handshake()

    def keep_for_later(self, data: bytes) -> None:
        """Bytes that arrived with the handshake. They are parsed when it is accepted."""
        self._unread = memoryview(data)

    def _read_on(self) -> None:
        size = PIECE_BYTES if self.handshake_initiated else len(self._unread)
        piece, self._unread = bytes(self._unread[:size]), self._unread[size:]
        super().data_received(piece)
        self._hold_unread()

    def _hold_unread(self) -> None:
        """Pauses the socket while bytes are unparsed; the next iteration parses more."""
        if not self._unread:
            return
        self.transport.pause_reading()
        if not self.read_paused and self._turn is None:
            self._turn = self.loop.call_soon(self._read_next_piece)

    def _read_next_piece(self) -> None:
        self._turn = None
        if self.read_paused or self.transport.is_closing():
            return
        self._read_on()
        if not self._unread and not self.read_paused:
            self.transport.resume_reading()

    def handle_connect(self, event: Request) -> None:
        if self.conn.accept(event).status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            super().handle_connect(event)
            self.scope["greenroom.socket"] = self  # type: ignore[typeddict-unknown-key]

    def _refuse_handshake(self) -> None:
        self.handshake_complete = self.close_sent = True
        problem = InvalidRequest("This is not a well-formed WebSocket handshake.")
        self.transport.write(self.app.refuse_unread(problem))
        self.transport.close()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.accept":
            del self.request, self.response
            self.transport.resume_reading()
            self._hold_unread()
        elif message["type"] == "websocket.http.response.body":
            # Otherwise uvicorn logs an error, as if the handshake had not been answered.
            self.handshake_complete = True

    async def receive_text(self) -> str | None:
        message = await self.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text: str | None = message.get("text")
        if text is None and not self.close_sent:
            self.end(BAD_FRAME, "Frames are JSON text.")
        return text

    async def receive(self) -> Any:
        message = await super().receive()
        if self.handshake_complete:
            self._hold_unread()
        return message

    def handle_cont(self, event: Frame) -> None:
        if self.close_sent:
            self.frames = []
        elif len(self.frames) >= FRAGMENTS:
            self.frames = []
            self.end(BAD_FRAME, f"A message has at most {FRAGMENTS} fragments.")
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """uvicorn would log invalid UTF-8 of a client as an error of the server."""
        if self.curr_msg_data_type == "text" and not _is_utf8(b"".join(self.frames)):
            self.frames = []
            self.end(BAD_FRAME, "Frames are JSON text.")
        else:
            super().send_receive_event_to_app()

    def write(self, texts: Iterable[bytes]) -> None:
        if self.conn.state is not State.OPEN or self.close_sent:
            return
        for text in texts:
            self.conn.send_text(text)
        self._flush()

    @property
    def is_writable(self) -> bool:
        return self.writable.is_set()

    async def wait_writable(self) -> None:
        await self.writable.wait()

    def end(self, code: int, reason: str) -> None:
        if self.conn.state is not State.OPEN or self.close_sent:
            return
        self.stop_keepalive()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self._flush()
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
            self._hold_unread()
        self.close_timer = self.loop.call_later(self._close_timeout_s, self.transport.abort)

    def handle_ping(self) -> None:
        """Not answered while the client does not read, because the pongs would pile up."""
        pongs = b"".join(self.conn.data_to_send())
        if self.is_writable:
            self.transport.write(pongs)
        self._count_control_frame()

    def handle_pong(self, event: Frame) -> None:
        super().handle_pong(event)
        self._count_control_frame()

    def _count_control_frame(self) -> None:
        if not self._frame_limit.allows(self.loop.time()):
            self.end(TOO_MANY_FRAMES, "Too many pings or pongs.")

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.transport.abort()

    def handle_parser_exception(self) -> None:
        super().handle_parser_exception()
        self._abort_soon()

    def handle_close(self, event: Any) -> None:
        super().handle_close(event)
        self._abort_soon()

    def shutdown(self) -> None:
        super().shutdown()
        self._abort_soon()

    def _abort_soon(self) -> None:
        """Abort after a while even if the client never reads what was written."""
        if self.close_timer is None:
            self.close_timer = self.loop.call_later(self._close_timeout_s, self.transport.abort)

    def _flush(self) -> None:
        self.transport.write(b"".join(self.conn.data_to_send()))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
