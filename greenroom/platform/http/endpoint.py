"""What a room says about a call, what its handler gets, and what it gives back."""

import enum
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A call as data: the app routes by it, and the reference is written from it.

    `answers` maps each success status to the type of its body. `once` accepts Idempotency-Key.
    `plain` marks answers that are not JSON but `media`; such calls ignore the query string.
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
    media: str = "text/html"

    @property
    def operation_id(self) -> str:
        return getattr(self.handler, "__name__", type(self.handler).__name__)

    @property
    def param_names(self) -> tuple[str, ...]:
        segments = self.path.split("/")
        return tuple(part[1:-1] for part in segments if part.startswith("{"))
