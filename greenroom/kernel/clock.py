"""Time as milliseconds since 1970, UTC. Everything that asks for it asks an injected clock."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def __call__(self) -> int: ...


def system_clock() -> int:
    return time.time_ns() // 1_000_000


def rfc3339(at_ms: int) -> str:
    """With milliseconds, as on the wire: 2026-01-31T12:00:00.000Z."""
    seconds, milliseconds = divmod(at_ms, 1000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"
