"""Calls of Stripe's API, through Stripe's own library and our own HTTP client."""

import logging
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, TypeVar

import msgspec
import stripe

from greenroom.bookings.money.provider import ProviderUnavailable
from greenroom.bookings.stripe.objects import Intent, PaymentError, Refund, Transfer
from greenroom.platform.http_client import HttpError, send

ANSWER_BYTES = 1024 * 1024
PAGE = 100
MOST_PAGES = 20
UNEXPECTED_STATE = "payment_intent_unexpected_state"

# It would send data about this machine and about earlier requests.
stripe.enable_telemetry = False
# The library tells of every request, and in its debug mode also what is in it.
logging.getLogger("stripe").setLevel(logging.WARNING)

T = TypeVar("T")
Params = dict[str, Any]


class RefusedError(Exception):
    """Stripe has looked at the request and refused it. Nothing was done, except that a declined
    payment leaves its `intent`."""

    def __init__(self, error: PaymentError, param: str | None, intent: Intent | None) -> None:
        super().__init__(error.failure_code)
        self.error = error
        self.param = param
        self.intent = intent


class _OurClient(stripe.HTTPClient):
    """Answers are bounded, redirects are not followed, and there are no repeats: callers repeat."""

    name = "greenroom"

    def __init__(self, timeout_s: float) -> None:
        super().__init__()
        self._timeout_s = timeout_s

    async def request_async(
        self, method: str, url: str, headers: Mapping[str, str], post_data: Any = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        body = post_data.encode() if isinstance(post_data, str) else post_data
        try:
            reply = await send(
                method.upper(),
                url,
                headers=headers,
                body=body,
                timeout_s=self._timeout_s,
                limit_bytes=ANSWER_BYTES,
            )
        except HttpError as error:
            raise stripe.APIConnectionError(str(error)) from error  # type: ignore[no-untyped-call]
        return reply.body, reply.status, reply.headers


class StripeApi:
    """Raises RefusedError if Stripe refuses, and ProviderUnavailable if the outcome is unknown."""

    def __init__(self, api_key: str, *, url: str | None = None, timeout_s: float) -> None:
        self._v1 = stripe.StripeClient(
            api_key,
            base_addresses={} if url is None else {"api": url},
            max_network_retries=0,
            http_client=_OurClient(timeout_s),
        ).v1

    async def ping(self) -> None:
        """Whether Stripe answers and knows the key."""
        await _found(self._v1.balance.retrieve_async(), dict)

    async def create_intent(self, params: Params, key: str) -> Intent:
        """Of a declined payment too, which then has `last_payment_error`."""
        call = self._v1.payment_intents.create_async(_given(params), {"idempotency_key": key})
        try:
            return await _answer(call, Intent)
        except RefusedError as refused:
            if refused.intent is None:
                raise
            return refused.intent

    async def intent(self, intent_id: str) -> Intent:
        return await _found(self._v1.payment_intents.retrieve_async(intent_id), Intent)

    async def capture(self, intent_id: str, params: Params, key: str) -> Intent:
        options: stripe.RequestOptions = {"idempotency_key": key}
        call = self._v1.payment_intents.capture_async(intent_id, _given(params), options)
        return await _answer(call, Intent)

    async def cancel(self, intent_id: str) -> Intent:
        """The intent afterwards: canceled, or what it was if it cannot be canceled any more."""
        try:
            return await _answer(self._v1.payment_intents.cancel_async(intent_id), Intent)
        except RefusedError as refused:
            if refused.error.code != UNEXPECTED_STATE:
                raise
            return await self.intent(intent_id)

    async def intents_of(self, customer: str, since_s: int) -> AsyncIterator[Intent]:
        params = {"customer": customer, "created": {"gte": since_s}}
        async for each in self._pages(self._v1.payment_intents.list_async, params):
            yield msgspec.convert(each, Intent)

    async def create_refund(self, params: Params, key: str) -> Refund:
        call = self._v1.refunds.create_async(_given(params), {"idempotency_key": key})
        return await _answer(call, Refund)

    async def refund(self, refund_id: str) -> Refund:
        return await _found(self._v1.refunds.retrieve_async(refund_id), Refund)

    async def refunds_of(self, intent_id: str) -> AsyncIterator[Refund]:
        params = {"payment_intent": intent_id}
        async for each in self._pages(self._v1.refunds.list_async, params):
            yield msgspec.convert(each, Refund)

    async def create_transfer(self, params: Params, key: str) -> Transfer:
        call = self._v1.transfers.create_async(_given(params), {"idempotency_key": key})
        return await _answer(call, Transfer)

    async def transfers_of(self, group: str) -> AsyncIterator[Transfer]:
        params = {"transfer_group": group}
        async for each in self._pages(self._v1.transfers.list_async, params):
            yield msgspec.convert(each, Transfer)

    async def _pages(self, list_async: Any, params: Params) -> AsyncIterator[dict[str, Any]]:
        """The newest first."""
        for _ in range(MOST_PAGES):
            page = await _found(list_async({**params, "limit": PAGE}), dict)
            for each in page["data"]:
                yield each
            if not page["has_more"]:
                return
            params = {**params, "starting_after": page["data"][-1]["id"]}


def _given(params: Params) -> Any:
    """The library has a type per call for these; ours are checked by the tests' server."""
    return params


async def _found(call: Awaitable[Any], expected: type[T]) -> T:
    """The answer to a question. A refusal says nothing about the payment: the key may be of another
    account."""
    try:
        return await _answer(call, expected)
    except RefusedError as refused:
        raise ProviderUnavailable(f"Stripe does not show it ({refused}).") from None


async def _answer(call: Awaitable[Any], expected: type[T]) -> T:
    try:
        return msgspec.convert((await call).to_dict(), expected)
    except (stripe.CardError, stripe.InvalidRequestError) as error:
        raise _refused(error) from None
    except stripe.StripeError as error:
        # Its text can repeat what was sent.
        status = f", status {error.http_status}" if error.http_status else ""
        text = f"Stripe gave no answer that counts ({type(error).__name__}{status})."
        raise ProviderUnavailable(text) from None
    except msgspec.ValidationError as error:
        raise ProviderUnavailable("Stripe's answer cannot be read.") from error


def _refused(error: stripe.CardError | stripe.InvalidRequestError) -> RefusedError:
    body = error.json_body if isinstance(error.json_body, dict) else {}
    given = body.get("error", {})
    intent = given.get("payment_intent")
    found = msgspec.convert(
        {name: given.get(name) for name in ("code", "decline_code")}, PaymentError
    )
    return RefusedError(
        found, error.param, None if intent is None else msgspec.convert(intent, Intent)
    )
