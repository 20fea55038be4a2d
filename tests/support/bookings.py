"""Bookings on a real database, with a bank that does as it is told."""

import itertools
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar

import asyncpg

from greenroom.accounts.model import UserChanges
from greenroom.bookings import sql
from greenroom.bookings.actions import BookingDependencies, Bookings
from greenroom.bookings.cancellation_policy import Policy, parse_policy
from greenroom.bookings.model import Balance, Group, LegKind, Payment
from greenroom.bookings.money.orders import balance_of
from greenroom.bookings.money.provider import Operation
from greenroom.bookings.money.settling import Settling
from greenroom.bookings.proposals import LegProposal, check_proposal
from greenroom.bookings.threads import BookingThreads
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions
from greenroom.bootstrap import Rooms
from greenroom.conversations.thread_updates import ThreadUpdates
from greenroom.kernel.ids import system_randomness
from greenroom.platform.idempotency import Kept
from tests.support.bank import Bank
from tests.support.clock import HOUR_MS, FakeClock

T = TypeVar("T")

POLICY = parse_policy("168:100,48:50,0:0")
QUEUED = f"""
select {sql.PAYMENT_COLUMNS} from payment
where state = 'queued' order by created_at, operation, key
"""  # noqa: S608 (names of columns)
ALL_POSTINGS = "select coalesce(sum(amount_cents), 0)::bigint from money_posting"
UNEVEN_BALANCES = """
select a.account from money_account a where a.kind in ('escrow', 'deposit')
    and a.balance_cents <> (select coalesce(sum(p.amount_cents), 0) from money_posting p
                            where p.account = a.account)
"""
KNOWN = "select user_id from app_user where user_id = any($1::text[])"


class BookingStage:
    _numbers = itertools.count(1)

    def __init__(
        self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, thread_updates: ThreadUpdates
    ) -> None:
        self.rooms = rooms
        self.pool = pool
        self.clock = clock
        self.bank = Bank()
        self.transactions = ContractTransactions(
            pool, thread_updates, clock=clock, randomness=system_randomness
        )
        self.settling = Settling(self.transactions)
        self.threads = BookingThreads(
            rooms.store, clock=clock, randomness=system_randomness, limits=rooms.settings.limits
        )
        dependencies = BookingDependencies(
            self._exists, self.threads.open, self.threads.show, self._run_now
        )
        self.bookings = Bookings(
            self.transactions,
            self.settling,
            dependencies,
            policy=POLICY,
            public_url="https://greenroom.example",
        )

    async def _exists(self, people: Sequence[str]) -> Collection[str]:
        return {row["user_id"] for row in await self.pool.fetch(KNOWN, people)}

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

    async def group(self, group_id: str) -> Group:
        return (await self.bookings.access_booking(None, group_id)).group

    async def queued(self) -> list[Payment]:
        return [sql.read_payment(row) for row in await self.pool.fetch(QUEUED)]

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

    async def do(self, work: Callable[[ContractTransaction], Awaitable[T]]) -> T:
        return made(await self.transactions.run(work))

    async def balance(self, leg_id: str) -> Balance:
        return await self.do(lambda tx: balance_of(tx, leg_id))

    async def check_ledger(self) -> None:
        """What must hold whatever has happened."""
        assert await self.pool.fetchval(ALL_POSTINGS) == 0
        assert await self.pool.fetch(UNEVEN_BALANCES) == []


def made(outcome: T | Kept) -> T:
    assert not isinstance(outcome, Kept)
    return outcome
