"""Rows of the table that `make bench` prints."""

import sys
from dataclasses import dataclass

NAME_WIDTH = 62


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    measured: str
    ratio: float
    bound: str
    holds: bool | None


def at_least(name: str, measured: str, ratio: float, bound: float, aim: str = "") -> Row:
    return Row(name, measured, ratio, f"≥ {bound:g} {aim}".strip(), ratio >= bound)


def at_most(name: str, measured: str, ratio: float, bound: float, aim: str = "") -> Row:
    return Row(name, measured, ratio, f"≤ {bound:g} {aim}".strip(), ratio <= bound)


def noted(name: str, measured: str, ratio: float) -> Row:
    """A row for information, without a limit."""
    return Row(name, measured, ratio, "–", holds=None)


def print_line(row: Row) -> None:
    """As soon as it is measured: a part that fails later takes nothing away."""
    holds = {True: "yes", False: "NO", None: "–"}[row.holds]
    ratio = f"{row.ratio:.2f}"
    print(
        f"{row.name:{NAME_WIDTH}} {ratio:>6}  {row.bound:16} {holds:4} {row.measured}", flush=True
    )


def print_markdown(row: Row) -> None:
    print(f"| {row.name} | {row.ratio:.2f} ({row.measured}) | {row.bound} |", flush=True)


def say(text: str) -> None:
    print(f"· {text}", file=sys.stderr, flush=True)
