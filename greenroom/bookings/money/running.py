"""Carries out payments: asks the provider, and hands the outcome to whoever books it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec
from asyncpg import Pool, Record

from greenroom.bookings.money.provider import (
    Operation,
    Outcome,
    Party,
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
    p.provider_id, p.sent_at, p.created_at, p.source_payment, s.state as source_state,
    s.provider_id as source_id
from payment p left join payment s on s.payment_id = p.source_payment
where p.payment_id = $1
"""

PAYMENT_OF_KEY = "select payment_id from payment where key = $1"

# Returns no row for a payout that has been stopped. A payout that is marked can no longer be
# stopped. The references of the first attempt stay: a provider refuses a key with other values.
MARK_SENT = """
update payment p set sent_at = coalesce(p.sent_at, now()),
    party = case when p.sent_at is not null then p.party else (
        select jsonb_build_object('customer', a.customer, 'payment_method', a.payment_method,
                                  'payee', a.payee)
        from payment_account a where a.user_id = p.account) end
where p.payment_id = $1 and p.state = 'queued'
returning p.party
"""

NOTE_PROVIDER_ID = """
update payment set provider_id = $2
where payment_id = $1 and state = 'queued' and provider_id is distinct from $2
"""

SEEN_EVENT = "select exists (select from provider_event where event_id = $1)"

NOTE_EVENT = """
insert into provider_event (event_id, received_at) values ($1, $2) on conflict do nothing
"""


class Settles(Protocol):
    async def settle(self, payment_id: str, outcome: Outcome) -> bool:
        """Book a final outcome; False when the payment had one already."""
        ...

    async def wait_for_payer(self, payment_id: str) -> bool:
        """Show that the payer has to confirm the payment; False when that is known already."""
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
        if row["state"] != "queued":
            return
        outcome = await self._outcome(row)
        if outcome is None:
            return
        if outcome.status == "pending":
            await self._note_pending(payment_id, outcome)
            raise StillPending(f"The provider has not decided {payment_id} yet.")
        await self._settling.settle(payment_id, outcome)

    async def _note_pending(self, payment_id: str, outcome: Outcome) -> None:
        if outcome.provider_id is not None:
            async with unavailable_on_failure():
                await self._pool.execute(NOTE_PROVIDER_ID, payment_id, outcome.provider_id)
        if outcome.needs_payer:
            await self._settling.wait_for_payer(payment_id)

    async def _outcome(self, row: Record) -> Outcome | None:
        """None for a payment that was ended meanwhile."""
        if row["source_payment"] is not None and row["source_state"] != "succeeded":
            if row["source_state"] == "failed":
                return Outcome("failed", failure_code=SOURCE_FAILED)
            raise StillPending(f"{row['source_payment']} comes first.")
        async with unavailable_on_failure():
            marked = await self._pool.fetchrow(MARK_SENT, row["payment_id"])
        if marked is None:
            return None
        return await self._provider.carry_out(
            Operation(
                key=row["key"],
                operation=row["operation"],
                account=row["account"],
                amount_cents=row["amount_cents"],
                currency=row["currency"],
                source=row["source_id"],
                reference=row["payment_id"],
                party=_party(marked["party"]),
                provider_id=row["provider_id"],
                is_repeat=row["sent_at"] is not None,
                asked_at_ms=row["created_at"],
            )
        )


def _party(kept: str | None) -> Party | None:
    return None if kept is None else msgspec.json.decode(kept, type=Party)


class ProviderEvents:
    """Takes the provider's webhooks. They can come late, twice and in any order, so one only
    decides a payment that has no final state yet."""

    def __init__(self, pool: Pool, settling: Settles) -> None:
        self._pool = pool
        self._settling = settling

    async def take(self, event_id: str, key: str, outcome: Outcome, *, now_ms: int) -> bool:
        """False when the event was taken before, or names no payment of ours."""

        async def work() -> bool:
            async with unavailable_on_failure():
                payment_id = await self._pool.fetchval(PAYMENT_OF_KEY, key)
            if payment_id is not None and outcome.status != "pending":
                await self._settling.settle(payment_id, outcome)
            return payment_id is not None

        return await self.once(event_id, work, now_ms=now_ms)

    async def once(
        self, event_id: str, work: Callable[[], Awaitable[bool]], *, now_ms: int
    ) -> bool:
        """Do what an event asks for, unless it was taken before. `work` returns whether the event
        is about a payment of ours.

        The event is noted after the work. When the process is killed in between, the work is done
        again, which must change nothing.
        """
        async with unavailable_on_failure():
            if await self._pool.fetchval(SEEN_EVENT, event_id):
                return False
        is_ours = await work()
        if not is_ours:
            log.warning("the provider told of a payment not of ours", extra={"event": event_id})
        async with unavailable_on_failure():
            await self._pool.execute(NOTE_EVENT, event_id, now_ms)
        return is_ours
