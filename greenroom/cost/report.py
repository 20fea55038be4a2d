"""Prints the bill as text, Markdown or JSON, line by line beside the simple estimate."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from greenroom.cost.assumptions import Assumptions
from greenroom.cost.curve import Point, curve, plot
from greenroom.cost.model import Bill, Line, bill
from greenroom.cost.money import dollars, short
from greenroom.cost.reasons import reasons
from greenroom.cost.simple_estimate import (
    SIMPLE_FILES_PER_DAY,
    SIMPLE_LINES,
    SIMPLE_MESSAGES_PER_DAY,
    SIMPLE_TOTAL_USD,
    simple_line,
)
from greenroom.cost.tables import PriceTable, UnitTable
from greenroom.cost.waiting import Waiting, waiting

Row = tuple[str, ...]
WIDTH = 100

BILL_HEAD = ("line", "a month", "bill", "simple", "difference")
WAITING_HEAD = ("how", "checks", "read units", "reads", "presence", "host", "total", "per 1000 h")
CURVE_HEAD = ("messages/day", "a month", "per million", "streaming", "write units/s", "at peak")


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is printed, computed once."""

    table: PriceTable
    measured: UnitTable
    month: Bill
    waiting: tuple[Waiting, Waiting]
    curve: list[Point]
    plot: list[str]
    reasons: dict[str, str]


def report(a: Assumptions, measured: UnitTable, table: PriceTable) -> Report:
    month = bill(a, measured, table.prices)
    return Report(
        table,
        measured,
        month,
        waiting(a, measured, table.prices),
        curve(a, measured, table.prices),
        plot(a, measured, table.prices),
        reasons(month, measured),
    )


def as_text(shown: Report) -> str:
    parts = [*_wrapped(_head(shown)), ""]
    parts += _columns([BILL_HEAD, *_bill_rows(shown)])
    parts += ["", "Why they differ"]
    for name, reason in shown.reasons.items():
        parts += textwrap.wrap(f"{name}: {reason}", WIDTH, subsequent_indent="    ")
    parts += ["", "Waiting for new messages: polling and WebSockets for the same hours"]
    parts += _columns([WAITING_HEAD, *_waiting_rows(shown)])
    parts += _wrapped([_waiting_note(shown)])
    parts += ["", "The curve: people, conversations and files in proportion"]
    parts += _columns([CURVE_HEAD, *_curve_rows(shown)])
    parts += ["", "Dollars a month: * as assumed, o if everybody uses a stream", *shown.plot]
    return "\n".join(parts)


def as_markdown(shown: Report) -> str:
    parts = ["\n".join(_head(shown)), _markdown([BILL_HEAD, *_bill_rows(shown)])]
    parts.append(_markdown([("line", "why it differs"), *shown.reasons.items()]))
    parts.append(_markdown([WAITING_HEAD, *_waiting_rows(shown)]))
    parts.append(_waiting_note(shown))
    parts.append(_markdown([CURVE_HEAD, *_curve_rows(shown)]))
    parts.append("\n".join(["```", *shown.plot, "```"]))
    return "\n\n".join(parts)


def as_json(shown: Report) -> dict[str, Any]:
    return {
        "assumptions": asdict(shown.month.assumptions),
        "prices_as_of": shown.table.as_of,
        "region": shown.table.region,
        "units_measured_at": shown.measured.measured_at_version,
        "lines": [
            {
                **asdict(line),
                "simple_usd": _simple_usd(line),
                "simple_usd_per_unit": theirs.usd_per_unit if theirs else None,
                "difference_usd": line.usd - (_simple_usd(line) or 0),
                "reason": shown.reasons[line.name],
            }
            for line in shown.month.lines
            for theirs in [simple_line(line.name)]
        ],
        "total_usd": shown.month.total_usd,
        "simple_total_usd": SIMPLE_TOTAL_USD,
        "operations": asdict(shown.month.counts),
        "usage": asdict(shown.month.usage),
        "waiting": [{**asdict(each), "total_usd": each.total_usd} for each in shown.waiting],
        "curve": [
            {**asdict(each), "usd_per_million": each.usd_per_million} for each in shown.curve
        ],
    }


def _head(shown: Report) -> list[str]:
    a, table = shown.month.assumptions, shown.table
    free = "applied" if a.free_tier else "not applied"
    what = (
        f"A month of messaging on DynamoDB: {a.messages_per_day:,.0f} messages a day in "
        f"{a.conversations:,.0f} conversations of {a.people:,.0f} people, "
        f"{a.files_per_day:,.0f} files a day of {a.file_mb:g} MB; messages are kept for "
        f"{a.message_kept_days:g} days. The column `simple` is a rough estimate of a simpler "
        "service for comparison: clients poll a function on Lambda and a message is one item; for "
        f"{SIMPLE_MESSAGES_PER_DAY:,} messages and {SIMPLE_FILES_PER_DAY} files a day."
    )
    prices = (
        f"Prices of {table.region} as of {table.as_of}, free tier {free}: check them before you "
        f"rely on them. Units of version {shown.measured.measured_at_version}."
    )
    return [what, prices]


def _bill_rows(shown: Report) -> list[Row]:
    lines = shown.month.lines
    rows = [_bill_row(line) for line in lines if _simple_usd(line) is not None]
    ours = sum(line.usd for line in lines if _simple_usd(line) is not None)
    theirs = sum(line.usd for line in SIMPLE_LINES)
    rows.append(("these lines", "", dollars(ours), dollars(theirs), dollars(ours - theirs)))
    rows += [_bill_row(line) for line in lines if _simple_usd(line) is None]
    total = shown.month.total_usd
    difference = dollars(total - SIMPLE_TOTAL_USD)
    return [*rows, ("total", "", dollars(total), f"≈ {dollars(SIMPLE_TOTAL_USD)}", difference)]


def _bill_row(line: Line) -> Row:
    theirs = _simple_usd(line)
    shown = "–" if theirs is None else dollars(theirs)
    amount = f"{short(line.amount)} {line.unit}"
    return (line.name, amount, dollars(line.usd), shown, dollars(line.usd - (theirs or 0)))


def _simple_usd(line: Line) -> float | None:
    theirs = simple_line(line.name)
    return None if theirs is None else theirs.usd


def _waiting_rows(shown: Report) -> list[Row]:
    return [
        (
            each.how,
            short(each.checks),
            short(each.read_units),
            dollars(each.reads_usd),
            dollars(each.presence_usd),
            dollars(each.host_usd),
            dollars(each.total_usd),
            dollars(each.usd_per_thousand_hours),
        )
        for each in shown.waiting
    ]


def _waiting_note(shown: Report) -> str:
    polls = shown.waiting[0].checks
    gateway = shown.table.prices.gateway_request.cost(polls, free_tier=False)
    return (
        "Polling costs per request, WebSockets cost the servers that hold them: with many people "
        "WebSockets are cheaper, and the curve shows from where on. The function is called by its "
        f"own address; API Gateway in front of it would add {dollars(gateway)}."
    )


def _curve_rows(shown: Report) -> list[Row]:
    return [
        (
            f"{each.messages_per_day:,.0f}",
            dollars(each.usd),
            dollars(each.usd_per_million),
            dollars(each.streaming_usd),
            short(each.writes_per_s),
            short(each.peak_writes_per_s),
        )
        for each in shown.curve
    ]


def _wrapped(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in textwrap.wrap(text, WIDTH)]


def _columns(rows: Sequence[Row]) -> list[str]:
    """Aligns the first column to the left, figures to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _markdown(rows: Sequence[Row]) -> str:
    head, *body = rows
    lines = [head, tuple("---" for _ in head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
