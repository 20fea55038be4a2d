"""Checks a file of the catalogue. Each message says what is wrong and how to correct it."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from greenroom.cards.catalogue.files import (
    CLOSED_STATES,
    NOT,
    TransitionFile,
    TypeFile,
    conditions_of,
)
from greenroom.cards.model import FAILED, SUCCEEDED, TOTALS_PREFIX
from greenroom.cards.registry import Registry

RESERVED_INPUT = "version"

_NEVER_BOTH = (
    frozenset({"buyer", "seller"}),
    frozenset({"creator", "other"}),
)
_ALONE = frozenset({"server", "operator"})


def faults_of(file: TypeFile, registry: Registry) -> Iterator[str]:
    """Every fault as a sentence, the simplest first. If there are none, the type can be built."""
    yield from _labels(file)
    yield from _names(file, registry)
    yield from _transitions(file)
    yield from _states(file)
    yield from _both_apply(file)
    yield from _payments(file, registry)
    yield from _timers(file)


def _labels(file: TypeFile) -> Iterator[str]:
    if "en" not in file.title:
        yield "`title` has no English text: add en = …"
    for name, text in (("offer", file.menu.offer), ("about", file.menu.about)):
        if text and "en" not in text:
            yield f"`{name}` of the menu has no English text: add en = …"
    for name, state in file.states.items():
        if "en" not in state.label:
            yield f"the label of state `{name}` has no English text: add en = …"
    for each in file.transitions:
        if "en" not in each.label and set(each.by) != {"server"}:
            yield f"action `{each.action}` has no English label: add label = {{ en = … }}"


def _names(file: TypeFile, registry: Registry) -> Iterator[str]:
    guards = [file.create_guard, *(each.guard for each in file.transitions)]
    for guard in guards:
        if guard is not None and guard not in registry.guards:
            yield f"there is no guard `{guard}`: use one of {_listed(registry.guards)}"
    for name in [*file.create_rules, *(name for each in file.transitions for name in each.rules)]:
        if name not in registry.rules:
            yield f"there is no rule `{name}`: use one of {_listed(registry.rules)}"
    effects = [*file.create_effects, *(name for each in file.transitions for name in each.effects)]
    for name in effects:
        if name not in registry.effects:
            yield f"there is no effect `{name}`: use one of {_listed(registry.effects)}"
    for each in file.transitions:
        for text in conditions_of(each):
            if text.removeprefix(NOT) not in registry.predicates:
                known = _listed(registry.predicates)
                yield f"there is no predicate `{text}`: use one of {known}, or `not` and one"


def _states(file: TypeFile) -> Iterator[str]:
    if file.initial not in file.states:
        yield f"`initial` is `{file.initial}`, which is not a state: add [states.{file.initial}]"
        return
    for name in CLOSED_STATES.keys() & file.states.keys():
        yield f"`{name}` is a state that every type has: give yours another name"
    reached = _reached(file)
    for name, state in file.states.items():
        if name not in reached:
            yield f"state `{name}` cannot be reached: add a transition to it, or remove it"
        leaves = any(name in each.sources for each in file.transitions)
        if state.final and (state.open or state.turn):
            yield f"state `{name}` is final: it can neither be open nor have a turn"
        if not state.final and not leaves and state.turn != ["operator"]:
            yield (
                f"nothing leads out of state `{name}`: make it final = true, add a transition, "
                'or leave it to operators by turn = ["operator"]'
            )


def _reached(file: TypeFile) -> set[str]:
    reached, news = {file.initial}, {file.initial}
    while news:
        leads = [each.to for each in file.transitions if news.intersection(each.sources)]
        news = set(leads) - reached
        reached |= news
    return reached


def _transitions(file: TypeFile) -> Iterator[str]:
    for each in file.transitions:
        if each.to in CLOSED_STATES:
            yield f"action `{each.action}` leads to `{each.to}`, which is the server's: change it"
        for name in [*each.sources, each.to]:
            if name not in file.states:
                yield f"action `{each.action}` names state `{name}`: add [states.{name}]"
        for name in each.sources:
            if name in file.states and file.states[name].final:
                yield (
                    f"action `{each.action}` leaves state `{name}`, which is final: "
                    "remove one or the other"
                )
        properties = (each.input or {}).get("properties")
        if isinstance(properties, dict) and RESERVED_INPUT in properties:
            yield f"the input of `{each.action}` has `version`, which every action has: rename it"


def _both_apply(file: TypeFile) -> Iterator[str]:
    for one, other in combinations(file.transitions, 2):
        if one.action != other.action or not set(one.sources) & set(other.sources):
            continue
        if _same_person(one, other) and not _exclude(one, other):
            state = min(set(one.sources) & set(other.sources))
            yield (
                f"two transitions could both be `{one.action}` in state `{state}`: give one "
                "when = a predicate and the other when = `not` and the same"
            )


def _same_person(one: TransitionFile, other: TransitionFile) -> bool:
    """Whether one person could have a role in both."""
    return any(_can_be(a, b) for a in one.by for b in other.by)


def _can_be(one: str, other: str) -> bool:
    if one == other:
        return True
    if one in _ALONE or other in _ALONE:
        return False
    return frozenset({one, other}) not in _NEVER_BOTH


def _exclude(one: TransitionFile, other: TransitionFile) -> bool:
    others = set(conditions_of(other))
    opposites = {
        text.removeprefix(NOT) if text.startswith(NOT) else NOT + text
        for text in conditions_of(one)
    }
    return bool(others & opposites)


def _payments(file: TypeFile, registry: Registry) -> Iterator[str]:
    for each in file.transitions:
        if not any(
            registry.effects[name].awaits_payment
            for name in each.effects
            if name in registry.effects
        ):
            continue
        if not file.needs_leg:
            yield f"`{each.action}` moves money, which is a leg's: set needs_leg = true"
        for ending in (SUCCEEDED, FAILED):
            if not any(
                each.to in transition.sources
                and transition.action == ending
                and "server" in transition.by
                for transition in file.transitions
            ):
                yield (
                    f"`{each.action}` waits for a payment in state `{each.to}`: add a transition "
                    f'from there with action = "{ending}" and by = ["server"]'
                )


def _timers(file: TypeFile) -> Iterator[str]:
    for name, timer in file.timers.items():
        if timer.after_s is None and timer.at is None and not timer.until_leg_begins:
            yield f"timer `{name}` has no time: give it `after` in seconds, or `at`"
        if timer.counts_from is not None and timer.after_s is None:
            yield f"timer `{name}` counts from the leg's end: give it `after` in seconds"
        properties = file.payload.get("properties", {})
        at = timer.at or TOTALS_PREFIX
        is_time = properties.get(at, {}).get("format") == "date-time"
        if not is_time and not at.startswith(TOTALS_PREFIX):
            yield (
                f"timer `{name}` is at `{at}`, which is not a time in the payload: "
                'name a property with format = "date-time"'
            )
        for state in timer.states:
            if not any(
                state in each.sources and each.action == timer.action and "server" in each.by
                for each in file.transitions
            ):
                yield (
                    f"timer `{name}` fires `{timer.action}` in state `{state}`, where the server "
                    'cannot: add such a transition with "server" in its `by`'
                )


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(sorted(names)) or "none"
