"""Cards on a real database, with bookings under them and a bank that does as it is told."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg
import msgspec

from greenroom.accounts.model import UserChanges
from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.actions import Bookings, Surroundings
from greenroom.bookings.deeds import Deed, Deeds, canonical
from greenroom.bookings.documents import NewDocument
from greenroom.bookings.manifests import Item
from greenroom.bookings.model import Balance, Group, Leg, LegKind, Payment, parse_policy
from greenroom.bookings.money import balance_of
from greenroom.bookings.payments import Operation, Outcome
from greenroom.bookings.payments_settling import Settling
from greenroom.bookings.proposals import LegProposal, check_proposal
from greenroom.bookings.threads import BookingThreads
from greenroom.cards.actions import Cards
from greenroom.cards.catalogue import Catalogue
from greenroom.cards.model import Card, Json
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.ids import system_randomness
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import Session

if TYPE_CHECKING:
    from conftest import FakeClock

    from greenroom.bootstrap import Rooms

T = TypeVar("T")

HOUR_MS = 3_600_000
POLICY = parse_policy("168:100,48:50,0:0")
SHA256 = "ab" * 32

QUEUED = f"select {sql.PAYMENT_COLUMNS} from payment where state = 'queued'"  # noqa: S608
PAYMENTS_OF_CARD = """
select operation, amount_cents, state from payment where card_id = $1 order by key
"""
TIMERS = "select name, due_at from timer where subject = $1 order by name"
HISTORY = """
select seq, before_hash, after_hash, salt, after from history
join history_detail using (subject, seq) where subject = $1 order by seq
"""
KNOWN = "select user_id from app_user where user_id = any ($1::text[])"
ALL_POSTINGS = "select coalesce(sum(amount_cents), 0)::bigint from money_posting"
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
class Bank:
    """Answers each key once and for ever. `refuses` are operations that fail."""

    refuses: set[str] = field(default_factory=set)
    asked: list[Operation] = field(default_factory=list)
    answers: dict[str, Outcome] = field(default_factory=dict)

    async def carry_out(self, operation: Operation) -> Outcome:
        if operation.key not in self.answers:
            self.asked.append(operation)
            self.answers[operation.key] = (
                Outcome("failed", None, "card_declined")
                if operation.operation in self.refuses
                else Outcome("succeeded", f"bank_{len(self.answers)}", None)
            )
        return self.answers[operation.key]


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


class Stage:
    _numbers = itertools.count(1)

    def __init__(
        self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, catalogue: Catalogue
    ) -> None:
        self.rooms = rooms
        self.pool = pool
        self.clock = clock
        self.bank = Bank()
        self.deeds = Deeds(pool, rooms.postings, _leave, clock=clock, randomness=system_randomness)
        self.settling = Settling(self.deeds)
        self.threads = BookingThreads(
            rooms.store, clock=clock, randomness=system_randomness, limits=rooms.settings.limits
        )
        around = Surroundings(self._exists, self.threads.open, self.threads.show, self._run_now)
        self.bookings = Bookings(self.deeds, self.settling, around, policy=POLICY)
        self.cards = Cards(self.deeds, catalogue, self.settling)

    async def _exists(self, people: Sequence[str]) -> Collection[str]:
        return {row["user_id"] for row in await self.pool.fetch(KNOWN, people)}

    async def _run_now(self, _: Sequence[str]) -> None:
        await self.run_payments()

    async def people(self, *names: str) -> list[str]:
        number = next(self._numbers)
        found = [f"{name}-{number}" for name in names]
        for each in found:
            await self.rooms.accounts.put_user(each, UserChanges(display_name=each))
        return found

    async def inquiry(self) -> tuple[str, str, str]:
        """A buyer, a seller, and their thread without a booking."""
        buyer, seller = await self.people("ann", "bob")
        return buyer, seller, await self.threads.open(buyer, [seller], "A question", buyer)

    async def project(self, *, sellers: int = 1, confirm: bool = True, **leg: Any) -> Project:
        buyer, *others = await self.people("ann", *(f"bob{n}" for n in range(sellers)))
        legs = [self.leg(seller, **leg) for seller in others]
        proposal = check_proposal(
            buyer=buyer,
            currency="EUR",
            legs=legs,
            policy=POLICY,
            thread_id=None,
            now_ms=self.clock(),
        )
        group = made(await self.bookings.create(proposal)).group
        if confirm:
            await self.bookings.confirm(group.group_id)
            await self.bookings.run_payments_now(group.group_id)
            group = await self.group(group.group_id)
        assert group.thread_id is not None
        return Project(buyer, others[0], group.thread_id, group, group.legs[0], others)

    def leg(
        self,
        seller: str,
        *,
        price: int = 10_000,
        deposit: int = 0,
        in_hours: float = 24 * 30,
        kind: LegKind = "talent",
    ) -> LegProposal:
        start_ms = self.clock() + int(in_hours * HOUR_MS)
        end_ms = start_ms + 2 * HOUR_MS
        return LegProposal(
            kind, seller, "A shoot", start_ms, end_ms, "Europe/Vienna", price, deposit
        )

    async def group(self, group_id: str) -> Group:
        return (await self.bookings.access_booking(None, group_id)).group

    async def leg_of(self, project: Project) -> Leg:
        return (await self.group(project.group.group_id)).leg(project.leg.leg_id)

    async def manifest(self, project: Project) -> str:
        item = Item("final.zip", 1000, SHA256, "https://files.example/final.zip")
        manifests = self.bookings.manifests
        added = made(await manifests.add(project.seller, project.thread_id, [item]))
        return added.manifest_id

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

    async def run_payments(self) -> None:
        """As a worker would, until nothing moves any more."""
        while True:
            rows = await self.pool.fetch(QUEUED)
            news = [await self.run(sql.read_payment(row)) for row in rows]
            if not any(news):
                return

    async def run(self, payment: Payment) -> bool:
        outcome = await self.bank.carry_out(
            Operation(
                payment.key,
                payment.operation,
                payment.account,
                payment.amount_cents,
                payment.currency,
                payment.source_payment,
                payment.payment_id,
            )
        )
        return await self.settling.settle(payment.payment_id, outcome)

    async def run_timer(self, card: Card, name: str) -> Card:
        """Wait until it is due, and let it fire."""
        due_ms = (await self.timers(card))[name]
        self.clock.now_ms = max(self.clock.now_ms, due_ms)
        await self.cards.run_timer(card.id, name)
        return await self.card(card)

    async def balance(self, leg: Leg) -> Balance:
        async def work(deed: Deed) -> Balance:
            return await balance_of(deed, leg.leg_id)

        return made(await self.deeds.do(work))

    def at(self, hours: float) -> str:
        return rfc3339(self.clock() + int(hours * HOUR_MS))

    async def check(self) -> None:
        """What must hold whatever has happened."""
        assert await self.pool.fetchval(ALL_POSTINGS) == 0
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


async def _leave(conn: Session, payment_id: str) -> None:
    """The tests carry payments out themselves."""


def made(outcome: T | Kept) -> T:
    assert not isinstance(outcome, Kept)
    return outcome
