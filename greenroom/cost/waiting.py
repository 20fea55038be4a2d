"""Compares the cost of waiting for new messages: polling, or holding a WebSocket open.

Both are computed for the same people and the same time with the chat open.
"""

from dataclasses import dataclass, replace

from greenroom.cost.assumptions import Assumptions
from greenroom.cost.model import bill, count, open_seconds
from greenroom.cost.tables import Prices, UnitTable


@dataclass(frozen=True, slots=True)
class Waiting:
    """The cost of a month of waiting. Delivery is left out: it costs the same either way."""

    how: str
    checks: float
    """Reads that find nothing: polls, or the server's periodic reads of feeds and presence."""
    read_units: float
    reads_usd: float
    presence_usd: float
    host_usd: float
    """Lambda for polls, servers for streams."""
    open_hours: float

    @property
    def total_usd(self) -> float:
        return self.reads_usd + self.presence_usd + self.host_usd

    @property
    def usd_per_thousand_hours(self) -> float:
        return 1000 * self.total_usd / self.open_hours if self.open_hours else 0.0


def waiting(a: Assumptions, measured: UnitTable, prices: Prices) -> tuple[Waiting, Waiting]:
    """Polling and streaming, in a month in which nobody writes."""
    silent = replace(a, messages_per_day=0, files_per_day=0, visits_per_day=0)
    return (
        _wait("polling", replace(silent, streaming_share=0), measured, prices),
        _wait("WebSocket", replace(silent, streaming_share=1), measured, prices),
    )


def _wait(how: str, a: Assumptions, measured: UnitTable, prices: Prices) -> Waiting:
    counts, month = count(a), bill(a, measured, prices)
    operations = measured.operations
    checks = counts.sync_nothing_new + counts.recheck + counts.look
    read_units = (
        counts.sync_nothing_new * operations.sync_nothing_new.read
        + counts.recheck * operations.recheck.read
        + counts.look * operations.look.read
    )
    presence_units = counts.presence * operations.presence.write
    return Waiting(
        how=how,
        checks=checks,
        read_units=read_units,
        reads_usd=prices.dynamodb_read.cost(read_units, free_tier=a.free_tier),
        presence_usd=prices.dynamodb_write.cost(presence_units, free_tier=a.free_tier),
        host_usd=month.line("Lambda").usd + month.line("Servers for streams").usd,
        open_hours=open_seconds(a) / 3600,
    )
