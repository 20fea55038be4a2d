"""Calls about cards. Each parses, calls one action, and shapes the answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from greenroom.cards.actions import Cards, HistoryRow, without_payload
from greenroom.cards.catalogue.wire import CatalogueView, EncodedCatalogues
from greenroom.cards.model import Card
from greenroom.cards.showing import CardShowing, LooksAtFiles
from greenroom.cards.transitions import CreatedCard
from greenroom.cards.wire import CardMade, CardOnly, CardPage, HistoryView
from greenroom.conversations.rest.base import person_of
from greenroom.conversations.wire import MessageView, Views
from greenroom.kernel.clock import Clock, rfc3339
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    ActionStaleVersion,
    CardExpired,
    CardInvalid,
    Forbidden,
    IdempotencyMismatch,
    InvalidRequest,
    MsgBlockedByUser,
    NotFound,
    ParticipantMuted,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    ThreadReadOnly,
    UploadQuarantined,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import Once, answer_once

T = TypeVar("T")

MOST_VERSION = 2**31 - 1


class NewCard(Struct, frozen=True, forbid_unknown_fields=True):
    """`payload` must match the type's schema in the catalogue. The server computes the totals."""

    type: Annotated[str, Meta(min_length=1, max_length=40)]
    payload: dict[str, Any]


CardAct = Annotated[
    dict[str, Any],
    Meta(
        description="`version` of the card that you saw, and what the action's `input` says.",
        extra_json_schema={
            "properties": {"version": {"type": "integer", "minimum": 1, "maximum": MOST_VERSION}},
            "required": ["version"],
        },
    ),
]


class CatalogueQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`locale` is a language code of two letters. Missing translations are in English."""

    locale: Annotated[str, Meta(pattern="^[a-z]{2}$")] = "en"


class CardsRest:
    def __init__(self, cards: Cards, files: LooksAtFiles, *, clock: Clock, limits: Limits) -> None:
        self._cards = cards
        self._showing = CardShowing(cards.renderer, files)
        self._clock = clock
        self._limits = limits
        self._catalogues = EncodedCatalogues(cards.catalogue)

    def endpoints(self) -> list[Endpoint]:
        return [*self._reading(), *self._acting()]

    def _reading(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/cards/catalogue",
                self.get_catalogue,
                "Every type of card",
                Who.PERSON_OR_BACKEND,
                {200: CatalogueView, 304: None},
                "Cards",
                description=(
                    "Schemas, states, transitions and labels. Send `If-None-Match` with the ETag "
                    "of the last answer: 304 when nothing has changed."
                ),
                query=CatalogueQuery,
                scope="read",
            ),
            Endpoint(
                "GET",
                "/v1/cards/{card_id}",
                self.get_card,
                "A card with its history",
                Who.PERSON_OR_BACKEND,
                {200: CardPage},
                "Cards",
                errors=(NotFound,),
                scope="read",
            ),
        ]

    def _acting(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/cards",
                self.create_card,
                "Create a card",
                Who.PERSON,
                {201: CardMade},
                "Cards",
                description=(
                    "For the other side of the thread or of its booking. If a booking has several "
                    "legs, `payload.leg_id` names the one that the card is about."
                ),
                body=NewCard,
                errors=(
                    ThreadNotFound,
                    ThreadLocked,
                    ThreadReadOnly,
                    ParticipantMuted,
                    MsgBlockedByUser,
                    Forbidden,
                    CardInvalid,
                    UploadQuarantined,
                    ActionConflict,
                    ActionInvalidState,
                    RateLimited,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
            Endpoint(
                "POST",
                "/v1/cards/{card_id}/{action}",
                self.act_on_card,
                "Act on a card",
                Who.PERSON,
                {200: CardOnly},
                "Cards",
                description=(
                    "One of the card's `available_actions`, with the `version` that you saw and "
                    "the fields of the action's `input`. If the card has changed meanwhile: "
                    "ACTION_STALE_VERSION with the current `card`."
                ),
                body=CardAct,
                errors=(
                    NotFound,
                    ThreadLocked,
                    ThreadReadOnly,
                    ParticipantMuted,
                    MsgBlockedByUser,
                    ActionStaleVersion,
                    ActionInvalidState,
                    ActionConflict,
                    CardExpired,
                    CardInvalid,
                    UploadQuarantined,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
        ]

    async def get_catalogue(self, call: Call) -> Answer:
        encoded = self._catalogues.get(call.query.locale)
        headers = {"ETag": encoded.etag, "Cache-Control": "private, no-cache"}
        if call.header("if-none-match") == encoded.etag:
            return Answer(304, headers=headers)
        return Answer(200, msgspec.Raw(encoded.body), headers)

    async def get_card(self, call: Call) -> Answer:
        viewer = call.caller.user_id
        card, history = await self._cards.access(viewer, call.params["card_id"])
        [shown] = await self._showing.show([card], viewer)
        return Answer(200, CardPage(shown, [_history(row) for row in history]))

    async def create_card(self, call: Call) -> Answer:
        person, new = person_of(call), call.body

        def answer(made: CreatedCard) -> Answer:
            shown = self._cards.renderer.render_card(made.card, person)
            return Answer(201, CardMade(shown, self._message(made, person)))

        given = await answer_once(
            call,
            self._cards.transactions,
            answer,
            lambda once: self._cards.create(
                person,
                call.params["thread_id"],
                new.type,
                new.payload,
                _keeping(once, self._made_without_payload),
            ),
        )
        return await self._completed(given, person)

    async def act_on_card(self, call: Call) -> Answer:
        person = person_of(call)
        version, given = _version_of(call.body)

        def answer(card: Card) -> Answer:
            return Answer(200, CardOnly(self._cards.renderer.render_card(card, person)))

        try:
            answered = await answer_once(
                call,
                self._cards.transactions,
                answer,
                lambda once: self._cards.act(
                    person,
                    call.params["card_id"],
                    call.params["action"],
                    version,
                    given,
                    _keeping(once, self._without_payload),
                ),
            )
        except ActionStaleVersion as stale:
            await self._showing.add_files(stale.extra, person)
            raise
        return await self._completed(answered, person)

    async def _completed(self, answer: Answer, viewer: str) -> Answer:
        """Answers are stored in the card's transaction, without what is known later or expires
        sooner: fill that in, so that a repeat gets the same answer as the first call."""
        shown: dict[str, Any]
        if isinstance(answer.body, bytes):
            shown = msgspec.json.decode(answer.body)
        else:
            shown = msgspec.to_builtins(answer.body)
        if "card" not in shown:
            return answer
        if answer.status < 300 and isinstance(answer.body, bytes):
            await self._add_message(shown)
        await self._showing.add_files(shown, viewer)
        return replace(answer, body=shown)

    async def _add_message(self, shown: dict[str, Any]) -> None:
        """If threads are in DynamoDB, the message's id was not known in the transaction."""
        card = shown["card"]
        if card["message_id"] is not None:
            return
        message = await self._cards.message_of(card["thread_id"], card["id"])
        if message is None:
            return
        card["message_id"] = message.id
        if "message" in shown:
            shown["message"]["card"]["message_id"] = message.id
            shown["message"] |= {"id": message.id, "seq": message.seq}
            shown["message"]["created_at"] = rfc3339(message.created_at_ms)

    def _message(self, made: CreatedCard, viewer: str) -> MessageView:
        if made.message is not None:
            views = Views(viewer, self._clock(), self._limits, self._cards.renderer.render)
            return views.message(made.message)
        card = made.card
        return MessageView(
            id=None,
            thread_id=card.thread_id,
            seq=None,
            author_id=card.created_by,
            kind="card",
            body="",
            body_html="",
            attachments=[],
            system=None,
            reply_to=None,
            created_at=rfc3339(card.created_at_ms),
            edited_at=None,
            deleted_at=None,
            card=self._cards.renderer.render_card(card, viewer),
        )

    def _without_payload(self, card: Card) -> Card:
        return without_payload(self._cards.catalogue.type(card.type), card)

    def _made_without_payload(self, made: CreatedCard) -> CreatedCard:
        message = made.message
        if message is not None and message.card is not None:
            shadow = {**message.card, "payload": self._without_payload(made.card).payload}
            message = replace(message, card=shadow)
        return CreatedCard(
            self._without_payload(made.decided), replace(made.applied, message=message)
        )


def _keeping(once: Once | None, kept: Callable[[T], T]) -> Once | None:
    """Stored answers are kept for days, so payloads that must be erased sooner are left out."""
    if once is None:
        return None
    answer = once.answer
    return replace(once, answer=lambda outcome: answer(kept(outcome)))


def _version_of(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    version = body.get("version")
    if type(version) is not int or not 1 <= version <= MOST_VERSION:
        raise InvalidRequest("version takes the card's version that you saw, a whole number")
    return version, {name: value for name, value in body.items() if name != "version"}


def _history(row: HistoryRow) -> HistoryView:
    return HistoryView(
        row.version,
        rfc3339(row.at_ms),
        row.actor,
        row.role,
        row.act,
        row.from_state,
        row.to_state,
    )
