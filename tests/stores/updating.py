"""The contract's side of postings: a transaction of the ledger, with what threads show of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

from greenroom.conversations.dynamodb.changes.thread_updates import DynamoThreadUpdates
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.model import InboxRow, Message
from greenroom.conversations.postgres.decisions import PostgresDecisions
from greenroom.conversations.postgres.thread_updates import PostgresThreadUpdates
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.thread_updates import (
    AppliedUpdate,
    Shadow,
    Standing,
    ThreadUpdate,
    ThreadUpdates,
)
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness

from .world import names, whole_thread

Json = dict[str, Any]

_cards = names("crd_")


@dataclass(frozen=True)
class Ledger:
    pool: asyncpg.Pool
    thread_updates: ThreadUpdates

    async def post(self, update: ThreadUpdate, *, shows: bool = True) -> AppliedUpdate:
        """Apply the update in a transaction of its own; without `shows` as if the process died."""
        async with self.pool.acquire() as conn, conn.transaction():
            await self.thread_updates.access(conn, update.thread_id, update.actor)
            applied = await self.thread_updates.apply(conn, update)
        if shows:
            await self.thread_updates.show([applied])
        return applied


def ledger_of(
    store: ConversationStore,
    pool: asyncpg.Pool,
    *,
    clock: Clock,
    randomness: Randomness,
    wake: Callable[[Any], None] = lambda _: None,
) -> Ledger:
    if not isinstance(store, DynamoConversations):
        return Ledger(pool, PostgresThreadUpdates(clock=clock, randomness=randomness, wake=wake))
    log = PostgresDecisions(pool, clock=clock, randomness=randomness)
    return Ledger(pool, DynamoThreadUpdates(store.parts[0], store.decisions, log))


def shadow(
    by: str, *, state: str = "pending", version: int = 1, card_id: str | None = None, **payload: Any
) -> Shadow:
    card_id = card_id or next(_cards)
    card = {
        "id": card_id,
        "thread_id": "thr_1",
        "type": "location",
        "state": state,
        "version": version,
        "payload": payload,
        "totals": {},
        "created_by": by,
        "waits_for": [],
        "created_at": "2027-01-15T08:00:00.000Z",
        "updated_at": "2027-01-15T08:00:00.000Z",
    }
    return Shadow(card_id, "location", card)


def waiting_for(*people: str, open_cards: int = 1) -> Standing:
    return Standing(None, open_cards, frozenset(people))


async def row_of(store: ConversationStore, viewer: str, thread_id: str) -> InboxRow:
    found = await store.thread(viewer, thread_id)
    assert found is not None
    assert found[0].inbox is not None
    return found[0].inbox


async def cards_in(store: ConversationStore, viewer: str, thread_id: str) -> list[Message]:
    page = await whole_thread(store, viewer, thread_id)
    return [message for message in page if message.kind == "card"]
