"""What people, timers and payments do with cards. Each is one deed: the transition, its effects on
bookings and money, its history and what the thread shows commit together, or not at all."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

import msgspec

from greenroom.bookings.deeds import Deed, Deeds
from greenroom.bookings.legs import lock_leg
from greenroom.bookings.model import Payment
from greenroom.bookings.payments_settling import Settling
from greenroom.cards import sql_postgres as sql
from greenroom.cards.catalogue import Catalogue
from greenroom.cards.machine import decide
from greenroom.cards.model import FAILED, SERVER, SUCCEEDED, Card, CardType, Json, Timer, roles_of
from greenroom.cards.rows_postgres import load_contract, read_card, read_contract
from greenroom.cards.schemas import normalised
from greenroom.cards.sides import sides_of
from greenroom.cards.steps import (
    THE_SERVER,
    Doer,
    Made,
    Scene,
    Steps,
    check_input,
    check_payload,
    doer_of,
    new_card,
)
from greenroom.cards.wire import CardRenderer
from greenroom.conversations.postings import NO_THREAD, Posted, ThreadFacts
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    ActionStaleVersion,
    CardExpired,
    CardInvalid,
    NotFound,
    ThreadNotFound,
    Unavailable,
)
from greenroom.kernel.limits import Limits
from greenroom.platform.buckets_postgres import take_from
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import PASSING_FAILURES

HISTORY_ROWS = 1000
MINUTE = timedelta(minutes=1)
SHIPPED = Limits()

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    version: int
    at_ms: int
    actor: str | None
    role: str
    act: str
    from_state: str | None
    to_state: str


class Cards:
    def __init__(
        self, deeds: Deeds, catalogue: Catalogue, settling: Settling, limits: Limits = SHIPPED
    ) -> None:
        self._limits = limits
        self.keeper = deeds
        self.catalogue = catalogue
        self.renderer = CardRenderer(catalogue)
        self._deeds = deeds
        self._steps = Steps(catalogue)
        settling.register("card", self.on_payment)
        deeds.when_shown(self._note_messages)

    async def create(
        self, person: str, thread_id: str, type_name: str, payload: Json, once: Once | None = None
    ) -> Made | Kept:
        """A new card of one who is in the thread, for the other side."""
        card_type = self.catalogue.type(type_name)
        payload = check_payload(card_type, payload)

        async def work(deed: Deed) -> Made:
            await _take_turn(deed, person, self._limits.cards_per_minute)
            thread = await deed.access(thread_id, person, to_write=True)
            _check_kind(card_type, thread)
            scene, doer = await self._new_scene(deed, card_type, person, thread, payload)
            return await self._steps.make(deed, scene, doer)

        return await self._deeds.do(work, once)

    async def _note_messages(self, shown: Sequence[Posted]) -> None:
        """Where threads are kept elsewhere a new card's message has its id only afterwards."""
        for posted in shown:
            card, message = posted.posting.new_card, posted.message
            if posted.decision_id is not None and card is not None and message is not None:
                with suppress(*PASSING_FAILURES):
                    await self._deeds.pool.execute(sql.NOTE_MESSAGE, card.card_id, message.id)

    async def act(
        self,
        person: str,
        card_id: str,
        action: str,
        version: int,
        given: Json,
        once: Once | None = None,
    ) -> Card | Kept:
        """Do something with a card as it was in `version`. Raises ActionStaleVersion with the card
        as it is now, ActionInvalidState, ActionConflict, CardExpired, CardInvalid, NotFound."""
        given = normalised(given)

        async def work(deed: Deed) -> Card:
            scene = await self._lock(deed, card_id, person, action)
            card = scene.card
            self._check_version(scene.type, card, version, person)
            if card.expires_at_ms is not None and card.expires_at_ms <= deed.now_ms:
                raise CardExpired
            transition = decide(scene.type, card.state, action, roles_of(card, person), card)
            check_input(transition, given)
            doer = doer_of(card, transition, person)
            return await self._steps.apply(deed, scene, transition, given, doer)

        return await self._deeds.do(work, once)

    async def access(self, viewer: str | None, card_id: str) -> tuple[Card, list[HistoryRow]]:
        """A card with its history, for one who is in its thread, or the backend."""

        async def work(deed: Deed) -> tuple[Card, list[HistoryRow]]:
            await self._enter(deed, card_id, viewer, to_write=False)
            [card] = await deed.conn.fetch(sql.CARD, card_id)
            rows = await deed.conn.fetch(sql.HISTORY, card_id, HISTORY_ROWS)
            return read_card(card), [HistoryRow(*row) for row in rows]

        found = await self._deeds.do(work)
        assert not isinstance(found, Kept)  # noqa: S101 (nothing is kept for a read)
        return found

    async def open_cards(self, deed: Deed, thread_id: str) -> list[Card]:
        """What waits in a thread, oldest first, for one who may read it."""
        rows = await deed.conn.fetch(sql.OPEN_CARDS, thread_id, self._limits.open_cards)
        return [read_card(row) for row in rows]

    async def run_timer(self, card_id: str, name: str) -> None:
        """Once, however often it is called: a timer that is not there any more, or is not due, does
        nothing. One whose action has become impossible, because its leg was cancelled, is let go,
        and the card is left to people."""
        try:
            await self._deeds.do(lambda deed: self._fire(deed, card_id, name))
        except ActionInvalidState as refused:
            log.warning("a timer is let go: %s", refused, extra={"subject": card_id})
            await self._deeds.do(lambda deed: _let_go(deed, card_id, name))

    async def _fire(self, deed: Deed, card_id: str, name: str) -> None:
        timer = await self._timer(deed, card_id, name)
        if timer is None:
            deed.end_timer(card_id, name)
            return
        scene = await self._lock(deed, card_id, None, timer.action)
        due_ms = await deed.conn.fetchval(sql.DUE_OF_TIMER, card_id, name)
        if due_ms is None or due_ms > deed.now_ms:
            return
        deed.end_timer(card_id, name)
        card = scene.card
        if card.state in timer.states:
            transition = decide(scene.type, card.state, timer.action, SERVER, card)
            await self._steps.apply(deed, scene, transition, {}, THE_SERVER)

    async def on_payment(self, deed: Deed, payment: Payment) -> None:
        """A payment of a card has ended. When all that the card waits for have, so does its wait.
        The thread, the group and its legs are locked."""
        if payment.card_id is None:
            return
        [place] = await deed.conn.fetch(sql.WHERE_CARD_IS, payment.card_id)
        self._served(place["type"])
        scene = await self._lock_at(deed, payment.card_id, place["type"], place["leg_id"])
        card = scene.card
        key = f"{card.id}:{card.version}"
        if payment.key != key and not payment.key.startswith(f"{key}:"):
            return
        rows = await deed.conn.fetch(sql.PAYMENTS_OF_VERSION, card.id, key)
        failures = [row["failure_code"] for row in rows if row["state"] == "failed"]
        action = FAILED if failures else SUCCEEDED
        is_waiting = any(row["state"] == "queued" for row in rows)
        if is_waiting or (card.state, action) not in scene.type.steps:
            return
        if failures:
            scene.card = replace(card, totals={**card.totals, "failure_code": failures[0]})
        transition = decide(scene.type, card.state, action, SERVER, scene.card)
        await self._steps.apply(deed, scene, transition, {}, THE_SERVER)

    async def _new_scene(
        self, deed: Deed, card_type: CardType, person: str, thread: ThreadFacts, payload: Json
    ) -> tuple[Scene, Doer]:
        contract = await load_contract(deed, thread.id)
        most = self._limits.open_cards
        if len(contract.open_cards) >= most:
            raise ActionConflict(f"{most} cards wait in this thread: decide some first.")
        sides = sides_of(person, thread, contract.legs, card_type, payload.get("leg_id"))
        group, leg = None, None
        if sides.leg_id is not None:
            group, leg = await lock_leg(deed, sides.leg_id)
        card = new_card(deed, card_type, person, thread.id, payload, sides)
        is_seen = thread.unseen_by.isdisjoint((sides.buyer, sides.seller))
        return Scene(card_type, card, contract, group, leg, is_seen), Doer(person, sides.side)

    async def _enter(
        self, deed: Deed, card_id: str, viewer: str | None, *, to_write: bool
    ) -> tuple[str, str | None]:
        """The card's type and leg, after its thread has let the viewer in and is locked. Whoever is
        not in the thread learns nothing, not even that there is such a card."""
        place = await deed.conn.fetchrow(sql.WHERE_CARD_IS, card_id)
        thread_id = NO_THREAD if place is None else place["thread_id"]
        try:
            await deed.access(thread_id, viewer, to_write=to_write)
        except ThreadNotFound:
            if viewer is not None:
                raise NotFound from None
        if place is None:
            raise NotFound
        return place["type"], place["leg_id"]

    async def _lock(self, deed: Deed, card_id: str, person: str | None, action: str) -> Scene:
        """The card for an action, its leg too where the action is about that."""
        may_write = person is not None
        type_name, leg_id = await self._enter(deed, card_id, person, to_write=may_write)
        uses_leg = action in self.catalogue.type(type_name).leg_actions
        return await self._lock_at(deed, card_id, type_name, leg_id if uses_leg else None)

    async def _lock_at(self, deed: Deed, card_id: str, type_name: str, leg_id: str | None) -> Scene:
        group, leg = (None, None) if leg_id is None else await lock_leg(deed, leg_id)
        [row] = await deed.conn.fetch(sql.LOCK_CARD, card_id)
        card = read_card(row)
        if leg is not None:
            card = replace(card, leg_id=leg.leg_id, group_id=leg.group_id)
        return Scene(self.catalogue.type(type_name), card, read_contract(row), group, leg)

    async def _timer(self, deed: Deed, card_id: str, name: str) -> Timer | None:
        """None for a card that is gone, and for a timer that its type has no more."""
        place = await deed.conn.fetchrow(sql.WHERE_CARD_IS, card_id)
        timers = () if place is None else self._served(place["type"]).timers
        return next((timer for timer in timers if timer.name == name), None)

    def _served(self, type_name: str) -> CardType:
        """For what the server does by itself: a folder that is not there just now must not make it
        forget a timer or an outcome, so that it tries again."""
        found = self.catalogue.types.get(type_name)
        if found is None:
            raise Unavailable(f"The card type `{type_name}` is not in the catalogue.")
        return found

    def _check_version(self, card_type: CardType, card: Card, version: int, person: str) -> None:
        if version > card.version:
            raise CardInvalid(f"The card's version is {card.version}.")
        if version < card.version:
            # A refusal is kept under its key for days, longer than what is to be erased.
            shown = without_payload(card_type, card)
            view = self.renderer.render_card(shown, person)
            raise ActionStaleVersion(extra={"card": msgspec.to_builtins(view)})


def without_payload(card_type: CardType, card: Card) -> Card:
    """The card as answers keep it that outlive what is to be erased."""
    return replace(card, payload={}) if card_type.erases_payload else card


def _check_kind(card_type: CardType, thread: ThreadFacts) -> None:
    if thread.kind not in card_type.threads:
        kinds = ", ".join(sorted(card_type.threads))
        raise CardInvalid(f"Cards of the type `{card_type.name}` are for threads of kind {kinds}.")


async def _let_go(deed: Deed, card_id: str, name: str) -> None:
    await deed.conn.execute(sql.NEVER_EXPIRES, card_id)
    deed.end_timer(card_id, name)


async def _take_turn(deed: Deed, person: str, per_minute: int) -> None:
    """First of all locks: a person's own limit, for which nobody waits who holds anything else."""
    await take_from(
        deed.conn,
        f"cards:{person}",
        deed.now_ms,
        count=per_minute,
        window=MINUTE,
        detail=f"At most {per_minute} new cards in a minute.",
    )
