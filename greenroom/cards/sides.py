"""Finds the buyer, the seller and the leg of a new card. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from greenroom.bookings.model import LEG_ENDS, LegState
from greenroom.cards.model import CardType, Side
from greenroom.conversations.model import Role
from greenroom.conversations.thread_updates import ThreadFacts
from greenroom.kernel.errors import CardInvalid, Forbidden


@dataclass(frozen=True, slots=True)
class LegFacts:
    leg_id: str
    group_id: str
    buyer: str
    seller: str
    state: str
    start_ms: int
    end_ms: int
    is_current: bool
    """Whether it belongs to the thread's current booking, not an earlier one."""


@dataclass(frozen=True, slots=True)
class Sides:
    buyer: str
    seller: str
    side: Side
    """The side of the person who creates the card."""
    group_id: str | None
    leg_id: str | None


def sides_of(
    person: str,
    thread: ThreadFacts,
    legs: Sequence[LegFacts],
    card_type: CardType,
    leg_id: str | None,
) -> Sides:
    """Raises CardInvalid if the sides or the leg are not clear, and Forbidden if the person may not
    create such a card."""
    leg = _leg_of(person, legs, card_type, leg_id)
    if leg is None and card_type.needs_leg:
        raise CardInvalid(_which_leg(legs))
    if leg is None:
        buyer, seller = _by_roles(person, thread)
    else:
        buyer, seller = leg.buyer, leg.seller
    if person not in (buyer, seller):
        raise Forbidden("Cards are made by the buyer and the seller they are between.")
    if not thread.people.keys() >= {buyer, seller}:
        raise CardInvalid("The other side is not in this thread.")
    side: Side = "buyer" if person == buyer else "seller"
    if side not in card_type.create:
        raise Forbidden(f"Cards of the type `{card_type.name}` are not made by the {side}.")
    groups = {
        each.group_id for each in legs if each.is_current and each.state != LegState.CANCELLED
    }
    group_id = leg.group_id if leg else (groups.pop() if len(groups) == 1 else None)
    return Sides(buyer, seller, side, group_id, leg.leg_id if leg else None)


def _leg_of(
    person: str, legs: Sequence[LegFacts], card_type: CardType, leg_id: str | None
) -> LegFacts | None:
    """The named leg, also of an earlier booking; else the only leg of the current booking that fits
    this person and type.

    A type that needs a leg gets an ended one too, and is then refused with the reason. A type that
    needs none gets no ended leg, so that people can agree on the next booking, but it gets a
    disputed one and is then refused."""
    if leg_id is not None:
        for leg in legs:
            if leg.leg_id == leg_id:
                return leg
        raise CardInvalid("leg_id is not a leg of this thread's booking.")
    current = [leg for leg in legs if leg.is_current]
    lasting = [leg for leg in current if leg.state not in LEG_ENDS]
    outlived = [leg for leg in current if leg.state in card_type.outlives]
    ends = LEG_ENDS if card_type.needs_leg else (LegState.DISPUTED,)
    over = [leg for leg in current if leg.state in ends]
    for found in (lasting, outlived, over):
        own = [leg for leg in found if leg.seller == person] or found
        if own:
            return own[0] if len(own) == 1 else None
    return None


def _which_leg(legs: Sequence[LegFacts]) -> str:
    if legs:
        return "This booking has several legs: say by leg_id which one this is about."
    return "This takes a booking, and the thread has none."


def _by_roles(person: str, thread: ThreadFacts) -> tuple[str, str]:
    """Buyer and seller: the person, and the only participant on the other side."""
    own = thread.people.get(person)
    if own not in (Role.BUYER, Role.SELLER):
        raise Forbidden("Cards are made by the buyer and the seller of a thread.")
    opposite = Role.SELLER if own is Role.BUYER else Role.BUYER
    others = [user for user, role in thread.people.items() if role is opposite]
    if len(others) != 1:
        raise CardInvalid(
            f"The thread has {len(others)} people on the other side: a booking says who is meant."
        )
    return (person, others[0]) if own is Role.BUYER else (others[0], person)
