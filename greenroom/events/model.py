"""An event as the log keeps it."""

from dataclasses import dataclass
from typing import Any

from greenroom.kernel.money import Money


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """Something that has happened. Contains ids and codes only, no text that people wrote."""

    position: int
    """1, 2, 3 … without gaps, in the order of the log."""
    event_id: str
    """`evt_…`; the same however often the event is read."""
    type: str
    at_ms: int
    """When it happened."""
    actor: str | None
    thread_id: str | None
    thread_number: int | None
    """1, 2, 3 … without gaps within the thread; None for an event without a thread."""
    message_id: str | None
    group_id: str | None
    leg_id: str | None
    card_id: str | None
    money: Money | None
    data: dict[str, Any] | None
