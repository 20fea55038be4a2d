"""The tables of docs/scale.md, each as Markdown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from bench.scale import layout
from bench.scale.ceilings import CEILINGS, given_way, nearest
from bench.scale.conflicts import FEED, THREAD, Load, Outcome, Shape, simulate
from bench.scale.layout import LIMITS
from bench.scale.levels import EXPONENTS, MILDER, ZIPF, Level, levels
from greenroom.cost.model import DAYS, FEED_ENTRY_BYTES, bill, events_of
from greenroom.cost.money import dollars
from greenroom.cost.tables import prices, units

Rows = Iterable[Sequence[str]]

MEMBERS = (2, 10, 50)
SIMULATED_S = 60.0


def markdown(head: Sequence[str], rows: Rows) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    """Rounded to three digits: more are not known."""
    rounded = float(f"{value:.3g}")
    if rounded >= 1e6:
        return f"{rounded / 1e6:,.4g} M" if rounded < 1e9 else f"{rounded / 1e6:,.0f} M"
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def percent(share: float) -> str:
    if share >= 10:
        return f"**{share:,.0f}×**"
    text = "< 1 %" if share < 0.01 else f"{share * 100:.0f} %"
    return f"**{text}**" if share > 1 else text


def power(level: Level) -> str:
    return f"10^{level.exponent:g}"


def assumptions() -> str:
    a = Level(EXPONENTS.start).assumptions
    rows = (
        ("messages per thread and day", number(a.messages_per_day / a.conversations)),
        ("people per thread", number(a.people_per_conversation)),
        ("feed entries per message", number(events_of(a) / DAYS / a.messages_per_day)),
        ("read marks per message and reader", number(a.marks_per_message)),
        ("minutes a day with the chat open", number(a.open_minutes)),
        ("busiest minute / average", number(a.peak_factor)),
        ("exponent of threads and people", number(ZIPF)),
        ("write units/s of a partition", number(layout.PARTITION_WRITES_PER_S)),
        ("read units/s of a partition", number(layout.PARTITION_READS_PER_S)),
        ("read or write units/s of a table by default", number(layout.TABLE_UNITS_PER_S)),
        ("write units/s of a new table", number(layout.NEW_TABLE_WRITES_PER_S)),
        ("sends in one transaction", number(layout.BATCH)),
        ("people in a thread at most", number(LIMITS.participants)),
        ("people in a thread with delivery receipts", number(LIMITS.delivery_shown_participants)),
        ("sends per person and minute", number(LIMITS.sends_per_minute)),
        ("outbox shards, and the most", f"{LIMITS.outbox_shards}, {layout.OUTBOX_MOST_SHARDS}"),
        ("streams per process", number(LIMITS.streams)),
        ("streams let in per process and second", number(LIMITS.opened_streams_per_s)),
        ("seconds between looks at the heads of open feeds", number(LIMITS.feed_recheck_s)),
    )
    return markdown(("assumed", "is"), rows)


def population() -> str:
    head = (
        "messages/day",
        "people",
        "threads",
        "sends/s at peak",
        "feed entries/s at peak",
        "hottest thread, sends/s",
        "hottest user, entries/s",
        f"the same at exponent {MILDER:g}",
    )
    return markdown(
        head,
        (
            (
                power(level),
                number(level.people),
                number(level.threads),
                number(level.sends_per_s),
                number(level.events_per_s),
                number(level.hottest_thread_sends_per_s),
                number(level.hottest_user_events_per_s),
                _and(milder.hottest_thread_sends_per_s, milder.hottest_user_events_per_s),
            )
            for level, milder in zip(levels(ZIPF), levels(MILDER), strict=True)
        ),
    )


def _and(*values: float) -> str:
    return " and ".join(number(value) for value in values)


def thread() -> str:
    head = (
        "people",
        "units of its item",
        "changes/s it takes",
        "of a send",
        "of a receipt",
        "of a read mark",
        "sends/s alone",
        f"sends/s in batches of {layout.BATCH}",
        "sends/s when all read along",
        "sends/s allowed",
    )
    return markdown(head, (_thread(members) for members in MEMBERS))


def _thread(members: int) -> Sequence[str]:
    most = layout.PARTITION_WRITES_PER_S
    return (
        str(members),
        str(layout.thread_item_writes(members)),
        number(most / layout.thread_item_writes(members)),
        number(layout.send_writes(members)),
        number(layout.receipt_writes(members)) if layout.receipt_writes(members) else "–",
        number(layout.mark_writes(members)),
        number(most / layout.send_heat(members)),
        number(most / layout.send_heat(members, layout.BATCH)),
        number(layout.live_sends_per_s(members, batch=1, marks=1)),
        number(layout.allowed_sends_per_s(members)),
    )


def ceilings() -> str:
    head = ("limit, used at peak", "is", *(power(level) for level in levels()))
    return markdown(
        head,
        (
            (each.name, number(each.limit) + each.unit, *(percent(each.share(x)) for x in levels()))
            for each in CEILINGS
        ),
    )


def first() -> str:
    return markdown(
        ("up to messages/day", "gives way, in this order, at messages/day", "then next"),
        ((power(level), _given_way(level), _next(level)) for level in levels()),
    )


def _given_way(level: Level) -> str:
    exponent = level.exponent
    names = [
        f"{each.short} ({number(at)})"
        for at, each in given_way(10.0 ** (exponent - 1), 10.0**exponent)
    ]
    return "; ".join(names) or "nothing"


def _next(level: Level) -> str:
    holds = nearest(level)
    return f"{holds.short} ({percent(holds.share(level))})"


def growth() -> str:
    head = (
        "messages/day",
        f"feed entries, {LIMITS.feed_kept_days} days",
        "feeds, GB",
        "hottest user's entries",
        "more per day, GB",
        f"after {LIMITS.message_kept_days} days, GB",
        "storage a month then",
    )
    return markdown(head, (_growth(level) for level in levels()))


def _growth(level: Level) -> Sequence[str]:
    entries = events_of(level.assumptions) / DAYS * LIMITS.feed_kept_days
    kept = replace(level.assumptions, message_kept_days=LIMITS.message_kept_days)
    month = bill(kept, units(), prices().prices)
    per_day_gb = level.assumptions.messages_per_day * units().operations.append.bytes_stored / 1e9
    return (
        power(level),
        number(entries),
        number(entries * FEED_ENTRY_BYTES / 1e9),
        number(entries * level.hottest_user_share),
        number(per_day_gb),
        number(month.usage.stored_gb),
        dollars(month.line("DynamoDB storage").usd),
    )


def connections() -> str:
    head = (
        "messages/day",
        "streams at peak",
        "processes",
        "all back after, s",
        "reads/s while they come",
        "heads looked at/s",
        "signs of life/s",
        "wake-ups/s, all processes",
    )
    return markdown(head, (_connections(level) for level in levels()))


def _connections(level: Level) -> Sequence[str]:
    storm = next(each for each in CEILINGS if each.short.endswith("a crowd returns"))
    return (
        power(level),
        number(level.streams),
        f"{level.processes:,}",
        number(level.streams / level.processes / LIMITS.opened_streams_per_s),
        number(storm.used(level)),
        number(level.streams / LIMITS.feed_recheck_s),
        number(level.streams / LIMITS.presence_refresh_s),
        number(level.events_per_s * level.processes),
    )


def thread_conflicts(seed: int) -> str:
    return _conflicts(seed, THREAD, "sends/s", (10, 50, 200))


def feed_conflicts(seed: int) -> str:
    return _conflicts(seed, FEED, "entries/s", (10, 50, 100, 200))


def _conflicts(seed: int, shape: Shape, what: str, offered: Sequence[int]) -> str:
    head = ("transaction", "processes", f"{what} offered", f"{what} done", "attempts per write")
    loads = [
        Load(shape, processes, latency_ms, per_s, SIMULATED_S)
        for latency_ms in (5, 10)
        for processes in (1, 4, 16)
        for per_s in offered
    ]
    rows = (_outcome(load, simulate(load, seed)) for load in loads)
    return markdown((*head, "p50", "p99", "refused"), rows)


def _outcome(load: Load, got: Outcome) -> Sequence[str]:
    return (
        f"{load.latency_ms:g} ms",
        str(load.processes),
        f"{load.offered_per_s:g}",
        number(got.done_per_s),
        f"{got.attempts_per_write:.2f}",
        f"{got.p50_ms:,.0f} ms",
        f"{got.p99_ms:,.0f} ms",
        f"{got.refused / max(1, got.offered) * 100:.1f} %",
    )


TABLES: dict[str, tuple[str, Callable[[int], str]]] = {
    "assumptions": ("What is assumed", lambda _: assumptions()),
    "population": ("Who there is, and how hot the hottest are", lambda _: population()),
    "thread": ("One thread", lambda _: thread()),
    "ceilings": ("Use of each limit at the peak", lambda _: ceilings()),
    "first": ("What gives way first", lambda _: first()),
    "growth": ("What is kept", lambda _: growth()),
    "connections": ("Open connections", lambda _: connections()),
    "thread-conflicts": (f"One thread, batches of {layout.BATCH}, simulated", thread_conflicts),
    "feed-conflicts": ("One person's feed, simulated", feed_conflicts),
}
