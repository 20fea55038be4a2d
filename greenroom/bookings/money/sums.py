"""The sums that a booking shows for each leg, each defined once. Pure.

    agreed = paid + pending + open
    paid = refunded + kept + paid_out

`failed` is what could not be charged; it is not part of `agreed` until it is tried again. `held` is
the deposit, which is not part of the price. A payment that was undone (refunded with the purpose
`undo`) does not count as paid.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from typing import Literal

from greenroom.bookings.model import Group, GroupState, Leg, LegState

AmendmentState = Literal["pending", "paid", "failed", "void", "booked"]


@dataclass(frozen=True, slots=True)
class Sums:
    """Of one leg, or of several together: cents of the booking's currency."""

    agreed_cents: int = 0
    paid_cents: int = 0
    pending_cents: int = 0
    open_cents: int = 0
    failed_cents: int = 0
    refunded_cents: int = 0
    kept_cents: int = 0
    paid_out_cents: int = 0
    held_cents: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        names = [each.name for each in fields(self)]
        return Sums(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True)
class Flow:
    """What the buyer was charged for one item: the price of a leg, or the amount of one card."""

    taken_cents: int = 0
    """Charged or captured, without what was undone."""
    queued_cents: int = 0
    """Being charged."""


@dataclass(frozen=True, slots=True)
class Amendment:
    card_id: str
    amount_cents: int
    state: AmendmentState


@dataclass(frozen=True, slots=True)
class LegMoney:
    """The input of `sums_of`: everything that is known of a leg's money."""

    for_price: Flow = Flow()
    for_cards: Mapping[str, Flow] = field(default_factory=dict)
    amendments: Sequence[Amendment] = ()
    refunded_cents: int = 0
    paid_out_cents: int = 0
    held_cents: int = 0


def sums_of(group: Group, leg: Leg, money: LegMoney) -> Sums:
    things = [_price(group, leg, money.for_price), *_additions(money)]
    total = add_up(things)
    return Sums(
        agreed_cents=total.agreed_cents,
        paid_cents=total.paid_cents,
        pending_cents=total.pending_cents,
        open_cents=total.agreed_cents - total.paid_cents - total.pending_cents,
        failed_cents=total.failed_cents,
        refunded_cents=money.refunded_cents,
        kept_cents=total.paid_cents - money.refunded_cents - money.paid_out_cents,
        paid_out_cents=money.paid_out_cents,
        held_cents=money.held_cents,
    )


def add_up(sums: Iterable[Sums]) -> Sums:
    return reduce(Sums.__add__, sums, Sums())


def _price(group: Group, leg: Leg, flow: Flow) -> Sums:
    """The price is agreed unless the leg is cancelled or could not be charged. Of a cancelled leg,
    only what was charged counts."""
    has_failed = group.state is GroupState.PROPOSED and group.failure_code is not None
    if leg.state is LegState.CANCELLED:
        return _thing(0, flow)
    return _thing(leg.price_cents, flow, has_failed=has_failed)


def _additions(money: LegMoney) -> Iterable[Sums]:
    amended = {each.card_id: each for each in money.amendments}
    for card_id in amended.keys() | money.for_cards.keys():
        flow, amendment = money.for_cards.get(card_id, Flow()), amended.get(card_id)
        if amendment is None or amendment.state in ("void", "booked"):
            yield _thing(0, flow)
        else:
            yield _thing(amendment.amount_cents, flow, has_failed=amendment.state == "failed")


def _thing(amount_cents: int, flow: Flow, *, has_failed: bool = False) -> Sums:
    """What was charged, or is being charged, counts as agreed even if the item was cancelled."""
    asked_cents = flow.taken_cents + flow.queued_cents
    return Sums(
        agreed_cents=asked_cents if has_failed else max(amount_cents, asked_cents),
        paid_cents=flow.taken_cents,
        pending_cents=flow.queued_cents,
        failed_cents=max(0, amount_cents - asked_cents) if has_failed else 0,
    )
