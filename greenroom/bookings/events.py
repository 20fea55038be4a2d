"""The outbox of contract events: hands rows of `contract_event` to listeners, deletes them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from asyncpg import Pool, Record

from greenroom.kernel.money import Money
from greenroom.platform.postgres.pool import unavailable_on_failure

BATCH = 500

# Rows of one subject are committed in the order of their ids, because the writer holds the
# subject's lock. Rows of two subjects may be committed in another order than their ids.
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
    """Something that has happened to a booking, a payment or a card. Contains no names or texts."""

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
        """Each listener gets every event, in order and at least once."""
        self._pool = pool
        self._listeners = listeners

    async def hand_over(self) -> int:
        """Deliver one batch and return its size. If a listener raises, the batch is kept and
        delivered again by the next call."""
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
        """Delete at most `limit` old rows of each table. Contract events are deleted only if there
        are no listeners: these get every event, however late."""
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
