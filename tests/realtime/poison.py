"""Values that no version should have stored, in every column and attribute that a person's pages
and events are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import asyncpg

from greenroom.conversations.dynamodb.items.keys import (
    CARDS,
    MESSAGES,
    PARTICIPANTS,
    feed_partition,
    thread_partition,
)
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.platform.dynamodb.table import Update
from tests.support.api import Person

OF_ONE_PERSON = ("inbox_index", "feed", "thread_participant")
TABLES = (*OF_ONE_PERSON, "thread", "message")
SHOWN_TO_ALL = ("thread_participant", "thread", "message")
OWN_COLUMNS = ("thread_participant.muted_until",)
"""These apart, what is in rows of one person nobody else in the thread may notice."""

COLUMNS = """
select a.attname as name, format_type(a.atttypid, a.atttypmod) as type
from pg_attribute a
where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    and not exists (select from pg_index i
        where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey))
order by a.attnum
"""
BAD_IN_COLUMNS = {
    "timestamp with time zone": ("'infinity'", "'10000-01-01T23:58:59Z'"),
    "jsonb": ("'5'", """'{"strange": []}'"""),
    "text": ("'strange'",),
    "bigint": ("9223372036854775807", "-1"),
    "integer": ("2147483646",),
    "boolean": (),
    "bytea": (),
    "text[]": ("array[null]::text[]",),
}

BAD_IN_ATTRIBUTES: dict[type, tuple[Any, ...]] = {
    str: (10**18, None),
    int: ("strange", 10**18, -(10**18), None),
    bytes: (b"\xff\x00", "strange"),
    bool: ("strange",),
    list: ("strange", [{}], None),
    dict: ("strange", [], {}, None),
}
KEYS = frozenset({"pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "ttl"})


@dataclass(frozen=True)
class Poison:
    name: str
    is_own: bool
    statement: str = ""
    place: str = ""
    attribute: str = ""
    value: Any = None


async def poisons_of_postgres(pool: asyncpg.Pool) -> list[Poison]:
    found = []
    for table in TABLES:
        for column in await pool.fetch(COLUMNS, table):
            for value in BAD_IN_COLUMNS[column["type"]]:
                column_name = f"{table}.{column['name']}"
                whose = "user_id = $2" if table in OF_ONE_PERSON else "$2 <> ''"
                statement = (
                    f"update {table} set {column['name']} = {value}"  # noqa: S608 (all ours)
                    f" where thread_id = $1 and {whose}"
                )
                found.append(
                    Poison(
                        f"{column_name} = {value}",
                        table not in SHOWN_TO_ALL or column_name in OWN_COLUMNS,
                        statement,
                    )
                )
    return found


async def plant_in_postgres(
    pool: asyncpg.Pool, poison: Poison, thread_id: str, owner: Person
) -> bool:
    """Whether the database takes it."""
    try:
        await pool.execute(poison.statement, thread_id, owner.id)
    except asyncpg.IntegrityConstraintViolationError:
        return False
    return True


async def poisons_of_dynamodb(
    store: DynamoConversations, thread_id: str, owner: Person
) -> list[Poison]:
    """For every attribute of every item that such a thread has."""
    found = {}
    for place, item in [each async for each in _items(store, thread_id, owner)]:
        for attribute in item.keys() - KEYS:
            for value in BAD_IN_ATTRIBUTES[type(item[attribute])]:
                is_own = place in (PARTICIPANTS, "feed")
                name = f"{place}{attribute} = {value!r}"
                found[name] = Poison(name, is_own, "", place, attribute, value)
    return [found[name] for name in sorted(found)]


async def plant_in_dynamodb(
    store: DynamoConversations, poison: Poison, thread_id: str, owner: Person
) -> bool:
    """None takes the attribute away."""
    names = {"#a": poison.attribute}
    for place, item in [each async for each in _items(store, thread_id, owner)]:
        if place == poison.place and poison.attribute in item:
            key = item["pk"], item["sk"]
            if poison.value is None:
                change = Update(key, "REMOVE #a", names=names)
            else:
                change = Update(key, "SET #a = :v", values={":v": poison.value}, names=names)
            await store._table.write(change)
    return True


async def _items(
    store: DynamoConversations, thread_id: str, owner: Person
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    for item in await store._table.query(thread_partition(thread_id)):
        sort: str = item["sk"]
        if sort in ("THR", PARTICIPANTS + owner.id):
            yield sort.removesuffix(owner.id), item
        for place in (MESSAGES, CARDS):
            if sort.startswith(place):
                yield place, item
    for item in await store._table.query(feed_partition(owner.id)):
        yield "feed", item
