"""The JSON of `GET /v1/cards/catalogue`: every type of card, with labels in one language."""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from greenroom.cards.catalogue.files import EndName
from greenroom.cards.catalogue.loading import Catalogue, in_locale, locales_of
from greenroom.cards.model import BookingStage, CardType, MenuGroup, Timer, Transition

FALLBACK = "en"


class StateView(Struct, frozen=True):
    """`open`: the card waits for a decision; `turn` says whose."""

    state: str
    label: str
    open: bool
    final: bool
    turn: list[str]


class TransitionView(Struct, frozen=True, rename={"sources": "from"}):
    sources: list[str]
    action: str
    by: list[str]
    to: str
    label: str
    style: Literal["primary", "secondary", "danger"]
    when: list[str]
    rules: list[str]
    guard: str | None
    effects: list[str]
    input: dict[str, Any] | None


class TimerView(Struct, frozen=True, rename={"states": "from"}):
    """Fires after `after` seconds, at the time in the field `at`, or when the booked time begins
    (`until_leg_begins`), whichever is first. `counts_from`: the seconds count from the end of the
    booked time if that is later."""

    name: str
    action: str
    states: list[str]
    after: int | None
    at: str | None
    counts_from: Literal["leg_end"] | None
    until_leg_begins: bool


class MenuView(Struct, frozen=True):
    """How to present the type in a list of cards to create: `offer` is the label, `about` explains
    it, and `likely` names the states of a booking in which it should be among the first."""

    offer: str
    about: str
    group: MenuGroup
    likely: list[BookingStage]


class CardTypeView(Struct, frozen=True):
    """`outlives`: the ends of a leg after which such cards can be created and stay open; after
    other ends they are closed, in a state that says why. `create_rules`: what else must hold."""

    type: str
    title: str
    menu: MenuView
    threads: list[str]
    create: list[str]
    create_rules: list[str]
    outlives: list[EndName]
    needs_leg: bool
    document: bool
    erases_payload: bool
    payload: dict[str, Any]
    initial: str
    states: list[StateView]
    transitions: list[TransitionView]
    timers: list[TimerView]


class CatalogueView(Struct, frozen=True):
    locale: str
    items: list[CardTypeView]


@dataclass(frozen=True, slots=True)
class EncodedCatalogue:
    body: bytes
    etag: str


class EncodedCatalogues:
    """The catalogue's JSON, encoded once per language."""

    def __init__(self, catalogue: Catalogue) -> None:
        types = list(catalogue.types.values())
        self._locales = locales_of(types)
        self._make = cache(lambda locale: _encode(types, locale))

    def get(self, locale: str) -> EncodedCatalogue:
        return self._make(locale if locale in self._locales else FALLBACK)


def _encode(types: list[CardType], locale: str) -> EncodedCatalogue:
    body = msgspec.json.encode(CatalogueView(locale, [_type(each, locale) for each in types]))
    return EncodedCatalogue(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _type(each: CardType, locale: str) -> CardTypeView:
    return CardTypeView(
        type=each.name,
        title=in_locale(each.title, locale),
        menu=MenuView(
            in_locale(each.menu.offer, locale),
            in_locale(each.menu.about, locale) if each.menu.about else "",
            each.menu.group,
            list(each.menu.likely),
        ),
        threads=sorted(each.threads),
        create=sorted(each.create),
        create_rules=[rule.name for rule in each.create_rules],
        outlives=_ends(each),
        needs_leg=each.needs_leg,
        document=each.has_document,
        erases_payload=each.erases_payload,
        payload=each.payload.document,
        initial=each.initial,
        states=[
            StateView(
                state.name,
                in_locale(state.label, locale),
                state.is_open,
                state.is_final,
                list(state.turn),
            )
            for state in each.states.values()
        ],
        transitions=[_transition(transition, locale) for transition in each.transitions],
        timers=[_timer(timer) for timer in each.timers],
    )


def _transition(transition: Transition, locale: str) -> TransitionView:
    return TransitionView(
        sources=list(transition.sources),
        action=transition.action,
        by=sorted(transition.by),
        to=transition.to,
        label=in_locale(transition.label, locale),
        style=transition.style,
        when=[condition.text for condition in transition.when],
        rules=[rule.name for rule in transition.rules],
        guard=transition.guard,
        effects=list(transition.effects),
        input=None if transition.input is None else transition.input.document,
    )


def _timer(timer: Timer) -> TimerView:
    return TimerView(
        timer.name,
        timer.action,
        sorted(timer.states),
        timer.after_s,
        timer.at,
        "leg_end" if timer.counts_from_leg_end else None,
        timer.until_leg_begins,
    )


def _ends(each: CardType) -> list[EndName]:
    names: tuple[EndName, ...] = ("cancelled", "completed", "disputed")
    return [name for name in names if name in each.outlives]
