"""The data of bookings and payments, and rules about them that need no clock and no database."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from greenroom.bookings.cancellation_policy import Policy

LegKind = Literal["talent", "studio"]
Payout = Literal["none", "held", "queued", "paid", "failed"]
DepositState = Literal["pending", "held", "captured", "released", "failed"]
OperationName = Literal["charge", "hold", "capture", "release", "refund", "payout"]
PaymentState = Literal["queued", "succeeded", "failed"]
Side = Literal["buyer", "seller"]
Stage = Literal["proposed", "confirmed", "completed", "disputed", "cancelled"]


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
LEG_ENDS = frozenset({*ENDED, LegState.DISPUTED})
"""The states in which open cards about a leg are closed. A disputed leg can still change its state,
but for the cards about it the work has ended."""


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
    """An operation that is asked of the payment provider, and its outcome."""

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
    again: str | None
    """The id of the payment that repeats this one after it failed."""
    needs_payer: bool
    """It is queued until the payer confirms it with their bank."""
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
    """The money of one leg. Queued refunds and releases count as done: that money is neither
    refundable nor held."""

    paid_cents: int
    refunded_cents: int
    refundable_cents: int
    deposit_held_cents: int
    deposit_captured_cents: int
    payout_cents: int
    """Released to the seller."""
    escrow_cents: int = 0
    """In the leg's escrow account, without queued refunds."""
    owed_cents: int = 0
    """The part of escrow whose refund to the buyer failed. It is never paid out."""
