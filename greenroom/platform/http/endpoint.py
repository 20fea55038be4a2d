"""What a room says about a call, what its handler gets, and what it gives back."""

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from greenroom.kernel.errors import Problem


class Who(enum.Enum):
    """Who may make a call. The value is what people read in the reference."""

    ANYONE = "anyone"
    PERSON = "a person"
    BACKEND = "your backend"
    PERSON_OR_BACKEND = "a person or your backend"


@dataclass(frozen=True, slots=True)
class Caller:
    kind: Literal["person", "backend", "anyone"]
    user_id: str | None
    desk: str | None = None
    key_id: str | None = None
    expires_at: float | None = None

    @property
    def id(self) -> str:
        """Names the caller in logs and scopes its idempotency keys."""
        if self.kind == "person":
            return f"person:{self.user_id}"
        if self.kind == "backend":
            return f"backend:{self.key_id}"
        return "anyone"


ANYONE = Caller("anyone", None)


@dataclass(slots=True)
class Call:
    """One request, read and checked. `fingerprint` is empty unless there is an idempotency key."""

    caller: Caller
    params: dict[str, str]
    body: Any
    query: Any
    idempotency_key: str | None
    fingerprint: bytes
    corr_id: str
    route: str = ""
    """The endpoint's method and path as it is written, such as `POST /v1/threads`."""
    headers: Mapping[bytes, bytes] = field(default_factory=dict, repr=False)
    raw: bytes = field(default=b"", repr=False)
    """The body as it came, for signatures over it."""

    def header(self, name: str) -> str | None:
        """For the few calls whose meaning is in a header, such as `If-Match`."""
        value = self.headers.get(name.lower().encode("latin-1"))
        return None if value is None else value.decode("latin-1")


@dataclass(slots=True)
class Answer:
    """`body` is encoded as JSON; bytes and `msgspec.Raw` go out as they are; None is no body."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] | None = None
    content_type: str = "application/json"


class StreamWriter(Protocol):
    async def write(self, data: bytes) -> None:
        """Raises `ClientGoneError` when nobody listens any more, or listens too slowly."""
        ...


@dataclass(slots=True)
class Stream:
    """An answer that goes on: the head is sent, then `run` writes until it returns.

    It is cancelled when the client hangs up.
    """

    run: Callable[[StreamWriter], Awaitable[None]]
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] | None = None


@dataclass(slots=True)
class Later:
    """An answer that comes when there is something to say. `come` is cancelled when the client
    hangs up."""

    come: Callable[[], Awaitable[Answer]]


Handler = Callable[[Call], Awaitable[Answer | Later]] | Callable[[Call], Awaitable[Stream]]


class Socket(Protocol):
    """An accepted WebSocket."""

    async def receive_text(self) -> str | None:
        """The next text; None when the connection is over. Bytes end it with 4400."""
        ...

    def write(self, texts: Iterable[bytes]) -> None:
        """Never waits: whoever writes much looks at `is_writable` in between."""
        ...

    @property
    def is_writable(self) -> bool: ...

    async def wait_writable(self) -> None:
        """Returns when what was written is on its way, or the connection is over."""
        ...

    def end(self, code: int, reason: str) -> None:
        """Say so, and hang up soon after even if the other side does not listen."""
        ...


Run = Callable[[Socket], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SocketEndpoint:
    """A WebSocket as data. `handler` refuses by raising, before the connection opens; what it
    returns then runs until the connection is over."""

    path: str
    handler: Callable[[Call], Awaitable[Run]]
    summary: str
    who: Who
    query: Any = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A call as data: the app routes by it, and the reference is written from it.

    `answers` maps each success status to the type of its body. `once` accepts Idempotency-Key.
    `plain` marks pages, which are linked to from elsewhere and ignore the query string.
    `waits` marks calls that may take their time, which says nothing about the server. `tickets`
    accepts a ticket in the query in the place of the Authorization header.
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
    once: bool = False
    plain: bool = False
    media: str = "application/json"
    waits: bool = False
    tickets: bool = False

    @property
    def operation_id(self) -> str:
        return getattr(self.handler, "__name__", type(self.handler).__name__)

    @property
    def param_names(self) -> tuple[str, ...]:
        segments = self.path.split("/")
        return tuple(part[1:-1] for part in segments if part.startswith("{"))
