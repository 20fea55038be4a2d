"""The limits to growth, and how much of each is used at each power of ten."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.scale import layout
from bench.scale.layout import LIMITS
from bench.scale.levels import EXPONENTS, Level
from greenroom.cost.model import LOOKUPS_PER_VCPU
from greenroom.cost.tables import units

LARGEST = LIMITS.participants
PROJECTION_MS = 10
INDEX_WRITES = 2
"""Index writes for an inbox row that gets a message: it moves in the index."""
PRECISION = 1e-6
POSTGRES_VCPUS = 2
WAKE_UPS_PER_PROCESS_S = 9500
"""Measured with `NOTIFY`: 76,000 deliveries a second to 8 listeners. Every process gets all."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    name: str
    short: str
    limit: float
    used: Callable[[Level], float]
    unit: str = "/s"

    def share(self, level: Level) -> float:
        return self.used(level) / self.limit


def _storm_reads_per_s(level: Level) -> float:
    """Every process admits its clients at its own pace; each client reads what it missed."""
    returning = min(level.streams, level.processes * LIMITS.opened_streams_per_s)
    return returning * units().operations.sync_one_message.read


def _hottest_thread_heat(level: Level, batch: int) -> float:
    sends_per_s = level.hottest_thread_sends_per_s
    return layout.live_heat(LARGEST, sends_per_s, batch=batch, marks=level.marks)


CEILINGS: Sequence[Ceiling] = (
    Ceiling(
        "hottest thread, 50 people who read along, writes",
        "read marks in the hottest thread",
        layout.PARTITION_WRITES_PER_S,
        lambda level: _hottest_thread_heat(level, 1),
    ),
    Ceiling(
        "hottest thread, 50 people who read along, reads",
        "showing the hottest thread to its people",
        layout.PARTITION_READS_PER_S,
        lambda level: layout.live_reads(
            LARGEST, level.hottest_thread_sends_per_s, marks=level.marks
        ),
    ),
    Ceiling(
        "hottest thread, 50 people, sends alone, one by one",
        "sends to the hottest thread",
        layout.PARTITION_WRITES_PER_S,
        lambda level: level.hottest_thread_sends_per_s * layout.send_heat(LARGEST),
    ),
    Ceiling(
        f"hottest thread, 50 people, sends alone, batches of {layout.BATCH}",
        "sends to the hottest thread in spite of batches",
        layout.PARTITION_WRITES_PER_S,
        lambda level: level.hottest_thread_sends_per_s * layout.send_heat(LARGEST, layout.BATCH),
    ),
    Ceiling(
        f"hottest user, entry after entry, row and entry in {PROJECTION_MS} ms",
        "the turns of the hottest user's feed",
        1000 / PROJECTION_MS,
        lambda level: level.hottest_user_events_per_s,
    ),
    Ceiling(
        "hottest user, feed partition",
        "the hottest user's feed partition",
        layout.PARTITION_WRITES_PER_S,
        lambda level: level.hottest_user_events_per_s * layout.FEED_WRITES,
    ),
    Ceiling(
        "hottest user, inbox index (GSI1)",
        "the hottest user's partition of GSI1",
        layout.PARTITION_WRITES_PER_S,
        lambda level: level.hottest_user_messages_per_s * INDEX_WRITES,
    ),
    Ceiling(
        f"outbox, {LIMITS.outbox_shards} shards",
        "the outbox's shards",
        layout.PARTITION_WRITES_PER_S * LIMITS.outbox_shards,
        lambda level: level.sends_per_s * layout.RECORD_WRITES,
    ),
    Ceiling(
        f"outbox, {layout.OUTBOX_MOST_SHARDS} shards",
        "the outbox's shards, however many",
        layout.PARTITION_WRITES_PER_S * layout.OUTBOX_MOST_SHARDS,
        lambda level: level.sends_per_s * layout.RECORD_WRITES,
    ),
    Ceiling(
        "writes, a new table",
        "a new table's first half hour",
        layout.NEW_TABLE_WRITES_PER_S,
        lambda level: level.peak(level.streaming.usage.writes),
    ),
    Ceiling(
        "writes, the table's quota",
        "the table's write quota",
        layout.TABLE_UNITS_PER_S,
        lambda level: level.peak(level.streaming.usage.writes),
    ),
    Ceiling(
        "reads, the table's quota, everybody streams",
        "the table's read quota",
        layout.TABLE_UNITS_PER_S,
        lambda level: level.peak(level.streaming.usage.reads),
    ),
    Ceiling(
        "reads, the table's quota, everybody polls",
        "the table's read quota when people poll",
        layout.TABLE_UNITS_PER_S,
        lambda level: level.peak(level.polling.usage.reads),
    ),
    Ceiling(
        "reads, the table's quota, everybody comes back at once",
        "the table's read quota when a crowd returns",
        layout.TABLE_UNITS_PER_S,
        _storm_reads_per_s,
    ),
    Ceiling(
        "streams, one process",
        "one process's streams",
        LIMITS.streams,
        lambda level: level.streams,
        unit="",
    ),
    Ceiling(
        "wake-ups heard by every process",
        "the wake-ups that every process hears",
        WAKE_UPS_PER_PROCESS_S,
        lambda level: level.events_per_s,
    ),
    Ceiling(
        f"PostgreSQL, names on pages, {POSTGRES_VCPUS} vCPUs",
        "PostgreSQL's look-ups of names",
        POSTGRES_VCPUS * LOOKUPS_PER_VCPU,
        lambda level: level.page_loads_per_s,
    ),
)


def reached_at(ceiling: Ceiling) -> float | None:
    """The messages a day at which it is used up; None if other limits prevent that."""
    low, high = float(EXPONENTS.start), float(EXPONENTS.stop)
    if ceiling.share(Level(high)) <= 1:
        return None
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if ceiling.share(Level(middle)) > 1 else (middle, high)
    return float(10**high)


def given_way(below: float, up_to: float) -> list[tuple[float, Ceiling]]:
    """The limits that are reached between the two levels, in order."""
    found = [(reached_at(each), each) for each in CEILINGS]
    between = [(at, each) for at, each in found if at is not None and below < at <= up_to]
    return sorted(between, key=lambda each: each[0])


def nearest(level: Level) -> Ceiling:
    """The limit that would be reached next: of those not reached, the one used most."""
    return max(
        (each for each in CEILINGS if each.share(level) <= 1), key=lambda each: each.share(level)
    )
