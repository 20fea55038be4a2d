"""One step of a card, or its first, inside a deed whose locks are taken: guard, effects, the new
state, history, and what the thread shows."""

import logging
from dataclasses import dataclass, replace

import msgspec

from greenroom.bookings.deeds import Deed, Step, Told
from greenroom.bookings.model import Group, Leg
from greenroom.cards.catalogue import Catalogue
from greenroom.cards.context import EffectContext
from greenroom.cards.machine import decide
from greenroom.cards.model import (
    SERVER,
    Card,
    CardType,
    Json,
    Transition,
    people_of,
    roles_of,
    side_of,
)
from greenroom.cards.rows_postgres import Contract, add_card, keep_card, load_contract
from greenroom.cards.schemas import normalised
from greenroom.cards.sides import Sides
from greenroom.cards.timing import timers_between
from greenroom.cards.wire import shadow_of
from greenroom.conversations.model import Message
from greenroom.conversations.postings import Posted, Posting
from greenroom.kernel.errors import CardInvalid, ThreadNotFound

PAYLOAD_BYTES = 16_384

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Made:
    """A new card, and what has become of it in its thread."""

    decided: Card
    posted: Posted

    @property
    def message(self) -> Message | None:
        """None while the thread, which is kept elsewhere, does not have it yet."""
        return self.posted.message

    @property
    def card(self) -> Card:
        message = self.message
        return replace(self.decided, message_id=message.id) if message else self.decided


@dataclass(slots=True)
class Scene:
    """A card under its locks, and what is around it."""

    type: CardType
    card: Card
    contract: Contract
    group: Group | None = None
    leg: Leg | None = None
    is_seen: bool = True
    """Whether the other side sees it: across a block a new card looks like silence."""


@dataclass(frozen=True, slots=True)
class Doer:
    user_id: str | None
    role: str


THE_SERVER = Doer(None, "server")


class Steps:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def make(self, deed: Deed, scene: Scene, doer: Doer) -> Made:
        await self._prepare(deed, scene, doer)
        return await self._show_new(deed, scene, doer)

    async def apply(
        self, deed: Deed, scene: Scene, transition: Transition, given: Json, doer: Doer
    ) -> Card:
        ctx = await self._step(deed, scene, transition, given, doer)
        if ctx.outcome is not None:
            card = scene.card
            follow = decide(scene.type, card.state, ctx.outcome, SERVER, card)
            await self._step(deed, scene, follow, {}, THE_SERVER)
        await keep_card(deed, scene.card)
        if scene.leg is not None and transition.action in scene.type.leg_actions:
            scene.contract = await load_contract(deed, scene.card.thread_id)
        scene.contract.note(scene.card)
        answer = None
        if ctx.answer is not None and doer.user_id is not None:
            answer = _answering(deed, scene, ctx.answer, doer.user_id)
            await self._prepare(deed, answer, doer)
        await _show_changed(deed, scene, doer)
        if answer is not None:
            await self._show_new(deed, answer, doer)
        return scene.card

    async def _prepare(self, deed: Deed, scene: Scene, doer: Doer) -> None:
        """Work out a new card; nobody sees it yet."""
        card_type = scene.type
        ctx = EffectContext(
            deed, card_type, scene.card, {}, None, scene.group, scene.leg, doer.user_id, doer.role
        )
        for name in card_type.create_effects:
            await self._catalogue.effect(name).run(ctx)
        if card_type.create_guard is not None:
            await self._catalogue.guard(card_type.create_guard).run(ctx)
        scene.card = _settle_in(deed, card_type, None, ctx.card, card_type.initial)
        if not scene.is_seen:
            # Nobody's inbox may tell of a card that they do not see.
            scene.card = replace(scene.card, is_open=False, waits_for=())
        _write_down(deed, scene, None, "create", doer, None)
        scene.contract.note(scene.card)

    async def _show_new(self, deed: Deed, scene: Scene, doer: Doer) -> Made:
        """The row is written after its message is known."""
        card = scene.card
        posting = Posting(
            card.thread_id,
            doer.user_id,
            new_card=shadow_of(card),
            standing=scene.contract.standing(),
        )
        made = Made(card, await deed.post(posting))
        await add_card(deed, made.card)
        return made

    async def _step(
        self, deed: Deed, scene: Scene, transition: Transition, given: Json, doer: Doer
    ) -> EffectContext:
        """One transition of the card in the scene, without its row."""
        before = scene.card
        ctx = EffectContext(
            deed,
            scene.type,
            before,
            given,
            transition,
            scene.group,
            scene.leg,
            doer.user_id,
            doer.role,
        )
        if transition.guard is not None:
            await self._catalogue.guard(transition.guard).run(ctx)
        for name in transition.effects:
            await self._catalogue.effect(name).run(ctx)
        changed = replace(ctx.card, version=before.version + 1, updated_at_ms=deed.now_ms)
        scene.card = _settle_in(deed, scene.type, before, changed, transition.to)
        _write_down(deed, scene, before.state, transition.action, doer, given or None)
        return ctx


