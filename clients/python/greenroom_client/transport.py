"""The port between the feed and its four transports."""

from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from greenroom_client.errors import GreenroomError
from greenroom_client.tokens import Token

Json = dict[str, Any]

BROKE_OFF = 1006


class StreamEndedError(GreenroomError):
    """A stream that was open has ended: WebSocket close codes, also over SSE."""

    def __init__(
        self,
        code: int,
        reason: str = "",
        *,
        retry_after_s: float | None = None,
        reconnect: bool = True,
    ) -> None:
        super().__init__(f"{code} {reason}".rstrip())
        self.code = code
        self.reason = reason
        self.retry_after_s = retry_after_s
        self.reconnect = reconnect
        """Decides for codes that this client does not know."""


@dataclass(slots=True)
class Watched:
    """The threads of which a stream, whichever it is, should tell who types and who is there."""

    threads: list[str] = field(default_factory=list)


class Line(Protocol):
    """An open stream, which lives as long as its token does."""

    token: Token

    async def renew(self, token: Token) -> None:
        """Let it live on with `token`. Raises GreenroomError."""
        ...


class Sink(Protocol):
    """Where a transport brings what it receives. None of it waits, except `taken`."""

    def opened(self, line: Line | None) -> None:
        """The transport works. Called once."""
        ...

    def deliver(self, event: Json | None, cursor: str | None) -> None:
        """An event, or without one: everything up to `cursor` has been delivered."""
        ...

    async def taken(self) -> str | None:
        """Waits until the application has taken everything; the cursor to go on from."""
        ...

    def closing(self) -> None:
        """The transport works no longer. Called before anything that waits on it is told."""
        ...


class Transport(Protocol):
    """Brings the feed from `since` to the sink, in order, each event once.

    `run` ends by raising, and nothing of the transport is left then:
    - *StreamEndedError*: it was open.
    - *Problem, NotOpenedError*: the server answers, and this is what it says.
    - *UnreachableError*: nothing answers. *BrokenOffError*: something does, but not in full, which
      may mean either.
    - *CancelledError*: whoever runs it wants it no longer.
    """

    async def run(self, since: str | None, sink: Sink) -> NoReturn: ...
