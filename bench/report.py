"""Rows of the table that `make bench` prints."""

import sys
from dataclasses import dataclass


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
    """Worth knowing, and no promise."""
    return Row(name, measured, ratio, "–", holds=None)


def markdown(row: Row) -> str:
    """As README has it."""
    return f"| {row.name} | {row.ratio:.2f} ({row.measured}) | {row.bound} |"


def say(text: str) -> None:
    print(f"· {text}", file=sys.stderr, flush=True)
