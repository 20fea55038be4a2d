"""Closes or updates cards when their leg is confirmed, ends or is moved, in the same transaction as
the change of the leg."""

from collections.abc import Sequence
from dataclasses import replace

from greenroom.bookings.model import LEG_ENDS, LegState
from greenroom.bookings.money.orders import set_amendment
from greenroom.bookings.transactions import ContractTransaction
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.circumstances import circumstances_of, first_refusal
from greenroom.cards.locked_card import SERVER_ACTOR, enter_state, record_transition, show_changed
from greenroom.cards.model import FAILED, SUCCEEDED, Card, CardType, closed_state
from greenroom.cards.rows import Contract, keep_card, load_contract, read_card
from greenroom.cards.rules import refusal_of_end
from greenroom.cards.sides import LegFacts
from greenroom.cards.sql import CARDS_OF_LEG, CHARGES_IN_FLIGHT
from greenroom.cards.timing import timers_after_move
from greenroom.kernel.clock import rfc3339

CLOSE = "close"


class Closing:
    def __init__(self, catalogue: Catalogue) -> None:
        self._types = catalogue.types
        # "type state" of every state in which a card waits for a person or a timer.
        self._open_states = [
            f"{card_type.name} {state.name}"
            for card_type in catalogue.types.values()
            for state in card_type.states.values()
            if state.is_open or any(state.name in timer.states for timer in card_type.timers)
        ]

    async def close_cards(
        self, tx: ContractTransaction, thread_id: str, leg_ids: Sequence[str]
    ) -> None:
        """These legs of a thread were confirmed or have ended: close the cards that make no sense
        any more, and show that in the thread."""
        contract = await load_contract(tx, thread_id)
        closed: list[Card] = []
        for leg in contract.legs:
            if leg.leg_id in leg_ids:
                closed += await self._close_cards(tx, contract, leg, but="")
        for card in closed:
            await show_changed(tx, card, contract, SERVER_ACTOR)

    async def follow(
        self, tx: ContractTransaction, contract: Contract, before: Sequence[LegFacts], *, but: str
    ) -> list[Card]:
        """Close or move the cards, except `but`, whose legs differ from `before`. Writes their rows
        and updates `contract`; the caller then shows them in the thread."""
        known = {leg.leg_id: leg for leg in before}
        changed: list[Card] = []
        for leg in contract.legs:
            old = known.get(leg.leg_id, leg)
            if leg.state != old.state and leg.state in LEG_ENDS:
                changed += await self._close_cards(tx, contract, leg, but=but)
            elif (leg.start_ms, leg.end_ms) != (old.start_ms, old.end_ms):
                changed += await self._move_cards(tx, contract, leg, but=but)
        return changed

    async def _close_cards(
        self, tx: ContractTransaction, contract: Contract, leg: LegFacts, *, but: str
    ) -> list[Card]:
        closed = []
        is_confirmed = leg.state == LegState.CONFIRMED
        for card in await self._cards_of(tx, contract, leg, but=but, is_confirmed=is_confirmed):
            after = await self.close(tx, self._types[card.type], card, leg)
            await keep_card(tx, after)
            contract.note(after)
            if after.version != card.version:
                closed.append(after)
        return closed

    async def close(
        self, tx: ContractTransaction, card_type: CardType, card: Card, leg: LegFacts
    ) -> Card:
        """The card after its leg was confirmed or has ended: unchanged if its type allows that,
        else closed. A card that only waits for the payment provider goes on waiting, because what
        was agreed is paid. But if the leg was cancelled, a charge in flight will be refunded, and
        the closed card says so."""
        state = LegState(leg.state)
        circumstances = await circumstances_of(tx, card, leg, card_type.create_rules)
        refusal = refusal_of_end(card_type, circumstances)
        if (refusal or first_refusal(card_type.create_rules, card, circumstances)) is None:
            return card
        in_flight_cents = await tx.conn.fetchval(CHARGES_IN_FLIGHT, card.id)
        is_given_back = state is LegState.CANCELLED and in_flight_cents > 0
        if _awaits_payment(card_type, card) and not is_given_back:
            return replace(card, is_open=False, waits_for=())
        totals = dict(card.totals)
        if in_flight_cents:
            totals["in_flight_cents"] = in_flight_cents
        if "started_at" in totals:
            # A running overtime clock stops here, and nothing is charged for it.
            totals.setdefault("stopped_at", rfc3339(tx.now_ms))
        after = replace(card, totals=totals, version=card.version + 1, updated_at_ms=tx.now_ms)
        after = enter_state(tx, card_type, card, after, closed_state(state))
        record_transition(tx, card_type, after, card.state, CLOSE, SERVER_ACTOR)
        await set_amendment(tx, card.id, "void", unless="paid")
        return after

    async def _move_cards(
        self, tx: ContractTransaction, contract: Contract, leg: LegFacts, *, but: str
    ) -> list[Card]:
        moved = []
        for card in await self._cards_of(tx, contract, leg, but=but):
            after = move(tx, self._types[card.type], card, leg)
            await keep_card(tx, after)
            moved.append(after)
        return moved

    async def _cards_of(
        self,
        tx: ContractTransaction,
        contract: Contract,
        leg: LegFacts,
        *,
        but: str,
        is_confirmed: bool = False,
    ) -> list[Card]:
        """The cards about a leg, locked. Cards that name no leg count as about the last leg of the
        booking that ends. With `is_confirmed` every card without a leg between the leg's buyer and
        seller is included."""
        is_last = all(
            each.state in LEG_ENDS for each in contract.legs if each.group_id == leg.group_id
        )
        rows = await tx.conn.fetch(
            CARDS_OF_LEG,
            leg.leg_id,
            contract.thread_id,
            None if is_confirmed else leg.group_id,
            is_confirmed or is_last,
            self._open_states,
            but,
        )
        cards = [read_card(row) for row in rows]
        if not is_confirmed:
            return cards
        return [card for card in cards if (card.buyer, card.seller) == (leg.buyer, leg.seller)]


def move(tx: ContractTransaction, card_type: CardType, card: Card, leg: LegFacts) -> Card:
    """The card with its leg's new time; sets the timers that depend on that time."""
    card = replace(card, leg_start_ms=leg.start_ms, leg_end_ms=leg.end_ms)
    changes, expires_at_ms = timers_after_move(card_type, card)
    for name, due_ms in changes.items():
        tx.set_timer(card.id, name, due_ms)
    return replace(card, expires_at_ms=expires_at_ms)


def _awaits_payment(card_type: CardType, card: Card) -> bool:
    return all((card.state, end) in card_type.transitions_from for end in (SUCCEEDED, FAILED))
