"""The HTTP protocol of the server: limits and strict checks around uvicorn's parser (llhttp).

Malformed, too large or too slow requests get a problem document. Heads are limited in size, heads
and bodies in time, uploads in pace. Requests are handled one at a time: pipelined ones wait as
bytes, and the socket is not read while they wait, so answers are sent in order. A client that is
still sending gets its answer before the connection is closed; a client that does not read its
answers is disconnected.

Written against uvicorn 0.54. `GuardedProtocol` overrides methods of
`uvicorn.protocols.http.httptools_impl.HttpToolsProtocol`: the asyncio callbacks, the parser's `on_`
callbacks, `on_response_complete`, `send_400_response`, `handle_websocket_upgrade` and
`_unsupported_upgrade_warning`. It uses `flow`, `cycle` and its `body`, `timeout_keep_alive_task`
and `_unset_keepalive_if_required`.
"""

import asyncio
import enum
from collections.abc import Callable
from typing import Any, NoReturn

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from greenroom.kernel.errors import InvalidRequest, Problem, Unavailable
from greenroom.platform.http.connections.head_checks import check_head
from greenroom.platform.http.connections.request_splitter import RequestSplitter
from greenroom.platform.http.problems import HeadTooLarge, OtherSocketVersion, RequestTooSlow
from greenroom.platform.http.request_parsing import has_body
from greenroom.platform.http.uvicorn_internals.coalesced_writes import Coalesced, CoalescingProtocol
from greenroom.platform.http.uvicorn_internals.flow_control import BufferedFlowControl, ReaderWatch
from greenroom.platform.http.uvicorn_internals.websocket import SocketProtocol


class _Stage(enum.Enum):
    BETWEEN = enum.auto()
    HEAD = enum.auto()
    BODY = enum.auto()


