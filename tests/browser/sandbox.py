"""The payment provider as a test needs it: slow, or one that declines."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from greenroom.bookings.sandbox.provider import Sandbox
from tests.support.waiting import PATIENCE_S

SECRET = "only-for-tests-only-for-tests-only-for-tests"
WEBHOOK = "/v1/payments/webhook"


class PaymentSandbox:
    """The sandbox in a thread of its own, because starting a demo blocks the tests' loop."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @property
    def environment(self) -> dict[str, str]:
        url = self._sandbox.url
        return {"GREENROOM_PAYMENTS_URL": url, "GREENROOM_PAYMENTS_SECRET": SECRET}

    def tell(self, server_url: str) -> None:
        """Outcomes are told to this server from now on."""
        self._sandbox.webhook_url = server_url + WEBHOOK

    def decline_next_charge(self) -> None:
        self._steer("script", {"steps": [{"operation": "charge", "do": "fail"}]})

    def keep_next_charge_waiting(self) -> None:
        self._steer("script", {"steps": [{"operation": "charge", "do": "pending"}]})

    def decide(self) -> None:
        """What waits succeeds."""
        self._steer("settle", {"status": "succeeded"})

    def _steer(self, what: str, body: dict[str, Any]) -> None:
        headers = {"authorization": f"Bearer {SECRET}"}
        url = f"{self._sandbox.url}/sandbox/{what}"
        httpx.post(url, json=body, headers=headers, timeout=PATIENCE_S).raise_for_status()


@contextmanager
def open_sandbox(file: Path) -> Iterator[PaymentSandbox]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="bank")
    thread.start()
    sandbox = Sandbox(file, secret=SECRET)
    asyncio.run_coroutine_threadsafe(sandbox.__aenter__(), loop).result(PATIENCE_S)
    try:
        yield PaymentSandbox(sandbox)
    finally:
        asyncio.run_coroutine_threadsafe(sandbox.__aexit__(), loop).result(PATIENCE_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()
