"""The payment port on Stripe: PaymentIntents that are confirmed off session, Refunds, and Transfers
to connected accounts.

Stripe forgets an idempotency key after a day, and answers a repeat with the first answer even if
the payment has moved on. Therefore every object carries our id of the payment in its metadata, a
repeat looks for the object before it sends the request again, and a pending one is read anew.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import TypeVar

from greenroom.bookings.money.provider import (
    Confirmation,
    Operation,
    Outcome,
    Party,
    ProviderUnavailable,
)
from greenroom.bookings.stripe.client import UNEXPECTED_STATE, Params, RefusedError, StripeApi
from greenroom.bookings.stripe.objects import (
    CAPTURE,
    CONFIRMATION_EXPIRED,
    CURRENCY,
    NO_PAYEE,
    NO_PAYMENT_METHOD,
    NOT_IN_CENTS,
    PAYMENT,
    Intent,
    Refund,
    Transfer,
    refund_outcome,
)
from greenroom.kernel.clock import Clock

CLOCK_SKEW_S = 3600
"""Our clock and Stripe's may differ by this much when an object is looked for by its time."""

log = logging.getLogger("greenroom.payments")

Made = TypeVar("Made", Intent, Refund, Transfer)


class StripePayments:
    def __init__(
        self, api: StripeApi, *, timeout_s: float, confirmation_hours: int, clock: Clock
    ) -> None:
        """A payment that the payer does not confirm within `confirmation_hours` fails."""
        self._api = api
        self._timeout_s = timeout_s
        self._confirmation_s = confirmation_hours * 3600
        self._clock = clock
        self._carriers = {
            "charge": self._charge,
            "hold": self._hold,
            "capture": self._capture,
            "release": self._release,
            "refund": self._refund,
            "payout": self._pay_out,
        }

    async def carry_out(self, operation: Operation) -> Outcome:
        if operation.currency in NOT_IN_CENTS:
            return Outcome("failed", failure_code=CURRENCY)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._carriers[operation.operation](operation)
        except TimeoutError:
            raise ProviderUnavailable(
                f"Stripe has not answered within {self._timeout_s} s."
            ) from None
        except RefusedError as refused:
            code = _code_of(refused)
            told = {"subject": operation.reference, "code": code}
            log.error("Stripe refused an operation", extra=told)
            return Outcome("failed", failure_code=code)

    async def confirmation(self, provider_id: str) -> Confirmation | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                intent = await self._api.intent(provider_id)
        except TimeoutError:
            raise ProviderUnavailable("Stripe does not show the payment in time.") from None
        if intent.client_secret is None or not intent.needs_payer:
            return None
        return Confirmation(intent.client_secret, intent.confirmation_method)

    async def _charge(self, operation: Operation) -> Outcome:
        return await self._take(operation, operation.key, {})

    async def _hold(self, operation: Operation) -> Outcome:
        return await self._take(operation, operation.key, {"capture_method": "manual"})

    async def _take(self, operation: Operation, key: str, more: Params) -> Outcome:
        party = operation.party or Party()
        if party.customer is None or party.payment_method is None:
            return Outcome("failed", failure_code=NO_PAYMENT_METHOD)
        intent = await self._intent_of(operation, party.customer)
        if intent is not None:
            return await self._judge(intent)
        params: Params = {
            "amount": operation.amount_cents,
            "currency": operation.currency.lower(),
            "customer": party.customer,
            "payment_method": party.payment_method,
            "confirm": True,
            "off_session": True,
            # Nobody is there to be sent to another page.
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            "metadata": {PAYMENT: operation.reference},
            **more,
        }
        intent = await self._api.create_intent(params, key)
        if operation.is_repeat:
            # The answer to a repeated key is the first one, and may be out of date.
            intent = await self._api.intent(intent.id)
        return await self._judge(intent)

    async def _intent_of(self, operation: Operation, customer: str) -> Intent | None:
        if operation.provider_id is not None:
            return await self._api.intent(operation.provider_id)
        if not operation.is_repeat:
            return None
        since_s = operation.asked_at_ms // 1000 - CLOCK_SKEW_S
        return await _ours(self._api.intents_of(customer, since_s), operation)

    async def _judge(self, intent: Intent) -> Outcome:
        if intent.status in ("succeeded", "requires_capture"):
            return Outcome("succeeded", intent.id)
        if intent.status == "processing":
            return Outcome("pending", intent.id)
        if intent.status == "canceled":
            return Outcome("failed", intent.id, intent.failure_code)
        if not intent.needs_payer:
            return await self._give_up(intent, intent.failure_code)
        if self._clock() // 1000 - intent.created > self._confirmation_s:
            return await self._give_up(intent, CONFIRMATION_EXPIRED)
        return Outcome("pending", intent.id, needs_payer=True)

    async def _give_up(self, intent: Intent, failure_code: str) -> Outcome:
        """Whoever has its client secret could confirm a failed intent again, so that it is failed
        for good only when it is canceled."""
        after = await self._api.cancel(intent.id)
        if after.status == "canceled":
            return Outcome("failed", intent.id, failure_code)
        if after.status in ("succeeded", "requires_capture"):
            return Outcome("succeeded", intent.id)
        return Outcome("pending", intent.id)

    async def _capture(self, operation: Operation) -> Outcome:
        """Stripe gives the rest of a hold back at its first capture, and holds expire. What is to
        be captured after that is charged anew."""
        hold_id = operation.source or ""
        if operation.provider_id is not None:
            return await self._charge_instead(operation)
        params: Params = {
            "amount_to_capture": operation.amount_cents,
            "metadata": {CAPTURE: operation.reference},
        }
        try:
            hold = await self._api.capture(hold_id, params, operation.key)
        except RefusedError as refused:
            if refused.error.code != UNEXPECTED_STATE:
                raise
            hold = await self._api.intent(hold_id)
        if hold.status == "succeeded" and hold.metadata.get(CAPTURE) == operation.reference:
            return Outcome("succeeded", hold.latest_charge)
        if hold.status in ("succeeded", "canceled"):
            return await self._charge_instead(operation)
        return Outcome("pending")

    async def _charge_instead(self, operation: Operation) -> Outcome:
        return await self._take(operation, f"{operation.key}:charge", {})

    async def _release(self, operation: Operation) -> Outcome:
        """A hold that was captured in part is `succeeded`: its rest is free already."""
        hold = await self._api.cancel(operation.source or "")
        return Outcome("succeeded" if hold.status in ("canceled", "succeeded") else "pending")

    async def _refund(self, operation: Operation) -> Outcome:
        source = operation.source or ""
        refund = None
        if operation.provider_id is not None:
            refund = await self._api.refund(operation.provider_id)
        elif operation.is_repeat:
            refund = await _ours(self._api.refunds_of(source), operation)
        if refund is None:
            params: Params = {
                "payment_intent": source,
                "amount": operation.amount_cents,
                "metadata": {PAYMENT: operation.reference},
            }
            refund = await self._api.create_refund(params, operation.key)
        return refund_outcome(refund)

    async def _pay_out(self, operation: Operation) -> Outcome:
        payee = (operation.party or Party()).payee
        if payee is None:
            return Outcome("failed", failure_code=NO_PAYEE)
        made = None
        if operation.is_repeat:
            made = await _ours(self._api.transfers_of(operation.reference), operation)
        if made is None:
            params: Params = {
                "amount": operation.amount_cents,
                "currency": operation.currency.lower(),
                "destination": payee,
                "transfer_group": operation.reference,
                "metadata": {PAYMENT: operation.reference},
            }
            made = await self._api.create_transfer(params, operation.key)
        return Outcome("succeeded", made.id)


async def _ours(found: AsyncIterator[Made], operation: Operation) -> Made | None:
    """The object that this operation has made, if it has made one."""
    async for each in found:
        if each.metadata.get(PAYMENT) == operation.reference:
            return each
    return None


def _code_of(refused: RefusedError) -> str:
    if refused.param in ("customer", "payment_method"):
        return NO_PAYMENT_METHOD
    if refused.param == "destination":
        return NO_PAYEE
    if refused.error.code is None and refused.error.decline_code is None:
        return "provider_refused"
    return refused.error.failure_code
