"""The delay of a message from sender to receiver, by the receiver's transport."""

import asyncio
import time
from dataclasses import dataclass, field

import uvloop

from bench import fill
from bench.load import percentile
from bench.product import Product
from bench.receivers import (
    LongPollReceiver,
    Receiver,
    Seat,
    SseReceiver,
    WebSocketReceiver,
    event_in,
)
from bench.report import Row, at_most, say
from bench.senders import BODY, Senders, send_request

PAIRS = 25
TURNS = 2
WARM_UP_S = 1
PATIENCE_S = 30
LEVEL_MS = 100
WEBSOCKET = "WebSocket"
TRANSPORTS: dict[str, type[Receiver]] = {
    WEBSOCKET: WebSocketReceiver,
    "SSE": SseReceiver,
    "long-poll": LongPollReceiver,
}


class Arrivals:
    """Messages in flight. Each contains its number and must arrive once."""

    def __init__(self, uncounted: int) -> None:
        self.delays_ms: list[float] = []
        self._uncounted = uncounted
        self._began_s: dict[int, float] = {}
        self._none_left = asyncio.Event()
        self._error: Exception | None = None

    def began(self, number: int) -> None:
        self._none_left.clear()
        self._began_s[number] = time.perf_counter()

    def heard(self, event: bytes) -> None:
        message = event_in(event).message
        now_s = time.perf_counter()
        if message is None:
            return
        number = int(message.body.rpartition("#")[2])
        began_s = self._began_s.pop(number, None)
        if began_s is None:
            self.broke(RuntimeError(f"number {number} arrived twice or was never sent"))
        elif number >= self._uncounted:
            self.delays_ms.append((now_s - began_s) * 1000)
        if not self._began_s:
            self._none_left.set()

    def broke(self, error: Exception) -> None:
        self._error = self._error or error
        self._none_left.set()

    async def settle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._none_left.wait()
        if self._error is not None:
            raise self._error


@dataclass(slots=True)
class Delays:
    """The delays of one transport at one rate, over all turns."""

    ms: list[float] = field(default_factory=list)

    @property
    def p50(self) -> float:
        return percentile(self.ms, 50)

    @property
    def p99(self) -> float:
        return percentile(self.ms, 99)

    def __str__(self) -> str:
        return f"p50 {self.p50:.1f}, p95 {percentile(self.ms, 95):.1f}, p99 {self.p99:.1f} ms"


def rows(per_s: int, delays: dict[str, Delays]) -> list[Row]:
    base = delays[WEBSOCKET]
    levels = [
        at_most(
            f"{name} delivered p99 at {per_s}/s", str(each), each.p99 / LEVEL_MS, 1.0, "of 100 ms"
        )
        for name, each in delays.items()
    ]
    against_websocket = [
        at_most(
            f"{name} / WebSocket delivered p50 at {per_s}/s",
            f"{each.p50:.1f} / {base.p50:.1f} ms",
            each.p50 / base.p50,
            1.5,
        )
        for name, each in delays.items()
        if each is not base
    ]
    return levels + against_websocket


def measure(server: Product, transports: list[str], per_s: int, turn_s: float) -> dict[str, Delays]:
    delays = {name: Delays() for name in transports}
    for turn in range(TURNS):
        # In alternating order, so that none always runs after the same one.
        for name in transports[:: -1 if turn % 2 else 1]:
            say(f"{name} at {per_s}/s ({turn + 1} of {TURNS})")
            sends = f"{name}{per_s}-{turn}"
            delays[name].ms += uvloop.run(_turn(server, TRANSPORTS[name], per_s, turn_s, sends))
    return delays


async def _turn(
    server: Product, transport: type[Receiver], per_s: int, turn_s: float, name: str
) -> list[float]:
    tokens = [server.token(fill.people(number)[0]) for number in range(PAIRS)]
    requests = [
        send_request(tokens[i % PAIRS], fill.thread_id(i % PAIRS), f"{name}-{i}", f"{BODY} #{i}")
        for i in range(int(per_s * (WARM_UP_S + turn_s)))
    ]
    arrivals = Arrivals(uncounted=per_s * WARM_UP_S)
    cursors = await fill.cursors(server.database_url, [fill.people(n)[1] for n in range(PAIRS)])
    receivers = [
        transport(Seat(server.port, server.token(user), cursor), arrivals.heard, arrivals.broke)
        for user, cursor in cursors.items()
    ]
    await asyncio.gather(*(receiver.open() for receiver in receivers))
    senders = await Senders.open(server.port, PAIRS, per_s)
    try:
        await senders.run(requests, arrivals.began)
        await arrivals.settle()
    finally:
        senders.close()
        for receiver in receivers:
            receiver.close()
    return arrivals.delays_ms
