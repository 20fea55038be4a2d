"""The ASGI app: finds the endpoint, checks the caller, reads the request, sends the answer.

Plain ASGI without a middleware stack: everything here runs for every request, so it is short.
"""

import asyncio
import hashlib
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.types import Message, Receive, Scope, Send

from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import (
    Forbidden,
    MethodNotAllowed,
    NotFound,
    Problem,
    Unauthenticated,
    Unavailable,
)
from greenroom.kernel.ids import RANDOM_BITS, Randomness, encode_random, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.http.answers import AnswerEncoder
from greenroom.platform.http.cors import Cors
from greenroom.platform.http.endpoint import (
    ANYONE,
    Answer,
    Call,
    Caller,
    Endpoint,
    Later,
    Run,
    Socket,
    SocketEndpoint,
    Stream,
    Who,
)
from greenroom.platform.http.intake import (
    UNWANTED_BODY_BYTES,
    ClientGoneError,
    decode_body,
    has_body,
    query_reader,
    read_body,
    read_idempotency_key,
    ticket_in,
)
from greenroom.platform.http.openings import Openings
from greenroom.platform.http.problems import problem_answer, problem_from
from greenroom.platform.http.routing import Place, Routes
from greenroom.platform.http.streaming import stream, unless_gone
from greenroom.platform.logs import SLOW_MS, log_access
from greenroom.platform.metrics import IN_FLIGHT, RequestMetrics

log = logging.getLogger("greenroom.http")

Authenticate = Callable[[str | None], Awaitable[Caller]]
Redeem = Callable[[str, str | None], Awaitable[Caller]]
"""Trades a ticket for its owner; the second argument is the origin of the page that uses it."""

Hook = Callable[[], Awaitable[None]]

_ADMITS: dict[Who, frozenset[str] | None] = {
    Who.ANYONE: None,
    Who.PERSON: frozenset({"person"}),
    Who.BACKEND: frozenset({"backend"}),
    Who.PERSON_OR_BACKEND: frozenset({"person", "backend"}),
}


def _log_randomness() -> str:
    """Correlation ids must differ but need not be unguessable, so this is the fast kind."""
    return encode_random(random.getrandbits(RANDOM_BITS))


async def _nothing() -> None:
    pass


async def _no_tickets(_ticket: str, _origin: str | None) -> Caller:
    raise Unauthenticated("Tickets are not taken here.")


class _Route:
    """An endpoint with everything that can be prepared before the first request."""

    __slots__ = (
        "admits",
        "body_limit",
        "counts_time",
        "decoder",
        "endpoint",
        "handler",
        "name",
        "names",
        "read_query",
    )

    def __init__(self, endpoint: Endpoint, limits: Limits) -> None:
        self.endpoint = endpoint
        self.handler = endpoint.handler
        self.admits = _ADMITS[endpoint.who]
        self.name = f"{endpoint.method} {endpoint.path}"
        self.names = endpoint.param_names
        self.counts_time = not endpoint.waits
        self.read_query = query_reader(endpoint.query, plain=endpoint.plain)
        self.decoder: msgspec.json.Decoder[Any] | None = None
        self.body_limit = UNWANTED_BODY_BYTES
        if endpoint.body is not None:
            self.decoder = msgspec.json.Decoder(endpoint.body)
            self.body_limit = limits.request_bytes


@dataclass(slots=True)
class _Exchange:
    """What is known of a request by the time it is answered, however far it came."""

    method: str
    headers: dict[bytes, bytes]
    corr_id: str
    caller: Caller = ANYONE
    template: str = "unmatched"
    counts_time: bool = True


class _SocketRoute:
    __slots__ = ("admits", "endpoint", "name", "read_query")

    def __init__(self, endpoint: SocketEndpoint) -> None:
        self.endpoint = endpoint
        self.admits = _ADMITS[endpoint.who]
        self.name = f"WS {endpoint.path}"
        self.read_query = query_reader(endpoint.query, plain=False)


