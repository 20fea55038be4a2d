"""Cards and card types as plain data. No clock, no database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from greenroom.bookings.model import LegState

Json = dict[str, Any]
Labels = Mapping[str, str]
"""A text for people by locale; there is always one in English."""

CardRole = Literal["creator", "other", "buyer", "seller", "signer", "operator", "server"]
Side = Literal["buyer", "seller"]
Style = Literal["primary", "secondary", "danger"]
MenuGroup = Literal["time", "money", "delivery", "problems", "other"]
BookingStage = Literal[
    "unbooked", "proposed", "confirmed", "in_progress", "completed", "cancelled", "disputed"
]
"""A leg's state, or `unbooked`: for which cards are offered first."""

SERVER: frozenset[str] = frozenset({"server"})

SUCCEEDED = "succeeded"
FAILED = "failed"
"""The actions that the server takes when all payments that a card waits for are final."""

TOTALS_PREFIX = "totals."


@dataclass(frozen=True, slots=True)
class Facts:
    """The part of a card that decides who can do what with it."""

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
    """None if conversations are in DynamoDB and the id is not known yet."""
    version: int
    group_id: str | None
    leg_id: str | None
    answers_card: str | None
    is_open: bool
    waits_for: tuple[str, ...]
    expires_at_ms: int | None
    """When the card's next timer fires, for example to expire it."""
    created_at_ms: int
    updated_at_ms: int
    leg_start_ms: int | None = None
    leg_end_ms: int | None = None
    """Times of the card's leg, from its confirmation on."""


Predicate = Callable[[Facts], bool]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What rules check besides the card. A value of None is unknown, and no rule refuses because of
    it."""

    now_ms: int
    state: LegState | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    changed_ms: int | None = None
    """When the card entered its state."""
    refundable_cents: int | None = None
    open_types: frozenset[str] = frozenset()
    """The types of other cards that are open about the leg."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not possible now, and what to do, as texts for people."""

    detail: str
    hint: str


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    check: Callable[[Facts, Circumstances], Refusal | None]
    looks_at_money: bool
    looks_at_cards: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """A predicate on the card that must return `expected`."""

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
    """Whether the card waits for a decision in this state."""
    is_final: bool
    turn: tuple[str, ...]
    """The roles whose decision it waits for."""


@dataclass(frozen=True, slots=True)
class Transition:
    sources: tuple[str, ...]
    action: str
    by: frozenset[str]
    to: str
    label: Labels
    style: Style
    when: tuple[Condition, ...]
    rules: tuple[Rule, ...]
    guard: str | None
    effects: tuple[str, ...]
    input: Schema | None


@dataclass(frozen=True, slots=True)
class Timer:
    """Fires `action` as the server: some seconds after a card has entered one of the states, at a
    time that the card names, or when its leg begins. If several are given, the earliest counts."""

    name: str
    action: str
    after_s: int | None
    at: str | None
    """A field of the payload, or `totals.` and one of the totals."""
    states: frozenset[str]
    counts_from_leg_end: bool = False
    """`after_s` counts from the end of the leg if that is later. Before it, a missing answer is not
    taken for consent."""
    until_leg_begins: bool = False

    @property
    def follows_leg(self) -> bool:
        return self.counts_from_leg_end or self.until_leg_begins


@dataclass(frozen=True, slots=True)
class Cap:
    max_qty: int
    max_total_cents: int


@dataclass(frozen=True, slots=True)
class Menu:
    """How the list of cards that can be created presents a type."""

    offer: Labels
    """The name of the menu entry: a verb and its object."""
    about: Labels
    """What the card does, in one sentence; may be empty."""
    group: MenuGroup
    likely: tuple[BookingStage, ...]
    """The stages in which it is among the first of the list."""


@dataclass(frozen=True, slots=True)
class CardType:
    name: str
    title: Labels
    menu: Menu
    threads: frozenset[str]
    create: frozenset[str]
    create_rules: tuple[Rule, ...]
    create_guard: str | None
    create_effects: tuple[str, ...]
    needs_leg: bool
    outlives: frozenset[LegState]
    """The ends of a leg after which such cards can be created and stay open. After other ends they
    are closed."""
    has_document: bool
    erases_payload: bool
    payload: Schema
    caps: Mapping[str, Cap]
    initial: str
    states: Mapping[str, State]
    transitions: tuple[Transition, ...]
    timers: tuple[Timer, ...]
    transitions_from: Mapping[tuple[str, str], tuple[Transition, ...]]
    """By state and action; several if conditions choose among them."""
    exits: Mapping[str, tuple[Transition, ...]]
    leg_actions: frozenset[str]
    """Actions that read or change the leg, for which it is locked."""


def closed_state(state: LegState) -> str:
    """The state of a card that was closed because its leg entered `state`."""
    return f"leg_{state}"


def side_of(card: Facts, user_id: str) -> Side | None:
    if user_id == card.buyer:
        return "buyer"
    return "seller" if user_id == card.seller else None


def roles_of(card: Facts, user_id: str) -> frozenset[str]:
    """The person's roles in a card. A signer is one whose signature is still missing."""
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
    """A field of the payload or, with the prefix `totals.`, of the totals. None if missing."""
    if path.startswith(TOTALS_PREFIX):
        return card.totals.get(path.removeprefix(TOTALS_PREFIX))
    return card.payload.get(path)