class GuardedProtocol(CoalescingProtocol):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = self.app.limits
        self._stage = _Stage.BETWEEN
        self._timeout: asyncio.TimerHandle | None = None
        self._timed_stage: _Stage | None = None
        self._splitter = RequestSplitter()
        self._unused_bytes = 0
        self._fault: Problem | None = None
        self._refusal: Problem | None = None
        self._is_handed_over = False
        self._is_socket_paused = False
        self._is_upload = False
        self._may_stay_open = False
        self._paced_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._watch = ReaderWatch(transport, self.loop, self._limits.slow_reader_s)
        super().connection_made(transport)
        self.flow = BufferedFlowControl(self.transport, self._read_on)
        self._start_timeout(_Stage.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timeout()
        self._watch.stop()
        # Frees the buffer now instead of at the next garbage collection.
        self._splitter = RequestSplitter()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch.start()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch.stop()
        if self.transport.is_closing():
            self._watch.start()

    def data_received(self, data: bytes) -> None:
        if not self._is_over():
            self._unset_keepalive_if_required()
            self._splitter.put(data)
            self._read_on()

    def _read_on(self) -> None:
        """Parses the bytes that have arrived, as far as allowed, before reading more."""
        splitter = self._splitter
        try:
            while splitter.has_more and self._may_read() and (piece := splitter.take()):
                self._unused_bytes += len(piece)
                super().data_received(piece)
                if self._unused_bytes > self._limits.request_head_bytes and not self._is_over():
                    raise HeadTooLarge
        except Problem as problem:
            self._refuse(problem)
        if not self._is_over():
            self._update_timeout()
            self._pause_socket(splitter.has_more or self.flow.read_paused)

    def _may_read(self) -> bool:
        if self._is_over() or self.flow.read_paused:
            return False
        return self._stage is not _Stage.BETWEEN or not self._is_answering()

    def _pause_socket(self, pause: bool) -> None:
        if pause is not self._is_socket_paused:
            self._is_socket_paused = pause
            if pause:
                # As much as is held for a slow app has arrived, so the client is not the slow one.
                self._paced_bytes = self._limits.upload_pace_bytes
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def _update_timeout(self) -> None:
        if self._stage is _Stage.BETWEEN:
            self._wait_for_next()
        elif self._timed_stage is not self._stage:
            self._start_timeout(self._stage)

    def _is_over(self) -> bool:
        is_refused = self._refusal is not None
        return is_refused or self._is_handed_over or self.transport.is_closing()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)
        return cycle is not None and not cycle.response_complete

    def _wait_for_next(self) -> None:
        """Any byte, even between requests, cancels uvicorn's own timeout of idle connections."""
        if self._is_answering() or self.timeout_keep_alive_task is not None:
            self._stop_timeout()
        elif self._timed_stage is not _Stage.HEAD:
            self._start_timeout(_Stage.HEAD)

    def on_message_begin(self) -> None:
        self._stage = _Stage.HEAD
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._unused_bytes > self._limits.request_head_bytes:
            self._fail(HeadTooLarge())
        self._unused_bytes = 0
        # A copy, because trailers after a chunked body are appended to the original list, and a
        # proxy may have checked the headers but not the trailers. llhttp keeps white space after a
        # value.
        headers = [(name, value.rstrip(b" \t")) for name, value in self.headers]
        try:
            fields = check_head(self.parser.get_http_version(), headers)
        except InvalidRequest as problem:
            self._fail(problem)
        self.scope["headers"] = headers
        self.scope["greenroom.abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
        self.scope["greenroom.expect_upload"] = self._expect_upload  # type: ignore[typeddict-unknown-key]
        is_handshake = self.parser.should_upgrade() and self._should_upgrade()
        if is_handshake:
            self._check_handshake(fields)
        super().on_headers_complete()
        self._stage = _Stage.BODY
        if not is_handshake:
            self._expect_body(fields)

    def _check_handshake(self, fields: dict[bytes, bytes]) -> None:
        """Checks what the WebSocket protocol does not see of the request; it checks the rest."""
        if self.parser.get_http_version() != "1.1" or self.parser.get_method() != b"GET":
            self._fail(InvalidRequest("A WebSocket handshake is a GET over HTTP/1.1."))
        if has_body(fields):
            self._fail(InvalidRequest("A WebSocket handshake has no body."))
        if fields.get(b"sec-websocket-version") != b"13":
            self._fail(OtherSocketVersion())

    def _expect_body(self, fields: dict[bytes, bytes]) -> None:
        self._is_upload = False
        self._may_stay_open = self.cycle.keep_alive
        if b"transfer-encoding" in fields:
            self._splitter.expect_chunks()
            return
        length = int(fields.get(b"content-length", b"0"))
        self._splitter.expect_body(length)
        if length > self._limits.request_bytes:
            # Longer than any endpoint accepts, so it is not read to the end to reach the next one.
            self.cycle.keep_alive = False

    def _expect_upload(self) -> None:
        """The app calls it when the request is for an endpoint that reads its body while it
        arrives. A long one is read to its end, in as much time as it takes at a fair pace."""
        self._is_upload = True
        self.cycle.keep_alive = self._may_stay_open
        if self._timed_stage is _Stage.BODY:
            self._start_timeout(_Stage.BODY)

    def _fail(self, problem: Problem) -> NoReturn:
        """Stop the parser by an exception, and keep the problem: the parser only tells
        `send_400_response` that there was an exception."""
        self._fault = problem
        raise problem

    def on_body(self, body: bytes) -> None:
        self._unused_bytes = 0
        self._paced_bytes += len(body)
        held: Any = self.cycle.body
        if not held:
            # Adding to empty bytes copies nothing, so a single piece gets to the app as it is.
            self.cycle.body = b""  # type: ignore[assignment]
        elif isinstance(held, bytes):
            self.cycle.body = bytearray(held)
        super().on_body(body)

    def on_message_complete(self) -> None:
        if len(self.headers) > len(self.scope["headers"]):  # type: ignore[arg-type]
            self._check_trailers(len(self.scope["headers"]))  # type: ignore[arg-type]
        self._unused_bytes = 0
        self._stage = _Stage.BETWEEN
        self._timed_stage = None
        self._splitter.expect_request()
        super().on_message_complete()

    def _check_trailers(self, first: int) -> None:
        size = sum(len(name) + len(value) + 4 for name, value in self.headers[first:])
        if size > self._limits.request_head_bytes:
            self._fail(HeadTooLarge())

    def _unsupported_upgrade_warning(self) -> None:
        """The upgrade is ignored and the request is answered, but the parser stops after it."""
        self.cycle.keep_alive = False

    def handle_websocket_upgrade(self) -> None:
        """Waits for admission first: until then the connection has cost very little."""
        self._is_handed_over = True
        self._stop_timeout()
        self._pause_socket(True)
        try:
            self.app.admission.admit(self._hand_over)
        except Unavailable as refusal:
            self.transport.write(self.app.refuse_unread(refusal))
            self.transport.close()

    def _hand_over(self) -> None:
        """Switch the connection to the WebSocket protocol. Nothing of this object is kept, so that
        an idle WebSocket does not hold an HTTP parser in memory."""
        raw = self.transport.raw  # type: ignore[attr-defined]
        self.connections.discard(self)
        if raw.is_closing():
            return
        protocol = SocketProtocol(
            config=self.config, server_state=self.server_state, app_state=self.app_state
        )
        protocol.connection_made(Coalesced(raw, self.loop, _closing(raw, self._watch)))  # type: ignore[arg-type]
        if self.flow.write_paused:
            # Earlier answers are still unread; the new protocol would not know.
            protocol.pause_writing()
        self._watch.stop()
        raw.set_protocol(protocol)
        protocol.data_received(self._request_as_sent())
        protocol.keep_for_later(self._splitter.rest())
        self._drop_references()

    def _drop_references(self) -> None:
        """Break reference cycles, so that memory is freed at once."""
        self.parser = self.transport = self.flow = None  # type: ignore[assignment]
        self.scope = self.headers = None  # type: ignore[assignment]

    def _request_as_sent(self) -> bytes:
        lines = [self.scope["method"].encode() + b" " + self.url + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in self.scope["headers"]]
        return b"\r\n".join([*lines, b"", b""])

    def _start_timeout(self, stage: _Stage) -> None:
        self._stop_timeout()
        limits = self._limits
        self._paced_bytes = limits.upload_pace_bytes if self._is_socket_paused else 0
        limit_s = limits.request_body_s if stage is _Stage.BODY else limits.request_head_s
        self._timeout = self.loop.call_later(limit_s, self._on_timeout)
        self._timed_stage = stage

    def _stop_timeout(self) -> None:
        self._timed_stage = None
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None

    def _on_timeout(self) -> None:
        self._timeout = None
        if self._stage is _Stage.BETWEEN:
            self.transport.close()
        elif self._is_upload and self._paced_bytes >= self._limits.upload_pace_bytes:
            self._start_timeout(_Stage.BODY)
        else:
            self._refuse(RequestTooSlow())

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - our problem says more
        self._refuse(self._fault or InvalidRequest("This is not a well-formed HTTP/1.1 request."))

    def _refuse(self, problem: Problem) -> None:
        """Answer with the problem and read nothing more."""
        self._refusal = problem
        self._stop_timeout()
        self._unset_keepalive_if_required()
        if self._stage is _Stage.BODY:
            self._refuse_current()
        else:
            self._send_refusal()

    def _refuse_current(self) -> None:
        """The body of the current request is wrong; the app may have answered it already."""
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._send_refusal()
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def on_response_complete(self) -> None:
        # Reading resumes only after uvicorn has started its timeout for idle connections.
        self.flow.read_paused = False
        super().on_response_complete()
        if self._splitter.has_more or self._is_socket_paused:
            self._read_on()

    def _send_refusal(self) -> None:
        if self._refusal is not None and not self.transport.is_closing():
            self.transport.write(self.app.refuse_unread(self._refusal))
            self.transport.close()

    def _closer(self, transport: asyncio.Transport) -> Callable[[], None]:
        """Closing while the client still sends would reset the connection, and the client would
        lose the answer. So first only the sending direction is closed."""

        close_in_order = _closing(transport, self._watch)

        def close() -> None:
            is_idle = self._stage is _Stage.BETWEEN and self._refusal is None
            if is_idle or transport.is_closing() or not transport.can_write_eof():
                close_in_order()
                return
            self._stop_timeout()
            transport.resume_reading()
            transport.write_eof()
            self._timeout = self.loop.call_later(self._limits.unread_close_s, transport.abort)

        return close


def _closing(transport: asyncio.Transport, watch: ReaderWatch) -> Callable[[], None]:
    def close() -> None:
        transport.close()
        watch.start()

    return close
