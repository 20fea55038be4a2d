"""Endpoints as data, what their handlers get (`Call`), and what they return (`Answer`,
`Download`, `Stream`)."""

import enum
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from greenroom.kernel.errors import Problem
from greenroom.kernel.scopes import SCOPES, Scope


class Who(enum.Enum):
    """Who may make a call. The value is the text in the API reference."""

    ANYONE = "anyone"
    PERSON = "a person"
    BACKEND = "your backend"
    PERSON_OR_BACKEND = "a person or your backend"


@dataclass(frozen=True, slots=True)
class Caller:
    kind: Literal["person", "backend", "anyone"]
    user_id: str | None
    operator_role: str | None = None
    key_id: str | None = None
    expires_at: float | None = None
    scopes: frozenset[str] = frozenset(SCOPES)
    """What a backend's key may do."""

    @property
    def id(self) -> str:
        """Identifies the caller in logs and for idempotency keys."""
        if self.kind == "person":
            return f"person:{self.user_id}"
        if self.kind == "backend":
            return f"backend:{self.key_id}"
        return "anyone"


ANYONE = Caller("anyone", None)


class StreamedBody(Protocol):
    """The body of an endpoint with `streamed_bytes`, in pieces of at most a few hundred kilobytes.

    Iterating raises `PayloadTooLarge` when it is longer than that, and `ClientGoneError` when the
    client disconnects or sends too slowly. Whatever was stored of it by then must be undone."""

    announced_bytes: int | None
    """The Content-Length, which is always kept; None for a chunked body."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...


_NO_CHUNKS: tuple[bytes, ...] = ()


class _NoBody:
    announced_bytes: int | None = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in _NO_CHUNKS:
            yield chunk


NO_BODY: StreamedBody = _NoBody()


@dataclass(slots=True)
class Call:
    """One request, parsed and checked. `fingerprint` is empty without an idempotency key."""

    caller: Caller
    params: dict[str, str]
    body: Any
    query: Any
    idempotency_key: str | None
    fingerprint: bytes
    corr_id: str
    route: str = ""
    """The endpoint's method and path template, such as `POST /v1/threads`."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict, repr=False)
    raw: bytes = field(default=b"", repr=False)
    """The body as bytes, to verify signatures."""
    stream: StreamedBody = field(default=NO_BODY, repr=False)
    """The body of an endpoint with `streamed_bytes`; it can be read once."""

    def header(self, name: str) -> str | None:
        """For the few endpoints that use a header, such as `If-Match`."""
        value = self.headers.get(name.lower().encode("latin-1"))
        return None if value is None else value.decode("latin-1")


@dataclass(slots=True)
class Answer:
    """`body` is encoded as JSON; bytes and `msgspec.Raw` are sent as they are; None: no body."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] | None = None
    content_type: str = "application/json"


class StreamWriter(Protocol):
    async def write(self, data: bytes) -> None:
        """Raises `ClientGoneError` when the client has disconnected or reads too slowly."""
        ...


@dataclass(slots=True)
class Stream:
    """A streamed answer: the head is sent, then `run` writes until it returns.

    `run` is cancelled when the client disconnects.
    """

    run: Callable[[StreamWriter], Awaitable[None]]
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] | None = None


@dataclass(slots=True)
class Download:
    """An answer whose length is known and whose bytes are read while they are sent.

    The app answers `HEAD`, `Range`, `If-Range` and `If-None-Match`. `read` gets the first byte and
    the one after the last. If it raises before its first chunk, the client gets the problem; later
    the connection is aborted, so that the client knows that bytes are missing.
    """

    byte_count: int
    read: Callable[[int, int], AsyncIterator[bytes]]
    etag: str
    """Without quotes. Bytes that differ must have another one."""
    content_type: str = "application/octet-stream"
    headers: Mapping[str, str] | None = None


@dataclass(slots=True)
class DelayedAnswer:
    """An answer that is not ready yet. `wait` is cancelled when the client disconnects."""

    wait: Callable[[], Awaitable[Answer]]


Handler = (
    Callable[[Call], Awaitable[Answer | DelayedAnswer]]
    | Callable[[Call], Awaitable[Answer | Download]]
    | Callable[[Call], Awaitable[Stream]]
)


class Socket(Protocol):
    """An accepted WebSocket."""

    async def receive_text(self) -> str | None:
        """The next text; None when the connection is closed. A binary message closes it with
        4400."""
        ...

    def write(self, texts: Iterable[bytes]) -> None:
        """Never waits; a caller that writes much must check `is_writable`."""
        ...

    @property
    def is_writable(self) -> bool: ...

    async def wait_writable(self) -> None:
        """Returns when the write buffer has drained, or the connection is closed."""
        ...

    def end(self, code: int, reason: str) -> None:
        """Send a close frame, and abort soon after even if the client does not answer it."""
        ...


Run = Callable[[Socket], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SocketEndpoint:
    """A WebSocket endpoint. `handler` runs before the connection opens and refuses by raising; the
    function that it returns then runs until the connection is closed."""

    path: str
    handler: Callable[[Call], Awaitable[Run]]
    summary: str
    who: Who
    query: Any = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An HTTP endpoint: the app routes by it, and the API reference is generated from it.

    `answers` maps each success status to the type of its body. `scope` is what a backend's key must
    be allowed to do; every call that a backend may make has one. `once` accepts Idempotency-Key.
    `plain` marks pages, which ignore the query string because other sites link to them. `waits`
    marks calls that wait for events, so that their duration is not counted as response time.
    `tickets` accepts a ticket in the query instead of the Authorization header. With
    `streamed_bytes` the handler reads a body of any type, of at most so many bytes, from
    `Call.stream`, while it arrives; only its pace is limited in time.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    who: Who
    answers: Mapping[int, Any]
    tag: str
    description: str = ""
    body: Any = None
    query: Any = None
    errors: tuple[type[Problem], ...] = ()
    scope: Scope | None = None
    once: bool = False
    plain: bool = False
    media: str = "application/json"
    waits: bool = False
    tickets: bool = False
    streamed_bytes: int | None = None

    @property
    def operation_id(self) -> str:
        return getattr(self.handler, "__name__", type(self.handler).__name__)

    @property
    def param_names(self) -> tuple[str, ...]:
        segments = self.path.split("/")
        return tuple(part[1:-1] for part in segments if part.startswith("{"))
