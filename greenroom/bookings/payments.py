"""The port to the payment provider, who moves the money.

`PaymentProvider` is all that bookings know of it; `payments_http` speaks to one over HTTP, of
which the built-in sandbox is an example.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from greenroom.platform.jobs import NotYetError

OperationName = Literal["charge", "hold", "capture", "release", "refund", "payout"]
Status = Literal["succeeded", "failed", "pending"]


@dataclass(frozen=True, slots=True)
class Operation:
    """What the provider is asked to do.

    `account` is who pays or is paid. `source` is the provider's own id of the charge that is
    refunded, or of the hold that is captured or released. `reference` is our id of the payment.
    """

    key: str
    operation: OperationName
    account: str
    amount_cents: int
    currency: str
    source: str | None
    reference: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an operation. `succeeded` and `failed` are final; `pending` is not."""

    status: Status
    provider_id: str | None = None
    failure_code: str | None = None


class ProviderUnavailable(Exception):  # noqa: N818 (it says what is the case)
    """The outcome is unknown: the provider may have done it. Ask again with the same key."""


class StillPending(NotYetError):  # noqa: N818 (as above)
    """The provider has taken the operation on and has not decided it. Ask again later."""


class PaymentProvider(Protocol):
    """Every adapter promises:

    - *Once.* However often an operation is carried out under one key, also at the same time and
      after a crash of either side, money moves at most once, and every answer tells of that one.
    - *Honest.* `succeeded` and `failed` are said only when the provider has said so, and are then
      said for ever. Whatever leaves the outcome open, such as a connection that breaks, an answer
      that cannot be read, or an error on the provider's side, is `ProviderUnavailable`.
    - *Bounded.* It answers or raises within a time that the adapter was given.
    - *Quiet.* It keeps nothing and books nothing: what an outcome means is its caller's matter.
    """

    async def carry_out(self, operation: Operation) -> Outcome:
        """Ask the provider to do this, or what became of it when it was asked before. Raises
        ProviderUnavailable when the outcome is unknown."""
        ...
