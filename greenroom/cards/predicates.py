"""Predicates that choose among several transitions of one action. Pure: they need only the card, so
that clients can be told which transition an action will be."""

from greenroom.cards.model import Facts, waiting_signers
from greenroom.cards.registry import predicate


@predicate("has_minutes")
def has_minutes(card: Facts) -> bool:
    """Whether the overtime's length is known from the start."""
    return "minutes" in card.payload


@predicate("is_buyer_payable")
def is_buyer_payable(card: Facts) -> bool:
    return card.payload.get("buyer_payable") is True


@predicate("allows_selections")
def allows_selections(card: Facts) -> bool:
    """Whether the buyer chooses among the proofs, or approves them as they are."""
    return card.payload.get("allow_selections") is True


@predicate("is_last_signature")
def is_last_signature(card: Facts) -> bool:
    """Whether the next signature is the last one: only pending signers can sign."""
    return len(waiting_signers(card)) == 1
