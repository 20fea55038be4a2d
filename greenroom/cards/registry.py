"""Guards, effects and predicates by name: what the catalogue's data can call on.

A decorator only names a function; `collect` finds those of a module. Nothing is registered
globally, so that two catalogues in one process do not see each other's.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from greenroom.cards.model import Predicate

if TYPE_CHECKING:
    from greenroom.cards.context import EffectContext

T = TypeVar("T")

Run = Callable[["EffectContext"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a transition does besides the card's new state, in the same transaction. It refuses by
    raising a Problem; then nothing has happened."""

    name: str
    run: Run
    uses_leg: bool
    """The card's group and legs are locked before it runs, and it runs only for a card with one."""
    awaits_payment: bool
    """The card then waits for the provider, in a state that the server leaves."""


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


def effect(
    name: str, *, uses_leg: bool = False, awaits_payment: bool = False
) -> Callable[[Run], Effect]:
    return lambda run: Effect(name, run, uses_leg, awaits_payment)


def guard(name: str, *, uses_leg: bool = False) -> Callable[[Run], Guard]:
    return lambda run: Guard(name, run, uses_leg)


def predicate(name: str) -> Callable[[Predicate], NamedPredicate]:
    return lambda holds: NamedPredicate(name, holds)


def collect(modules: Iterable[ModuleType]) -> Registry:
    """Everything that these modules name. Raises ValueError where two have the same name."""
    found = Registry()
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, Effect):
                _add(found.effects, value.name, value)
            elif isinstance(value, Guard):
                _add(found.guards, value.name, value)
            elif isinstance(value, NamedPredicate):
                _add(found.predicates, value.name, value)
    return found


def _add(known: dict[str, T], name: str, value: T) -> None:
    if known.setdefault(name, value) is not value:
        raise ValueError(name)
