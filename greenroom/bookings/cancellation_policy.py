"""Cancellation policies: what is refunded, by the notice that was given. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.money import percent_of

HOUR_MS = 3_600_000
MOST_TIERS = 10
MOST_NOTICE_HOURS = 24 * 366
MOST_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Tier:
    """With at least this much notice, this part of what was paid is refunded."""

    notice_hours: int
    refund_percent: int


Policy = tuple[Tier, ...]
"""Longest notice first. Notice shorter than every tier refunds nothing."""


@dataclass(frozen=True, slots=True)
class Quote:
    refund_cents: int
    refund_percent: int
    notice_hours: int
    """Of the tier that applies; 0 if none does."""


def quote(
    policy: Policy, *, paid_cents: int, starts_ms: int, now_ms: int, by: Literal["buyer", "seller"]
) -> Quote:
    """What is refunded if a leg is cancelled now. If the seller cancels, everything is. Notice of
    exactly a tier's hours is enough for that tier."""
    if by == "seller":
        return Quote(paid_cents, 100, 0)
    notice_ms = starts_ms - now_ms
    for tier in policy:
        if notice_ms >= tier.notice_hours * HOUR_MS:
            refund_cents = percent_of(paid_cents, tier.refund_percent)
            return Quote(refund_cents, tier.refund_percent, tier.notice_hours)
    return Quote(0, 0, 0)


def check_policy(tiers: Iterable[Tier]) -> Policy:
    """Sort the tiers by notice and check them: longer notice must not refund less."""
    policy = tuple(sorted(tiers, key=lambda tier: -tier.notice_hours))
    if not 1 <= len(policy) <= MOST_TIERS:
        raise InvalidRequest(f"cancellation takes 1 to {MOST_TIERS} tiers")
    for tier in policy:
        if not 0 <= tier.notice_hours <= MOST_NOTICE_HOURS:
            raise InvalidRequest(f"notice_hours takes 0 to {MOST_NOTICE_HOURS}")
        if not 0 <= tier.refund_percent <= 100:
            raise InvalidRequest("refund_percent takes 0 to 100")
    for longer, shorter in pairwise(policy):
        if longer.notice_hours == shorter.notice_hours:
            raise InvalidRequest("cancellation has two tiers of the same notice_hours")
        if longer.refund_percent < shorter.refund_percent:
            raise InvalidRequest("cancellation gives back less for a longer notice")
    return policy


def parse_policy(text: str) -> Policy:
    """Read `168:100,48:50,0:0`: hours of notice, and the percentage that is refunded."""
    tiers = []
    for part in text.split(","):
        hours, separator, percent = part.strip().partition(":")
        if not (separator and _is_number(hours) and _is_number(percent)):
            raise InvalidRequest("a cancellation policy is written as 168:100,48:50,0:0")
        tiers.append(Tier(int(hours), int(percent)))
    return check_policy(tiers)


def _is_number(text: str) -> bool:
    """The length is limited, because `int` refuses very long numbers with an error of its own."""
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
