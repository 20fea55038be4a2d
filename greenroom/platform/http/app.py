"""The ASGI app: finds the endpoint, authenticates, parses the request, sends the answer.

Plain ASGI without middleware, because everything here runs for every request.
"""

import asyncio
import hashlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from http import HTTPStatus

from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    Problem,
    Unauthenticated,
    Unavailable,
    Unreadable,
)
from greenroom.kernel.ids import RANDOM_BITS, Randomness, encode_random, make_id
from greenroom.kernel.limits import Limits
from greenroom.kernel.startup import StartupError
from greenroom.platform.http.answers import AnswerEncoder
from greenroom.platform.http.asgi import Message, Receive, Scope, Send
from greenroom.platform.http.connections.admission import AdmissionQueue
from greenroom.platform.http.cors import Cors
from greenroom.platform.http.downloads import open_download, send_chunks
from greenroom.platform.http.endpoint import (
    NO_BODY,
    Answer,
    Call,
    Caller,
    DelayedAnswer,
    Download,
    Endpoint,
    Run,
    Socket,
    SocketEndpoint,
    Stream,
)
from greenroom.platform.http.prepared_routes import RequestContext, Route, SocketRoute
from greenroom.platform.http.problems import problem_answer, problem_from
from greenroom.platform.http.request_parsing import (
    BodyReader,
    ClientGoneError,
    decode_body,
    has_body,
    read_body,
    read_idempotency_key,
    ticket_in,
)
from greenroom.platform.http.routing import Resource, Routes
from greenroom.platform.http.streaming import stream, until_disconnect
from greenroom.platform.http.tls import HSTS
from greenroom.platform.logs import SLOW_MS, log_access
from greenroom.platform.metrics import IN_FLIGHT, RequestMetrics

log = logging.getLogger("greenroom.http")

Authenticate = Callable[[str | None], Awaitable[Caller]]
Redeem = Callable[[str, str | None], Awaitable[Caller]]
"""Returns the owner of a ticket; the second argument is the origin of the page that uses it."""

Hook = Callable[[], Awaitable[None]]


def _log_randomness() -> str:
    """Fast, not cryptographic: correlation ids must differ but need not be secret."""
    return encode_random(random.getrandbits(RANDOM_BITS))


async def _nothing() -> None:
    pass


def _as_it_comes() -> None:
    """Where no guard stands between the connection and the app, as in tests."""


async def _no_tickets(_ticket: str, _origin: str | None) -> Caller:
    raise Unauthenticated("Tickets are not taken here.")


