"""How the payment provider knows people, what a payer has to confirm, and disputed payments."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from greenroom.bookings.disputes import Dispute, DisputeState, PaymentDisputes
from greenroom.bookings.money.confirmations import Confirmations
from greenroom.bookings.money.payment_accounts import (
    PaymentAccount,
    PaymentAccountChanges,
    PaymentAccounts,
)
from greenroom.bookings.rest.wire import MoneyView
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import InvalidRequest, NotFound, Unavailable, UserNotFound
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who


class PaymentAccountView(Struct, frozen=True):
    user_id: str
    customer: str | None
    payment_method: str | None
    payee: str | None
    updated_at: str


class PaymentAccountOnly(Struct, frozen=True):
    payment_account: PaymentAccountView


class ConfirmationView(Struct, frozen=True):
    """With Stripe.js: `stripe.confirmCardPayment(client_secret, {payment_method})`. `url` is the
    marketplace's page that does so, if one is configured."""

    payment_id: str
    provider: Literal["stripe"]
    client_secret: str
    payment_method: str | None
    url: str | None


class ConfirmationOnly(Struct, frozen=True):
    confirmation: ConfirmationView


class DisputeView(Struct, frozen=True):
    """`leg_id` is null if the charge was for all legs of the booking."""

    id: str
    payment_id: str
    booking_id: str
    leg_id: str | None
    state: DisputeState
    reason: str
    amount: MoneyView
    opened_at: str
    closed_at: str | None


class DisputeList(Struct, frozen=True):
    items: list[DisputeView]
    next_cursor: str | None


class DisputesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`cursor` is the `next_cursor` of the last page."""

    state: DisputeState | None = None
    cursor: Annotated[str, Meta(max_length=255)] = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 50


class PaymentAccountsRest:
    def __init__(
        self,
        accounts: PaymentAccounts,
        confirmations: Confirmations,
        disputes: PaymentDisputes,
        *,
        confirm_url: str | None,
    ) -> None:
        self._accounts = accounts
        self._confirmations = confirmations
        self._disputes = disputes
        self._confirm_url = confirm_url

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "PUT",
                "/v1/users/{user_id}/payment-account",
                self.put_payment_account,
                "Say how the payment provider knows a person",
                Who.BACKEND,
                {200: PaymentAccountOnly},
                "Payments",
                scope="users",
                description=(
                    "Opaque references of the provider; people never see them. A field that is "
                    "left out keeps its value, null clears it. Payments that were sent already "
                    "keep the references they had."
                ),
                body=PaymentAccountChanges,
                errors=(InvalidRequest, UserNotFound),
            ),
            Endpoint(
                "GET",
                "/v1/users/{user_id}/payment-account",
                self.get_payment_account,
                "How the payment provider knows a person",
                Who.BACKEND,
                {200: PaymentAccountOnly},
                "Payments",
                scope="read",
                errors=(NotFound,),
            ),
            Endpoint(
                "GET",
                "/v1/payments/{payment_id}/confirmation",
                self.get_payment_confirmation,
                "What the payer needs to confirm a payment with their bank",
                Who.PERSON_OR_BACKEND,
                {200: ConfirmationOnly},
                "Payments",
                scope="read",
                description=(
                    "For the payer of a payment that the bank wants to have confirmed, as long "
                    "as it waits for that. It is asked of the provider and stored nowhere."
                ),
                errors=(NotFound, Unavailable),
            ),
            Endpoint(
                "GET",
                "/v1/payments/disputes",
                self.list_disputes,
                "Payments that buyers dispute with their bank",
                Who.BACKEND,
                {200: DisputeList},
                "Payments",
                scope="read",
                query=DisputesQuery,
            ),
        ]

    async def put_payment_account(self, call: Call) -> Answer:
        changes: PaymentAccountChanges = call.body
        kept = await self._accounts.put(call.params["user_id"], changes)
        return Answer(200, PaymentAccountOnly(_account_view(kept)))

    async def get_payment_account(self, call: Call) -> Answer:
        found = await self._accounts.access(call.params["user_id"])
        return Answer(200, PaymentAccountOnly(_account_view(found)))

    async def get_payment_confirmation(self, call: Call) -> Answer:
        payment_id = call.params["payment_id"]
        found = await self._confirmations.access(call.caller.user_id, payment_id)
        url = None
        if self._confirm_url is not None:
            url = f"{self._confirm_url}?payment_id={payment_id}"
        view = ConfirmationView(
            payment_id, "stripe", found.client_secret, found.payment_method, url
        )
        return Answer(200, ConfirmationOnly(view))

    async def list_disputes(self, call: Call) -> Answer:
        query: DisputesQuery = call.query
        found = await self._disputes.list(query.cursor, query.limit + 1, query.state)
        page = found[: query.limit]
        next_cursor = page[-1].dispute_id if len(found) > query.limit else None
        return Answer(200, DisputeList([_dispute_view(each) for each in page], next_cursor))


def _account_view(account: PaymentAccount) -> PaymentAccountView:
    return PaymentAccountView(
        account.user_id,
        account.customer,
        account.payment_method,
        account.payee,
        rfc3339(account.updated_at),
    )


def _dispute_view(dispute: Dispute) -> DisputeView:
    return DisputeView(
        id=dispute.dispute_id,
        payment_id=dispute.payment_id,
        booking_id=dispute.group_id,
        leg_id=dispute.leg_id,
        state=dispute.state,
        reason=dispute.reason,
        amount=MoneyView(dispute.amount_cents, dispute.currency),
        opened_at=rfc3339(dispute.opened_at_ms),
        closed_at=None if dispute.closed_at_ms is None else rfc3339(dispute.closed_at_ms),
    )
