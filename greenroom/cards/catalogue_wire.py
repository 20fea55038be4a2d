"""The catalogue as it is served: the same data as the server's own, in one language."""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct

from greenroom.cards.catalogue import Catalogue, in_locale, locales_of
from greenroom.cards.model import CardType, Timer, Transition

FALLBACK = "en"


class StateView(Struct, frozen=True):
    """`open`: something is still to be decided here; `turn` says by whom."""

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
    guard: str | None
    effects: list[str]
    input: dict[str, Any] | None


class TimerView(Struct, frozen=True, rename={"states": "from"}):
    """Fires `after` seconds, at the time in the field `at`, or at the earlier of the two."""

    name: str
    action: str
    states: list[str]
    after: int | None
    at: str | None


class CardTypeView(Struct, frozen=True):
    type: str
    title: str
    threads: list[str]
    create: list[str]
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
    types: list[CardTypeView]


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    etag: str


class CataloguePages:
    """Encoded once for each language."""

    def __init__(self, catalogue: Catalogue) -> None:
        types = list(catalogue.types.values())
        self._locales = locales_of(types)
        self._make = cache(lambda locale: _page(types, locale))

    def page(self, locale: str) -> Page:
        return self._make(locale if locale in self._locales else FALLBACK)


def _page(types: list[CardType], locale: str) -> Page:
    body = msgspec.json.encode(CatalogueView(locale, [_type(each, locale) for each in types]))
    return Page(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def _type(each: CardType, locale: str) -> CardTypeView:
    return CardTypeView(
        type=each.name,
        title=in_locale(each.title, locale),
        threads=sorted(each.threads),
        create=sorted(each.create),
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
        transitions=[_transition(step, locale) for step in each.transitions],
        timers=[_timer(timer) for timer in each.timers],
    )


def _transition(step: Transition, locale: str) -> TransitionView:
    return TransitionView(
        sources=list(step.sources),
        action=step.action,
        by=sorted(step.by),
        to=step.to,
        label=in_locale(step.label, locale),
        style=step.style,
        when=[condition.text for condition in step.when],
        guard=step.guard,
        effects=list(step.effects),
        input=None if step.input is None else step.input.document,
    )


def _timer(timer: Timer) -> TimerView:
    return TimerView(timer.name, timer.action, sorted(timer.states), timer.after_s, timer.at)
