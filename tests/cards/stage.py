"""Cards on a real database, with bookings under them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import msgspec

from greenroom.bookings.documents.actions import NewDocument
from greenroom.bookings.documents.manifests import Item
from greenroom.bookings.model import Group, Leg
from greenroom.bookings.transactions import canonical
from greenroom.bootstrap import Rooms
from greenroom.cards.actions import Cards
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.model import Card, Json
from greenroom.files.postgres.card_uses import PostgresCardFiles
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.ids import make_id, system_randomness
from greenroom.platform.idempotency import Once
from tests.support.bookings import BookingStage, made
from tests.support.clock import HOUR_MS, FakeClock

SHA256 = "ab" * 32

PAYMENTS_OF_CARD = """
select operation, amount_cents, state from payment where card_id = $1 order by key
"""
TIMERS = """
select split_part(key, '/', 2) as name, due_at from task
where kind = 'timer' and split_part(key, '/', 1) = $1 order by 1
"""
HISTORY = """
select seq, before_hash, after_hash, salt, after from history
join history_detail using (subject, seq) where subject = $1 order by seq
"""
# Threads that count other open cards than there are, and people whose inbox says otherwise.
WRONG_STANDINGS = """
select t.thread_id from thread t where t.open_cards <> (
    select count(*) from card c where c.thread_id = t.thread_id and c.is_open)
union all
select i.thread_id from inbox_index i where i.needs_action <> exists (
    select 1 from card c
    where c.thread_id = i.thread_id and c.is_open and i.user_id = any (c.waits_for))
"""


@dataclass
class Project:
    """A confirmed booking in its thread; `sellers` are all there are."""

    buyer: str
    seller: str
    thread_id: str
    group: Group
    leg: Leg
    sellers: list[str]

    def person(self, side: str) -> str:
        return self.buyer if side == "buyer" else self.seller


INSERT_FILE = """
insert into file (file_id, thread_id, owner_user, purpose, name, mime, bytes, watermark, state,
                  media, created_at)
values ($1, $2, $3, $4, 'a.jpg', 'image/jpeg', 1000, $5, $6, 'image', $7)
"""


class Stage(BookingStage):
    def __init__(
        self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, catalogue: Catalogue
    ) -> None:
        super().__init__(rooms, pool, clock, rooms.thread_updates)
        self.cards = Cards(self.transactions, catalogue, self.settling, files=PostgresCardFiles())

    async def inquiry(self) -> tuple[str, str, str]:
        """A buyer, a seller, and their thread without a booking."""
        buyer, seller = await self.people("ann", "bob")
        return buyer, seller, await self.threads.open(buyer, [seller], "A question", buyer)

    async def project(
        self, *, sellers: int = 1, confirm: bool = True, begun: bool = False, **leg: Any
    ) -> Project:
        """`begun`: its booked time has just begun."""
        buyer, *others = await self.people("ann", *(f"bob{n}" for n in range(sellers)))
        group = await self.propose(buyer, *(self.leg(seller, **leg) for seller in others))
        if confirm:
            await self.bookings.confirm(group.group_id)
            await self.bookings.run_payments_now(group.group_id)
            group = await self.group(group.group_id)
        assert group.thread_id is not None
        if begun:
            self.clock.now_ms = group.legs[0].start_ms + 1000
        return Project(buyer, others[0], group.thread_id, group, group.legs[0], others)

    async def leg_of(self, project: Project) -> Leg:
        return (await self.group(project.group.group_id)).leg(project.leg.leg_id)

    async def manifest(self, project: Project) -> str:
        item = Item("final.zip", 1000, SHA256, "https://files.example/final.zip")
        manifests = self.bookings.manifests
        added = made(await manifests.add(project.seller, project.thread_id, [item]))
        return added.manifest_id

    async def file(
        self,
        project: Project,
        *,
        owner: str | None = None,
        thread_id: str | None = None,
        purpose: str = "proof",
        state: str = "processing",
        watermark: str | None = None,
    ) -> str:
        """A file of the seller's in the project, unless something else is said. It is uploaded and
        not processed yet."""
        file_id = make_id("fil", self.clock(), system_randomness())
        thread_id = thread_id or project.thread_id
        owner = owner or project.seller
        await self.pool.execute(
            *(INSERT_FILE, file_id, thread_id, owner, purpose, watermark, state, self.clock())
        )
        return file_id

    async def gallery(self, project: Project, count: int = 3) -> list[str]:
        return [await self.file(project) for _ in range(count)]

    async def document(self, project: Project, signers: Sequence[str]) -> str:
        new = NewDocument("Model release", SHA256, signers)
        return made(await self.bookings.documents.add(project.group.group_id, new)).document_id

    async def make(
        self, person: str, thread_id: str, type_name: str, payload: Json, once: Once | None = None
    ) -> Card:
        self.clock.advance(seconds=3)
        return made(await self.cards.create(person, thread_id, type_name, payload, once)).card

    async def act(self, person: str, card: Card, action: str, **given: Any) -> Card:
        return made(await self.cards.act(person, card.id, action, card.version, given))

    async def card(self, card: Card) -> Card:
        found, _ = await self.cards.access(None, card.id)
        return found

    async def payments(self, card: Card) -> list[tuple[str, int, str]]:
        return [tuple(row) for row in await self.pool.fetch(PAYMENTS_OF_CARD, card.id)]

    async def timers(self, card: Card) -> dict[str, int]:
        rows = await self.pool.fetch(TIMERS, card.id)
        return {row["name"]: row["due_at"] for row in rows}

    async def run_timer(self, card: Card, name: str) -> Card:
        """Wait until it is due, and let it fire."""
        due_ms = (await self.timers(card))[name]
        self.clock.now_ms = max(self.clock.now_ms, due_ms)
        await self.cards.run_timer(card.id, name)
        return await self.card(card)

    def at(self, hours: float) -> str:
        return rfc3339(self.clock() + int(hours * HOUR_MS))

    async def check(self) -> None:
        """What must hold whatever has happened."""
        await self.check_ledger()
        assert await self.pool.fetch(WRONG_STANDINGS) == []

    async def check_history(self, card: Card) -> None:
        """Without gaps, and every hash is of what it says it is of."""
        before = None
        rows = await self.pool.fetch(HISTORY, card.id)
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        for row in rows:
            after = canonical(msgspec.json.decode(row["after"]))
            assert row["before_hash"] == before
            assert row["after_hash"] == hashlib.sha256(row["salt"] + after).digest()
            before = row["after_hash"]
