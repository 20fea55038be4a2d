"""The load, the same for every system: closed loop for throughput, open loop for delay."""

import asyncio
import time
from dataclasses import dataclass, field

from bench.load import percentile
from bench.peers.arrivals import Arrivals
from bench.peers.system import Send

TEXT = "Hello there, are you free on Saturday afternoon? We need two hours."
RATES_PER_S = (10, 50)
WARM_UP_SENDS = 4
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Shape:
    turns: int
    closed_s: float
    open_s: dict[int, float]


FULL = Shape(turns=2, closed_s=10, open_s={10: 20, 50: 8})
QUICK = Shape(turns=1, closed_s=3, open_s={10: 5, 50: 3})


@dataclass(slots=True)
class Measured:
    """The results of one system, over all turns."""

    version: str
    sends_per_s: list[float] = field(default_factory=list)
    delays_ms: dict[int, list[float]] = field(
        default_factory=lambda: {rate: [] for rate in RATES_PER_S}
    )

    def mean_sends_per_s(self) -> float:
        return sum(self.sends_per_s) / len(self.sends_per_s)

    def percentile_ms(self, rate_per_s: int, percent: float) -> float:
        return percentile(self.delays_ms[rate_per_s], percent)


async def take_turn(
    sends: list[Send], arrivals: Arrivals, shape: Shape, measured: Measured
) -> None:
    for rate_per_s, seconds in shape.open_s.items():
        async with asyncio.timeout(seconds + PATIENCE_S):
            await _warm_up(sends, arrivals)
            delays_ms = await open_loop(sends, arrivals, rate_per_s, seconds)
            measured.delays_ms[rate_per_s] += delays_ms
    async with asyncio.timeout(shape.closed_s + PATIENCE_S):
        await _warm_up(sends, arrivals)
        measured.sends_per_s.append(await closed_loop(sends, arrivals, shape.closed_s))


async def _warm_up(sends: list[Send], arrivals: Arrivals) -> None:
    """A few uncounted sends of each pair, to reopen idle connections and to fill caches."""
    for _ in range(WARM_UP_SENDS):
        await asyncio.gather(*(send(arrivals.announce()) for send in sends))
    await arrivals.settled()
    arrivals.take_delays_ms()


async def open_loop(
    sends: list[Send], arrivals: Arrivals, rate_per_s: int, seconds: float
) -> list[float]:
    """Send at a fixed rate, independent of answers, and return the delay of each message."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    tasks = []
    for number in range(int(rate_per_s * seconds)):
        await asyncio.sleep(max(0.0, started + number / rate_per_s - loop.time()))
        send = sends[number % len(sends)]
        tasks.append(asyncio.ensure_future(send(arrivals.announce())))
    await asyncio.gather(*tasks)
    await arrivals.settled()
    return arrivals.take_delays_ms()


async def closed_loop(sends: list[Send], arrivals: Arrivals, seconds: float) -> float:
    """Each pair sends when its last send is acknowledged. Returns sends per second."""
    started = time.perf_counter()

    async def talk(send: Send) -> int:
        count = 0
        while time.perf_counter() - started < seconds:
            await send(arrivals.announce())
            count += 1
        return count

    counts = await asyncio.gather(*(talk(send) for send in sends))
    elapsed_s = time.perf_counter() - started
    await arrivals.settled()
    arrivals.take_delays_ms()
    return sum(counts) / elapsed_s
