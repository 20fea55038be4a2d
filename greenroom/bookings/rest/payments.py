"""Calls of the marketplace's backend about payments that failed for good."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from greenroom.bookings.model import OperationName, Payment, PaymentState
from greenroom.bookings.money.retrying import Retrying
from greenroom.bookings.rest.wire import MoneyView
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    IdempotencyMismatch,
    NotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import answer_once


class PaymentView(Struct, frozen=True):
    """`again`: the id of the payment that repeats this one after it failed."""

    id: str
    operation: OperationName
    state: PaymentState
    amount: MoneyView
    account: str
    booking_id: str
    leg_id: str | None
    card_id: str | None
    failure_code: str | None
    again: str | None
    created_at: str
    updated_at: str


class PaymentOnly(Struct, frozen=True):
    payment: PaymentView


class PaymentList(Struct, frozen=True):
    items: list[PaymentView]
    next_cursor: str | None


class PaymentsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`cursor` is the `next_cursor` of the last page."""

    state: Literal["failed"] = "failed"
    cursor: Annotated[str, Meta(max_length=40)] = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 50


class PaymentsRest:
    def __init__(self, retrying: Retrying) -> None:
        self._retrying = retrying

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/payments",
                self.list_payments,
                "Refunds, releases and payouts that failed",
                Who.BACKEND,
                {200: PaymentList},
                "Payments",
                description="Those that were not tried again, the oldest first.",
                query=PaymentsQuery,
                scope="read",
            ),
            Endpoint(
                "POST",
                "/v1/payments/{payment_id}/retry",
                self.retry_payment,
                "Try a failed refund, release or payout again",
                Who.BACKEND,
                {200: PaymentOnly},
                "Payments",
                description=(
                    "The new payment has a new key at the provider. A second call returns the "
                    "payment of the first."
                ),
                errors=(NotFound, ActionInvalidState, ActionConflict, IdempotencyMismatch),
                once=True,
                scope="bookings",
            ),
        ]

    async def list_payments(self, call: Call) -> Answer:
        query: PaymentsQuery = call.query
        found = await self._retrying.failed(query.cursor, query.limit + 1)
        page = found[: query.limit]
        next_cursor = page[-1].payment_id if len(found) > query.limit else None
        return Answer(200, PaymentList([payment_view(each) for each in page], next_cursor))

    async def retry_payment(self, call: Call) -> Answer:
        return await answer_once(
            call,
            self._retrying.transactions,
            lambda payment: Answer(200, PaymentOnly(payment_view(payment))),
            lambda once: self._retrying.retry(call.params["payment_id"], once),
        )


def payment_view(payment: Payment) -> PaymentView:
    return PaymentView(
        id=payment.payment_id,
        operation=payment.operation,
        state=payment.state,
        amount=MoneyView(payment.amount_cents, payment.currency),
        account=payment.account,
        booking_id=payment.group_id,
        leg_id=payment.leg_id,
        card_id=payment.card_id,
        failure_code=payment.failure_code,
        again=payment.again,
        created_at=rfc3339(payment.created_at_ms),
        updated_at=rfc3339(payment.updated_at_ms),
    )
