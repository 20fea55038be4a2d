"""What a booking is, and the rules about it that need neither a clock nor a database."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Literal

from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.money import percent_of

HOUR_MS = 3_600_000
MOST_TIERS = 10
MOST_NOTICE_HOURS = 24 * 366
MOST_DIGITS = 9

LegKind = Literal["talent", "studio"]
Payout = Literal["none", "held", "queued", "paid", "failed"]
DepositState = Literal["pending", "held", "captured", "released", "failed"]
OperationName = Literal["charge", "hold", "capture", "release", "refund", "payout"]
PaymentState = Literal["queued", "succeeded", "failed"]
Side = Literal["buyer", "seller"]
Stage = Literal["confirmed", "completed", "disputed", "cancelled"]


class GroupState(StrEnum):
    PROPOSED = "proposed"
    CONFIRMING = "confirming"
    CONFIRMED = "confirmed"
    CANCELLED = "cancelled"


class LegState(StrEnum):
    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    DISPUTED = "disputed"


LEG_MOVES: dict[LegState, frozenset[LegState]] = {
    LegState.PROPOSED: frozenset({LegState.CONFIRMED, LegState.CANCELLED}),
    LegState.CONFIRMED: frozenset(
        {LegState.IN_PROGRESS, LegState.COMPLETED, LegState.CANCELLED, LegState.DISPUTED}
    ),
    LegState.IN_PROGRESS: frozenset({LegState.COMPLETED, LegState.CANCELLED, LegState.DISPUTED}),
    LegState.COMPLETED: frozenset({LegState.DISPUTED}),
    LegState.CANCELLED: frozenset(),
    # A dispute that is withdrawn leaves the leg where it was before.
    LegState.DISPUTED: frozenset(
        {LegState.CONFIRMED, LegState.IN_PROGRESS, LegState.COMPLETED, LegState.CANCELLED}
    ),
}
UNDER_WAY = frozenset({LegState.CONFIRMED, LegState.IN_PROGRESS, LegState.COMPLETED})
ENDED = frozenset({LegState.COMPLETED, LegState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Tier:
    """With at least this much notice, this part of what was paid is given back."""

    notice_hours: int
    refund_percent: int


Policy = tuple[Tier, ...]
"""Longest notice first. Shorter notice than any tier's gives nothing back."""


@dataclass(frozen=True, slots=True)
class Quote:
    refund_cents: int
    refund_percent: int
    notice_hours: int
    """Of the tier that applies; 0 where none does."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a booking: one seller, one time, one price."""

    leg_id: str
    group_id: str
    place: int
    kind: LegKind
    seller: str
    title: str
    state: LegState
    start_ms: int
    end_ms: int
    timezone: str
    price_cents: int
    deposit_cents: int
    holds_slot: bool
    version: int
    sequence: int
    deliverables_accepted_at_ms: int | None
    payout: Payout
    payout_held_reason: str | None
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class Group:
    """A linked booking group: legs that one buyer buys together, in the order they were given."""

    group_id: str
    buyer: str
    currency: str
    thread_id: str | None
    state: GroupState
    policy: Policy
    version: int
    failure_code: str | None
    created_at_ms: int
    updated_at_ms: int
    legs: tuple[Leg, ...]

    @property
    def parties(self) -> frozenset[str]:
        return frozenset({self.buyer, *(leg.seller for leg in self.legs)})

    @property
    def total_cents(self) -> int:
        return sum(leg.price_cents for leg in self.legs)

    def leg(self, leg_id: str) -> Leg:
        [found] = [leg for leg in self.legs if leg.leg_id == leg_id]
        return found

    def with_leg(self, changed: Leg) -> "Group":
        """This group after one of its legs has changed."""
        legs = tuple(changed if leg.leg_id == changed.leg_id else leg for leg in self.legs)
        return replace(self, legs=legs)


@dataclass(frozen=True, slots=True)
class Payment:
    """Something that is asked of the payment provider, and how it ended."""

    payment_id: str
    key: str
    operation: OperationName
    purpose: str
    group_id: str
    leg_id: str | None
    card_id: str | None
    account: str
    amount_cents: int
    currency: str
    source_payment: str | None
    state: PaymentState
    provider_id: str | None
    failure_code: str | None
    refund_id: str | None
    created_at_ms: int
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class Deposit:
    deposit_id: str
    leg_id: str
    amount_cents: int
    captured_cents: int
    currency: str
    state: DepositState
    payment_id: str | None


@dataclass(frozen=True, slots=True)
class Balance:
    """The money of one leg. What is on its way out counts as gone: it is neither refundable nor
    held any more."""

    paid_cents: int
    refunded_cents: int
    refundable_cents: int
    deposit_held_cents: int
    deposit_captured_cents: int
    payout_cents: int
    """Released to the seller."""
    escrow_cents: int = 0
    """Kept for the leg and not on its way back: what a payout would release."""


def quote(policy: Policy, *, paid_cents: int, starts_ms: int, now_ms: int, by: Side) -> Quote:
    """What comes back when a leg is cancelled now. A seller who cancels gives everything back.
    Notice is counted to the millisecond: exactly a tier's hours are enough for it."""
    if by == "seller":
        return Quote(paid_cents, 100, 0)
    notice_ms = starts_ms - now_ms
    for tier in policy:
        if notice_ms >= tier.notice_hours * HOUR_MS:
            refund_cents = percent_of(paid_cents, tier.refund_percent)
            return Quote(refund_cents, tier.refund_percent, tier.notice_hours)
    return Quote(0, 0, 0)


def check_policy(tiers: Iterable[Tier]) -> Policy:
    """Sorted by notice; a longer notice never gives back less than a shorter one."""
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
    """Of the form `168:100,48:50,0:0`: hours of notice, and the percentage they give back."""
    tiers = []
    for part in text.split(","):
        hours, separator, percent = part.strip().partition(":")
        if not (separator and _is_number(hours) and _is_number(percent)):
            raise InvalidRequest("a cancellation policy is written as 168:100,48:50,0:0")
        tiers.append(Tier(int(hours), int(percent)))
    return check_policy(tiers)


def _is_number(text: str) -> bool:
    """Of a length that Python reads: it refuses thousands of digits in its own words."""
    return text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
