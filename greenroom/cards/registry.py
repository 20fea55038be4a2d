"""Rules, guards, effects and predicates by name, as the catalogue's files refer to them.

A decorator only names a function; `collect` finds the named ones of a module. Nothing is registered
globally, so that two catalogues in one process stay apart.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from greenroom.cards.model import Circumstances, Facts, Predicate, Refusal, Rule

if TYPE_CHECKING:
    from greenroom.cards.context import EffectContext

T = TypeVar("T")

Run = Callable[["EffectContext"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a transition does besides changing the card's state, in the same transaction. It refuses
    by raising a Problem, which rolls everything back."""

    name: str
    run: Run
    uses_leg: bool
    """The card's group and legs are locked before it runs."""
    awaits_payment: bool
    """The card then waits for the payment provider, and the server takes it out of that state."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A check that must pass before a transition. It raises ActionConflict or ActionInvalidState
    with a detail that says why, and changes nothing."""

    name: str
    run: Run
    uses_leg: bool


@dataclass(frozen=True, slots=True)
class NamedPredicate:
    name: str
    holds: Predicate


@dataclass(frozen=True, slots=True)
class Registry:
    effects: dict[str, Effect] = field(default_factory=dict)
    guards: dict[str, Guard] = field(default_factory=dict)
    predicates: dict[str, NamedPredicate] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)


def effect(
    name: str, *, uses_leg: bool = False, awaits_payment: bool = False
) -> Callable[[Run], Effect]:
    return lambda run: Effect(name, run, uses_leg, awaits_payment)


def guard(name: str, *, uses_leg: bool = False) -> Callable[[Run], Guard]:
    return lambda run: Guard(name, run, uses_leg)


def rule(
    name: str, *, looks_at_money: bool = False, looks_at_cards: bool = False
) -> Callable[[Callable[[Facts, Circumstances], Refusal | None]], Rule]:
    """`looks_at_…`: the rule needs more of the leg than its state and time. Such a rule is only for
    creating cards, because lists of available actions do not load that much."""
    return lambda check: Rule(name, check, looks_at_money, looks_at_cards)


def predicate(name: str) -> Callable[[Predicate], NamedPredicate]:
    return lambda holds: NamedPredicate(name, holds)


def collect(modules: Iterable[ModuleType]) -> Registry:
    """Everything that these modules name. Raises ValueError if two have the same name."""
    found = Registry()
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Effect):
                _add(found.effects, value.name, value)
            elif isinstance(value, Guard):
                _add(found.guards, value.name, value)
            elif isinstance(value, NamedPredicate):
                _add(found.predicates, value.name, value)
            elif isinstance(value, Rule):
                _add(found.rules, value.name, value)
    return found


def _add(known: dict[str, T], name: str, value: T) -> None:
    if known.setdefault(name, value) is not value:
        raise ValueError(name)
