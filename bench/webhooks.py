"""The speed of webhooks: deliveries compared with bare signed POSTs, and what they cost sends.

The worker is a process of its own, as under load it should be. The receiver is another one.
"""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvloop

from bench import fill, load
from bench.product import LIMITS, Product, product
from bench.report import Row, at_least, at_most, say
from bench.senders import BODY
from greenroom.kernel.limits import Limits
from greenroom.platform.egress import parse_egress
from greenroom.platform.http_client import HttpClient
from greenroom.webhooks.signing import new_secret, sign

PAIRS = 500
PACE = 100
PATIENCE_S = 120.0
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Scale:
    events: int
    paced_s: int
    sends: int


FULL = Scale(events=20_000, paced_s=20, sends=40_000)
QUICK = Scale(events=2_000, paced_s=5, sends=6_000)


def measure(scale: Scale) -> Iterator[Row]:
    given = {"GREENROOM_WORKER": "0", "GREENROOM_EGRESS_ALLOW": "127.0.0.1"}
    with product(more=given) as server, _receiver() as receiver, _worker(server, given):
        asyncio.run(fill.fill_threads(server.database_url, 0, PAIRS))
        backend = Backend(server)
        webhook = backend.add(receiver.url)
        yield from _rate(server, backend, receiver, webhook, scale)
        yield _latency(server, receiver, scale)
        yield _cost(server, backend, receiver, webhook, scale)


class Backend:
    """The marketplace's backend, with an API key of its own."""

    def __init__(self, server: Product) -> None:
        self._port = server.port
        command = [sys.executable, "-m", "greenroom", "keys", "create", "bench", "--json"]
        made = subprocess.run(command, env=_environ(server), capture_output=True, check=True)
        self._key = json.loads(made.stdout)["key"]

    def call(self, method: str, path: str, body: Any) -> Any:
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request(method, path, json.dumps(body).encode(), headers)
        answer = connection.getresponse()
        said = json.load(answer)
        connection.close()
        assert answer.status < 300, said
        return said

    def add(self, url: str) -> str:
        body = {"url": url, "events": ["message.send"], "include_content": True}
        webhook_id: str = self.call("POST", "/v1/webhooks", body)["webhook"]["id"]
        return webhook_id

    def enable(self, webhook_id: str, *, enabled: bool) -> None:
        self.call("PATCH", f"/v1/webhooks/{webhook_id}", {"enabled": enabled})


def _environ(server: Product) -> dict[str, str]:
    own = {"GREENROOM_HOME": str(server.settings.home), **LIMITS}
    return {**os.environ, **own, "GREENROOM_DATABASE_URL": server.database_url}


@dataclass(frozen=True, slots=True)
class Receiver:
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def count(self) -> int:
        count: int = self._ask("GET", "/count")
        return count

    def latencies_ms(self) -> list[float]:
        """How long after they happened events have come."""
        latencies_ms: list[float] = self._ask("GET", "/latencies")
        return latencies_ms

    def forget(self) -> None:
        self._ask("DELETE", "/")

    def _ask(self, method: str, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request(method, path)
        said = connection.getresponse().read()
        connection.close()
        return json.loads(said) if said else None

    def wait_for(self, count: int) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while (taken := self.count()) < count:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"only {taken} of {count} events have come")
            time.sleep(LOOK_S)


