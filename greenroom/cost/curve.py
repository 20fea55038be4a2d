"""The bill for a thousand to a thousand million messages a day, as a table and as a plot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from greenroom.cost.assumptions import Assumptions
from greenroom.cost.model import DAYS, SECONDS, bill
from greenroom.cost.tables import Prices, UnitTable

EXPONENTS = range(3, 10)
COLUMNS_PER_DECADE = 9
ROWS_PER_DECADE = 2


@dataclass(frozen=True, slots=True)
class Point:
    messages_per_day: float
    usd: float
    streaming_usd: float
    """The bill if every client uses a stream."""
    writes_per_s: float
    peak_writes_per_s: float

    @property
    def usd_per_million(self) -> float:
        return self.usd / (self.messages_per_day * DAYS) * 1e6


def point(a: Assumptions, messages_per_day: float, measured: UnitTable, prices: Prices) -> Point:
    """People, conversations and files grow in proportion."""
    scaled = a.scaled_to(messages_per_day)
    month = bill(scaled, measured, prices)
    streaming = bill(replace(scaled, streaming_share=1), measured, prices)
    writes_per_s = month.usage.writes / SECONDS
    return Point(
        messages_per_day,
        month.total_usd,
        streaming.total_usd,
        writes_per_s,
        writes_per_s * a.peak_factor,
    )


def curve(a: Assumptions, measured: UnitTable, prices: Prices) -> list[Point]:
    return [point(a, 10.0**exponent, measured, prices) for exponent in EXPONENTS]


def plot(a: Assumptions, measured: UnitTable, prices: Prices) -> list[str]:
    """Both axes are logarithmic; `*` is the bill, `o` the bill if every client uses a stream."""
    width = COLUMNS_PER_DECADE * (len(EXPONENTS) - 1) + 1
    points = [
        point(a, 10 ** (EXPONENTS.start + x / COLUMNS_PER_DECADE), measured, prices)
        for x in range(width)
    ]
    bills = [math.log10(each.usd) for each in points]
    streams = [math.log10(each.streaming_usd) for each in points]
    bottom, top = math.floor(min(bills + streams)), math.ceil(max(bills + streams))
    lines = []
    for row in range((top - bottom) * ROWS_PER_DECADE, -1, -1):
        label = f"$10^{bottom + row // ROWS_PER_DECADE}" if row % ROWS_PER_DECADE == 0 else ""
        drawn = _row(row, bottom, bills, streams)
        lines.append(f"{label:>6} |{drawn}".rstrip())
    ticks = "".join(f"{f'10^{exponent}':<{COLUMNS_PER_DECADE}}" for exponent in EXPONENTS)
    return [*lines, " " * 7 + "+" + "-" * width, " " * 7 + ticks.rstrip() + " messages/day"]


def _row(row: int, bottom: int, bills: Sequence[float], streams: Sequence[float]) -> str:
    def at(height: float) -> bool:
        return round((height - bottom) * ROWS_PER_DECADE) == row

    return "".join(
        "*" if at(ours) else "o" if at(theirs) else " "
        for ours, theirs in zip(bills, streams, strict=True)
    )
