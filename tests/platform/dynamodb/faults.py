"""Faults between a client and DynamoDB: each request meets the next one of a plan."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from greenroom.platform.dynamodb.client import Client, Json, Send
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import HttpTransport

Fault = Callable[[Send, str, bytes], Awaitable[tuple[int, bytes]]]


def refused(code: str, *, status: int = 400, **more: Any) -> Fault:
    """DynamoDB says no; the request does not happen."""

    async def fault(_send: Send, _action: str, _body: bytes) -> tuple[int, bytes]:
        said = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", **more}
        return status, msgspec.json.encode(said)

    return fault


def cancelled(*codes: str) -> Fault:
    reasons = [{"Code": code} for code in codes]
    return refused("TransactionCanceledException", CancellationReasons=reasons)


def answered(status: int, body: bytes) -> Fault:
    async def fault(_send: Send, _action: str, _body: bytes) -> tuple[int, bytes]:
        return status, body

    return fault


async def unreachable(_send: Send, _action: str, _body: bytes) -> tuple[int, bytes]:
    raise ConnectionResetError("connection reset")


async def lost_answer(send: Send, action: str, body: bytes) -> tuple[int, bytes]:
    """The request happens, and nobody is told."""
    await send(action, body)
    raise TimeoutError


async def half_done(send: Send, action: str, body: bytes) -> tuple[int, bytes]:
    """A batch of which DynamoDB takes the first half, as it does when it throttles a part."""
    request = msgspec.json.decode(body)
    taken, left = _halves(request["RequestItems"])
    status, told = await send(action, msgspec.json.encode({**request, "RequestItems": taken}))
    answer = msgspec.json.decode(told)
    return status, msgspec.json.encode({**answer, _LEFT[action]: left})


async def nothing_done(_send: Send, action: str, body: bytes) -> tuple[int, bytes]:
    """A batch of which DynamoDB takes nothing."""
    request = msgspec.json.decode(body)
    return 200, msgspec.json.encode({"Responses": {}, _LEFT[action]: request["RequestItems"]})


_LEFT = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


def _halves(wanted: Json) -> tuple[Json, Json]:
    """Both with the form of the whole: a list of writes, or keys and how to read them."""
    [(name, entries)] = wanted.items()
    if isinstance(entries, list):
        middle = len(entries) // 2
        return {name: entries[:middle]}, {name: entries[middle:]}
    first, second = _halves({"Keys": entries["Keys"]})
    return {name: {**entries, **first}}, {name: {**entries, **second}}


class FaultyTable:
    """A table whose client waits for nothing, and writes down what it sent and how long it slept.

    `chance` stands for randomness: 1 makes every pause as long as it may be.
    """

    def __init__(self, access: Access, name: str) -> None:
        self.plan: deque[Fault] = deque()
        self.plans: dict[str, deque[Fault]] = {}
        self.sent: list[tuple[str, Json]] = []
        self.pauses_s: list[float] = []
        self.chance = 1.0
        transport = HttpTransport(access)

        async def send(action: str, body: bytes) -> tuple[int, bytes]:
            self.sent.append((action, msgspec.json.decode(body)))
            plan = self.plans.get(action) or self.plan
            if plan:
                return await plan.popleft()(transport, action, body)
            return await transport(action, body)

        async def sleep(seconds: float) -> None:
            self.pauses_s.append(seconds)

        self.client = Client(send, close=transport.close, sleep=sleep, chance=lambda: self.chance)
        self.table = Table(self.client, name, Meter())

    def meets(self, *faults: Fault) -> None:
        """The next requests, whatever they are."""
        self.plan.extend(faults)

    def on(self, action: str, *faults: Fault) -> None:
        """The next requests of one kind."""
        self.plans[action] = deque(faults)
