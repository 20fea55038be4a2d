"""Upkeep as the commands do it, at once and in full."""

from typing import Any

from greenroom.bootstrap import Rooms
from greenroom.conversations.upkeep import Fault
from tests.support.api import Person

Json = dict[str, Any]


async def faults(rooms: Rooms, *, repair: bool = False) -> list[Fault]:
    return [each async for each in rooms.upkeep.check(repair=repair, progress=lambda *_: None)]


async def erase(rooms: Rooms, person: "Person") -> int:
    """As the command does it; says how many messages went."""
    await rooms.upkeep.check_may_erase(person.id)
    await rooms.accounts.erase_user(person.id)
    messages = sum([step.messages async for step in rooms.upkeep.erase(person.id)])
    await rooms.collector.drain()
    return messages


async def export(rooms: Rooms, person: "Person") -> dict[str, list[Json]]:
    sections: dict[str, list[Json]] = {}
    async for section, item in rooms.upkeep.export(person.id):
        sections.setdefault(section, []).append(item)
    return sections
