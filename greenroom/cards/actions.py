"""Creating cards and acting on them, by people, timers and payment outcomes.

Each action is one transaction: the transition, its effects on bookings and money, its history and
the update of the thread commit together or not at all.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import msgspec
from asyncpg import Record

from greenroom.bookings.legs import lock_leg
from greenroom.bookings.model import Payment
from greenroom.bookings.money.settling import Settling
from greenroom.bookings.transactions import (
    ContractSnapshot,
    ContractTransaction,
    ContractTransactions,
    timer_key,
)
from greenroom.cards import sql
from greenroom.cards.card_files import CardFiles, NoCardFiles
from greenroom.cards.catalogue.files import CLOSED_STATES
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.catalogue.schemas import normalised
from greenroom.cards.closing import move
from greenroom.cards.locked_card import (
    CONFIRMATION,
    SERVER_ACTOR,
    Actor,
    LockedCard,
    record_transition,
    show_changed,
)
from greenroom.cards.machine import decide
from greenroom.cards.model import FAILED, SERVER, SUCCEEDED, Card, CardType, Json, Timer, roles_of
from greenroom.cards.rows import keep_card, load_contract, read_card, read_contract
from greenroom.cards.sides import sides_of
from greenroom.cards.timing import due_ms
from greenroom.cards.transitions import (
    CardTransitions,
    CreatedCard,
    actor_of,
    check_input,
    check_payload,
    new_card,
)
from greenroom.cards.wire import CardRenderer
from greenroom.conversations.model import Message
from greenroom.conversations.thread_updates import (
    NO_THREAD,
    AppliedUpdate,
    Shadow,
    ThreadFacts,
    ThreadUpdate,
)
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
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import PASSING_FAILURES, unavailable_on_failure
from greenroom.platform.postgres.rate_buckets import take_from

HISTORY_ROWS = 1000
LEFT_OPEN_ROWS = 100
RETRY = "retry"
MINUTE = timedelta(minutes=1)
SHIPPED = Limits()
NO_FILES = NoCardFiles()

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
        self,
        transactions: ContractTransactions,
        catalogue: Catalogue,
        settling: Settling,
        limits: Limits = SHIPPED,
        files: CardFiles = NO_FILES,
    ) -> None:
        self._limits = limits
        self.catalogue = catalogue
        self.renderer = CardRenderer(catalogue, transactions.clock)
        self.transactions = transactions
        self._transitions = CardTransitions(catalogue, files)
        settling.register("card", self.on_payment, on_waiting=self.on_payment_waiting)
        transactions.on_thread_updates(self._note_messages)
        transactions.on_legs_changed(self._transitions.closing.close_cards)

    async def create(
        self, person: str, thread_id: str, type_name: str, payload: Json, once: Once | None = None
    ) -> CreatedCard | Kept:
        """Create a card from a participant of the thread for the other side."""
        card_type = self.catalogue.type(type_name)
        payload = check_payload(card_type, payload)

        async def work(tx: ContractTransaction) -> CreatedCard:
            await _take_turn(tx, person, self._limits.cards_per_minute)
            thread = await tx.access(thread_id, person, to_write=True)
            _check_kind(card_type, thread)
            locked, actor = await self._lock_new(tx, card_type, person, thread, payload)
            return await self._transitions.make(tx, locked, actor)

        return await self.transactions.run(work, once)

    async def message_of(self, thread_id: str, card_id: str) -> Message | None:
        """The message of a new card whose thread is in DynamoDB; None if it is not there yet."""
        applied = AppliedUpdate(
            ThreadUpdate(thread_id, new_card=Shadow(card_id, "", {})), decision_id=""
        )
        await self.transactions.show([applied])
        await self._note_messages([applied])
        return applied.message

    @unavailable_on_failure()
    async def message_id_of(self, thread_id: str, card_id: str) -> str | None:
        """None if this thread has no such card, or does not have its message yet."""
        row = await self.transactions.pool.fetchrow(sql.MESSAGE_OF_CARD, card_id, thread_id)
        if row is None or row["message_id"] is not None:
            return None if row is None else row["message_id"]
        message = await self.message_of(thread_id, card_id)
        return None if message is None else message.id

    async def _note_messages(self, shown: Sequence[AppliedUpdate]) -> None:
        """If threads are kept in DynamoDB, a new card's message gets its id only after the commit
        here. If the process dies before writing it to the card, the card's next update does so."""
        for applied in shown:
            update, message = applied.update, applied.message
            card = update.new_card or update.changed_card
            message_id = update.message_id if message is None else message.id
            if applied.decision_id is not None and card is not None and message_id is not None:
                with suppress(*PASSING_FAILURES):
                    await self.transactions.pool.execute(sql.NOTE_MESSAGE, card.card_id, message_id)

    async def act(
        self,
        person: str,
        card_id: str,
        action: str,
        version: int,
        given: Json,
        once: Once | None = None,
    ) -> Card | Kept:
        """Act on a card that the person saw in `version`. Raises ActionStaleVersion with the
        current card, ActionInvalidState, ActionConflict, CardExpired, CardInvalid, NotFound."""
        given = normalised(given)

        async def work(tx: ContractTransaction) -> Card:
            locked = await self._lock(tx, card_id, person, action)
            card = locked.card
            self._check_version(locked.type, card, version, person)
            if card.expires_at_ms is not None and card.expires_at_ms <= tx.now_ms:
                raise CardExpired
            transition = decide(locked.type, card.state, action, roles_of(card, person), card)
            check_input(transition, given)
            actor = actor_of(card, transition, person)
            return await self._transitions.apply(tx, locked, transition, given, actor)

        return await self.transactions.run(work, once)

    async def access(self, viewer: str | None, card_id: str) -> tuple[Card, list[HistoryRow]]:
        """A card with its history, for participants of its thread and the backend (None)."""

        async with self.transactions.snapshot() as snapshot:
            await _access_card(snapshot, card_id, viewer)
            [card] = await snapshot.conn.fetch(sql.CARD, card_id)
            rows = await snapshot.conn.fetch(sql.HISTORY, card_id, HISTORY_ROWS)
            return read_card(card), [HistoryRow(*row) for row in rows]

    async def open_cards(self, snapshot: ContractSnapshot, thread_id: str) -> list[Card]:
        """The open cards of a thread, the oldest first. The caller has checked access."""
        rows = await snapshot.conn.fetch(sql.OPEN_CARDS, thread_id, self._limits.open_cards)
        return [read_card(row) for row in rows]

    async def run_timer(self, card_id: str, name: str) -> None:
        """Fire a timer. Safe to repeat: one that was deleted or is not due does nothing. If its
        action is no longer possible, for example because the leg was cancelled, the timer is
        deleted and the card stays as it is."""
        try:
            await self.transactions.run(lambda tx: self._fire(tx, card_id, name))
        except ActionInvalidState as refused:
            log.warning("a timer was dropped: %s", refused, extra={"subject": card_id})
            await self.transactions.run(lambda tx: self._drop_timer(tx, card_id, name))

    async def _fire(self, tx: ContractTransaction, card_id: str, name: str) -> None:
        timer = await self._timer(tx, card_id, name)
        if timer is None:
            tx.end_timer(card_id, name)
            return
        locked = await self._lock(tx, card_id, None, timer.action)
        at_ms = await tx.conn.fetchval(sql.DUE_OF_TIMER, timer_key(card_id, name))
        if at_ms is None or at_ms > tx.now_ms:
            return
        card = locked.card
        if card.state not in timer.states:
            tx.end_timer(card_id, name)
        elif _due_again_ms(timer, card) > tx.now_ms:
            # The leg was moved to a later time, or an earlier version set the timer too early.
            [leg] = [leg for leg in locked.contract.legs if leg.leg_id == card.leg_id]
            locked.card = move(tx, locked.type, card, leg)
            await self._rewrite(tx, locked)
        else:
            tx.end_timer(card_id, name)
            transition = decide(locked.type, card.state, timer.action, SERVER, card)
            await self._transitions.apply(tx, locked, transition, {}, SERVER_ACTOR)

    async def _drop_timer(self, tx: ContractTransaction, card_id: str, name: str) -> None:
        locked = await self._lock(tx, card_id, None, "")
        locked.card = replace(locked.card, expires_at_ms=None)
        tx.end_timer(card_id, name)
        await self._rewrite(tx, locked)

    async def _rewrite(self, tx: ContractTransaction, locked: LockedCard) -> None:
        """Write and show a change of the card that is not a transition."""
        await keep_card(tx, locked.card)
        await show_changed(tx, locked.card, locked.contract, SERVER_ACTOR)

    async def on_payment(self, tx: ContractTransaction, payment: Payment) -> None:
        """A payment of a card became final. When all payments that the card waits for are final,
        the card moves on. The thread, the group and its legs are locked."""
        if payment.card_id is None:
            return
        [place] = await tx.conn.fetch(sql.WHERE_CARD_IS, payment.card_id)
        self._known_type(place["type"])
        locked = await self._lock_at(tx, payment.card_id, place["type"], place["leg_id"])
        card = locked.card
        if card.state in CLOSED_STATES:
            await self._note_late_charge(tx, locked, payment)
            return
        key = f"{card.id}:{card.version}"
        if payment.key != key and not payment.key.startswith(f"{key}:"):
            return
        rows = await tx.conn.fetch(sql.PAYMENTS_OF_VERSION, card.id, key)
        failures = [row["failure_code"] for row in rows if row["state"] == "failed"]
        action = FAILED if failures else SUCCEEDED
        is_waiting = any(row["state"] == "queued" for row in rows)
        if is_waiting or (card.state, action) not in locked.type.transitions_from:
            return
        if failures:
            locked.card = replace(card, totals={**card.totals, "failure_code": failures[0]})
        transition = decide(locked.type, card.state, action, SERVER, locked.card)
        await self._transitions.apply(tx, locked, transition, {}, SERVER_ACTOR)

    async def on_payment_waiting(self, tx: ContractTransaction, payment: Payment) -> None:
        """The payer has to confirm a payment of a card with their bank. The card says so by
        `totals.confirmation`, and waits for them, until it enters its next state."""
        [place] = await tx.conn.fetch(sql.WHERE_CARD_IS, payment.card_id)
        locked = await self._lock_at(tx, payment.card_id or "", place["type"], place["leg_id"])
        card = locked.card
        if card.state in CLOSED_STATES or not payment.key.startswith(f"{card.id}:{card.version}"):
            return
        totals = {**card.totals, CONFIRMATION: payment.payment_id}
        waits_for = (payment.account,) if card.is_open else ()
        locked.card = replace(card, totals=totals, waits_for=waits_for)
        locked.contract.note(locked.card)
        await self._rewrite(tx, locked)

    async def retry_payment(self, tx: ContractTransaction, payment: Payment) -> None:
        """Apply the card's `retry` action for the backend. Raises ActionInvalidState if the card's
        state has none."""
        [place] = await tx.conn.fetch(sql.WHERE_CARD_IS, payment.card_id)
        locked = await self._lock_at(tx, payment.card_id or "", place["type"], place["leg_id"])
        transitions = locked.type.transitions_from.get((locked.card.state, RETRY), ())
        if not transitions:
            raise ActionInvalidState(
                f"The card is {locked.card.state}: it is not waiting for this."
            )
        await self._transitions.apply(tx, locked, transitions[0], {}, Actor(None, "backend"))

    async def _note_late_charge(
        self, tx: ContractTransaction, locked: LockedCard, payment: Payment
    ) -> None:
        """A charge that was in flight when the card was closed became final. Show that it failed,
        or that it is refunded."""
        card = locked.card
        if payment.operation != "charge" or "in_flight_cents" not in card.totals:
            return
        totals = {name: value for name, value in card.totals.items() if name != "in_flight_cents"}
        left_cents = card.totals["in_flight_cents"] - payment.amount_cents
        if left_cents > 0:
            totals["in_flight_cents"] = left_cents
        has_come = payment.state == "succeeded"
        if has_come:
            returned_cents = totals.get("returned_cents", 0)
            totals["returned_cents"] = returned_cents + payment.amount_cents
        locked.card = replace(
            card, totals=totals, version=card.version + 1, updated_at_ms=tx.now_ms
        )
        act = "charge_returned" if has_come else "charge_failed"
        record_transition(tx, locked.type, locked.card, card.state, act, SERVER_ACTOR)
        await self._rewrite(tx, locked)

    async def close_left_open(self) -> None:
        """Close cards about ended legs that an earlier version of the server left open."""
        after = ("", "")
        while rows := await self._left_open(*after):
            for row in rows:
                await self.transactions.run(partial(_close_leg, *row))
            after = tuple(rows[-1])

    @unavailable_on_failure()
    async def _left_open(self, thread_id: str, leg_id: str) -> list[Record]:
        return await self.transactions.pool.fetch(sql.LEFT_OPEN, thread_id, leg_id, LEFT_OPEN_ROWS)

    async def _lock_new(
        self,
        tx: ContractTransaction,
        card_type: CardType,
        person: str,
        thread: ThreadFacts,
        payload: Json,
    ) -> tuple[LockedCard, Actor]:
        contract = await load_contract(tx, thread.id)
        most = self._limits.open_cards
        if len(contract.open_cards) >= most:
            raise ActionConflict(f"{most} cards wait in this thread: decide some first.")
        sides = sides_of(person, thread, contract.legs, card_type, payload.get("leg_id"))
        group, leg = None, None
        if sides.leg_id is not None:
            group, leg = await lock_leg(tx, sides.leg_id)
        card = new_card(tx, card_type, person, thread.id, payload, sides, leg=leg)
        is_seen = thread.unseen_by.isdisjoint((sides.buyer, sides.seller))
        return LockedCard(card_type, card, contract, group, leg, is_seen), Actor(person, sides.side)

    async def _lock(
        self, tx: ContractTransaction, card_id: str, person: str | None, action: str
    ) -> LockedCard:
        """Lock the card, and its leg if the action reads or changes it."""
        type_name, leg_id = await _access_card(tx, card_id, person)
        uses_leg = action in self.catalogue.type(type_name).leg_actions
        return await self._lock_at(tx, card_id, type_name, leg_id if uses_leg else None)

    async def _lock_at(
        self, tx: ContractTransaction, card_id: str, type_name: str, leg_id: str | None
    ) -> LockedCard:
        group, leg = (None, None) if leg_id is None else await lock_leg(tx, leg_id)
        [row] = await tx.conn.fetch(sql.LOCK_CARD, card_id)
        card = read_card(row)
        if leg is not None and card.leg_id is None:
            card = replace(card, leg_id=leg.leg_id, group_id=leg.group_id)
        return LockedCard(self.catalogue.type(type_name), card, read_contract(row), group, leg)

    async def _timer(self, tx: ContractTransaction, card_id: str, name: str) -> Timer | None:
        """None if the card is gone, or its type no longer has this timer."""
        place = await tx.conn.fetchrow(sql.WHERE_CARD_IS, card_id)
        timers = () if place is None else self._known_type(place["type"]).timers
        return next((timer for timer in timers if timer.name == name), None)

    def _known_type(self, type_name: str) -> CardType:
        """The type, for timers and payment outcomes. Raises Unavailable if it is missing, so that
        they are retried and not lost while the marketplace's folder of types cannot be read."""
        found = self.catalogue.types.get(type_name)
        if found is None:
            raise Unavailable(f"The card type `{type_name}` is not in the catalogue.")
        return found

    def _check_version(self, card_type: CardType, card: Card, version: int, person: str) -> None:
        if version > card.version:
            raise CardInvalid(f"The card's version is {card.version}.")
        if version < card.version:
            # The refusal is stored under its idempotency key for days, which is longer than a
            # payload that must be erased may be kept.
            shown = without_payload(card_type, card)
            view = self.renderer.render_card(shown, person)
            raise ActionStaleVersion(extra={"card": msgspec.to_builtins(view)})


