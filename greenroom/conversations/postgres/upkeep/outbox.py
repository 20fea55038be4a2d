"""Handing domain events on to those who listen."""

from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.rows import domain_event_from
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.store import Deliver
from greenroom.kernel.limits import Limits

# One process at a time, so that events keep their order.
TAKE_EVENTS = """
select id, event, occurred_at, actor, thread_id, message_id, data from outbox
where pg_try_advisory_xact_lock(7235923) order by id limit $1
"""
FORGET_EVENTS = "delete from outbox where id = any ($1::bigint[])"


class Outbox:
    def __init__(self, transactions: Transactions, *, limits: Limits) -> None:
        self._transactions = transactions
        self._limits = limits

    async def hand_over(self, deliver: Deliver) -> int:
        async def work(change: Change) -> int:
            rows = await change.conn.fetch(TAKE_EVENTS, self._limits.maintenance_batch)
            if rows:
                await deliver([domain_event_from(row) for row in rows])
                await change.conn.execute(FORGET_EVENTS, [row["id"] for row in rows])
            return len(rows)

        return await self._transactions.run(work)
