"""The body of a delivery."""

from collections.abc import Mapping
from typing import Any

from greenroom.events.model import LoggedEvent
from greenroom.kernel.clock import rfc3339


def body_of(event: LoggedEvent, data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` is what `EventData.fill` has filled in."""
    return {"type": event.type, "timestamp": rfc3339(event.at_ms), "data": data}
