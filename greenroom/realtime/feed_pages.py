"""Turns a page of the feed into what a transport sends, up to the first event that fails."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from greenroom.conversations.model import Cursor, Event
from greenroom.conversations.store import Changes
from greenroom.kernel.errors import Unreadable

T = TypeVar("T")

log = logging.getLogger("greenroom.realtime")


@dataclass(frozen=True, slots=True)
class FeedPage(Generic[T]):
    events: list[T]
    cursor: Cursor
    """The cursor after these events."""
    failure: Exception | None = None
    """Why the next event could not be rendered."""


def render_page(changes: Changes, show: Callable[[Event], T]) -> FeedPage[T]:
    """Raises what `show` raises if the first event already fails."""
    shown: list[T] = []
    for place, event in enumerate(changes.events):
        try:
            shown.append(show(event))
        except Exception as failure:
            if place == 0:
                raise
            return FeedPage(shown, changes.events[place - 1].cursor, failure)
    return FeedPage(shown, changes.cursor)


def report_broken(failure: Exception, corr_id: str) -> None:
    """Log why a connection ends. The client gets a close code and this corr_id."""
    told = {"corr_id": corr_id, "code": Unreadable.code}
    log.error("a connection ends: its feed cannot be read", exc_info=failure, extra=told)
