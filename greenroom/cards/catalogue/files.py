"""The format of the catalogue's TOML files, and how a file becomes a `CardType`. Open this to add a
key to the format."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from greenroom.bookings.model import LegState
from greenroom.cards.catalogue.schemas import SchemaError, read_schema
from greenroom.cards.model import (
    BookingStage,
    Cap,
    CardRole,
    CardType,
    Condition,
    Json,
    Labels,
    Menu,
    MenuGroup,
    Schema,
    State,
    Style,
    Timer,
    Transition,
    closed_state,
)
from greenroom.cards.registry import Registry

NOT = "not "

Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
Label = dict[Annotated[str, Meta(pattern="^[a-z]{2}$")], Annotated[str, Meta(max_length=80)]]
Sentence = dict[Annotated[str, Meta(pattern="^[a-z]{2}$")], Annotated[str, Meta(max_length=160)]]
ThreadKindName = Literal["inquiry", "invite", "project"]
EndName = Literal["cancelled", "completed", "disputed"]

CLOSED_LABELS: dict[LegState, Labels] = {
    LegState.CONFIRMED: {
        "en": "Closed: the booking was confirmed",
        "de": "Geschlossen: Die Buchung wurde bestätigt",
    },
    LegState.CANCELLED: {
        "en": "Closed: the booking was cancelled",
        "de": "Geschlossen: Die Buchung wurde storniert",
    },
    LegState.COMPLETED: {
        "en": "Closed: the work was accepted",
        "de": "Geschlossen: Die Arbeit wurde abgenommen",
    },
    LegState.DISPUTED: {
        "en": "Closed: the booking is disputed",
        "de": "Geschlossen: Die Buchung wird beanstandet",
    },
}
CLOSED_STATES = {
    closed_state(state): State(
        closed_state(state), CLOSED_LABELS[state], is_open=False, is_final=True, turn=()
    )
    for state in sorted(CLOSED_LABELS)
}
"""States that every type has besides its own. Each says why the server has closed the card."""


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
    rules: list[str] = []
    guard: str | None = None
    effects: list[str] = []
    input: Json | None = None


class TimerFile(Struct, forbid_unknown_fields=True, rename={"after_s": "after", "states": "from"}):
    action: Name
    states: Annotated[list[Name], Meta(min_length=1)]
    after_s: Annotated[int, Meta(ge=1, le=366 * 86400)] | None = None
    at: str | None = None
    counts_from: Literal["leg_end"] | None = None
    until_leg_begins: bool = False


class CapFile(Struct, forbid_unknown_fields=True):
    max_qty: Annotated[int, Meta(ge=0, le=10**6)]
    max_total_cents: Annotated[int, Meta(ge=0, le=10**13)]


class MenuFile(Struct, forbid_unknown_fields=True, frozen=True):
    offer: Label = {}
    about: Sentence = {}
    group: MenuGroup = "other"
    likely: list[BookingStage] = []


class TypeFile(Struct, forbid_unknown_fields=True):
    type: Name
    title: Label
    threads: Annotated[list[ThreadKindName], Meta(min_length=1)]
    create: Annotated[list[Literal["buyer", "seller"]], Meta(min_length=1)]
    payload: Json
    initial: Name
    states: dict[Name, StateFile]
    transitions: Annotated[list[TransitionFile], Meta(min_length=1)]
    create_rules: list[str] = []
    create_guard: str | None = None
    create_effects: list[str] = []
    outlives: list[EndName] = []
    needs_leg: bool = False
    document: bool = False
    erases_payload: bool = False
    caps: dict[Name, CapFile] = {}
    timers: dict[Name, TimerFile] = {}
    menu: MenuFile = MenuFile()


def read_file(text: bytes) -> TypeFile:
    """Raises msgspec.ValidationError or DecodeError, which name the faulty key."""
    return msgspec.toml.decode(text, type=TypeFile)


def build(file: TypeFile, registry: Registry) -> CardType:
    """Build the type from a file that has no faults. Raises SchemaError."""
    transitions = tuple(_transition(each, file, registry) for each in file.transitions)
    return CardType(
        name=file.type,
        title=file.title,
        menu=Menu(
            file.menu.offer or file.title,
            file.menu.about,
            file.menu.group,
            tuple(file.menu.likely),
        ),
        threads=frozenset(file.threads),
        create=frozenset(file.create),
        create_rules=tuple(registry.rules[name] for name in file.create_rules),
        create_guard=file.create_guard,
        create_effects=tuple(file.create_effects),
        needs_leg=file.needs_leg,
        outlives=frozenset(LegState(end) for end in file.outlives),
        has_document=file.document,
        erases_payload=file.erases_payload,
        payload=read_schema(file.payload, "payload", fractions=file.erases_payload),
        caps={kind: Cap(cap.max_qty, cap.max_total_cents) for kind, cap in file.caps.items()},
        initial=file.initial,
        states={
            name: State(name, state.label, state.open, state.final, tuple(state.turn))
            for name, state in file.states.items()
        }
        | CLOSED_STATES,
        transitions=transitions,
        timers=tuple(_timer(name, timer) for name, timer in file.timers.items()),
        transitions_from=_transitions_from(transitions),
        exits={
            state: tuple(each for each in transitions if state in each.sources)
            for state in file.states
        },
        leg_actions=frozenset(
            [each.action for each in transitions if _uses_leg(each, registry)]
            + [timer.action for timer in file.timers.values() if timer.counts_from is not None]
        ),
    )


def _timer(name: str, timer: TimerFile) -> Timer:
    return Timer(
        name,
        timer.action,
        timer.after_s,
        timer.at,
        frozenset(timer.states),
        counts_from_leg_end=timer.counts_from is not None,
        until_leg_begins=timer.until_leg_begins,
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
        rules=tuple(registry.rules[name] for name in each.rules),
        guard=each.guard,
        effects=tuple(each.effects),
        input=_input(each, file),
    )


def _label(each: TransitionFile) -> Labels:
    """An action that only the server takes has no button, so its name is label enough."""
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


def _transitions_from(
    transitions: tuple[Transition, ...],
) -> dict[tuple[str, str], tuple[Transition, ...]]:
    found: dict[tuple[str, str], tuple[Transition, ...]] = {}
    for each in transitions:
        for state in each.sources:
            found[state, each.action] = (*found.get((state, each.action), ()), each)
    return found


def _uses_leg(each: Transition, registry: Registry) -> bool:
    if each.rules:
        return True
    if each.guard is not None and registry.guards[each.guard].uses_leg:
        return True
    return any(registry.effects[name].uses_leg for name in each.effects)
