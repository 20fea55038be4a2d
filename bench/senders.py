"""Open-loop senders: they send at random times, independent of answers.

The time of a send runs from the moment when it was due, even if it had to wait for a connection.
Otherwise a server that stalls would look better, because its stall delays further sends.
"""

import asyncio
import json
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.load import percentile, request
from bench.wire import HttpClient

BODY = "Hello there, are you free on Saturday afternoon? We need two hours."


@dataclass(frozen=True, slots=True)
class Sent:
    """When a send began, by `time.perf_counter`, and how long its answer took."""

    at_s: float
    took_ms: float


def percentile_between(sends: Iterable[Sent], percent: float, from_s: float, to_s: float) -> float:
    return percentile([each.took_ms for each in sends if from_s <= each.at_s < to_s], percent)


def send_request(token: str, thread_id: str, client_id: str, body: str) -> bytes:
    content = json.dumps({"client_id": client_id, "body": body}).encode()
    return request("POST", f"/v1/threads/{thread_id}/messages", token, content)


class Senders:
    """Sends come at random times, `per_s` on average."""

    def __init__(self, connections: list[HttpClient], per_s: float, seed: int = 1) -> None:
        self.sends: list[Sent] = []
        self._per_s = per_s
        self._chances = random.Random(seed)
        self._idle: asyncio.LifoQueue[HttpClient] = asyncio.LifoQueue()
        self._connections = connections
        for connection in connections:
            self._idle.put_nowait(connection)

    @classmethod
    async def open(cls, port: int, connections: int, per_s: float) -> "Senders":
        return cls([await HttpClient.open(port) for _ in range(connections)], per_s)

    async def run(
        self, requests: Iterable[bytes], began: Callable[[int], None] = lambda _: None
    ) -> None:
        """`began` gets each send's number just before it is sent."""
        due_s = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number, each in enumerate(requests):
                due_s += self._chances.expovariate(self._per_s)
                await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
                began(number)
                group.create_task(self._send(each, time.perf_counter()))

    async def _send(self, each: bytes, at_s: float) -> None:
        connection = await self._idle.get()
        answer = await connection.ask(each)
        self._idle.put_nowait(connection)
        if answer.status != 201:
            raise RuntimeError(f"a send was answered with {answer.status}: {answer.body!r}")
        self.sends.append(Sent(at_s, (time.perf_counter() - at_s) * 1000))

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
