"""The JSON of a card: its shadow (the copy that the thread keeps) and the viewer's actions."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from greenroom.cards.catalogue.loading import Catalogue, in_locale
from greenroom.cards.machine import available
from greenroom.cards.model import (
    Card,
    CardType,
    Circumstances,
    Facts,
    Json,
    Schema,
    Transition,
    roles_of,
)
from greenroom.conversations.thread_updates import Shadow
from greenroom.conversations.wire import CardActionView, CardLabels, CardView, MessageView
from greenroom.kernel.clock import Clock, parse_rfc3339, rfc3339, system_clock

DEFAULT_LOCALE = "en"

LIFTED = ("signers", "files")
"""Totals that are fields of the card's JSON. `files` has the ids of the files in the payload."""


class CardMade(Struct, frozen=True):
    card: CardView
    message: MessageView


class CardOnly(Struct, frozen=True):
    card: CardView


class HistoryView(Struct, frozen=True, rename={"from_state": "from", "to_state": "to"}):
    """One transition; the first has no `from`. `actor` is null if the server acted."""

    version: int
    at: str
    actor: str | None
    role: str
    act: str
    from_state: str | None
    to_state: str


class CardPage(Struct, frozen=True):
    card: CardView
    history: list[HistoryView]


def shadow_of(card: Card) -> Shadow:
    """The copy of the card that its thread keeps, the same for all viewers."""
    totals = {name: value for name, value in card.totals.items() if name not in LIFTED}
    shown: Json = {
        "id": card.id,
        "thread_id": card.thread_id,
        "type": card.type,
        "state": card.state,
        "version": card.version,
        "payload": card.payload,
        "totals": totals,
        "created_by": card.created_by,
        "buyer": card.buyer,
        "seller": card.seller,
        "group_id": card.group_id,
        "leg_id": card.leg_id,
        "answers_card": card.answers_card,
        "leg_start": None if card.leg_start_ms is None else rfc3339(card.leg_start_ms),
        "leg_end": None if card.leg_end_ms is None else rfc3339(card.leg_end_ms),
        "waits_for": list(card.waits_for),
        "expires_at": None if card.expires_at_ms is None else rfc3339(card.expires_at_ms),
        "created_at": rfc3339(card.created_at_ms),
        "updated_at": rfc3339(card.updated_at_ms),
    }
    for name in LIFTED:
        if name in card.totals:
            shown[name] = card.totals[name]
    return Shadow(card.id, card.type, shown)


class CardRenderer:
    """Turns shadows into views. Labels and buttons are cached per locale."""

    def __init__(self, catalogue: Catalogue, clock: Clock = system_clock) -> None:
        self.types = catalogue.types
        self._clock = clock
        self._labels: dict[tuple[str, str, str], CardLabels] = {}
        self._buttons: dict[tuple[int, str], CardActionView] = {}

    def render_card(self, card: Card, viewer: str | None, locale: str = DEFAULT_LOCALE) -> CardView:
        shown = {**shadow_of(card).card, "message_id": card.message_id}
        return self.render(shown, viewer, locale)

    def render(
        self, shadow: Mapping[str, Any], viewer: str | None, locale: str = DEFAULT_LOCALE
    ) -> CardView:
        card_type = self.types.get(shadow["type"])
        return CardView(
            id=shadow["id"],
            thread_id=shadow["thread_id"],
            message_id=shadow.get("message_id"),
            type=shadow["type"],
            state=shadow["state"],
            version=shadow["version"],
            payload=shadow["payload"],
            totals=shadow["totals"],
            created_by=shadow["created_by"],
            buyer=shadow["buyer"],
            seller=shadow["seller"],
            group_id=shadow["group_id"],
            leg_id=shadow["leg_id"],
            answers_card=shadow["answers_card"],
            waits_for=shadow["waits_for"],
            expires_at=shadow["expires_at"],
            created_at=shadow["created_at"],
            updated_at=shadow["updated_at"],
            available_actions=self._actions(card_type, shadow, viewer, locale),
            labels=self._labels_of(card_type, shadow["state"], locale),
            signers=shadow.get("signers"),
        )

    def _actions(
        self,
        card_type: CardType | None,
        shadow: Mapping[str, Any],
        viewer: str | None,
        locale: str,
    ) -> list[CardActionView]:
        if card_type is None or viewer is None:
            return []
        card = _facts(shadow)
        if not card_type.exits.get(card.state):
            return []
        circumstances = _circumstances(shadow, self._clock())
        if _is_past(shadow["expires_at"], circumstances.now_ms):
            return []
        transitions = available(card_type, card, roles_of(card, viewer), circumstances)
        return [self._button(transition, locale) for transition in transitions]

    def _button(self, transition: Transition, locale: str) -> CardActionView:
        # Transitions live as long as the catalogue, so that `id` is unique.
        found = self._buttons.get((id(transition), locale))
        if found is None:
            label = in_locale(transition.label, locale)
            found = CardActionView(
                transition.action, label, transition.style, _document(transition.input)
            )
            self._buttons[id(transition), locale] = found
        return found

    def _labels_of(self, card_type: CardType | None, state: str, locale: str) -> CardLabels | None:
        """None if the type is no longer in the catalogue. Such a card can only be read."""
        if card_type is None or state not in card_type.states:
            return None
        key = card_type.name, state, locale
        found = self._labels.get(key)
        if found is None:
            label = in_locale(card_type.states[state].label, locale)
            found = CardLabels(in_locale(card_type.title, locale), label)
            self._labels[key] = found
        return found


def _facts(shadow: Mapping[str, Any]) -> Facts:
    totals = shadow["totals"]
    if "signers" in shadow:
        totals = {**totals, "signers": shadow["signers"]}
    return Facts(
        shadow["type"],
        shadow["state"],
        shadow["created_by"],
        shadow["buyer"],
        shadow["seller"],
        shadow["payload"],
        totals,
    )


def _circumstances(shadow: Mapping[str, Any], now_ms: int) -> Circumstances:
    """What the shadow knows of the leg. Its state is not needed: an end that forbids actions has
    closed the card already."""
    return Circumstances(
        now_ms,
        start_ms=_time(shadow.get("leg_start")),
        end_ms=_time(shadow.get("leg_end")),
        changed_ms=_time(shadow["updated_at"]),
    )


def _time(at: str | None) -> int | None:
    return None if at is None else parse_rfc3339(at)


def _is_past(at: str | None, now_ms: int) -> bool:
    """Whether the card has expired although its timer has not fired yet."""
    return at is not None and parse_rfc3339(at) <= now_ms


def _document(schema: Schema | None) -> Json | None:
    return None if schema is None else schema.document
