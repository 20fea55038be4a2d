"""Between the transports and the application: what has been received and not yet taken."""

from collections import deque
from typing import Any, Protocol

from greenroom_client.limits import ClientLimits
from greenroom_client.state import State
from greenroom_client.timing import Signal
from greenroom_client.transport import Line

Json = dict[str, Any]


class Handover:
    """Events go to the application once and in order, whatever transports do.

    The position is that of the last event handed to the application, and moves in the same step as
    the event is handed over. Each transport starts from it; what an earlier one had brought beyond
    it is discarded then, and what that one might still bring is refused. So nothing is missed or
    repeated, and no two cursors need to be compared.
    """

    def __init__(self, since: str | None, state: State, limits: ClientLimits) -> None:
        self._state = state
        self._limits = limits
        self._waiting: deque[tuple[Json | None, str | None]] = deque()
        self._intake: Intake | None = None
        self._is_read = False
        self._failure: Exception | None = None
        self.changed = Signal()
        self.position = since
        self.handed: str | None = None
        """The cursor of the last event that this object handed over."""

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    def begin(self, watcher: "Watcher") -> "Intake":
        """A transport's turn: what was not taken from the one before is brought anew by this."""
        self._waiting.clear()
        self._intake = Intake(self, watcher)
        return self._intake

    def finish(self) -> None:
        """The transport's turn is over; what it brought can still be taken until the next begins.

        Except who types and who is there, which is known only while a connection lasts.
        """
        self._intake = None
        self._waiting = deque(each for each in self._waiting if each[1] is not None)
        self._state.forget_ephemeral()
        self.changed.fire()

    def fail(self, failure: Exception) -> None:
        """No more will come. What is here can still be taken; then `next` raises `failure`."""
        self._failure = failure
        self.changed.fire()

    def is_from(self, intake: "Intake") -> bool:
        return intake is self._intake

    def put(self, event: Json | None, cursor: str | None) -> bool:
        """Whether there is room for more."""
        if event is None and self.is_empty:
            self.position = cursor
        else:
            self._waiting.append((event, cursor))
        self.changed.fire()
        return len(self._waiting) < self._limits.buffered_events

    async def next(self) -> Json:
        if self._is_read:
            raise RuntimeError("events() has one reader at a time")
        self._is_read = True
        try:
            while (event := self._take()) is None:
                if self._failure is not None:
                    raise self._failure
                await self.changed.wait()
        finally:
            self._is_read = False
        return event

    def _take(self) -> Json | None:
        while self._waiting:
            event, cursor = self._waiting.popleft()
            if self.is_empty:
                self.changed.fire()
            if cursor is not None:
                self.position = self.handed = cursor
            if event is not None:
                self._state.apply(event)
                return event
        return None


class Watcher(Protocol):
    """Who is told how a transport fares."""

    def note_open(self, line: Line | None) -> None: ...

    def note_closing(self) -> None: ...

    def note_behind(self) -> None:
        """The application takes less than the transport brings."""
        ...


class Intake:
    """One transport's way in, shut as soon as its turn is over."""

    def __init__(self, handover: Handover, watcher: Watcher) -> None:
        self._handover = handover
        self._watcher = watcher
        self._is_open = False
        self.has_delivered = False
        self.is_behind = False

    def opened(self, line: Line | None) -> None:
        if self._handover.is_from(self):
            self._is_open = True
            self._watcher.note_open(line)

    def deliver(self, event: Json | None, cursor: str | None) -> None:
        if self.is_behind or not self._handover.is_from(self):
            return
        self.has_delivered = self.has_delivered or event is not None
        if not self._handover.put(event, cursor):
            self.is_behind = True
            self._watcher.note_behind()

    async def taken(self) -> str | None:
        await self._handover.changed.wait_for(lambda: self._handover.is_empty)
        return self._handover.position

    def closing(self) -> None:
        if self._is_open:
            self._is_open = False
            self._watcher.note_closing()