async def _show_changed(deed: Deed, scene: Scene, doer: Doer) -> None:
    card = scene.card
    posting = Posting(
        card.thread_id,
        doer.user_id,
        changed_card=shadow_of(card),
        message_id=card.message_id,
        standing=scene.contract.standing(),
    )
    try:
        await deed.post(posting)
    except ThreadNotFound:
        # What the server does to a contract does not depend on a conversation that was erased.
        if doer.user_id is not None:
            raise
        log.warning("a card's thread is gone", extra={"subject": card.id})


def _answering(deed: Deed, scene: Scene, payload: Json, person: str) -> Scene:
    """The new card of one who counters, about the same leg and between the same two."""
    old = scene.card
    side = side_of(old, person) or "buyer"
    sides = Sides(old.buyer, old.seller, side, old.group_id, old.leg_id)
    payload = check_payload(scene.type, payload)
    card = new_card(deed, scene.type, person, old.thread_id, payload, sides, answers=old.id)
    return Scene(scene.type, card, scene.contract, scene.group, scene.leg)


def new_card(
    deed: Deed,
    card_type: CardType,
    person: str,
    thread_id: str,
    payload: Json,
    sides: Sides,
    *,
    answers: str | None = None,
) -> Card:
    return Card(
        type=card_type.name,
        state=card_type.initial,
        created_by=person,
        buyer=sides.buyer,
        seller=sides.seller,
        payload=payload,
        totals={},
        id=deed.new_id("crd"),
        thread_id=thread_id,
        message_id=None,
        version=1,
        group_id=sides.group_id,
        leg_id=sides.leg_id,
        answers_card=answers,
        is_open=False,
        waits_for=(),
        expires_at_ms=None,
        created_at_ms=deed.now_ms,
        updated_at_ms=deed.now_ms,
    )


def _settle_in(
    deed: Deed, card_type: CardType, before: Card | None, card: Card, state_name: str
) -> Card:
    """The card in its new state: whose turn it is, which timers run, and what is erased."""
    state = card_type.states[state_name]
    card = replace(card, state=state_name, is_open=state.is_open)
    if card_type.erases_payload and state.is_final:
        card = replace(card, payload={})
    changes, expires_at_ms = timers_between(card_type, before, card, deed.now_ms)
    for name, due_ms in changes.items():
        if due_ms is None:
            deed.end_timer(card.id, name)
        else:
            deed.set_timer(card.id, name, due_ms)
    return replace(card, waits_for=people_of(card, state.turn), expires_at_ms=expires_at_ms)


def _write_down(
    deed: Deed, scene: Scene, from_state: str | None, act: str, doer: Doer, given: Json | None
) -> None:
    """The history and the event of a transition. What is to be erased never enters either."""
    card, after = scene.card, shadow_of(scene.card).card
    if scene.type.erases_payload:
        after, given = {**after, "payload": {}}, None
    deed.record(
        Step(
            subject=card.id,
            version=card.version,
            chain=card.group_id or card.thread_id,
            actor=doer.user_id,
            role=doer.role,
            act=act,
            from_state=from_state,
            to_state=card.state,
            after=after,
            input=given,
        )
    )
    deed.tell(
        Told(
            "action.create" if from_state is None else "action.state_change",
            doer.user_id,
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


def doer_of(card: Card, transition: Transition, person: str) -> Doer:
    """By their side of the deal; a signer can be somebody else."""
    role = side_of(card, person) or min(transition.by & roles_of(card, person))
    return Doer(person, role)


def check_payload(card_type: CardType, payload: Json) -> Json:
    """As it will be kept. Raises CardInvalid."""
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
