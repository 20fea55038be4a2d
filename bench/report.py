"""Rows of the table that `make bench` prints."""

import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    measured: str
    ratio: float
    bound: str
    holds: bool


def at_least(name: str, measured: str, ratio: float, bound: float, aim: str = "") -> Row:
    return Row(name, measured, ratio, f"≥ {bound:g} {aim}".strip(), ratio >= bound)


def at_most(name: str, measured: str, ratio: float, bound: float, aim: str = "") -> Row:
    return Row(name, measured, ratio, f"≤ {bound:g} {aim}".strip(), ratio <= bound)


def say(text: str) -> None:
    print(f"· {text}", file=sys.stderr, flush=True)
