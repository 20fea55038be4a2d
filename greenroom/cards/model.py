"""What a card is and what a type of cards says, as plain data. No clock, no database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Json = dict[str, Any]
Labels = Mapping[str, str]
"""A text for people by locale; there is always one in English."""

CardRole = Literal["creator", "other", "buyer", "seller", "signer", "operator", "server"]
Side = Literal["buyer", "seller"]
Style = Literal["primary", "secondary", "danger"]

SERVER: frozenset[str] = frozenset({"server"})

SUCCEEDED = "succeeded"
FAILED = "failed"
"""What the server does with a card when everything that was asked of the provider has ended."""

TOTALS_PREFIX = "totals."


@dataclass(frozen=True, slots=True)
class Facts:
    """As much of a card as decides who can do what with it."""

    type: str
    state: str
    created_by: str
    buyer: str
    seller: str
    payload: Json
    totals: Json


@dataclass(frozen=True, slots=True)
class Card(Facts):
    id: str
    thread_id: str
    message_id: str | None
    """None where conversations are kept elsewhere: the message there knows its card."""
    version: int
    group_id: str | None
    leg_id: str | None
    answers_card: str | None
    is_open: bool
    waits_for: tuple[str, ...]
    expires_at_ms: int | None
    """When the card does something by itself, such as expire."""
    created_at_ms: int
    updated_at_ms: int


Predicate = Callable[[Facts], bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """A named look at the card that must come out as `expected`."""

    name: str
    holds: Predicate
    expected: bool

    @property
    def text(self) -> str:
        return self.name if self.expected else f"not {self.name}"


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema, and the same compiled: `check` raises CardInvalid."""

    document: Json
    check: Callable[[Json], None]


@dataclass(frozen=True, slots=True)
class State:
    name: str
    label: Labels
    is_open: bool
    """Whether the thread waits for something to be decided here."""
    is_final: bool
    turn: tuple[str, ...]
    """The roles in whose hands it is."""


@dataclass(frozen=True, slots=True)
class Transition:
    sources: tuple[str, ...]
    action: str
    by: frozenset[str]
    to: str
    label: Labels
    style: Style
    when: tuple[Condition, ...]
    guard: str | None
    effects: tuple[str, ...]
    input: Schema | None


@dataclass(frozen=True, slots=True)
class Timer:
    """Fires `action` as the server: some seconds after a card has come into one of the states, at a
    time that the card names, or at the earlier of the two."""

    name: str
    action: str
    after_s: int | None
    at: str | None
    """A field of the payload, or `totals.` and one of the totals."""
    states: frozenset[str]


@dataclass(frozen=True, slots=True)
class Cap:
    max_qty: int
    max_total_cents: int


@dataclass(frozen=True, slots=True)
class CardType:
    name: str
    title: Labels
    threads: frozenset[str]
    create: frozenset[str]
    create_guard: str | None
    create_effects: tuple[str, ...]
    needs_leg: bool
    has_document: bool
    erases_payload: bool
    payload: Schema
    caps: Mapping[str, Cap]
    initial: str
    states: Mapping[str, State]
    transitions: tuple[Transition, ...]
    timers: tuple[Timer, ...]
    steps: Mapping[tuple[str, str], tuple[Transition, ...]]
    """By state and action; several where conditions choose among them."""
    exits: Mapping[str, tuple[Transition, ...]]
    leg_actions: frozenset[str]
    """Actions that look at or change a leg, which is then locked."""


def side_of(card: Facts, user_id: str) -> Side | None:
    if user_id == card.buyer:
        return "buyer"
    return "seller" if user_id == card.seller else None


def roles_of(card: Facts, user_id: str) -> frozenset[str]:
    """What a person is to a card. A signer is one whose signature is still missing."""
    roles: set[str] = set()
    side = side_of(card, user_id)
    if side is not None:
        roles.add(side)
        if user_id != card.created_by:
            roles.add("other")
    if user_id == card.created_by:
        roles.add("creator")
    if user_id in waiting_signers(card):
        roles.add("signer")
    return frozenset(roles)


def waiting_signers(card: Facts) -> list[str]:
    signers = card.totals.get("signers", ())
    return [each["user_id"] for each in signers if each["state"] == "pending"]


def people_of(card: Facts, roles: tuple[str, ...]) -> tuple[str, ...]:
    """Who has one of these roles, each once, sorted."""
    found: set[str] = set()
    for role in roles:
        if role == "buyer":
            found.add(card.buyer)
        elif role == "seller":
            found.add(card.seller)
        elif role == "creator":
            found.add(card.created_by)
        elif role == "other":
            found.update({card.buyer, card.seller} - {card.created_by})
        elif role == "signer":
            found.update(waiting_signers(card))
    return tuple(sorted(found))


def value_at(card: Facts, path: str) -> Any:
    """A field of the payload, or of the totals by their prefix. None where there is none."""
    if path.startswith(TOTALS_PREFIX):
        return card.totals.get(path.removeprefix(TOTALS_PREFIX))
    return card.payload.get(path)
