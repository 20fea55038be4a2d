"""Time in milliseconds since 1970, UTC. Code gets the time from an injected `Clock`."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

from greenroom.kernel.errors import InvalidRequest

_EPOCH = datetime.fromtimestamp(0, UTC)

# What clients may send: years of four digits in UTC, not before 1970.
FIRST_GIVEN_MS = 0
LAST_GIVEN_MS = 253_402_300_799_999
_FIRST_SHOWN_MS = -62_135_596_800_000
_LAST_SHOWN_MS = LAST_GIVEN_MS


class Clock(Protocol):
    def __call__(self) -> int: ...


def system_clock() -> int:
    return time.time_ns() // 1_000_000


def rfc3339(at_ms: int) -> str:
    """The form of all answers, with milliseconds: 2026-01-31T12:00:00.000Z.

    A stored time outside the years 1 to 9999, which an older version accepted, is shown as the
    nearest valid one, so that a single strange value does not make the whole answer fail.
    """
    seconds, milliseconds = divmod(min(max(at_ms, _FIRST_SHOWN_MS), _LAST_SHOWN_MS), 1000)
    return f"{_whole_seconds(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=1024)
def _whole_seconds(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


def parse_rfc3339(text: str, name: str = "a time") -> int:
    """Milliseconds of a time with an offset or Z; `name` is the field's name. Raises
    InvalidRequest, also for times before 1970 or after 9999 in UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidRequest(f"{name} is RFC 3339 with an offset, such as 2026-01-31T12:00:00Z")
    at_ms = milliseconds_of(moment)
    if not is_given(at_ms):
        raise InvalidRequest(f"{name} lies between the years 1970 and 9999, in UTC")
    return at_ms


def is_given(at_ms: int) -> bool:
    """Whether `parse_rfc3339` accepts this time."""
    return FIRST_GIVEN_MS <= at_ms <= LAST_GIVEN_MS


def milliseconds_of(moment: datetime) -> int:
    """Rounded down. Integer arithmetic, because a float is not exact."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)
