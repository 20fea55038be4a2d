"""Looks at a card that choose among transitions of the same action. Pure: they need only the card,
so that a reader can be told what an action will be before it is taken."""

from greenroom.cards.model import Facts, waiting_signers
from greenroom.cards.registry import predicate


@predicate("has_minutes")
def has_minutes(card: Facts) -> bool:
    """Whether the overtime's length is known from the start."""
    return "minutes" in card.payload


@predicate("is_buyer_payable")
def is_buyer_payable(card: Facts) -> bool:
    return card.payload.get("buyer_payable") is True


@predicate("is_last_signature")
def is_last_signature(card: Facts) -> bool:
    """Whether the one who signs next is the last: only signers who have not signed can."""
    return len(waiting_signers(card)) == 1