class HttpApp:
    """Serves `endpoints` and `sockets`. After `begin_drain` new requests are refused, those in
    flight finish."""

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
    ) -> None:
        self.limits = limits or Limits()
        self.draining = False
        self._authenticate = authenticate
        self._redeem = redeem
        self._sockets = {each.path.encode("ascii"): _SocketRoute(each) for each in sockets}
        self._on_drain = on_drain
        self.openings = Openings(
            per_s=self.limits.opened_streams_per_s,
            at_once=self.limits.opened_streams_at_once,
            waiting=self.limits.opening_streams,
        )
        self._cors = Cors(allowed_origins)
        self._answers = AnswerEncoder(self._cors)
        self._startup = startup
        self._shutdown = shutdown
        self._clock = clock
        self._randomness = randomness
        self._access_log = access_log
        self._metrics = RequestMetrics()
        self._routes = Routes(
            (each.method, each.path, _Route(each, self.limits)) for each in endpoints
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
        exchange = _Exchange(scope["method"], dict(scope["headers"]), corr_id)
        IN_FLIGHT.inc()
        try:
            try:
                answer = await self._answer(exchange, scope, receive)
                if isinstance(answer, Stream):
                    await self._stream(exchange, answer, scope, receive, send)
                    return
                head, body = self._encode(exchange, answer)
            except ClientGoneError:
                return
            except asyncio.CancelledError:
                if not self.draining:
                    raise
                # The grace is over. The client hears that it may repeat; the task ends here.
                stopped = Unavailable("The server stopped before this was done.")
                head, body = self._encode(exchange, self._refuse(exchange, stopped))
            except Exception as error:  # noqa: BLE001 - the one place where every error ends
                head, body = self._encode(exchange, self._refuse(exchange, error))
            await send(head)
            await send({"type": "http.response.body", "body": body})
        finally:
            IN_FLIGHT.dec()
        self._account(exchange, head["status"], time.perf_counter() - started_s)

    async def _answer(self, exchange: _Exchange, scope: Scope, receive: Receive) -> Answer | Stream:
        if self.draining:
            raise Unavailable("The server is shutting down.")
        found = self._routes.find(scope["raw_path"])
        if found is None:
            raise NotFound
        place, values = found
        route = self._route(place, exchange.method)
        if route is None:
            return self._options(exchange, place)
        exchange.template, exchange.counts_time = route.endpoint.path, route.counts_time
        if route.endpoint.tickets:
            await self.openings.turn()
            exchange.caller = await self._admit(exchange, route.admits, ticket_in(scope))
        elif route.admits is not None:
            exchange.caller = await self._admit(exchange, route.admits)
        call = await self._read(exchange, route, values, scope, receive)
        answer = await route.handler(call)
        return await unless_gone(answer.come(), receive) if isinstance(answer, Later) else answer

    async def _stream(
        self, exchange: _Exchange, answer: Stream, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Streams count as answered when they begin: how long they last says nothing."""
        head, _ = self._encode(exchange, Answer(200, b"", answer.headers, answer.content_type))
        head["headers"] = [each for each in head["headers"] if each[0] != b"content-length"]
        self._account(exchange, 200, 0)
        await send(head)
        if exchange.method == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            await stream(answer, scope, receive, send, slow_s=self.limits.slow_reader_s)
        except ClientGoneError:
            pass
        except asyncio.CancelledError:
            if not self.draining:
                raise
        except Exception as error:  # noqa: BLE001 - too late for an answer, so it just ends
            self._refuse(exchange, error)
            scope["greenroom.abort"]()

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        corr_id = make_id("cor", self._clock(), self._randomness())
        exchange = _Exchange("WS", dict(scope["headers"]), corr_id)
        await receive()
        try:
            run = await self._open_socket(exchange, scope)
        except Exception as error:  # noqa: BLE001 - refused in the one way that there is
            await self._refuse_socket(exchange, error, send)
            return
        self._account(exchange, 101, 0)
        await send({"type": "websocket.accept"})
        socket: Socket = scope["greenroom.socket"]
        # The connection may last for days and needs nothing more of how it began.
        scope.clear()
        exchange.headers.clear()
        try:
            await run(socket)
        except Exception as error:  # noqa: BLE001 - nobody above would tell it better
            self._refuse(exchange, error)
            socket.end(1011, "Something broke here; come back from your cursor.")

    async def _open_socket(self, exchange: _Exchange, scope: Scope) -> Run:
        if self.draining:
            raise Unavailable("The server is shutting down.")
        route = self._sockets.get(scope["raw_path"])
        if route is None:
            raise NotFound
        exchange.template = route.endpoint.path
        if not self._cors.allows_socket(exchange.headers):
            raise Forbidden("Pages of this origin may not connect; see GREENROOM_ALLOWED_ORIGINS.")
        exchange.caller = await self._admit(exchange, route.admits, ticket_in(scope))
        query = route.read_query(scope["query_string"])
        call = Call(
            *(exchange.caller, {}, None, query, None, b""),
            *(exchange.corr_id, route.name, exchange.headers),
        )
        return await route.endpoint.handler(call)

    async def _refuse_socket(self, exchange: _Exchange, error: Exception, send: Send) -> None:
        head, body = self._encode(exchange, self._refuse(exchange, error))
        start = {**head, "type": "websocket.http.response.start"}
        await send(start)
        await send({"type": "websocket.http.response.body", "body": body})
        self._account(exchange, head["status"], 0)

    @staticmethod
    def _route(place: Place[_Route], method: str) -> _Route | None:
        """None stands for OPTIONS, which every place answers."""
        route = place.methods.get(method)
        if route is None and method == "HEAD":
            route = place.methods.get("GET")
        if route is None and method != "OPTIONS":
            raise MethodNotAllowed(extra={"allow": place.allow})
        return route

    def _options(self, exchange: _Exchange, place: Place[_Route]) -> Answer:
        headers = {"allow": place.allow}
        if b"access-control-request-method" in exchange.headers:
            origin = exchange.headers.get(b"origin")
            for name, value in self._cors.preflight_headers(origin, place.allow):
                headers[name.decode()] = value.decode()
        return Answer(204, headers=headers)

    async def _admit(
        self, exchange: _Exchange, admits: frozenset[str] | None, ticket: str | None = None
    ) -> Caller:
        header = _text(exchange.headers.get(b"authorization"))
        if ticket is None:
            caller = await self._authenticate(header)
        else:
            caller = await self._redeem(ticket, _text(exchange.headers.get(b"origin")))
            if header is not None and (await self._authenticate(header)).id != caller.id:
                raise Unauthenticated("This ticket is another person's.")
        if admits is not None and caller.kind not in admits:
            raise Forbidden
        return caller

    async def _read(
        self,
        exchange: _Exchange,
        route: _Route,
        values: list[str],
        scope: Scope,
        receive: Receive,
    ) -> Call:
        headers = exchange.headers
        key = None
        if route.endpoint.once:
            key = read_idempotency_key(headers, self.limits.idempotency_key_characters)
        query = route.read_query(scope["query_string"])
        raw = b""
        if route.decoder is not None or has_body(headers):
            raw = await read_body(receive, headers, route.body_limit)
        body = None
        if route.decoder is not None:
            body = decode_body(route.decoder, raw, headers.get(b"content-type", b""))
        fingerprint = b""
        if key is not None:
            fingerprint = hashlib.sha256(scope["raw_path"] + b"\n" + raw).digest()
        return Call(
            exchange.caller,
            dict(zip(route.names, values, strict=True)) if values else {},
            body,
            query,
            key,
            fingerprint,
            exchange.corr_id,
            route.name,
            headers,
            raw,
        )

    def refuse_unread(self, problem: Problem) -> bytes:
        """The whole answer to what never became a request; the connection ends with it."""
        corr_id = make_id("cor", self._clock(), self._randomness())
        exchange = _Exchange("unread", {}, corr_id)
        answer = self._refuse(exchange, problem)
        answer.headers = {**(answer.headers or {}), "connection": "close"}
        start, body = self._encode(exchange, answer)
        self._account(exchange, problem.status, 0)
        phrase = HTTPStatus(problem.status).phrase.encode("ascii")
        lines = [b"HTTP/1.1 %d %s" % (problem.status, phrase)]
        lines += [name + b": " + value for name, value in start["headers"]]
        return b"\r\n".join([*lines, b"", body])

    def _refuse(self, exchange: _Exchange, error: Exception) -> Answer:
        problem = problem_from(error)
        if not isinstance(error, Problem):
            log.error(
                "%s while serving a request",
                type(error).__qualname__,
                exc_info=error,
                extra={
                    "corr_id": exchange.corr_id,
                    "method": exchange.method,
                    "route": exchange.template,
                    "code": problem.code,
                },
            )
        answer = problem_answer(problem, exchange.corr_id)
        if self.draining:
            answer.headers = {**(answer.headers or {}), "connection": "close"}
        return answer

    def _encode(self, exchange: _Exchange, answer: Answer) -> tuple[Message, bytes]:
        return self._answers.encode(
            answer,
            method=exchange.method,
            corr_id=exchange.corr_id,
            origin=exchange.headers.get(b"origin"),
        )

    def _account(self, exchange: _Exchange, status: int, seconds: float) -> None:
        template = exchange.template
        if not exchange.counts_time:
            seconds = 0
        self._metrics.observe(template, exchange.method, status, seconds)
        ms = seconds * 1000
        if status >= 500 or ms > SLOW_MS or self._access_log:
            log_access(
                method=exchange.method,
                route=template,
                status=status,
                ms=ms,
                corr_id=exchange.corr_id,
                caller=exchange.caller.id,
            )

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._startup()
        except Exception as error:
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


def _text(header: bytes | None) -> str | None:
    return None if header is None else header.decode("latin-1")