async def _access_card(
    at: ContractTransaction | ContractSnapshot, card_id: str, viewer: str | None
) -> tuple[str, str | None]:
    """The card's type and leg, after checking that the viewer is in its thread.

    In a transaction the thread is also locked, and the viewer must be allowed to write in it. To
    anybody outside the thread the card does not exist (NotFound)."""
    place = await at.conn.fetchrow(sql.WHERE_CARD_IS, card_id)
    thread_id = NO_THREAD if place is None else place["thread_id"]
    try:
        if isinstance(at, ContractTransaction):
            await at.access(thread_id, viewer, to_write=viewer is not None)
        else:
            await at.access(thread_id, viewer)
    except ThreadNotFound:
        if viewer is not None:
            raise NotFound from None
    if place is None:
        raise NotFound
    return place["type"], place["leg_id"]


def without_payload(card_type: CardType, card: Card) -> Card:
    """The card for a stored answer, which is kept longer than a payload that must be erased."""
    return replace(card, payload={}) if card_type.erases_payload else card


def _check_kind(card_type: CardType, thread: ThreadFacts) -> None:
    if thread.kind not in card_type.threads:
        kinds = ", ".join(sorted(card_type.threads))
        raise CardInvalid(f"Cards of the type `{card_type.name}` are for threads of kind {kinds}.")


async def _close_leg(thread_id: str, leg_id: str, tx: ContractTransaction) -> None:
    with suppress(ThreadNotFound):
        await tx.access(thread_id, None)
    await lock_leg(tx, leg_id)
    await tx.close_cards(thread_id, [leg_id])


def _due_again_ms(timer: Timer, card: Card) -> int:
    """When a timer that depends on the leg's end is due now; 0 for other timers."""
    return due_ms(timer, card, card.updated_at_ms) if timer.counts_from_leg_end else 0


async def _take_turn(tx: ContractTransaction, person: str, per_minute: int) -> None:
    """Apply the rate limit. This is the transaction's first lock, so nobody waits for it while
    holding another one."""
    await take_from(
        tx.conn,
        f"cards:{person}",
        tx.now_ms,
        count=per_minute,
        window=MINUTE,
        detail=f"At most {per_minute} new cards in a minute.",
    )