@contextmanager
def _receiver() -> Iterator[Receiver]:
    command = [sys.executable, "-m", "bench.webhook_receiver"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield Receiver(int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait(timeout=60)


@contextmanager
def _worker(server: Product, given: dict[str, str]) -> Iterator[None]:
    command = [sys.executable, "-m", "greenroom", "worker"]
    environ = {**_environ(server), **given}
    with (server.settings.home / "worker.log").open("wb") as output:
        process = subprocess.Popen(command, env=environ, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)


def _rate(
    server: Product, backend: Backend, receiver: Receiver, webhook: str, scale: Scale
) -> Iterator[Row]:
    """Of a backlog, with nothing else going on, against POSTs of the same bytes."""
    backend.enable(webhook, enabled=False)
    say(f"{scale.events} sends while the webhook is disabled")
    load.run(server.port, _sends(server, scale.events, "r"), 64).require(201)
    at_once = Limits().webhook_posts_each
    say(f"bare signed POSTs, {at_once} at a time")
    bare = uvloop.run(_bare_posts(receiver.url, scale.events, at_once))
    receiver.forget()
    say("deliveries of the backlog")
    started_s = time.monotonic()
    backend.enable(webhook, enabled=True)
    receiver.wait_for(scale.events)
    rate = scale.events / (time.monotonic() - started_s)
    yield at_least(
        f"webhook deliveries / bare signed POSTs, {at_once} at a time",
        f"{rate:,.0f}/s of {bare:,.0f}/s",
        rate / bare,
        0.5,
    )


async def _bare_posts(url: str, count: int, at_once: int) -> float:
    """As fast as the product's own HTTP client goes with bodies of this size."""
    client, key = HttpClient(egress=parse_egress("127.0.0.1")), new_secret()
    timestamp = "2027-01-01T00:00:00.000Z"
    body = json.dumps({"type": "x", "timestamp": timestamp, "data": {"text": "x" * 900}}).encode()
    numbers = iter(range(count))

    async def post() -> None:
        for number in numbers:
            at_s = int(time.time())
            headers = {
                "content-type": "application/json",
                "webhook-id": f"evt_{number}",
                "webhook-timestamp": str(at_s),
                "webhook-signature": sign([key], f"evt_{number}", at_s, body),
            }
            reply = await client.send(
                "POST", url, headers=headers, body=body, timeout_s=10, limit_bytes=1000
            )
            assert reply.status == 204

    started_s = time.monotonic()
    await asyncio.gather(*(post() for _ in range(at_once)))
    seconds = time.monotonic() - started_s
    await client.close()
    return count / seconds


def _latency(server: Product, receiver: Receiver, scale: Scale) -> Row:
    """From the time of the send, which is before its commit, to the first byte at the receiver."""
    say(f"{PACE} sends per second for {scale.paced_s} s")
    receiver.forget()
    requests = _sends(server, PACE * scale.paced_s, "p")
    for second in range(scale.paced_s):
        started_s = time.monotonic()
        part = requests[second * PACE : (second + 1) * PACE]
        load.run(server.port, part, 4).require(201)
        time.sleep(max(0.0, 1 - (time.monotonic() - started_s)))
    receiver.wait_for(len(requests))
    latencies_ms = receiver.latencies_ms()
    p50, p95 = (load.percentile(latencies_ms, percent) for percent in (50, 95))
    name = f"webhook from send to receiver at {PACE}/s, p95 / 300 ms"
    return at_most(name, f"p50 {p50:.0f}, p95 {p95:.0f} ms", p95 / 300, 1.0)


def _cost(server: Product, backend: Backend, receiver: Receiver, webhook: str, scale: Scale) -> Row:
    """Sends with the webhook enabled against sends with it disabled, in turns."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(4):
        enabled = turn % 2 == 1
        say(f"sends with the webhook {'enabled' if enabled else 'disabled'} ({turn + 1} of 4)")
        receiver.forget()
        backend.enable(webhook, enabled=enabled)
        requests = _sends(server, scale.sends // 4, f"c{turn}")
        result = load.run(server.port, requests, 64, warm_up=len(requests) // 10).require(201)
        rates[enabled].append(result.per_second)
        if enabled:
            # With what has waited since it was disabled.
            receiver.wait_for(2 * len(requests))
    off, on = sum(rates[False]) / 2, sum(rates[True]) / 2
    shown = f"{on:,.0f}/s with, {off:,.0f}/s without"
    return at_most("sends without / with a webhook", shown, off / on, 1.05)


def _sends(server: Product, count: int, name: str) -> list[bytes]:
    tokens = {user: server.token(user) for n in range(PAIRS) for user in fill.people(n)}
    requests = []
    for i in range(count):
        number = i % PAIRS
        author = fill.people(number)[(i // PAIRS) % 2]
        body = json.dumps({"client_id": f"{name}-{i}", "body": BODY}).encode()
        path = f"/v1/threads/{fill.thread_id(number)}/messages"
        requests.append(load.request("POST", path, tokens[author], body))
    return requests
