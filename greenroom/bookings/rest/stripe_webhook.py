"""The webhook by which Stripe reports what happens to payments."""

import msgspec

from greenroom.bookings.money.webhook_signatures import is_signed
from greenroom.bookings.rest.payment_webhook import EventTaken
from greenroom.bookings.stripe.events import StripeEvents
from greenroom.bookings.stripe.objects import Event
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import InvalidRequest, NotFound
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who

HEADER = "Stripe-Signature"


class StripeWebhookRest:
    def __init__(self, events: StripeEvents, *, secret: str | None, clock: Clock) -> None:
        """Without a secret there is no webhook."""
        self._events = events
        self._secret = secret
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/payments/stripe/webhook",
                self.take_stripe_event,
                "Report an event of Stripe",
                Who.ANYONE,
                {200: EventTaken},
                "Payments",
                description=(
                    f"For Stripe, where `GREENROOM_PAYMENTS` is `stripe`. `{HEADER}` is checked "
                    "with GREENROOM_STRIPE_WEBHOOK_SECRET and may be five minutes old. Events may "
                    "come twice, late and in any order."
                ),
                body=Event,
                errors=(NotFound,),
            )
        ]

    async def take_stripe_event(self, call: Call) -> Answer:
        if self._secret is None:
            raise NotFound
        now_ms = self._clock()
        if not is_signed(self._secret, call.raw, call.header(HEADER), now_s=now_ms // 1000):
            raise InvalidRequest(
                f"{HEADER} is missing, is not of this body, or is more than five minutes old."
            )
        event: Event = call.body
        try:
            await self._events.take(event, now_ms=now_ms)
        except msgspec.ValidationError as error:
            raise InvalidRequest(f"The event's object cannot be read: {error}") from error
        return Answer(200, EventTaken(received=True))
