"""Those who take part: somebody who steers the sandbox, somebody who listens to its webhooks."""

import asyncio
from typing import Any

import httpx

from greenroom.bookings.money.provider import Operation, OperationName
from greenroom.bookings.money.provider_http import HttpPayments
from greenroom.bookings.sandbox.listener import Request, Response, SandboxServer
from greenroom.bookings.sandbox.provider import Sandbox
from greenroom.platform.backoff import Backoff

Json = dict[str, Any]

SECRET = "a secret of the tests"
AT_ONCE = Backoff(base_ms=0, cap_ms=0, attempts=3)


class Listener:
    """Keeps every webhook that it is sent; refuses the next few when it is told to."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.refuse = 0
        self.heard = asyncio.Event()
        self._server = SandboxServer(self._answer, host="127.0.0.1", port=0)
        self.url = ""

    async def open(self) -> None:
        self.url = f"http://127.0.0.1:{await self._server.open()}/v1/payments/webhook"

    async def close(self) -> None:
        await self._server.close()

    async def _answer(self, request: Request) -> Response:
        if self.refuse:
            self.refuse -= 1
            return Response(503, b"{}")
        self.requests.append(request)
        self.heard.set()
        return Response(200, b"{}")


class Steering:
    """The sandbox as somebody who tries things steers it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.provider = HttpPayments(sandbox.url, SECRET, timeout_s=10)

    async def call(self, method: str, path: str, json: Json | None = None) -> Json:
        async with httpx.AsyncClient(base_url=self.sandbox.url) as http:
            headers = {"authorization": f"Bearer {SECRET}"}
            answer = await http.request(method, path, json=json, headers=headers)
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    async def script(self, *steps: Json) -> None:
        await self.call("POST", "/sandbox/script", {"steps": list(steps)})

    async def operations(self) -> list[Json]:
        found: list[Json] = (await self.call("GET", "/sandbox/operations"))["operations"]
        return found


def asking(
    operation: OperationName = "charge",
    amount_cents: int = 10_000,
    *,
    key: str = "k1",
    source: str | None = None,
    currency: str = "EUR",
) -> Operation:
    return Operation(key, operation, "buyer.1", amount_cents, currency, source, f"pay_{key}")
