"""The payment providers that every test of this folder runs against: the sandbox over the HTTP
contract, and Stripe by its own library. Both are on real sockets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import httpx
from asyncpg import Record

from greenroom.bookings.money.webhook_signatures import HEADER, sign
from greenroom.bookings.sandbox.provider import Sandbox
from tests.support.api import Api
from tests.support.stripe_server import API_KEY, WEBHOOK_SECRET, StripeServer

if TYPE_CHECKING:
    from greenroom.settings import Settings

Json = dict[str, Any]

SECRET = "a secret between us and the provider"


class Provider(Protocol):
    webhook_path: str
    signature_header: str
    is_first: bool
    """Whether the tests run against it with full counts."""
    tells_contradictions: bool
    """Whether an event can say of a final payment that it ended in another way."""

    def configure(self, settings: Settings) -> Settings: ...

    def listen(self, url: str | None) -> None:
        """Where its webhooks go."""

    async def introduce(self, api: Api, user_id: str) -> None:
        """Let it know a person."""

    async def script(self, *steps: Json) -> None: ...

    async def settle(self, status: str = "succeeded", code: str = "card_declined") -> None:
        """Decide everything that is pending."""

    async def hold_webhooks(self, *, is_holding: bool = True) -> None: ...

    async def deliver(self, *, order: str = "as_made", times: int = 1) -> None:
        """Send the webhooks that were held, all of which are taken."""

    async def moved(self) -> list[tuple[str, str, int]]:
        """The operation, account and amount of whatever moved money."""

    async def event(self, payment: Record, status: str, event_id: str) -> Json:
        """An event that says this of a charge."""

    def signature(self, body: bytes, at_s: int) -> str: ...


class SandboxProvider:
    webhook_path = "/v1/payments/webhook"
    signature_header = HEADER
    is_first = True
    tells_contradictions = True

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def configure(self, settings: Settings) -> Settings:
        return replace(settings, payments_url=self.sandbox.url, payments_secret=SECRET)

    def listen(self, url: str | None) -> None:
        self.sandbox.webhook_url = url

    async def introduce(self, api: Api, user_id: str) -> None:
        """It takes our own ids."""

    async def _steer(self, path: str, body: Json | None = None) -> Json:
        method = "GET" if body is None else "POST"
        async with httpx.AsyncClient(base_url=self.sandbox.url) as http:
            headers = {"authorization": f"Bearer {SECRET}"}
            answer = await http.request(method, f"/sandbox/{path}", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def script(self, *steps: Json) -> None:
        await self._steer("script", {"steps": list(steps)})

    async def settle(self, status: str = "succeeded", code: str = "card_declined") -> None:
        told = {"code": code} if status == "failed" else {}
        await self._steer("settle", {"status": status, **told})

    async def hold_webhooks(self, *, is_holding: bool = True) -> None:
        await self._steer("webhooks", {"mode": "held" if is_holding else "now"})

    async def deliver(self, *, order: str = "as_made", times: int = 1) -> None:
        delivered = await self._steer("deliver", {"order": order, "times": times})
        assert delivered["left"] == 0

    async def moved(self) -> list[tuple[str, str, int]]:
        return [
            (each["operation"], each["account"], each["amount_cents"])
            for each in (await self._steer("operations"))["operations"]
            if each["moved"]
        ]

    async def event(self, payment: Record, status: str, event_id: str) -> Json:
        operations = (await self._steer("operations"))["operations"]
        [provider_id] = [each["id"] for each in operations if each["key"] == payment["key"]]
        code = "chargeback" if status == "failed" else None
        operation = {
            "key": payment["key"],
            "id": provider_id,
            "status": status,
            "failure_code": code,
        }
        return {"id": event_id, "type": f"operation.{status}", "operation": operation}

    def signature(self, body: bytes, at_s: int) -> str:
        return sign(SECRET, body, at_s=at_s)


class StripeProvider:
    webhook_path = "/v1/payments/stripe/webhook"
    signature_header = "Stripe-Signature"
    is_first = False
    tells_contradictions = False

    def __init__(self, server: StripeServer) -> None:
        self.server = server

    def configure(self, settings: Settings) -> Settings:
        return replace(
            settings,
            payments="stripe",
            stripe_url=self.server.url,
            stripe_api_key=API_KEY,
            stripe_webhook_secret=WEBHOOK_SECRET,
        )

    def listen(self, url: str | None) -> None:
        self.server.webhook_url = url

    async def introduce(self, api: Api, user_id: str) -> None:
        known = {
            "customer": f"cus_{user_id}",
            "payment_method": f"pm_{user_id}",
            "payee": f"acct_{user_id}",
        }
        answer = await api.backend.put(f"/v1/users/{user_id}/payment-account", known)
        assert answer.status_code == 200, answer.text

    async def script(self, *steps: Json) -> None:
        self.server.steps = [*steps]

    async def settle(self, status: str = "succeeded", code: str = "card_declined") -> None:
        await self.server.settle(status, code)

    async def hold_webhooks(self, *, is_holding: bool = True) -> None:
        self.server.owed = []
        self.server.is_holding = is_holding

    async def deliver(self, *, order: str = "as_made", times: int = 1) -> None:
        assert set(await self.server.deliver(order, times)) <= {200}

    async def moved(self) -> list[tuple[str, str, int]]:
        return [(each["operation"], each["account"], each["cents"]) for each in self.server.moved]

    async def event(self, payment: Record, status: str, event_id: str) -> Json:
        [intent] = [
            each
            for each in self.server.intents.values()
            if each["metadata"]["greenroom_payment"] == payment["payment_id"]
        ]
        kind = "payment_intent.succeeded"
        if status == "failed":
            intent = {**intent, "status": "requires_payment_method"}
            kind = "payment_intent.payment_failed"
        return {"id": event_id, "type": kind, "data": {"object": intent}}

    def signature(self, body: bytes, at_s: int) -> str:
        return sign(WEBHOOK_SECRET, body, at_s=at_s)
