"""Which cards a person can create in a thread now, by the same checks that creating them makes."""

from collections.abc import Iterator
from dataclasses import dataclass

from greenroom.bookings.transactions import ContractSnapshot
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.circumstances import circumstances_of, first_refusal
from greenroom.cards.model import CardType, Facts
from greenroom.cards.rows import load_contract
from greenroom.cards.rules import refusal_of_end
from greenroom.cards.sides import LegFacts, Sides, sides_of
from greenroom.conversations.thread_updates import ThreadFacts
from greenroom.kernel.errors import Problem


@dataclass(frozen=True, slots=True)
class Offer:
    type: str
    leg_ids: tuple[str, ...]
    """The legs that it can be about; empty if it is about none."""


async def offers_of(
    snapshot: ContractSnapshot, catalogue: Catalogue, person: str, thread: ThreadFacts
) -> list[Offer]:
    legs = (await load_contract(snapshot, thread.id)).legs
    found = []
    for card_type in catalogue.types.values():
        if thread.kind not in card_type.threads or thread.locked:
            continue
        places = [
            sides.leg_id
            for sides, leg in _places(card_type, person, thread, legs)
            if await _is_possible(snapshot, card_type, sides, leg)
        ]
        if places:
            leg_ids = tuple(dict.fromkeys(place for place in places if place is not None))
            found.append(Offer(card_type.name, leg_ids))
    return found


def _places(
    card_type: CardType, person: str, thread: ThreadFacts, legs: tuple[LegFacts, ...]
) -> Iterator[tuple[Sides, LegFacts | None]]:
    """The possible sides and legs of a new card: without naming a leg, and for each leg."""
    by_id = {leg.leg_id: leg for leg in legs}
    for leg_id in [None, *by_id]:
        try:
            sides = sides_of(person, thread, legs, card_type, leg_id)
        except Problem:
            continue
        yield sides, None if sides.leg_id is None else by_id[sides.leg_id]


async def _is_possible(
    snapshot: ContractSnapshot, card_type: CardType, sides: Sides, leg: LegFacts | None
) -> bool:
    new = Facts(card_type.name, card_type.initial, "", sides.buyer, sides.seller, {}, {})
    circumstances = await circumstances_of(snapshot, None, leg, card_type.create_rules)
    refusal = refusal_of_end(card_type, circumstances)
    return (refusal or first_refusal(card_type.create_rules, new, circumstances)) is None
