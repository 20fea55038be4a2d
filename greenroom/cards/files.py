"""A file of the catalogue as it is written, key by key, and read into what the machine uses."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from greenroom.cards.model import (
    Cap,
    CardRole,
    CardType,
    Condition,
    Json,
    Labels,
    Schema,
    State,
    Style,
    Timer,
    Transition,
)
from greenroom.cards.registry import Registry
from greenroom.cards.schemas import SchemaError, read_schema

NOT = "not "

Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
Label = dict[Annotated[str, Meta(pattern="^[a-z]{2}$")], Annotated[str, Meta(max_length=80)]]
ThreadKindName = Literal["inquiry", "invite", "project"]


class StateFile(Struct, forbid_unknown_fields=True):
    label: Label
    open: bool = False
    final: bool = False
    turn: list[CardRole] = []


class TransitionFile(Struct, forbid_unknown_fields=True, rename={"sources": "from"}):
    sources: Annotated[list[Name], Meta(min_length=1)]
    action: Name
    by: Annotated[list[CardRole], Meta(min_length=1)]
    to: Name
    label: Label = {}
    style: Style = "secondary"
    when: Annotated[str, Meta(max_length=100)] | list[str] = []
    guard: str | None = None
    effects: list[str] = []
    input: Json | None = None


class TimerFile(Struct, forbid_unknown_fields=True, rename={"after_s": "after", "states": "from"}):
    action: Name
    states: Annotated[list[Name], Meta(min_length=1)]
    after_s: Annotated[int, Meta(ge=1, le=366 * 86400)] | None = None
    at: str | None = None


class CapFile(Struct, forbid_unknown_fields=True):
    max_qty: Annotated[int, Meta(ge=0, le=10**6)]
    max_total_cents: Annotated[int, Meta(ge=0, le=10**13)]


class TypeFile(Struct, forbid_unknown_fields=True):
    type: Name
    title: Label
    threads: Annotated[list[ThreadKindName], Meta(min_length=1)]
    create: Annotated[list[Literal["buyer", "seller"]], Meta(min_length=1)]
    payload: Json
    initial: Name
    states: dict[Name, StateFile]
    transitions: Annotated[list[TransitionFile], Meta(min_length=1)]
    create_guard: str | None = None
    create_effects: list[str] = []
    needs_leg: bool = False
    document: bool = False
    erases_payload: bool = False
    caps: dict[Name, CapFile] = {}
    timers: dict[Name, TimerFile] = {}


def read_file(text: bytes) -> TypeFile:
    """Raises msgspec.ValidationError or DecodeError, with the place of what is wrong."""
    return msgspec.toml.decode(text, type=TypeFile)


def build(file: TypeFile, registry: Registry) -> CardType:
    """The type of a file that has been checked. Raises SchemaError."""
    transitions = tuple(_transition(each, file, registry) for each in file.transitions)
    return CardType(
        name=file.type,
        title=file.title,
        threads=frozenset(file.threads),
        create=frozenset(file.create),
        create_guard=file.create_guard,
        create_effects=tuple(file.create_effects),
        needs_leg=file.needs_leg,
        has_document=file.document,
        erases_payload=file.erases_payload,
        payload=read_schema(file.payload, "payload", fractions=file.erases_payload),
        caps={kind: Cap(cap.max_qty, cap.max_total_cents) for kind, cap in file.caps.items()},
        initial=file.initial,
        states={
            name: State(name, state.label, state.open, state.final, tuple(state.turn))
            for name, state in file.states.items()
        },
        transitions=transitions,
        timers=tuple(
            Timer(name, timer.action, timer.after_s, timer.at, frozenset(timer.states))
            for name, timer in file.timers.items()
        ),
        steps=_steps(transitions),
        exits={
            state: tuple(each for each in transitions if state in each.sources)
            for state in file.states
        },
        leg_actions=frozenset(each.action for each in transitions if _uses_leg(each, registry)),
    )


def _transition(each: TransitionFile, file: TypeFile, registry: Registry) -> Transition:
    return Transition(
        sources=tuple(each.sources),
        action=each.action,
        by=frozenset(each.by),
        to=each.to,
        label=_label(each),
        style=each.style,
        when=tuple(_condition(text, registry) for text in conditions_of(each)),
        guard=each.guard,
        effects=tuple(each.effects),
        input=_input(each, file),
    )


def _label(each: TransitionFile) -> Labels:
    """What only the server does has no button, and is called by its name."""
    return each.label or {"en": each.action}


def conditions_of(each: TransitionFile) -> list[str]:
    return [each.when] if isinstance(each.when, str) else each.when


def _condition(text: str, registry: Registry) -> Condition:
    name = text.removeprefix(NOT)
    return Condition(name, registry.predicates[name].holds, not text.startswith(NOT))


def _input(each: TransitionFile, file: TypeFile) -> Schema | None:
    if each.input is None:
        return None
    try:
        return read_schema(each.input, "input", fractions=file.erases_payload)
    except SchemaError as error:
        raise SchemaError(f"{error} (action `{each.action}`)") from None


def _steps(transitions: tuple[Transition, ...]) -> dict[tuple[str, str], tuple[Transition, ...]]:
    steps: dict[tuple[str, str], tuple[Transition, ...]] = {}
    for each in transitions:
        for state in each.sources:
            steps[state, each.action] = (*steps.get((state, each.action), ()), each)
    return steps


def _uses_leg(each: Transition, registry: Registry) -> bool:
    if each.guard is not None and registry.guards[each.guard].uses_leg:
        return True
    return any(registry.effects[name].uses_leg for name in each.effects)
