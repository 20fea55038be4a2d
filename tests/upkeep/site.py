"""What these tests look at: whole tables, as they stand in the database."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from greenroom.bootstrap import Rooms
from greenroom.conversations.upkeep import Fault

if TYPE_CHECKING:
    from conftest import Person

Json = dict[str, Any]


async def faults(rooms: Rooms, *, repair: bool = False) -> list[Fault]:
    return [each async for each in rooms.upkeep.check(repair=repair, progress=lambda *_: None)]


async def erase(rooms: Rooms, person: "Person") -> int:
    """As the command does it; says how many messages went."""
    await rooms.upkeep.check_may_erase(person.id)
    await rooms.accounts.erase_user(person.id)
    return sum([step.messages async for step in rooms.upkeep.erase(person.id)])


async def export(rooms: Rooms, person: "Person") -> dict[str, list[Json]]:
    sections: dict[str, list[Json]] = {}
    async for section, item in rooms.upkeep.export(person.id):
        sections.setdefault(section, []).append(item)
    return sections


async def everything(pool: asyncpg.Pool, tables: Sequence[str]) -> str:
    """All rows as text, to look for words in."""
    found = []
    for table in tables:
        rows = await pool.fetch(f"select t::text as row from {table} t")  # noqa: S608
        found += [f"{table} {row['row']}" for row in rows]
    return "\n".join(found)


async def forget_all(pool: asyncpg.Pool) -> None:
    """An empty world for a test that looks at the whole of it."""
    await pool.execute(
        "truncate thread, thread_participant, message, message_audit, user_block, inbox_index, "
        "feed, feed_head, outbox, idempotency_key, rate_limit"
    )
