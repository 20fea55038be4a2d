"""The port to the payment provider, who moves the money.

Bookings use only `PaymentProvider`. `provider_http.py` is the adapter for a gateway over HTTP; the
built-in sandbox is such a gateway. `bookings/stripe` is the adapter for Stripe.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from greenroom.platform.tasks.runner import NotYetError

OperationName = Literal["charge", "hold", "capture", "release", "refund", "payout"]
Status = Literal["succeeded", "failed", "pending"]


@dataclass(frozen=True, slots=True)
class Party:
    """How the provider knows a person: who pays, with what, and where money is paid out to. Opaque
    references that the marketplace's backend has given us."""

    customer: str | None = None
    payment_method: str | None = None
    payee: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One request to the provider.

    `account` is who pays or is paid, and `party` is how the provider knows them: it stays the same
    for all attempts. `source` is the provider's own id of the charge that is refunded, or of the
    hold that is captured or released. `reference` is our id of the payment.

    `is_repeat` says that the operation may have been sent before, at any time since `asked_at_ms`.
    Keys of some providers expire, so such an adapter looks for the operation first.
    `provider_id` is the provider's own id of this operation, if an earlier answer had one.
    """

    key: str
    operation: OperationName
    account: str
    amount_cents: int
    currency: str
    source: str | None
    reference: str
    party: Party | None = None
    provider_id: str | None = None
    is_repeat: bool = False
    asked_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an operation. `succeeded` and `failed` are final; `pending` is not.
    `needs_payer`: it is pending until the payer confirms it with their bank."""

    status: Status
    provider_id: str | None = None
    failure_code: str | None = None
    needs_payer: bool = False


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a page needs to let the payer confirm a payment with their bank. Only for the payer."""

    client_secret: str
    payment_method: str | None


class ProviderUnavailable(Exception):  # noqa: N818 (it says what is the case)
    """The outcome is unknown: the provider may have done it. Ask again with the same key."""


class StillPending(NotYetError):  # noqa: N818 (as above)
    """The provider has accepted the operation and not decided it yet. Ask again later."""


class PaymentProvider(Protocol):
    """Every adapter guarantees:

    - *Idempotent.* However often an operation is carried out under one key, also concurrently and
      after a crash of either side, money moves at most once, and all answers describe that once.
    - *Final answers only from the provider.* `succeeded` and `failed` are returned only if the
      provider has said so, and never change. If the outcome is unknown (the connection breaks, the
      answer cannot be read, the provider has an error), it raises `ProviderUnavailable`.
    - *Bounded.* It answers or raises within the time that the adapter was configured with.
    - *Stateless.* It stores nothing and writes nothing to the ledger; the caller does.
    """

    async def carry_out(self, operation: Operation) -> Outcome:
        """Carry out the operation, or return its outcome if this key was sent before. Raises
        ProviderUnavailable if the outcome is unknown."""
        ...


class ConfirmsPayments(Protocol):
    """A provider whose payments the payer may have to confirm."""

    async def confirmation(self, provider_id: str) -> Confirmation | None:
        """For a pending payment; None if there is nothing to confirm any more. Raises
        ProviderUnavailable."""
        ...
