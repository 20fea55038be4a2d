"""Webhooks and deliveries as values, and the rules about them that need nothing else."""

from dataclasses import dataclass
from typing import Literal

from greenroom.platform.backoff import Backoff

ALL = "*"
TEST_EVENT = "webhook.test"
"""The type of the event that only `test` makes. It is not in the log."""

DisabledReason = Literal["manual", "gone", "failing"]
DeliveryState = Literal["waiting", "delivered", "failed"]
STATES: tuple[DeliveryState, ...] = ("waiting", "delivered", "failed")

GONE = 410
EXCERPT_CHARACTERS = 300
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS

LONGEST_PAUSE_MS = 3 * HOUR_MS
RETRIES = Backoff(base_ms=5_000, cap_ms=LONGEST_PAUSE_MS)
"""Without a number of attempts: they end with the time that a delivery has."""

BACK_AFTER_MS = 5 * 60 * 1000
SPREAD_MS = 60_000
"""When a receiver that failed for `BACK_AFTER_MS` answers again, everything that waits for it is
tried within `SPREAD_MS`, however long the pauses have grown."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An endpoint of the marketplace's backend. Its secrets are not part of it."""

    webhook_id: str
    url: str
    events: tuple[str, ...]
    include_content: bool
    description: str
    secret_version: int
    previous_until_ms: int | None
    created_at_ms: int
    enabled_at_ms: int
    disabled_at_ms: int | None
    disabled_reason: DisabledReason | None
    failing_since_ms: int | None

    @property
    def takes_all(self) -> bool:
        return ALL in self.events


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event to one webhook, and what its last attempt gave."""

    delivery_id: int
    webhook_id: str
    event_id: str
    type: str
    thread_id: str | None
    state: DeliveryState
    queued_at_ms: int
    attempts: int
    tried_at_ms: int | None
    next_at_ms: int | None
    """When it is tried again; None before the first attempt and after the last."""
    duration_ms: int | None
    status: int | None
    error: str | None
    excerpt: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt gave: a status, or an error without one."""

    status: int | None
    error: str | None
    excerpt: str | None = None
    was_made: bool = True
    """Whether the receiver was asked at all."""
    wait_ms: int = 0
    """How long the receiver asks to be left alone."""

    @property
    def is_success(self) -> bool:
        return self.error is None


def judge(status: int, body: bytes, retry_after: str = "") -> Attempt:
    """Statuses from 200 to 299 say that the receiver has the event; all others that it has not.
    Of the body only a failure's beginning is kept, for whoever looks for the cause."""
    if 200 <= status < 300:
        return Attempt(status, None)
    error = "redirects are not followed" if 300 <= status < 400 else f"status {status}"
    return Attempt(status, error, excerpt_of(body) or None, wait_ms=_wait_ms(retry_after))


def _wait_ms(retry_after: str) -> int:
    """Of a Retry-After in seconds; a date or anything else counts as none."""
    is_number = retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10
    return min(int(retry_after) * 1000, LONGEST_PAUSE_MS) if is_number else 0


def excerpt_of(body: bytes) -> str:
    text = body[: 4 * EXCERPT_CHARACTERS].decode("utf-8", "replace")
    shown = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(shown.split())[:EXCERPT_CHARACTERS]


def next_attempt_ms(
    *,
    now_ms: int,
    since_ms: int,
    attempts: int,
    chance: float,
    retry_hours: int,
    wait_ms: int = 0,
) -> int | None:
    """When to try again after this many failed attempts, not before the receiver's `wait_ms`; None
    when the time is over. The last attempt is at the end of that time."""
    end_ms = since_ms + retry_hours * HOUR_MS
    if now_ms >= end_ms:
        return None
    pause_ms = max(int(RETRIES.delay_ms(attempts - 1, chance)), wait_ms)
    return min(end_ms, now_ms + pause_ms)
