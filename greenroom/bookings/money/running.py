"""Carries out payments: asks the provider, and hands the outcome to whoever books it."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Protocol

from asyncpg import Pool, Record

from greenroom.bookings.money.provider import (
    Operation,
    Outcome,
    PaymentProvider,
    ProviderUnavailable,
    StillPending,
)
from greenroom.platform.postgres.pool import unavailable_on_failure

SOURCE_FAILED = "source_failed"

log = logging.getLogger("greenroom.payments")

# The payment, with the charge or hold that it takes money from.
FIND_PAYMENT = """
select p.payment_id, p.key, p.operation, p.account, p.amount_cents, p.currency, p.state,
    p.source_payment, s.state as source_state, s.provider_id as source_id
from payment p left join payment s on s.payment_id = p.source_payment
where p.payment_id = $1
"""

PAYMENT_OF_KEY = "select payment_id from payment where key = $1"

# Fails for a payout that has been stopped. A payout that is marked can no longer be stopped.
MARK_SENT = """
update payment set sent_at = coalesce(sent_at, now()) where payment_id = $1 and state = 'queued'
returning 1
"""

SEEN_EVENT = "select exists (select from provider_event where event_id = $1)"

NOTE_EVENT = """
insert into provider_event (event_id, received_at) values ($1, $2) on conflict do nothing
"""


class Settles(Protocol):
    async def settle(self, payment_id: str, outcome: Outcome) -> bool:
        """Book a final outcome; False when the payment had one already."""
        ...


class PaymentRunner:
    """Carries each payment out once at a time in this process: a second caller waits for the first
    one's attempt instead of starting another."""

    def __init__(self, pool: Pool, provider: PaymentProvider, settling: Settles) -> None:
        self._pool = pool
        self._provider = provider
        self._settling = settling
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self, payment_id: str) -> None:
        """Returns when the payment has its final state. Raises ProviderUnavailable or StillPending
        when it has none yet: run it again later, as often as it takes."""
        await asyncio.shield(self._begin(payment_id))

    async def run_now(self, payment_ids: Iterable[str], *, wait_s: float) -> None:
        """Carry these out without waiting for a worker, and wait at most `wait_s` for them. What
        fails or takes longer is left to the payment's task, which was queued in any case."""
        tasks = [self._begin(payment_id) for payment_id in payment_ids]
        if tasks:
            await asyncio.wait(tasks, timeout=wait_s)

    async def close(self) -> None:
        """Give up what is under way: the payments' tasks do it again."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, payment_id: str) -> asyncio.Task[None]:
        task = self._running.get(payment_id)
        if task is None:
            task = asyncio.create_task(self._run(payment_id))
            self._running[payment_id] = task
            task.add_done_callback(lambda done: self._end(payment_id, done))
        return task

    def _end(self, payment_id: str, task: asyncio.Task[None]) -> None:
        del self._running[payment_id]
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None and not isinstance(failure, (ProviderUnavailable, StillPending)):
            told = {"subject": payment_id, "code": type(failure).__name__}
            log.warning("a payment could not be carried out just now", extra=told)

    async def _run(self, payment_id: str) -> None:
        async with unavailable_on_failure():
            row = await self._pool.fetchrow(FIND_PAYMENT, payment_id)
        if row is None:
            log.error("there is no such payment", extra={"subject": payment_id})
            return
        if row["state"] != "queued" or not await self._may_send(row):
            return
        outcome = await self._outcome(row)
        if outcome.status == "pending":
            raise StillPending(f"The provider has not decided {payment_id} yet.")
        await self._settling.settle(payment_id, outcome)

    @unavailable_on_failure()
    async def _may_send(self, row: Record) -> bool:
        if row["operation"] != "payout":
            return True
        return await self._pool.fetchval(MARK_SENT, row["payment_id"]) is not None

    async def _outcome(self, row: Record) -> Outcome:
        if row["source_payment"] is not None and row["source_state"] != "succeeded":
            if row["source_state"] == "failed":
                return Outcome("failed", failure_code=SOURCE_FAILED)
            raise StillPending(f"{row['source_payment']} comes first.")
        return await self._provider.carry_out(
            Operation(
                key=row["key"],
                operation=row["operation"],
                account=row["account"],
                amount_cents=row["amount_cents"],
                currency=row["currency"],
                source=row["source_id"],
                reference=row["payment_id"],
            )
        )


class ProviderEvents:
    """Takes the provider's webhooks. They can come late, twice and in any order, so one only
    decides a payment that has no final state yet."""

    def __init__(self, pool: Pool, settling: Settles) -> None:
        self._pool = pool
        self._settling = settling

    async def take(self, event_id: str, key: str, outcome: Outcome, *, now_ms: int) -> bool:
        """False when the event was taken before, or names no payment of ours.

        The event is noted after it has been booked. When the process is killed in between, the
        event is booked again, which changes nothing.
        """
        async with unavailable_on_failure():
            if await self._pool.fetchval(SEEN_EVENT, event_id):
                return False
            payment_id = await self._pool.fetchval(PAYMENT_OF_KEY, key)
        if payment_id is None:
            log.warning("the provider told of a payment not of ours", extra={"event": event_id})
        elif outcome.status != "pending":
            await self._settling.settle(payment_id, outcome)
        async with unavailable_on_failure():
            await self._pool.execute(NOTE_EVENT, event_id, now_ms)
        return payment_id is not None
