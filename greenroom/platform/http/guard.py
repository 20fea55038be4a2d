"""What is no request, or takes too long to become one, ends here with a problem document.

llhttp tells right from wrong; this adds what it leaves open. A request's head has a most size, its
head and its body a most time. Requests that came whole are answered before the refusal of what
came after them. A client that is still talking hears the answer before its connection goes away.
"""

import asyncio
import enum
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from greenroom.kernel.errors import InvalidRequest, Problem, Unavailable
from greenroom.platform.http.problems import HeadTooLarge, RequestTooSlow
from greenroom.platform.http.protocol import Coalesced, CoalescingProtocol
from greenroom.platform.http.socket_protocol import SocketProtocol


class _Stage(enum.Enum):
    BETWEEN = enum.auto()
    HEAD = enum.auto()
    BODY = enum.auto()


class GuardedProtocol(CoalescingProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = self.app.limits
        self._stage = _Stage.BETWEEN
        self._clock: asyncio.TimerHandle | None = None
        self._clocked: _Stage | None = None
        self._unused_bytes = 0
        self._refusal: Problem | None = None
        self._is_handed_over = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock(_Stage.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_over():
            return
        self._unused_bytes += len(data)
        super().data_received(data)
        if self._is_over():
            return
        if self._stage is _Stage.BETWEEN:
            self._wait_for_next()
        elif self._unused_bytes > self._limits.request_head_bytes:
            self._refuse(HeadTooLarge())
        elif self._clocked is not self._stage:
            self._start_clock(self._stage)

    def _is_over(self) -> bool:
        is_refused = self._refusal is not None
        return is_refused or self._is_handed_over or self.transport.is_closing()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)
        return cycle is not None and not cycle.response_complete

    def _wait_for_next(self) -> None:
        """uvicorn's own clock for idle connections stops at any byte, also between requests."""
        if self._is_answering() or self.timeout_keep_alive_task is not None:
            self._stop_clock()
        elif self._clocked is not _Stage.HEAD:
            self._start_clock(_Stage.HEAD)

    def on_message_begin(self) -> None:
        self._stage = _Stage.HEAD
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._unused_bytes > self._limits.request_head_bytes:
            self._check_head()
        if self.parser.get_http_version() not in ("1.1", "1.0"):
            raise InvalidRequest
        self._unused_bytes = 0
        # A copy, because what follows a chunked body is appended to the original: trailers can be
        # written by someone whose headers were checked on the way here.
        self.scope["headers"] = self.headers.copy()
        self.scope["greenroom.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()
        self._stage = _Stage.BODY

    def _check_head(self) -> None:
        size = len(self.url) + sum(len(name) + len(text) + 4 for name, text in self.headers)
        if size > self._limits.request_head_bytes:
            raise HeadTooLarge

    def on_body(self, body: bytes) -> None:
        self._unused_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unused_bytes = 0
        self._stage = _Stage.BETWEEN
        self._clocked = None
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Answered as if nothing had been said of an upgrade, but the parser reads no further."""
        self.cycle.keep_alive = False

    def handle_websocket_upgrade(self) -> None:
        """Waits for its turn first: until then it has cost next to nothing."""
        self._is_handed_over = True
        self._stop_clock()
        self.transport.pause_reading()
        try:
            self.app.openings.admit(self._hand_over)
        except Unavailable as refusal:
            self.transport.write(self.app.refuse_unread(refusal))
            self.transport.close()

    def _hand_over(self) -> None:
        """From here on another protocol keeps the time, and nothing of this one is kept for it: an
        idle WebSocket is cheap because it does not drag an HTTP parser along."""
        raw = self.transport.raw  # type: ignore[attr-defined]
        self.connections.discard(self)
        if raw.is_closing():
            return
        protocol = SocketProtocol(
            config=self.config, server_state=self.server_state, app_state=self.app_state
        )
        protocol.connection_made(Coalesced(raw, self.loop, raw.close))  # type: ignore[arg-type]
        raw.set_protocol(protocol)
        raw.resume_reading()
        protocol.data_received(self._request_as_sent())
        self._let_go()

    def _let_go(self) -> None:
        """Without the references to each other that only the garbage collector would find."""
        self.parser = self.transport = self.flow = None  # type: ignore[assignment]
        self.scope = self.headers = None  # type: ignore[assignment]

    def _request_as_sent(self) -> bytes:
        lines = [self.scope["method"].encode() + b" " + self.url + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in self.scope["headers"]]
        return b"\r\n".join([*lines, b"", b""])

    def _start_clock(self, stage: _Stage) -> None:
        self._stop_clock()
        limits = self._limits
        limit_s = limits.request_body_s if stage is _Stage.BODY else limits.request_head_s
        self._clock = self.loop.call_later(limit_s, self._run_out)
        self._clocked = stage

    def _stop_clock(self) -> None:
        self._clocked = None
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _run_out(self) -> None:
        self._clock = None
        if self._stage is _Stage.BETWEEN:
            self.transport.close()
        else:
            self._refuse(RequestTooSlow())

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - ours says more
        if self._stage is _Stage.HEAD and self._unused_bytes > self._limits.request_head_bytes:
            self._refuse(HeadTooLarge())
        else:
            self._refuse(InvalidRequest("This is not a well-formed HTTP/1.1 request."))

    def _refuse(self, problem: Problem) -> None:
        """Nothing more is read from here on."""
        self._refusal = problem
        self._stop_clock()
        self._unset_keepalive_if_required()
        is_newest_waiting = bool(self.pipeline) and self.pipeline[0][0] is self.cycle
        if self._stage is _Stage.BODY:
            if not is_newest_waiting:
                self._refuse_current()
                return
            self.pipeline.popleft()
        elif not is_newest_waiting and not self._is_answering():
            self._say_refusal()
        # Otherwise there are answers to come first; `on_response_complete` says it after them.

    def _refuse_current(self) -> None:
        """The request whose body is wrong is the one that the app is reading or has answered."""
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._say_refusal()
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        if self._refusal is not None and not self.pipeline:
            self._say_refusal()
        else:
            super().on_response_complete()

    def _say_refusal(self) -> None:
        if self._refusal is not None and not self.transport.is_closing():
            self.transport.write(self.app.refuse_unread(self._refusal))
            self.transport.close()

    def _closer(self, transport: asyncio.Transport) -> Callable[[], None]:
        """Closing while the client still sends would reset the connection, and it would lose the
        answer that tells it to stop. So first only our own direction ends."""

        def close() -> None:
            is_heard_out = self._stage is _Stage.BETWEEN and self._refusal is None
            if is_heard_out or transport.is_closing() or not transport.can_write_eof():
                transport.close()
                return
            self._stop_clock()
            transport.resume_reading()
            transport.write_eof()
            self._clock = self.loop.call_later(self._limits.unread_close_s, transport.abort)

        return close
