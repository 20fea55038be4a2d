"""Time as milliseconds since 1970, UTC. Everything that asks for it asks an injected clock."""

import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Protocol

from greenroom.kernel.errors import InvalidRequest

_EPOCH = datetime.fromtimestamp(0, UTC)


class Clock(Protocol):
    def __call__(self) -> int: ...


def system_clock() -> int:
    return time.time_ns() // 1_000_000


def rfc3339(at_ms: int) -> str:
    """With milliseconds, as on the wire: 2026-01-31T12:00:00.000Z."""
    seconds, milliseconds = divmod(at_ms, 1000)
    return f"{_whole_seconds(seconds)}.{milliseconds:03d}Z"


@lru_cache(maxsize=1024)
def _whole_seconds(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def parse_rfc3339(text: str) -> int:
    """Milliseconds of a time with an offset or Z. Raises InvalidRequest."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidRequest("a time is RFC 3339 with an offset, such as 2026-01-31T12:00:00Z")
    return milliseconds_of(moment)


def milliseconds_of(moment: datetime) -> int:
    """Rounded down, and exact: a float would lose some."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)
