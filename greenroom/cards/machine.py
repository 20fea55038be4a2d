"""What can happen to a card: pure look-ups in its type."""

from greenroom.cards.model import CardType, Facts, Transition
from greenroom.kernel.errors import ActionInvalidState


def decide(
    card_type: CardType, state: str, action: str, roles: frozenset[str], card: Facts
) -> Transition:
    """The one transition that this action is, for somebody with these roles. Raises
    ActionInvalidState: not in this state, or not theirs to do."""
    steps = card_type.steps.get((state, action), ())
    for step in steps:
        if not step.by.isdisjoint(roles) and _applies(step, card):
            return step
    if steps:
        raise ActionInvalidState("That is not yours to do here.")
    raise ActionInvalidState(f"A card that is {state} does not take this action.")


def available(card_type: CardType, card: Facts, roles: frozenset[str]) -> list[Transition]:
    """What somebody with these roles can do now, in the catalogue's order."""
    return [
        step
        for step in card_type.exits.get(card.state, ())
        if not step.by.isdisjoint(roles) and _applies(step, card)
    ]


def _applies(step: Transition, card: Facts) -> bool:
    return all(condition.holds(card) is condition.expected for condition in step.when)
