"""uvicorn's WebSocket protocol, with writes that never wait and an end that always comes.

ASGI's `send` waits while the client reads slowly, for as long as the client likes. Here whoever
writes decides how long that may be. A connection whose other side is gone is aborted: closing it
in order would wait for a last word that nobody hears.
"""

import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

from greenroom.kernel.errors import InvalidRequest

BAD_FRAME = 4400

# uvicorn logs the address of each connection, in which a ticket may stand.
_quiet = logging.getLogger("greenroom.websocket")
_quiet.setLevel(logging.WARNING)


class SocketProtocol(WebSocketsSansIOProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _quiet
        self._last_word_s: float = self.app.limits.unread_close_s

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # The request was handed over whole: if it is no handshake by now it never will be.
        if not self.handshake_initiated and not self.close_sent:
            self._refuse_handshake()

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
        elif message["type"] == "websocket.http.response.body":
            # uvicorn would take the refusal for a handshake that was forgotten, and complain.
            self.handshake_complete = True

    async def receive_text(self) -> str | None:
        message = await self.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text: str | None = message.get("text")  # type: ignore[assignment]
        if text is None and not self.close_sent:
            self.end(BAD_FRAME, "Frames are JSON text.")
        return text

    def send_receive_event_to_app(self) -> None:
        """uvicorn would log a client's broken text as a mistake of ours."""
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
        self.close_timer = self.loop.call_later(self._last_word_s, self.transport.abort)

    def handle_ping(self) -> None:
        """Not answered while the client reads no answers, which would pile up."""
        pongs = b"".join(self.conn.data_to_send())
        if self.is_writable:
            self.transport.write(pongs)

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
        """What was written before may never be read; it must not keep the connection."""
        if self.close_timer is None:
            self.close_timer = self.loop.call_later(self._last_word_s, self.transport.abort)

    def _flush(self) -> None:
        self.transport.write(b"".join(self.conn.data_to_send()))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
