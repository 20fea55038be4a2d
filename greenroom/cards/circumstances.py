"""Loads what rules need to know besides the card: its leg, money and other open cards."""

from collections.abc import Iterable, Sequence

from greenroom.bookings.model import Leg, LegState
from greenroom.bookings.money.orders import balances_of
from greenroom.bookings.transactions import ContractSnapshot, ContractTransaction
from greenroom.cards.model import Card, Circumstances, Facts, Refusal, Rule
from greenroom.cards.sides import LegFacts
from greenroom.cards.sql import OPEN_TYPES
from greenroom.kernel.errors import ActionInvalidState


async def circumstances_of(
    tx: ContractTransaction | ContractSnapshot,
    card: Card | None,
    leg: Leg | LegFacts | None,
    rules: Sequence[Rule] = (),
) -> Circumstances:
    """Load what these rules need, for a card or for one that is still to be created (None). If the
    leg is locked, it stays true until the end of the transaction."""
    changed_ms = None if card is None else card.updated_at_ms
    if leg is None:
        return Circumstances(tx.now_ms, changed_ms=changed_ms)
    refundable_cents, open_types = None, frozenset[str]()
    if any(rule.looks_at_money for rule in rules):
        balances = await balances_of(tx.conn, [leg.leg_id])
        refundable_cents = balances[leg.leg_id].refundable_cents
    if any(rule.looks_at_cards for rule in rules):
        found = await tx.conn.fetchval(OPEN_TYPES, leg.leg_id, card.id if card else "")
        open_types = frozenset(found or ())
    return Circumstances(
        tx.now_ms,
        LegState(leg.state),
        leg.start_ms,
        leg.end_ms,
        changed_ms,
        refundable_cents,
        open_types,
    )


def first_refusal(
    rules: Iterable[Rule], card: Facts, circumstances: Circumstances
) -> Refusal | None:
    for rule in rules:
        refusal = rule.check(card, circumstances)
        if refusal is not None:
            return refusal
    return None


def check_rules(rules: Iterable[Rule], card: Facts, circumstances: Circumstances) -> None:
    raise_refusal(first_refusal(rules, card, circumstances))


def raise_refusal(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise ActionInvalidState(refusal.detail, hint=refusal.hint)
