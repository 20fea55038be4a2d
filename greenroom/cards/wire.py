"""What clients see of a card: its shadow, filled in with what the viewer can do with it now."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from greenroom.cards.catalogue import Catalogue, in_locale
from greenroom.cards.machine import available
from greenroom.cards.model import Card, CardType, Facts, Json, Schema, Transition, roles_of
from greenroom.conversations.postings import Shadow
from greenroom.conversations.wire import CardActionView, CardLabels, CardView, MessageView
from greenroom.kernel.clock import rfc3339

DEFAULT_LOCALE = "en"


class CardMade(Struct, frozen=True):
    card: CardView
    message: MessageView


class CardOnly(Struct, frozen=True):
    card: CardView


class HistoryView(Struct, frozen=True, rename={"from_state": "from", "to_state": "to"}):
    """One transition; the first has no `from`. `actor` is null where the server acted."""

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
    """The card as its thread keeps it, for everybody."""
    totals = {name: value for name, value in card.totals.items() if name != "signers"}
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
        "waits_for": list(card.waits_for),
        "expires_at": None if card.expires_at_ms is None else rfc3339(card.expires_at_ms),
        "created_at": rfc3339(card.created_at_ms),
        "updated_at": rfc3339(card.updated_at_ms),
    }
    if "signers" in card.totals:
        shown["signers"] = card.totals["signers"]
    return Shadow(card.id, card.type, shown)


class CardRenderer:
    """Turns shadows into views. Labels and buttons are made once for each locale and kept."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._types = catalogue.types
        self._labels: dict[tuple[str, str, str], CardLabels] = {}
        self._buttons: dict[tuple[int, str], CardActionView] = {}

    def render_card(self, card: Card, viewer: str | None, locale: str = DEFAULT_LOCALE) -> CardView:
        shown = {**shadow_of(card).card, "message_id": card.message_id}
        return self.render(shown, viewer, locale)

    def render(
        self, shadow: Mapping[str, Any], viewer: str | None, locale: str = DEFAULT_LOCALE
    ) -> CardView:
        card_type = self._types.get(shadow["type"])
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
        steps = available(card_type, card, roles_of(card, viewer))
        return [self._button(step, locale) for step in steps]

    def _button(self, step: Transition, locale: str) -> CardActionView:
        # Transitions live as long as the catalogue, so that their identity is a name for them.
        found = self._buttons.get((id(step), locale))
        if found is None:
            label = in_locale(step.label, locale)
            found = CardActionView(step.action, label, step.style, _document(step.input))
            self._buttons[id(step), locale] = found
        return found

    def _labels_of(self, card_type: CardType | None, state: str, locale: str) -> CardLabels | None:
        """None for a type that is in the catalogue no more: such a card can only be read."""
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


def _document(schema: Schema | None) -> Json | None:
    return None if schema is None else schema.document
