"""A locked card that is being changed: enter its new state, record the history, and update the
thread."""

import logging
from dataclasses import dataclass, replace

from greenroom.bookings.model import Group, Leg
from greenroom.bookings.transactions import ContractTransaction, HistoryEntry, NewEvent
from greenroom.cards.catalogue.schemas import files_in
from greenroom.cards.model import Card, CardType, Json, people_of
from greenroom.cards.rows import Contract
from greenroom.cards.timing import timers_between
from greenroom.cards.wire import shadow_of
from greenroom.conversations.thread_updates import Notice, ThreadUpdate
from greenroom.kernel.errors import ThreadNotFound

log = logging.getLogger(__name__)

CONFIRMATION = "confirmation"
"""The total with the id of a payment that the buyer has to confirm with their bank."""


@dataclass(slots=True)
class LockedCard:
    """A card and what its action needs, all locked."""

    type: CardType
    card: Card
    contract: Contract
    group: Group | None = None
    leg: Leg | None = None
    is_seen: bool = True
    """False if the other side has blocked the creator: they must not see the new card."""


@dataclass(frozen=True, slots=True)
class Actor:
    user_id: str | None
    role: str


SERVER_ACTOR = Actor(None, "server")


def enter_state(
    tx: ContractTransaction, card_type: CardType, before: Card | None, card: Card, state_name: str
) -> Card:
    """The card in its new state, with whose turn it is. Sets and ends timers, and erases the
    payload if the type says so. Its files are those that the payload names now."""
    state = card_type.states[state_name]
    card = replace(card, state=state_name, is_open=state.is_open)
    if card_type.erases_payload and state.is_final:
        card = replace(card, payload={})
    card = _with_files(card_type, _without_confirmation(card))
    changes, expires_at_ms = timers_between(card_type, before, card, tx.now_ms)
    for name, due_ms in changes.items():
        if due_ms is None:
            tx.end_timer(card.id, name)
        else:
            tx.set_timer(card.id, name, due_ms)
    return replace(card, waits_for=people_of(card, state.turn), expires_at_ms=expires_at_ms)


def _without_confirmation(card: Card) -> Card:
    totals = {name: value for name, value in card.totals.items() if name != CONFIRMATION}
    return replace(card, totals=totals)


def _with_files(card_type: CardType, card: Card) -> Card:
    files = [file.file_id for file in files_in(card_type.payload.document, card.payload)]
    totals = {name: value for name, value in card.totals.items() if name != "files"}
    return replace(card, totals={**totals, "files": files} if files else totals)


def record_transition(
    tx: ContractTransaction,
    card_type: CardType,
    card: Card,
    from_state: str | None,
    act: str,
    actor: Actor,
    given: Json | None = None,
) -> None:
    """Record the history and the event of a transition, without payloads that must be erased."""
    after = shadow_of(card).card
    if card_type.erases_payload:
        after, given = {**after, "payload": {}}, None
    tx.record(
        HistoryEntry(
            subject=card.id,
            version=card.version,
            chain=card.group_id or card.thread_id,
            actor=actor.user_id,
            role=actor.role,
            act=act,
            from_state=from_state,
            to_state=card.state,
            after=after,
            input=given,
        )
    )
    tx.emit(
        NewEvent(
            "action.create" if from_state is None else "action.state_change",
            actor.user_id,
            thread_id=card.thread_id,
            group_id=card.group_id,
            leg_id=card.leg_id,
            card_id=card.id,
            data={
                "type": card.type,
                "action": act,
                "from": from_state,
                "to": card.state,
                "version": card.version,
            },
        )
    )


async def show_changed(
    tx: ContractTransaction,
    card: Card,
    contract: Contract,
    actor: Actor,
    notices: tuple[Notice, ...] = (),
) -> None:
    update = ThreadUpdate(
        card.thread_id,
        actor.user_id,
        changed_card=shadow_of(card),
        message_id=card.message_id,
        notices=notices,
        standing=contract.standing(),
    )
    try:
        await tx.update_thread(update)
    except ThreadNotFound:
        # Timers and payments change the card even if the conversation was erased.
        if actor.user_id is not None:
            raise
        log.warning("the thread of a card is gone", extra={"subject": card.id})
