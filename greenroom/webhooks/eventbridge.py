"""Publishes the event log to EventBridge: a consumer of the log like any other.

Each event is published at least once, and the events of a thread in their order: an event that was
not taken holds back the later ones of its thread, and no others. The cursor moves over events that
were taken. Events behind the cursor's next one that were taken too are remembered in memory only:
after a crash they are published again, under the same id.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from greenroom.events.consumers import Progress
from greenroom.events.model import LoggedEvent
from greenroom.kernel.errors import Unavailable
from greenroom.platform.aws.eventbridge import BYTES_PER_REQUEST, ENTRIES_PER_REQUEST, Entry
from greenroom.platform.postgres.pool import Session
from greenroom.webhooks.body import body_of
from greenroom.webhooks.data import EventData

CONSUMER = "eventbridge"
SOURCE = "greenroom"
WINDOW = 100
"""How many events behind the cursor are looked at: as many can overtake one that is not taken."""


class PutsEvents(Protocol):
    async def put(self, entries: Sequence[Entry]) -> list[str | None]:
        """See `EventBridge.put`."""
        ...


class EventBridgePublisher:
    """`publish` is what the consumer does with the events behind its cursor."""

    def __init__(
        self,
        bus: PutsEvents,
        data: EventData,
        *,
        include_content: bool,
        request_bytes: int = BYTES_PER_REQUEST,
    ) -> None:
        self._bus = bus
        self._data = data
        self._include_content = include_content
        self._request_bytes = request_bytes
        self._taken: set[int] = set()
        """Positions behind the cursor that were taken."""
        self._held: set[str] = set()
        """Threads of events that were not taken in this pass over the window."""

    async def publish(self, _conn: Session, events: Sequence[LoggedEvent]) -> Progress:
        """One request, with the next event of each of several threads."""
        start = events[0].position - 1
        self._taken = {each for each in self._taken if each in range(start, start + WINDOW + 1)}
        chosen = self._choose(events)
        failure: Exception | None = None
        if chosen:
            failure = await self._put(chosen)
        elif self._held:
            self._held.clear()
            failure = Unavailable("EventBridge did not take all events.")
        return Progress(self._reached(start, events), failure)

    def _choose(self, events: Sequence[LoggedEvent]) -> list[LoggedEvent]:
        """At most one event of a thread: of two in one request, the first could fail alone."""
        chosen: dict[str, LoggedEvent] = {}
        for event in events:
            line = event.thread_id or event.event_id
            if event.position not in self._taken and line not in self._held:
                chosen.setdefault(line, event)
            if len(chosen) == ENTRIES_PER_REQUEST:
                break
        return list(chosen.values())

    async def _put(self, events: Sequence[LoggedEvent]) -> Exception | None:
        """Publish these, or the first of them if they are too large for one request."""
        entries = list(self._fitting(await self._entries(events)))
        errors = await self._bus.put(entries)
        for event, error in zip(events, errors, strict=False):
            if error is None:
                self._taken.add(event.position)
            else:
                self._held.add(event.thread_id or event.event_id)
        if all(error is not None for error in errors):
            self._held.clear()
            return Unavailable(f"EventBridge took no event: {errors[0]}")
        return None

    def _fitting(self, entries: Sequence[Entry]) -> Iterator[Entry]:
        """The first entries, as many as one request takes; at least one."""
        size = 0
        for place, entry in enumerate(entries):
            size += entry.size
            if place and size > self._request_bytes:
                return
            yield entry

    def _reached(self, start: int, events: Sequence[LoggedEvent]) -> int:
        """Up to where everything was taken."""
        reached = start
        for event in events:
            if event.position not in self._taken:
                break
            reached = event.position
        return reached

    async def _entries(self, events: Sequence[LoggedEvent]) -> list[Entry]:
        filled = await self._data.fill(events, include_content=self._include_content)
        return [await self._entry(event, data) for event, data in zip(events, filled, strict=True)]

    async def _entry(self, event: LoggedEvent, data: dict[str, Any]) -> Entry:
        """With as much of the data as fits: without texts if they are too long, and with nothing
        but ids if that is too much as well."""
        entry = _entry_of(event, data)
        if entry.size > self._request_bytes and self._include_content:
            [data] = await self._data.fill([event], include_content=False)
            entry = _entry_of(event, {**data, "truncated": True})
        if entry.size > self._request_bytes:
            entry = _entry_of(event, {**_ids_of(data), "truncated": True})
        return entry


def _entry_of(event: LoggedEvent, data: dict[str, Any]) -> Entry:
    detail = msgspec.json.encode(body_of(event, data)).decode()
    return Entry(SOURCE, event.type, detail, event.at_ms)


def _ids_of(data: dict[str, Any]) -> dict[str, Any]:
    """Everything that has an id becomes a reference; the rest is small and stays."""
    return {
        name: {"id": value["id"], "truncated": True} if _is_thing(value) else value
        for name, value in data.items()
    }


def _is_thing(value: object) -> bool:
    return isinstance(value, dict) and "id" in value
