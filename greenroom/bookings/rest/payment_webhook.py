"""The webhook by which the payment provider reports the outcome of a payment."""

from typing import Annotated, Literal

import msgspec

from greenroom.bookings.money.provider import Outcome, Status
from greenroom.bookings.money.running import ProviderEvents
from greenroom.bookings.money.webhook_signatures import HEADER, is_signed
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import InvalidRequest
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class ProviderOperation(msgspec.Struct):
    key: ShortText
    id: ShortText
    status: Status
    failure_code: ShortText | None = None


class ProviderEvent(msgspec.Struct):
    """Unknown fields are ignored, because providers add some."""

    id: ShortText
    type: Literal["operation.succeeded", "operation.failed"]
    operation: ProviderOperation


class EventTaken(msgspec.Struct):
    received: bool


class WebhookRest:
    def __init__(self, events: ProviderEvents, *, secret: str, clock: Clock) -> None:
        self._events = events
        self._secret = secret
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/payments/webhook",
                self.take_payment_event,
                "Report the outcome of a payment",
                Who.ANYONE,
                {200: EventTaken},
                "Payments",
                description=(
                    f"For the payment provider. `{HEADER}: t=<Unix seconds>,v1=<hex HMAC-SHA256 "
                    'of "t.body" with GREENROOM_PAYMENTS_SECRET>`, at most five minutes old. '
                    "Events may come twice, late and in any order: a final outcome never changes."
                ),
                body=ProviderEvent,
            )
        ]

    async def take_payment_event(self, call: Call) -> Answer:
        now_ms = self._clock()
        if not is_signed(self._secret, call.raw, call.header(HEADER), now_s=now_ms // 1000):
            raise InvalidRequest(
                f"{HEADER} is missing, is not of this body, or is more than five minutes old."
            )
        event: ProviderEvent = call.body
        reported = event.operation
        if event.type != f"operation.{reported.status}":
            raise InvalidRequest("The event's type is not its operation's status.")
        outcome = Outcome(reported.status, reported.id, reported.failure_code)
        await self._events.take(event.id, reported.key, outcome, now_ms=now_ms)
        return Answer(200, EventTaken(received=True))
