"""Bookings on a real database with a bank that does as it is told."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from greenroom.accounts.model import UserChanges
from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.actions import Bookings, Surroundings
from greenroom.bookings.deeds import Deed, Deeds
from greenroom.bookings.legs import lock_leg
from greenroom.bookings.model import Balance, Group, Leg, LegKind, Payment, Policy, parse_policy
from greenroom.bookings.money import balance_of
from greenroom.bookings.payments import Operation, Outcome
from greenroom.bookings.payments_settling import Settling
from greenroom.bookings.proposals import LegProposal, check_proposal
from greenroom.bookings.reading import Booking
from greenroom.bookings.threads import BookingThreads
from greenroom.conversations.postings_postgres import PostgresPostings
from greenroom.kernel.ids import system_randomness
from greenroom.platform.idempotency import Kept
from greenroom.platform.postgres import Session

if TYPE_CHECKING:
    from conftest import FakeClock

    from greenroom.bootstrap import Rooms

T = TypeVar("T")

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
POLICY = parse_policy("168:100,48:50,0:0")

QUEUED = """
select payment_id from payment where state = 'queued' order by created_at, operation, key
"""
ALL_POSTINGS = "select coalesce(sum(amount_cents), 0)::bigint from money_posting"
UNEVEN_BALANCES = """
select a.account from money_account a where a.kind in ('escrow', 'deposit')
    and a.balance_cents <> (select coalesce(sum(p.amount_cents), 0) from money_posting p
                            where p.account = a.account)
"""
KNOWN = "select user_id from app_user where user_id = any($1::text[])"
EVENTS = "select event from contract_event where group_id = $1 order by id"
HISTORY = """
select subject, seq, act, from_state, to_state from history where chain = $1
order by at, subject, seq
"""


@dataclass
class Bank:
    """Answers each key once and for ever. `refuses` are operations that fail; `silent` ones stay
    without an outcome."""

    refuses: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    asked: list[Operation] = field(default_factory=list)
    answers: dict[str, Outcome] = field(default_factory=dict)

    async def carry_out(self, operation: Operation) -> Outcome:
        if operation.key not in self.answers:
            if operation.operation in self.silent:
                return Outcome("pending")
            self.asked.append(operation)
            is_refused = operation.operation in self.refuses
            self.answers[operation.key] = (
                Outcome("failed", None, "card_declined")
                if is_refused
                else Outcome("succeeded", f"bank_{len(self.answers)}", None)
            )
        return self.answers[operation.key]

    def did(self, operation: str) -> list[int]:
        """The amounts of what succeeded."""
        return [
            each.amount_cents
            for each in self.asked
            if each.operation == operation and self.answers[each.key].status == "succeeded"
        ]


class Stage:
    _numbers = itertools.count(1)

    def __init__(self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock) -> None:
        self.rooms = rooms
        self.pool = pool
        self.clock = clock
        self.bank = Bank()
        self.woken: set[str] = set()
        postings = PostgresPostings(
            clock=clock, randomness=system_randomness, wake=self.woken.update
        )
        self.deeds = Deeds(pool, postings, _leave, clock=clock, randomness=system_randomness)
        self.settling = Settling(self.deeds)
        self.threads = BookingThreads(
            rooms.store, clock=clock, randomness=system_randomness, limits=rooms.settings.limits
        )
        around = Surroundings(self._exists, self.threads.open, self.threads.show, self._run_now)
        self.bookings = Bookings(
            self.deeds,
            self.settling,
            around,
            policy=POLICY,
            public_url="https://greenroom.example",
        )

    async def _exists(self, people: Sequence[str]) -> Collection[str]:
        rows = await self.pool.fetch(KNOWN, people)
        return {row["user_id"] for row in rows}

    async def _run_now(self, payment_ids: Sequence[str]) -> None:
        assert payment_ids
        await self.run_payments()

    async def people(self, *names: str) -> list[str]:
        number = next(self._numbers)
        found = [f"{name}-{number}" for name in names]
        for each in found:
            await self.rooms.accounts.put_user(each, UserChanges(display_name=each))
        return found

    async def propose(
        self,
        buyer: str,
        *legs: LegProposal,
        thread_id: str | None = None,
        policy: Policy = POLICY,
    ) -> Group:
        proposal = check_proposal(
            buyer=buyer,
            currency="EUR",
            legs=legs,
            policy=policy,
            thread_id=thread_id,
            now_ms=self.clock(),
        )
        return made(await self.bookings.create(proposal)).group

    def leg(
        self,
        seller: str,
        *,
        price: int = 10_000,
        deposit: int = 0,
        in_hours: float = 24 * 30,
        hours: float = 2,
        kind: LegKind = "talent",
        title: str = "A shoot",
    ) -> LegProposal:
        start_ms = self.clock() + int(in_hours * HOUR_MS)
        end_ms = start_ms + int(hours * HOUR_MS)
        return LegProposal(kind, seller, title, start_ms, end_ms, "Europe/Vienna", price, deposit)

    async def confirmed(self, **leg: Any) -> tuple[Group, Leg]:
        """A booking of one leg that stands."""
        ann, bob = await self.people("ann", "bob")
        group = await self.propose(ann, self.leg(bob, **leg))
        await self.confirm(group)
        group = await self.group(group.group_id)
        return group, group.legs[0]

    async def confirm(self, group: Group) -> Group:
        await self.bookings.confirm(group.group_id)
        await self.bookings.run_payments_now(group.group_id)
        return await self.group(group.group_id)

    async def group(self, group_id: str) -> Group:
        return (await self.bookings.access_booking(None, group_id)).group

    async def booking(self, group_id: str) -> Booking:
        return await self.bookings.access_booking(None, group_id)

    async def queued(self) -> list[Payment]:
        ids = [row["payment_id"] for row in await self.pool.fetch(QUEUED)]
        rows = [await self.pool.fetchrow(sql.PAYMENT, payment_id) for payment_id in ids]
        return [sql.read_payment(row) for row in rows if row is not None]

    async def run_payments(self) -> None:
        """As a worker would, until nothing moves any more."""
        while True:
            news = [await self.run(payment) for payment in await self.queued()]
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

    async def do(self, work: Callable[[Deed], Awaitable[T]]) -> T:
        return made(await self.deeds.do(work))

    async def with_leg(self, leg_id: str, work: Callable[[Deed, Group, Leg], Awaitable[T]]) -> T:
        async def inner(deed: Deed) -> T:
            group, leg = await lock_leg(deed, leg_id)
            return await work(deed, group, leg)

        return await self.do(inner)

    async def begin(self, leg: Leg) -> None:
        """The timer of its start is due."""
        await self.do(lambda deed: self.bookings.run_timer(deed, leg.leg_id, "begin"))

    async def balance(self, leg_id: str) -> Balance:
        return await self.do(lambda deed: balance_of(deed, leg_id))

    async def events(self, group_id: str) -> list[str]:
        return [row["event"] for row in await self.pool.fetch(EVENTS, group_id)]

    async def history(self, chain: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.pool.fetch(HISTORY, chain)]

    async def check_ledger(self) -> None:
        """What must hold whatever has happened."""
        assert await self.pool.fetchval(ALL_POSTINGS) == 0
        assert await self.pool.fetch(UNEVEN_BALANCES) == []


async def _leave(conn: Session, payment_id: str) -> None:
    """The tests carry payments out themselves."""


def made(outcome: T | Kept) -> T:
    assert not isinstance(outcome, Kept)
    return outcome
