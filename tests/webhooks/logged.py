"""Events as consumers find them in the log."""

from collections.abc import Sequence

from greenroom.bootstrap import Rooms
from greenroom.events.model import LoggedEvent

ROUNDS = 2
"""An event in DynamoDB may wait for a second look, which makes sure of the order."""


async def collect(rooms: Rooms, after: int = 0) -> list[LoggedEvent]:
    """Everything in the log after a position, with what has just happened."""
    for _ in range(ROUNDS):
        await rooms.settle()
        await rooms.collector.drain()
    return await rooms.events.read(after, 10_000)


def types_of(events: Sequence[LoggedEvent]) -> list[str]:
    return [event.type for event in events]
