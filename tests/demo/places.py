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
from greenroom.conversations.dynamodb.items.rows import row_from
from greenroom.conversations.inbox import Folder, InboxFilter
from greenroom.conversations.model import Event
from greenroom.demo.bulk_postgres import TABLES
from greenroom.demo.cues import cues
from greenroom.demo.script import latest_day
from greenroom.platform.dynamodb.client import Client
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.postgres.pool import Session, open_pool
from greenroom.settings import Settings

NOW_MS = 1_800_000_000_000
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
PAGE = 50

# What chance has put into an id; its time is before it.
STAMP = re.compile(r'"stamp": .*')
"""How a file stood when it was read, which only PostgreSQL tells."""

RANDOM_PART = re.compile(r"([a-z]{3}_[0-9a-f]{12})[0-9a-z]{14}")

# Without what the provider and chance have put there; of one moment, in an order of their own.
CONTRACT = {
    "booking": "select thread_id, buyer, state, version, updated_at from booking_group "
    "order by updated_at, buyer",
    "leg": "select seller, title, state, during::text, payout, version, updated_at from leg "
    "order by title",
    "card": "select thread_id, message_id, type, state, version, payload::text, is_open, "
    "waits_for, expires_at, created_at, updated_at from card order by created_at, thread_id",
    "history": "select at, role, actor, act, from_state, to_state, version from history "
    "order by 1, 2, 3, 4, 5, 6, 7",
    "payment": "select operation, purpose, account, amount_cents, currency, state, failure_code, "
    "created_at, updated_at from payment order by created_at, operation",
    "money": "select e.at, e.kind, p.amount_cents from money_entry e join money_posting p "
    "using (entry_id) order by 1, 2, 3",
    "deposit": "select amount_cents, captured_cents, state, updated_at from deposit order by 4",
    "document": "select title, state, updated_at from document order by title",
    "manifest": "select created_by, items::text, created_at from manifest order by created_at",
    "task": "select split_part(key, '/', 2), due_at, attempts, failure from task "
    "order by due_at, 1",
}


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
        contract = {name: await self.rows(query) for name, query in CONTRACT.items()}
        if self.access is not None:
            async with self.table() as table:
                items = (await all_items(table)).items()
            return {**contract, **{" ".join(key): item for key, item in items}}
        tables = (*TABLES, "app_user", "message_audit", "outbox", "user_block")
        query = "select * from {} order by 1, 2"
        found = {name: await self.rows(query.format(name)) for name in tables}
        return {**contract, **found}

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        """From PostgreSQL, where contracts are, whatever keeps the threads."""
        connection = await asyncpg.connect(self.url)
        try:
            return [tuple(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()


NewPlace = Callable[[str], Awaitable[Place]]


async def all_items(table: Table) -> dict[tuple[str, str], Item]:
    """By their keys, with rows unpacked; without the epoch, which is another in every table."""
    found: dict[tuple[str, str], Item] = {}
    sent = {cue.client_id for cue in cues(1, latest_day(NOW_MS)) if cue.step.verb == "sends"}
    start: Item | None = None
    while True:
        items, start = await table.scan(start=start, limit=1000)
        for item in items:
            key = item["pk"], item["sk"]
            if key != ("META", "EPOCH"):
                found[key] = {**item, "row": row_from(item)} if "row" in item else item
            if item["pk"].rpartition("#")[2] in sent or item.get("type") == "asset":
                # The hash of a message with files has their ids in it.
                found[key] = {**found[key], "h": b"", "sendHash": b""}
        if start is None:
            return found


def without_chance(contents: object) -> str:
    """The same for two loads that differ in nothing but what ids have by chance."""
    plain = msgspec.to_builtins(contents, builtin_types=(bytes,))
    text = json.dumps(plain, indent=1, sort_keys=True, default=_as_text)
    return RANDOM_PART.sub(r"\1", STAMP.sub("", text))


def _as_text(value: bytes) -> str:
    """A card is kept as JSON, in which there are ids."""
    return value.decode(errors="backslashreplace")


async def seen_by(rooms: Rooms, user_id: str) -> dict[str, Any]:
    """Every thread and message that someone finds, and every event."""
    threads = [each async for each in _inbox(rooms, user_id)]
    verbs = rooms.conversations
    page = await verbs.inbox(user_id, InboxFilter(), after=None, limit=1)
    return {
        "threads": threads,
        "unread": page.counts,
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
