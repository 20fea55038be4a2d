"""Creates cards and applies transitions, inside a transaction that holds the locks.

A transition checks its rules and guard, runs its effects, changes the state, records the history
and updates the thread.
"""

from dataclasses import dataclass, replace

import msgspec

from greenroom.bookings.model import LEG_ENDS, Leg, LegState
from greenroom.bookings.transactions import ContractTransaction
from greenroom.cards.card_files import CardFiles, FileUser, use_files
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.catalogue.schemas import files_in, normalised
from greenroom.cards.circumstances import check_rules, circumstances_of, raise_refusal
from greenroom.cards.closing import Closing
from greenroom.cards.context import EffectContext
from greenroom.cards.locked_card import (
    SERVER_ACTOR,
    Actor,
    LockedCard,
    enter_state,
    record_transition,
    show_changed,
)
from greenroom.cards.machine import decide
from greenroom.cards.model import (
    SERVER,
    Card,
    CardType,
    Json,
    Schema,
    Transition,
    roles_of,
    side_of,
)
from greenroom.cards.rows import add_card, keep_card, load_contract
from greenroom.cards.rules import refusal_of_end
from greenroom.cards.sides import Sides
from greenroom.cards.wire import shadow_of
from greenroom.conversations.model import Message
from greenroom.conversations.thread_updates import AppliedUpdate, ThreadUpdate
from greenroom.kernel.errors import CardInvalid

PAYLOAD_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class CreatedCard:
    """A new card, and the update of its thread."""

    decided: Card
    applied: AppliedUpdate

    @property
    def message(self) -> Message | None:
        """None while a thread in DynamoDB does not have it yet."""
        return self.applied.message

    @property
    def card(self) -> Card:
        message = self.message
        return replace(self.decided, message_id=message.id) if message else self.decided


class CardTransitions:
    def __init__(self, catalogue: Catalogue, files: CardFiles) -> None:
        self._catalogue = catalogue
        self._files = files
        self.closing = Closing(catalogue)

    async def make(self, tx: ContractTransaction, locked: LockedCard, actor: Actor) -> CreatedCard:
        await self._prepare(tx, locked, actor)
        return await self._show_new(tx, locked, actor)

    async def apply(
        self,
        tx: ContractTransaction,
        locked: LockedCard,
        transition: Transition,
        given: Json,
        actor: Actor,
    ) -> Card:
        ctx = await self._transition(tx, locked, transition, given, actor)
        if ctx.outcome is not None:
            card = locked.card
            follow = decide(locked.type, card.state, ctx.outcome, SERVER, card)
            await self._transition(tx, locked, follow, {}, SERVER_ACTOR)
        await keep_card(tx, locked.card)
        legs = locked.contract.legs
        if locked.leg is not None and transition.action in locked.type.leg_actions:
            locked.contract = await load_contract(tx, locked.card.thread_id)
        await self._close_own(tx, locked)
        locked.contract.note(locked.card)
        others = await self.closing.follow(tx, locked.contract, legs, but=locked.card.id)
        answer = None
        if ctx.answer is not None and actor.user_id is not None:
            answer = _answering(tx, locked, ctx.answer, actor.user_id)
            await self._prepare(tx, answer, actor)
        await show_changed(tx, locked.card, locked.contract, actor, ctx.notices)
        for other in others:
            await show_changed(tx, other, locked.contract, SERVER_ACTOR)
        if answer is not None:
            await self._show_new(tx, answer, actor)
        return locked.card

    async def _close_own(self, tx: ContractTransaction, locked: LockedCard) -> None:
        """Close the card if it would be open about a leg that has just ended."""
        leg_id = None if locked.leg is None else locked.leg.leg_id
        leg = next((leg for leg in locked.contract.legs if leg.leg_id == leg_id), None)
        if leg is not None and leg.state in LEG_ENDS and locked.card.is_open:
            locked.card = await self.closing.close(tx, locked.type, locked.card, leg)
            await keep_card(tx, locked.card)

    async def _prepare(self, tx: ContractTransaction, locked: LockedCard, actor: Actor) -> None:
        """Check a new card and run its effects. Its row is not written and nobody sees it yet."""
        card_type = locked.type
        circumstances = await circumstances_of(tx, locked.card, locked.leg, card_type.create_rules)
        raise_refusal(refusal_of_end(card_type, circumstances))
        check_rules(card_type.create_rules, locked.card, circumstances)
        ctx = EffectContext(
            tx,
            card_type,
            locked.card,
            {},
            None,
            locked.group,
            locked.leg,
            actor.user_id,
            actor.role,
        )
        await self._use_files(ctx, card_type.payload, locked.card.payload)
        for name in card_type.create_effects:
            await self._catalogue.effect(name).run(ctx)
        if card_type.create_guard is not None:
            await self._catalogue.guard(card_type.create_guard).run(ctx)
        locked.card = enter_state(tx, card_type, None, ctx.card, card_type.initial)
        if not locked.is_seen:
            # The inbox of a person who does not see the card must not count it.
            locked.card = replace(locked.card, is_open=False, waits_for=())
        record_transition(tx, card_type, locked.card, None, "create", actor)
        locked.contract.note(locked.card)

    async def _show_new(
        self, tx: ContractTransaction, locked: LockedCard, actor: Actor
    ) -> CreatedCard:
        """Update the thread, then insert the card's row, which needs the message's id."""
        card = locked.card
        update = ThreadUpdate(
            card.thread_id,
            actor.user_id,
            new_card=shadow_of(card),
            standing=locked.contract.standing(),
        )
        made = CreatedCard(card, await tx.update_thread(update))
        await add_card(tx, made.card)
        return made

    async def _transition(
        self,
        tx: ContractTransaction,
        locked: LockedCard,
        transition: Transition,
        given: Json,
        actor: Actor,
    ) -> EffectContext:
        """Apply one transition to the locked card. The caller writes its row."""
        before = locked.card
        ctx = EffectContext(
            tx,
            locked.type,
            before,
            given,
            transition,
            locked.group,
            locked.leg,
            actor.user_id,
            actor.role,
        )
        if transition.rules:
            circumstances = await circumstances_of(tx, before, locked.leg, transition.rules)
            check_rules(transition.rules, before, circumstances)
        if transition.guard is not None:
            await self._catalogue.guard(transition.guard).run(ctx)
        if transition.input is not None:
            await self._use_files(ctx, transition.input, given)
        for name in transition.effects:
            await self._catalogue.effect(name).run(ctx)
        changed = replace(ctx.card, version=before.version + 1, updated_at_ms=tx.now_ms)
        locked.card = enter_state(tx, locked.type, before, changed, transition.to)
        record_transition(
            tx, locked.type, locked.card, before.state, transition.action, actor, given or None
        )
        return ctx

    async def _use_files(self, ctx: EffectContext, schema: Schema, value: Json) -> None:
        files = list(files_in(schema.document, value))
        if files and ctx.actor is not None:
            user = FileUser(ctx.card.id, ctx.card.thread_id, ctx.actor, ctx.tx.now_ms)
            ctx.files = await use_files(self._files, ctx.tx.conn, user, files)


