"""Where samples are loaded into in these tests, and all that can be seen there afterwards."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg
import msgspec

from greenroom.bootstrap import Rooms
from greenroom.conversations.model import Event
from greenroom.conversations.rows_dynamodb import row_from
from greenroom.conversations.store import Folder, InboxFilter
from greenroom.demo.bulk_postgres import TABLES
from greenroom.platform.dynamodb.client import Client
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.postgres import Session, open_pool
from greenroom.settings import Settings

NOW_MS = 1_800_000_000_000
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
PAGE = 50

# What chance has put into an id; its time is before it.
RANDOM_PART = re.compile(r"((?:thr|msg|dec)_[0-9a-f]{12})[0-9a-z]{14}")


def clock() -> int:
    return NOW_MS


@dataclass(frozen=True, slots=True)
class Place:
    settings: Settings
    url: str
    access: Access | None = None

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        assert self.access is not None
        client = open_client(self.access)
        try:
            yield client
        finally:
            await client.close()

    @asynccontextmanager
    async def table(self) -> AsyncIterator[Table]:
        async with self.client() as client:
            yield Table(client, self.settings.dynamodb_table, Meter())

    @asynccontextmanager
    async def accounts(self) -> AsyncIterator[Session]:
        pool = await open_pool(self.url, min_size=1, max_size=1, statement_timeout_ms=0)
        try:
            async with pool.acquire() as conn:
                yield conn
        finally:
            await pool.close()

    async def contents(self) -> dict[str, Any]:
        """Everything that a load leaves behind."""
        if self.access is not None:
            async with self.table() as table:
                return {" ".join(key): item for key, item in (await all_items(table)).items()}
        connection = await asyncpg.connect(self.url)
        try:
            query = "select * from {} order by 1, 2"
            return {
                name: [tuple(row) for row in await connection.fetch(query.format(name))]
                for name in (*TABLES, "app_user", "message_audit", "outbox", "user_block")
            }
        finally:
            await connection.close()


NewPlace = Callable[[str], Awaitable[Place]]


async def all_items(table: Table) -> dict[tuple[str, str], Item]:
    """By their keys, with rows unpacked; without the epoch, which is another in every table."""
    found: dict[tuple[str, str], Item] = {}
    start: Item | None = None
    while True:
        items, start = await table.scan(start=start, limit=1000)
        for item in items:
            key = item["pk"], item["sk"]
            if key != ("META", "EPOCH"):
                found[key] = {**item, "row": row_from(item)} if "row" in item else item
        if start is None:
            return found


def without_chance(contents: object) -> str:
    """The same for two loads that differ in nothing but what ids have by chance."""
    plain = msgspec.to_builtins(contents)
    return RANDOM_PART.sub(r"\1", json.dumps(plain, indent=1, sort_keys=True))


async def seen_by(rooms: Rooms, user_id: str) -> dict[str, Any]:
    """Every thread and message that someone finds, and every event."""
    threads = [each async for each in _inbox(rooms, user_id)]
    verbs = rooms.conversations
    page = await verbs.inbox(user_id, InboxFilter(), after=None, limit=1)
    return {
        "threads": threads,
        "unread": page.unread_threads,
        "messages": [
            (await verbs.access_messages(user_id, thread.id, limit=PAGE)).items
            for thread in threads
        ],
        "events": [each async for each in _events(rooms, user_id)],
    }


async def _inbox(rooms: Rooms, user_id: str) -> AsyncIterator[Any]:
    for folder in (Folder.ALL, Folder.ARCHIVED):
        after = None
        while True:
            page = await rooms.conversations.inbox(
                user_id, InboxFilter(folder), after=after, limit=PAGE
            )
            for thread in page.items:
                yield thread
            after = page.next_key
            if after is None:
                break


async def _events(rooms: Rooms, user_id: str) -> AsyncIterator[Event]:
    since = None
    while True:
        changes = await rooms.conversations.changes(user_id, since, PAGE)
        for event in changes.events:
            yield event
        since = changes.cursor
        if not changes.has_more:
            return


def numbered(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Events without the epoch of their cursor."""
    return [
        (
            *(each.cursor.n, each.type, each.at_ms, each.thread_id),
            *(each.message, each.inbox, each.thread, each.receipt),
        )
        for each in events
    ]
