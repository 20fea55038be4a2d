"""The realtime part: delay and rate of delivery, and the cost of many connections.

The server, PostgreSQL and the clients share the machine's cores. The idle clients of `storm.py`
have a process of their own; otherwise senders and receivers share one.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from bench import delivery, fanout, fill, storm
from bench.delivery import WEBSOCKET, Delays
from bench.fanout import Groups, Rate
from bench.product import Product, product
from bench.report import Row, noted, say

FASTEST_PER_S = 500


@dataclass(frozen=True, slots=True)
class Scale:
    delivery_s: dict[int, float]
    """For each rate of sends per second, the length of a turn."""
    groups: Groups
    small_groups: Groups
    fanout_s: float
    storm: storm.Scale


FULL = Scale(
    delivery_s={50: 10, FASTEST_PER_S: 6},
    groups=Groups(100_000, count=20, size=50),
    small_groups=Groups(200_000, count=100, size=10),
    fanout_s=8,
    storm=storm.Scale(people=5000, first=100, step=1000, quiet_s=5, before_s=10),
)
QUICK = Scale(
    delivery_s={50: 1, FASTEST_PER_S: 1},
    groups=Groups(100_000, count=4, size=50),
    small_groups=Groups(200_000, count=20, size=10),
    fanout_s=1,
    storm=storm.Scale(people=600, first=50, step=200, quiet_s=1, before_s=2),
)


def measure(scale: Scale) -> Iterator[Row]:
    with product() as server:
        rows, delays, rate = _one_worker(server, scale)
        yield from rows
    with product(workers=2) as server:
        say("once more with 2 workers")
        yield from _two_workers(server, scale, delays, rate)
    with product() as server:
        yield from storm.measure(server, scale.storm)


def _one_worker(server: Product, scale: Scale) -> tuple[list[Row], Delays, Rate]:
    _fill(server)
    delays = {
        per_s: delivery.measure(server, list(delivery.TRANSPORTS), per_s, turn_s)
        for per_s, turn_s in scale.delivery_s.items()
    }
    rows = [row for per_s, each in delays.items() for row in delivery.rows(per_s, each)]
    small_rate = fanout.measure(server, scale.small_groups, scale.fanout_s)
    rate = fanout.measure(server, scale.groups, scale.fanout_s)
    rows += [
        fanout.against_bare(small_rate, scale.small_groups, scale.fanout_s),
        fanout.against_bare(rate, scale.groups, scale.fanout_s),
    ]
    return rows, delays[FASTEST_PER_S][WEBSOCKET], rate


def _two_workers(server: Product, scale: Scale, delays: Delays, rate: Rate) -> list[Row]:
    """With two workers half of the wake-ups come over the bus."""
    _fill(server)
    turn_s = scale.delivery_s[FASTEST_PER_S]
    both = delivery.measure(server, [WEBSOCKET], FASTEST_PER_S, turn_s)[WEBSOCKET]
    both_rate = fanout.measure(server, scale.groups, scale.fanout_s)
    return [
        noted(
            f"WebSocket delivered p50 at {FASTEST_PER_S}/s, 2 workers / 1",
            str(both),
            both.p50 / delays.p50,
        ),
        noted(
            f"events in threads of {scale.groups.size}, 2 workers / 1",
            f"{both_rate.per_s:,.0f}/s of {rate.per_s:,.0f}/s",
            both_rate.per_s / rate.per_s,
        ),
    ]


def _fill(server: Product) -> None:
    asyncio.run(fill.fill_threads(server.database_url, 0, delivery.PAIRS - 1))