def _answering(
    tx: ContractTransaction, locked: LockedCard, payload: Json, person: str
) -> LockedCard:
    """The new card of a counter-proposal: about the same leg and between the same people."""
    old = locked.card
    side = side_of(old, person) or "buyer"
    sides = Sides(old.buyer, old.seller, side, old.group_id, old.leg_id)
    payload = check_payload(locked.type, payload)
    card = new_card(
        tx, locked.type, person, old.thread_id, payload, sides, leg=locked.leg, answers=old.id
    )
    return LockedCard(locked.type, card, locked.contract, locked.group, locked.leg)


def new_card(
    tx: ContractTransaction,
    card_type: CardType,
    person: str,
    thread_id: str,
    payload: Json,
    sides: Sides,
    *,
    leg: Leg | None,
    answers: str | None = None,
) -> Card:
    is_booked = leg is not None and leg.state is not LegState.PROPOSED
    return Card(
        type=card_type.name,
        state=card_type.initial,
        created_by=person,
        buyer=sides.buyer,
        seller=sides.seller,
        payload=payload,
        totals={},
        id=tx.new_id("crd"),
        thread_id=thread_id,
        message_id=None,
        version=1,
        group_id=sides.group_id,
        leg_id=sides.leg_id,
        answers_card=answers,
        is_open=False,
        waits_for=(),
        expires_at_ms=None,
        created_at_ms=tx.now_ms,
        updated_at_ms=tx.now_ms,
        leg_start_ms=leg.start_ms if leg and is_booked else None,
        leg_end_ms=leg.end_ms if leg and is_booked else None,
    )


def actor_of(card: Card, transition: Transition, person: str) -> Actor:
    """A person acts as buyer or seller; a signer who is neither acts as signer."""
    role = side_of(card, person) or min(transition.by & roles_of(card, person))
    return Actor(person, role)


def check_payload(card_type: CardType, payload: Json) -> Json:
    """The payload as it is stored. Raises CardInvalid."""
    payload = normalised(payload)
    if len(msgspec.json.encode(payload)) > PAYLOAD_BYTES:
        raise CardInvalid(f"A payload takes {PAYLOAD_BYTES} bytes at most.")
    card_type.payload.check(payload)
    return payload


def check_input(transition: Transition, given: Json) -> None:
    if transition.input is not None:
        transition.input.check(given)
    elif given:
        raise CardInvalid(f"`{transition.action}` takes nothing but the version.")
