"""Publishes the event log to EventBridge: a consumer of the log like any other.

Each event is published at least once, and the events of a thread in their order: an event that was
not taken holds back the later ones of its thread, and no others. The cursor moves over events that
were taken. Events behind the cursor's next one that were taken too are remembered in memory only:
after a crash they are published again, under the same id.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec

from greenroom.events.consumers import Progress
from greenroom.events.model import LoggedEvent
from greenroom.kernel.errors import Unavailable, Unreadable
from greenroom.platform.aws.eventbridge import (
    BYTES_PER_REQUEST,
    ENTRIES_PER_REQUEST,
    Entry,
    EventBridgeError,
)
from greenroom.platform.postgres.pool import Session
from greenroom.webhooks.body import body_of
from greenroom.webhooks.data import refer

CONSUMER = "eventbridge"
SOURCE = "greenroom"
WINDOW = 100
"""How many events behind the cursor are looked at: as many can overtake one that is not taken."""


log = logging.getLogger(__name__)


class PutsEvents(Protocol):
    async def put(self, entries: Sequence[Entry]) -> list[str | None]:
        """See `EventBridge.put`."""
        ...


class FillsData(Protocol):
    async def fill(
        self, events: Sequence[LoggedEvent], *, include_content: bool
    ) -> list[dict[str, Any]]:
        """See `EventData.fill`."""
        ...


class EventBridgePublisher:
    """`publish` is what the consumer does with the events behind its cursor."""

    def __init__(
        self,
        bus: PutsEvents,
        data: FillsData,
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
        self._start = 0
        """The cursor when events were published last."""

    async def publish(self, _conn: Session, events: Sequence[LoggedEvent]) -> Progress:
        """One request, with the next event of each of several threads."""
        start = events[0].position - 1
        if start < self._start:
            # Somebody has set the cursor back, to have events published again.
            self._taken.clear()
        self._start = start
        self._taken = {position for position in self._taken if position > start}
        failure: Unavailable | None = None
        if chosen := self._choose(events):
            failure = await self._put(chosen)
        elif self._held:
            failure = Unavailable("EventBridge has not taken all events.")
            self._held.clear()
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

    async def _put(self, events: Sequence[LoggedEvent]) -> Unavailable | None:
        """Publish these, or the first of them if they are too large for one request."""
        entries = list(self._fitting(await self._entries(events)))
        try:
            errors = await self._bus.put(entries)
        except Unavailable as failure:
            log.warning("EventBridge takes no events just now", extra={"code": str(failure)})
            raise
        except EventBridgeError as failure:
            # Somebody has to correct something, and meanwhile nothing is lost.
            log.error("EventBridge gets no events: %s", failure)
            raise Unavailable("EventBridge takes no events.") from failure
        for event, error in zip(events, errors, strict=False):
            if error is None:
                self._taken.add(event.position)
            else:
                log.warning("EventBridge did not take an event", extra={"code": error})
                self._held.add(event.thread_id or event.event_id)
        if None in errors:
            return None
        self._held.clear()
        return Unavailable("EventBridge has taken no event.")

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
        filled = await self._fill(events)
        return [await self._entry(event, data) for event, data in zip(events, filled, strict=True)]

    async def _fill(self, events: Sequence[LoggedEvent]) -> list[dict[str, Any]]:
        """An event whose things cannot be read is published with their ids, so that it does not
        hold up the others."""
        try:
            return await self._data.fill(events, include_content=self._include_content)
        except Unreadable:
            if len(events) > 1:
                return [data for event in events for data in await self._fill([event])]
            log.exception("an event is published with ids alone", extra={"event": events[0].type})
            return [refer(events[0])]

    async def _entry(self, event: LoggedEvent, data: dict[str, Any]) -> Entry:
        """With as much of the data as fits: without texts if they are too long, and with nothing
        but ids if that is too much as well."""
        entry = _entry_of(event, data)
        if entry.size > self._request_bytes and self._include_content:
            [data] = await self._data.fill([event], include_content=False)
            entry = _entry_of(event, {**data, "truncated": True})
        return entry if entry.size <= self._request_bytes else _entry_of(event, refer(event))


def _entry_of(event: LoggedEvent, data: dict[str, Any]) -> Entry:
    detail = msgspec.json.encode(body_of(event, data)).decode()
    return Entry(SOURCE, event.type, detail, event.at_ms)
