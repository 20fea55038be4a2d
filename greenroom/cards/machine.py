"""The state machine: which transitions a card's type allows to whom. Pure."""

from greenroom.cards.model import CardType, Circumstances, Facts, Transition
from greenroom.kernel.errors import ActionInvalidState


def decide(
    card_type: CardType, state: str, action: str, roles: frozenset[str], card: Facts
) -> Transition:
    """The transition of this action for a person with these roles. Raises ActionInvalidState if the
    state has no such action, or if it is for other roles."""
    transitions = card_type.transitions_from.get((state, action), ())
    for transition in transitions:
        if not transition.by.isdisjoint(roles) and _applies(transition, card):
            return transition
    if transitions:
        raise ActionInvalidState("That is not yours to do here.")
    raise ActionInvalidState(f"A card that is {state} does not take this action.")


def available(
    card_type: CardType, card: Facts, roles: frozenset[str], circumstances: Circumstances
) -> list[Transition]:
    """What a person with these roles can do now, in the catalogue's order."""
    return [
        transition
        for transition in card_type.exits.get(card.state, ())
        if not transition.by.isdisjoint(roles)
        and _applies(transition, card)
        and all(rule.check(card, circumstances) is None for rule in transition.rules)
    ]


def _applies(transition: Transition, card: Facts) -> bool:
    return all(condition.holds(card) is condition.expected for condition in transition.when)
