"""Takes Stripe's events. They come late, twice and in any order, so an event only says where to
look: what can still change is read from Stripe anew, and what is final is booked once."""

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from asyncpg import Pool

from greenroom.bookings import sql
from greenroom.bookings.disputes import DisputeReport, DisputeState, PaymentDisputes
from greenroom.bookings.model import Payment
from greenroom.bookings.money.provider import Outcome
from greenroom.bookings.money.running import ProviderEvents, Settles
from greenroom.bookings.stripe.objects import (
    PAYMENT,
    Charge,
    Dispute,
    Event,
    Intent,
    Refund,
    Transfer,
    refund_outcome,
)
from greenroom.platform.postgres.pool import unavailable_on_failure

LookAgain = Callable[[Sequence[str]], Awaitable[None]]
"""Asks the provider again about these payments, now if possible and by their tasks in any case."""

# The refunds of a charge that have no outcome yet.
QUEUED_REFUNDS = """
select r.payment_id from payment r join payment s on s.payment_id = r.source_payment
where s.provider_id = $1 and r.operation = 'refund' and r.state = 'queued'
order by r.payment_id limit 100
"""
IS_RELEASED = """
select exists (select from payment where source_payment = $1 and operation = 'release'
    and state <> 'failed')
"""

_WON = ("won", "warning_closed", "prevented")


class StripeEvents:
    def __init__(
        self,
        pool: Pool,
        events: ProviderEvents,
        settling: Settles,
        disputes: PaymentDisputes,
        look_again: LookAgain,
    ) -> None:
        self._pool = pool
        self._events = events
        self._settling = settling
        self._disputes = disputes
        self._look_again = look_again

    async def take(self, event: Event, *, now_ms: int) -> bool:
        """False if it was taken before, or is not about a payment of ours. Raises
        msgspec.ValidationError for an object that is not as Stripe's are."""
        subject, _, what = event.type.rpartition(".")
        takes = {
            "payment_intent": self._intent,
            "refund": self._refund,
            "charge.refund": self._refund,
            "charge": self._charge,
            "transfer": self._transfer,
            "charge.dispute": self._dispute,
        }.get(subject)
        if takes is None:
            return False
        return await self._events.once(
            event.id, lambda: takes(what, event.data.object), now_ms=now_ms
        )

    async def _intent(self, what: str, given: object) -> bool:
        intent = msgspec.convert(given, Intent)
        payment = await self._payment(intent.metadata)
        if payment is None:
            return False
        if intent.status in ("succeeded", "requires_capture"):
            # Of a hold that is captured it is told a second time. One that has failed here must
            # not succeed there: settling says so in the log.
            if payment.state != "succeeded":
                await self._settling.settle(payment.payment_id, Outcome("succeeded", intent.id))
        elif payment.state == "queued":
            await self._look_again([payment.payment_id])
        elif what == "canceled" and (payment.operation, payment.state) == ("hold", "succeeded"):
            async with unavailable_on_failure():
                is_released = await self._pool.fetchval(IS_RELEASED, payment.payment_id)
            if not is_released:
                await self._disputes.note_late(payment, "deposit.expired")
        return True

    async def _refund(self, _: str, given: object) -> bool:
        refund = msgspec.convert(given, Refund)
        payment = await self._payment(refund.metadata)
        if payment is None:
            return False
        outcome = refund_outcome(refund)
        if payment.state == "succeeded" and outcome.status == "failed":
            await self._disputes.note_late(payment, "refund.returned")
        else:
            await self._settle(payment, outcome)
        return True

    async def _charge(self, what: str, given: object) -> bool:
        intent_id = msgspec.convert(given, Charge).payment_intent
        if what != "refunded" or intent_id is None:
            return True
        async with unavailable_on_failure():
            rows = await self._pool.fetch(QUEUED_REFUNDS, intent_id)
        if rows:
            await self._look_again([row["payment_id"] for row in rows])
        return True

    async def _transfer(self, what: str, given: object) -> bool:
        transfer = msgspec.convert(given, Transfer)
        payment = await self._payment(transfer.metadata)
        if payment is None:
            return False
        if what == "created":
            await self._settle(payment, Outcome("succeeded", transfer.id))
        elif what == "reversed":
            await self._disputes.note_late(payment, "payout.reversed")
        return True

    async def _dispute(self, what: str, given: object) -> bool:
        dispute = msgspec.convert(given, Dispute)
        if what not in ("created", "closed") or dispute.payment_intent is None:
            return True
        state: DisputeState = "open"
        if what == "closed":
            state = "won" if dispute.status in _WON else "lost"
        report = DisputeReport(
            dispute.id,
            dispute.payment_intent,
            dispute.reason,
            dispute.amount,
            dispute.currency.upper(),
            state,
        )
        return await self._disputes.take(report)

    async def _payment(self, metadata: dict[str, str]) -> Payment | None:
        async with unavailable_on_failure():
            row = await self._pool.fetchrow(sql.PAYMENT, metadata.get(PAYMENT))
        return None if row is None else sql.read_payment(row)

    async def _settle(self, payment: Payment, outcome: Outcome) -> None:
        """Events about what is decided already are no news."""
        if payment.state == "queued":
            await self._settling.settle(payment.payment_id, outcome)
