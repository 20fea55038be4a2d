"""Hands on what has happened to contracts to whoever else must know, and forgets it after."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from asyncpg import Pool, Record

from greenroom.kernel.money import Money
from greenroom.platform.postgres import unavailable_on_failure

BATCH = 500

# Rows of one subject are committed in the order of their ids, because whoever writes them holds its
# lock. Those of two subjects may come the other way round.
OLDEST = "select * from contract_event order by id limit $1"
FORGET = "delete from contract_event where id = any($1)"
PRUNE_EVENTS = """
delete from contract_event where id in (
    select id from contract_event where occurred_at < $1 order by occurred_at limit $2
)
"""
PRUNE_PROVIDER = """
delete from provider_event where event_id in (
    select event_id from provider_event where received_at < $1 order by received_at limit $2
)
"""


@dataclass(frozen=True, slots=True)
class ContractEvent:
    """Something that has happened to a contract: no names, no texts."""

    event_id: int
    event: str
    at_ms: int
    actor: str | None
    thread_id: str | None
    group_id: str | None
    leg_id: str | None
    card_id: str | None
    money: Money | None
    data: dict[str, Any] | None


DeliverContract = Callable[[Sequence[ContractEvent]], Awaitable[None]]


class ContractEvents:
    def __init__(self, pool: Pool, listeners: Sequence[DeliverContract]) -> None:
        """Each listener is told of everything, in order and at least once."""
        self._pool = pool
        self._listeners = listeners

    async def hand_over(self) -> int:
        """A batch; says how many. What a listener raises is raised, and the batch comes again."""
        if not self._listeners:
            return 0
        async with unavailable_on_failure():
            rows = await self._pool.fetch(OLDEST, BATCH)
        if not rows:
            return 0
        events = [_event(row) for row in rows]
        for deliver in self._listeners:
            await deliver(events)
        async with unavailable_on_failure():
            await self._pool.execute(FORGET, [event.event_id for event in events])
        return len(events)

    @unavailable_on_failure()
    async def prune(self, before_ms: int, limit: int) -> dict[str, int]:
        """Forget a bounded amount of what nobody asked for in time. Whoever listens gets all."""
        pruned = {"provider_event": await self._pool.execute(PRUNE_PROVIDER, before_ms, limit)}
        if not self._listeners:
            pruned["contract_event"] = await self._pool.execute(PRUNE_EVENTS, before_ms, limit)
        return {table: int(status.rpartition(" ")[2]) for table, status in pruned.items()}


def _event(row: Record) -> ContractEvent:
    amount = row["amount_cents"]
    return ContractEvent(
        event_id=row["id"],
        event=row["event"],
        at_ms=row["occurred_at"],
        actor=row["actor"],
        thread_id=row["thread_id"],
        group_id=row["group_id"],
        leg_id=row["leg_id"],
        card_id=row["card_id"],
        money=None if amount is None else Money(amount, row["currency"]),
        data=None if row["data"] is None else msgspec.json.decode(row["data"]),
    )
