"""Bookings, as their own tests drive them."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncpg

from greenroom.bookings.legs import lock_leg
from greenroom.bookings.model import Group, Leg
from greenroom.bookings.reading import Booking
from greenroom.bookings.transactions import ContractTransaction
from greenroom.bootstrap import Rooms
from greenroom.conversations.postgres.thread_updates import PostgresThreadUpdates
from greenroom.kernel.ids import system_randomness
from tests.support.bookings import BookingStage
from tests.support.clock import FakeClock

T = TypeVar("T")

EVENTS = "select event from outbox where group_id = $1 order by id"
HISTORY = """
select subject, seq, act, from_state, to_state from history where chain = $1
order by at, subject, seq
"""


class Stage(BookingStage):
    def __init__(self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock) -> None:
        self.woken: set[str] = set()
        thread_updates = PostgresThreadUpdates(
            clock=clock, randomness=system_randomness, wake=self.woken.update
        )
        super().__init__(rooms, pool, clock, thread_updates)

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

    async def booking(self, group_id: str) -> Booking:
        return await self.bookings.access_booking(None, group_id)

    async def with_leg(
        self, leg_id: str, work: Callable[[ContractTransaction, Group, Leg], Awaitable[T]]
    ) -> T:
        async def inner(tx: ContractTransaction) -> T:
            group, leg = await lock_leg(tx, leg_id)
            return await work(tx, group, leg)

        return await self.do(inner)

    async def begin(self, leg: Leg) -> None:
        """The timer of its start is due."""
        await self.do(lambda tx: self.bookings.run_timer(tx, leg.leg_id, "begin"))

    async def events(self, group_id: str) -> list[str]:
        return [row["event"] for row in await self.pool.fetch(EVENTS, group_id)]

    async def history(self, chain: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.pool.fetch(HISTORY, chain)]