class HttpApp:
    """Serves `endpoints` and `sockets`. After `begin_drain` it refuses new requests."""

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        authenticate: Authenticate,
        redeem: Redeem = _no_tickets,
        sockets: Sequence[SocketEndpoint] = (),
        on_drain: Callable[[], None] = lambda: None,
        limits: Limits | None = None,
        allowed_origins: Collection[str] = (),
        startup: Hook = _nothing,
        shutdown: Hook = _nothing,
        clock: Clock = system_clock,
        randomness: Randomness = _log_randomness,
        access_log: bool = False,
        is_https: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.draining = False
        self._authenticate = authenticate
        self._redeem = redeem
        self._sockets = {each.path.encode("ascii"): SocketRoute(each) for each in sockets}
        self._on_drain = on_drain
        self.admission = AdmissionQueue(
            per_s=self.limits.opened_streams_per_s,
            at_once=self.limits.opened_streams_at_once,
            waiting=self.limits.opening_streams,
        )
        self._cors = Cors(allowed_origins)
        self._answers = AnswerEncoder(self._cors, [HSTS] if is_https else [])
        self._startup = startup
        self._shutdown = shutdown
        self._clock = clock
        self._randomness = randomness
        self._access_log = access_log
        self._metrics = RequestMetrics()
        self._routes = Routes(
            (each.method, each.path, Route(each, self.limits)) for each in endpoints
        )

    def begin_drain(self) -> None:
        if not self.draining:
            self.draining = True
            self._on_drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await self._websocket(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_s = time.perf_counter()
        corr_id = make_id("cor", self._clock(), self._randomness())
        request = RequestContext(scope["method"], dict(scope["headers"]), corr_id)
        IN_FLIGHT.inc()
        try:
            try:
                answer = await self._answer(request, scope, receive)
                if isinstance(answer, Stream):
                    await self._stream(request, answer, scope, receive, send)
                    return
                if isinstance(answer, Download):
                    await self._download(request, answer, scope, receive, send)
                    return
                head, body = self._encode(request, answer)
            except ClientGoneError:
                return
            except asyncio.CancelledError:
                if not self.draining:
                    raise
                # The shutdown grace period is over. Answer 503, so that the client retries.
                stopped = Unavailable("The server stopped before this was done.")
                head, body = self._encode(request, self._refuse(request, stopped))
            except Exception as error:  # noqa: BLE001 - every error becomes a problem document
                head, body = self._encode(request, self._refuse(request, error))
            await send(head)
            await send({"type": "http.response.body", "body": body})
        finally:
            IN_FLIGHT.dec()
        self._account(request, head["status"], time.perf_counter() - started_s)

    async def _answer(
        self, request: RequestContext, scope: Scope, receive: Receive
    ) -> Answer | Download | Stream:
        if self.draining:
            raise Unavailable("The server is shutting down.")
        found = self._routes.find(scope["raw_path"])
        if found is None:
            raise NotFound
        resource, values = found
        route = self._route(resource, request.method)
        if route is None:
            return self._options(request, resource)
        request.template, request.counts_time = route.endpoint.path, route.counts_time
        if route.endpoint.tickets:
            await self.admission.wait()
            request.caller = await self._admit(request, route.admits, ticket_in(scope))
        elif route.admits is not None:
            request.caller = await self._admit(request, route.admits)
        _check_scope(request.caller, route.scope)
        call = await self._read(request, route, values, scope, receive)
        answer = await route.handler(call)
        return (
            await until_disconnect(answer.wait(), receive)
            if isinstance(answer, DelayedAnswer)
            else answer
        )

    async def _stream(
        self, request: RequestContext, answer: Stream, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """The metrics count a stream when it starts; its duration is not a response time."""
        head, _ = self._encode(request, Answer(200, b"", answer.headers, answer.content_type))
        head["headers"] = [each for each in head["headers"] if each[0] != b"content-length"]
        self._account(request, 200, 0)
        await send(head)
        if request.method == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        sending = stream(answer, scope, receive, send, slow_s=self.limits.slow_reader_s)
        await self._send_on(request, scope, sending)

    async def _download(
        self, request: RequestContext, answer: Download, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Counted when it starts, as a stream: its duration depends on the client's network."""
        opened = await open_download(answer, request.method, request.headers)
        head, _ = self._encode(request, opened.head)
        self._account(request, head["status"], 0)
        await send(head)
        await self._send_on(request, scope, send_chunks(opened.chunks, receive, send))

    async def _send_on(
        self, request: RequestContext, scope: Scope, sending: Awaitable[None]
    ) -> None:
        try:
            await sending
        except ClientGoneError:
            pass
        except asyncio.CancelledError:
            if not self.draining:
                raise
        except Exception as error:  # noqa: BLE001 - the head is sent, so only abort is left
            self._refuse(request, error)
            scope["greenroom.abort"]()

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        corr_id = make_id("cor", self._clock(), self._randomness())
        request = RequestContext("WS", dict(scope["headers"]), corr_id)
        await receive()
        try:
            run = await self._open_socket(request, scope)
        except Exception as error:  # noqa: BLE001 - every error becomes a problem document
            await self._refuse_socket(request, error, send)
            return
        self._account(request, 101, 0)
        await send({"type": "websocket.accept", "headers": self._answers.always})
        socket: Socket = scope["greenroom.socket"]
        # The connection may last for days and does not need the handshake's data any more.
        scope.clear()
        request.headers.clear()
        try:
            await run(socket)
        except Exception as error:  # noqa: BLE001 - logged here with its correlation id
            self._refuse(request, error)
            socket.end(1011, "The server failed; reconnect from your cursor.")

    async def _open_socket(self, request: RequestContext, scope: Scope) -> Run:
        if self.draining:
            raise Unavailable("The server is shutting down.")
        route = self._sockets.get(scope["raw_path"])
        if route is None:
            raise NotFound
        request.template = route.endpoint.path
        if not self._cors.allows_socket(request.headers):
            raise Forbidden("Pages of this origin may not connect; see GREENROOM_ALLOWED_ORIGINS.")
        request.caller = await self._admit(request, route.admits, ticket_in(scope))
        query = route.read_query(scope["query_string"])
        call = Call(
            *(request.caller, {}, None, query, None, b""),
            *(request.corr_id, route.name, request.headers),
        )
        return await route.endpoint.handler(call)

    async def _refuse_socket(self, request: RequestContext, error: Exception, send: Send) -> None:
        head, body = self._encode(request, self._refuse(request, error))
        start = {**head, "type": "websocket.http.response.start"}
        await send(start)
        await send({"type": "websocket.http.response.body", "body": body})
        self._account(request, head["status"], 0)

    @staticmethod
    def _route(resource: Resource[Route], method: str) -> Route | None:
        """None for OPTIONS, which every resource answers."""
        route = resource.methods.get(method)
        if route is None and method == "HEAD":
            route = resource.methods.get("GET")
        if route is None and method != "OPTIONS":
            raise MethodNotAllowed(extra={"allow": resource.allow})
        return route

    def _options(self, request: RequestContext, resource: Resource[Route]) -> Answer:
        headers = {"allow": resource.allow}
        if b"access-control-request-method" in request.headers:
            origin = request.headers.get(b"origin")
            for name, value in self._cors.preflight_headers(origin, resource.allow):
                headers[name.decode()] = value.decode()
        return Answer(204, headers=headers)

    async def _admit(
        self, request: RequestContext, admits: frozenset[str] | None, ticket: str | None = None
    ) -> Caller:
        header = _text(request.headers.get(b"authorization"))
        if ticket is None:
            caller = await self._authenticate(header)
        else:
            caller = await self._redeem(ticket, _text(request.headers.get(b"origin")))
            if header is not None and (await self._authenticate(header)).id != caller.id:
                raise Unauthenticated("This ticket is another person's.")
        if admits is not None and caller.kind not in admits:
            raise Forbidden
        return caller

    async def _read(
        self,
        request: RequestContext,
        route: Route,
        values: list[str],
        scope: Scope,
        receive: Receive,
    ) -> Call:
        headers = request.headers
        key = None
        if route.endpoint.once:
            key = read_idempotency_key(headers, self.limits.idempotency_key_characters)
        query = route.read_query(scope["query_string"])
        raw = b""
        if route.endpoint.streamed_bytes is not None:
            request.body = BodyReader(receive, headers, route.body_limit)
            scope.get("greenroom.expect_upload", _as_it_comes)()
        elif route.decoder is not None or has_body(headers):
            raw = await read_body(receive, headers, route.body_limit)
        body = None
        if route.decoder is not None:
            body = decode_body(route.decoder, raw, headers.get(b"content-type", b""))
        fingerprint = b""
        if key is not None:
            fingerprint = hashlib.sha256(scope["raw_path"] + b"\n" + raw).digest()
        return Call(
            request.caller,
            dict(zip(route.names, values, strict=True)) if values else {},
            body,
            query,
            key,
            fingerprint,
            request.corr_id,
            route.name,
            headers,
            raw,
            request.body or NO_BODY,
        )

    def refuse_unread(self, problem: Problem) -> bytes:
        """The complete answer, as bytes, to data that is not a valid request. The connection is
        closed after it."""
        corr_id = make_id("cor", self._clock(), self._randomness())
        request = RequestContext("unread", {}, corr_id)
        answer = self._refuse(request, problem)
        answer.headers = {**(answer.headers or {}), "connection": "close"}
        start, body = self._encode(request, answer)
        self._account(request, problem.status, 0)
        phrase = HTTPStatus(problem.status).phrase.encode("ascii")
        lines = [b"HTTP/1.1 %d %s" % (problem.status, phrase)]
        lines += [name + b": " + value for name, value in start["headers"]]
        return b"\r\n".join([*lines, b"", body])

    def _refuse(self, request: RequestContext, error: Exception) -> Answer:
        problem = problem_from(error)
        if not isinstance(error, Problem) or isinstance(error, Unreadable):
            log.error(
                "%s while serving a request",
                type(error).__qualname__,
                exc_info=error,
                extra={
                    "corr_id": request.corr_id,
                    "method": request.method,
                    "route": request.template,
                    "code": problem.code,
                },
            )
        answer = problem_answer(problem, request.corr_id)
        if self.draining:
            answer.headers = {**(answer.headers or {}), "connection": "close"}
        return answer

    def _encode(self, request: RequestContext, answer: Answer) -> tuple[Message, bytes]:
        if request.body is not None and not request.body.is_complete:
            # The rest of the body is still being sent and is not read.
            answer.headers = {**(answer.headers or {}), "connection": "close"}
        return self._answers.encode(
            answer,
            method=request.method,
            corr_id=request.corr_id,
            origin=request.headers.get(b"origin"),
        )

    def _account(self, request: RequestContext, status: int, seconds: float) -> None:
        template = request.template
        if not request.counts_time:
            seconds = 0
        self._metrics.observe(template, request.method, status, seconds)
        ms = seconds * 1000
        if status >= 500 or ms > SLOW_MS or self._access_log:
            log_access(
                method=request.method,
                route=template,
                status=status,
                ms=ms,
                corr_id=request.corr_id,
                caller=request.caller.id,
            )

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._startup()
        except Exception as error:
            if isinstance(error, StartupError):
                log.critical("The server cannot start. %s", error)
            else:
                log.critical("The server cannot start", exc_info=error)
            await send({"type": "lifespan.startup.failed", "message": ""})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.begin_drain()
        try:
            await self._shutdown()
        except Exception as error:
            log.critical("The server did not stop cleanly", exc_info=error)
            await send({"type": "lifespan.shutdown.failed", "message": ""})
            return
        await send({"type": "lifespan.shutdown.complete"})


def _check_scope(caller: Caller, scope: str | None) -> None:
    if caller.kind == "backend" and scope is not None and scope not in caller.scopes:
        raise Forbidden(
            "This API key may not make this call.",
            hint=f"It needs a key with the scope `{scope}`: "
            f"`greenroom keys create NAME --scopes {scope}`.",
        )


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")
