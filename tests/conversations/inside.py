"""Hands and eyes behind the API, for what no call does yet and no call shows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import asyncpg

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.items.keys import EPOCH, thread_partition
from greenroom.conversations.dynamodb.items.rows import RowSettings
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.model import EventType
from greenroom.platform.dynamodb.table import Put

RESTORED = "restored"


class Inside(Protocol):
    async def mute(self, thread_id: str, user_id: str, until_ms: int) -> None:
        """Take the right to write from someone, until then."""

    async def put_into_spam(self, thread_id: str, user_id: str) -> None: ...

    async def place_in(self, city: str, thread_id: str) -> None: ...

    async def originals(self, thread_id: str, message_id: str) -> list[tuple[str, str]]:
        """What was done to a message and what it said before, the first change first."""

    async def restore(self) -> None:
        """As a backup does: the same data, and an epoch of its own."""


class PostgresInside:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def mute(self, thread_id: str, user_id: str, until_ms: int) -> None:
        await self._pool.execute(
            "update thread_participant set blocked_until = $3"
            " where thread_id = $1 and user_id = $2",
            *(thread_id, user_id, until_ms),
        )

    async def put_into_spam(self, thread_id: str, user_id: str) -> None:
        await self._pool.execute(
            "update inbox_index set folder = 'spam' where thread_id = $1 and user_id = $2",
            *(thread_id, user_id),
        )

    async def place_in(self, city: str, thread_id: str) -> None:
        await self._pool.execute(
            "update thread set city = $2 where thread_id = $1", thread_id, city
        )

    async def originals(self, thread_id: str, message_id: str) -> list[tuple[str, str]]:
        rows = await self._pool.fetch(
            "select act, body_text from message_audit"
            " where thread_id = $1 and message_id = $2 order by at",
            *(thread_id, message_id),
        )
        return [(row["act"], row["body_text"]) for row in rows]

    async def restore(self) -> None:
        await self._pool.execute("update feed_epoch set epoch = $1", RESTORED)


class DynamoInside:
    def __init__(self, store: DynamoConversations) -> None:
        self._store = store

    async def mute(self, thread_id: str, user_id: str, until_ms: int) -> None:
        def change_thread(change: Change) -> None:
            change.state = change.state.with_member(user_id, blocked_until_ms=until_ms)

        await self._change(thread_id, change_thread)

    async def put_into_spam(self, thread_id: str, user_id: str) -> None:
        spam = RowSettings("spam", pinned=False, starred=False, muted_until_ms=None)
        await self._change(
            thread_id, lambda change: change.notify([user_id], EventType.INBOX_CHANGED, spam)
        )

    async def place_in(self, city: str, thread_id: str) -> None:
        def change_thread(change: Change) -> None:
            change.state = replace(change.state, city=city)
            change.notify_all(None)

        await self._change(thread_id, change_thread)

    async def _change(self, thread_id: str, change_thread: Callable[[Change], None]) -> None:
        async def decide(change: Change) -> None:
            change_thread(change)

        await self._store._threads.change(thread_id, decide)

    async def originals(self, thread_id: str, message_id: str) -> list[tuple[str, str]]:
        items = await self._store._table.query(
            thread_partition(thread_id), prefix=f"AUD#{message_id}#"
        )
        return [(item["act"], item["body"]) for item in items]

    async def restore(self) -> None:
        pk, sk = EPOCH
        await self._store._table.write(Put({"pk": pk, "sk": sk, "epoch": RESTORED}))
        # A table is restored under another name, so whoever uses it has been started anew.
        self._store._feeds._epoch = ""
