"""Money: whole cents and a currency. Fractions of cents do not exist."""

import re
from dataclasses import dataclass

from greenroom.kernel.errors import InvalidRequest

MOST_CENTS = 10**13
"""A hundred billion units of a currency: far above any booking, far below the limit of a bigint."""

_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class Money:
    amount_cents: int
    currency: str


def check_currency(text: str) -> str:
    if _CURRENCY.fullmatch(text) is None:
        raise InvalidRequest("currency takes a code of three capitals, such as EUR (ISO 4217)")
    return text


def check_cents(name: str, cents: int, *, least: int = 0) -> int:
    if not least <= cents <= MOST_CENTS:
        raise InvalidRequest(f"{name} takes whole cents from {least} to {MOST_CENTS}")
    return cents


def percent_of(cents: int, percent: int) -> int:
    """A whole percentage, rounded half up. Never more than `cents`."""
    return (cents * percent + 50) // 100


def per_hour(rate_cents: int, minutes: int) -> int:
    """The price of some minutes at an hourly rate, rounded half up."""
    return (rate_cents * minutes + 30) // 60
