"""Stripe's objects, as far as we read them, and what they say about a payment. Pure.

Unknown fields are ignored, because Stripe adds some. The same types read answers and webhooks.
"""

from typing import Any

from msgspec import Struct, field

from greenroom.bookings.money.provider import Outcome

PAYMENT = "greenroom_payment"
"""The name in an object's metadata under which our id of the payment stands."""
CAPTURE = "greenroom_capture"
"""The same for the payment that has captured a hold."""

NEEDS_PAYER = "authentication_required"
NO_PAYMENT_METHOD = "no_payment_method"
NO_PAYEE = "no_payout_account"
CONFIRMATION_EXPIRED = "confirmation_expired"
CANCELED = "payment_canceled"
CURRENCY = "currency_not_supported"

NOT_IN_CENTS = frozenset(
    {
        *("BHD", "BIF", "CLP", "DJF", "GNF", "HUF", "ISK", "JOD", "JPY", "KMF", "KRW", "KWD"),
        *("MGA", "OMR", "PYG", "RWF", "TND", "TWD", "UGX", "VND", "VUV", "XAF", "XOF", "XPF"),
    }
)
"""Currencies whose amounts Stripe counts in another unit than cents, or rounds."""

# What a shop should not tell about a card, and words that mean the same.
_PLAIN_CODES = {
    "generic_decline": "card_declined",
    "do_not_honor": "card_declined",
    "fraudulent": "card_declined",
    "lost_card": "card_declined",
    "stolen_card": "card_declined",
    "pickup_card": "card_declined",
    "restricted_card": "card_declined",
    "merchant_blacklist": "card_declined",
    "payment_intent_authentication_failure": "authentication_failed",
    "invalid_cvc": "incorrect_cvc",
}


class ErrorMethod(Struct, frozen=True):
    id: str


class PaymentError(Struct, frozen=True):
    code: str | None = None
    decline_code: str | None = None
    payment_method: ErrorMethod | None = None

    @property
    def failure_code(self) -> str:
        given = self.decline_code or self.code or "card_declined"
        return _PLAIN_CODES.get(given, given)

    @property
    def needs_payer(self) -> bool:
        return NEEDS_PAYER in (self.code, self.decline_code)


class Intent(Struct, frozen=True):
    """A PaymentIntent: a charge, or a hold if it is captured by hand."""

    id: str
    status: str
    created: int
    amount_received: int = 0
    client_secret: str | None = None
    payment_method: str | None = None
    latest_charge: str | None = None
    last_payment_error: PaymentError | None = None
    cancellation_reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def needs_payer(self) -> bool:
        """Whether it waits for the payer. Off session, Stripe says so by an error: the page then
        confirms the intent with the same payment method."""
        if self.status in ("requires_action", "requires_confirmation"):
            return True
        error = self.last_payment_error
        return self.status == "requires_payment_method" and error is not None and error.needs_payer

    @property
    def failure_code(self) -> str:
        error = self.last_payment_error
        if error is None:
            return CANCELED
        return CONFIRMATION_EXPIRED if error.needs_payer else error.failure_code

    @property
    def confirmation_method(self) -> str | None:
        """The payment method with which the payer's page confirms it."""
        error = self.last_payment_error
        if self.payment_method is None and error is not None and error.payment_method is not None:
            return error.payment_method.id
        return self.payment_method


class Refund(Struct, frozen=True):
    id: str
    status: str | None = None
    failure_reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


class Transfer(Struct, frozen=True):
    id: str
    metadata: dict[str, str] = field(default_factory=dict)


class Charge(Struct, frozen=True):
    payment_intent: str | None = None


class Dispute(Struct, frozen=True):
    id: str
    amount: int
    currency: str
    reason: str
    status: str
    payment_intent: str | None = None


class EventData(Struct, frozen=True):
    object: dict[str, Any]


class Event(Struct, frozen=True):
    id: str
    type: str
    data: EventData


def refund_outcome(refund: Refund) -> Outcome:
    if refund.status == "succeeded":
        return Outcome("succeeded", refund.id)
    if refund.status in ("failed", "canceled"):
        return Outcome("failed", refund.id, refund.failure_reason or "refund_failed")
    return Outcome("pending", refund.id)
