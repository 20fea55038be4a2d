"""Queues operations for the payment provider (charge, hold, capture, release, refund, payout), in
the transaction that decides on them. Callers hold the lock of the leg.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.bookings import sql
from greenroom.bookings.legs import change_leg
from greenroom.bookings.model import Balance, Group, Leg, LegState, OperationName, Payment
from greenroom.bookings.money import ledger
from greenroom.bookings.transactions import ContractTransaction, NewEvent
from greenroom.kernel.errors import ActionConflict, ActionInvalidState
from greenroom.kernel.money import Money
from greenroom.platform.postgres.pool import Session

UNDO = "undo"
"""The purpose of a refund that undoes a payment, for example of a booking that was not confirmed.
"""

# The balances of legs' accounts, and queued refunds. `deposit`: what is left of the newest hold.
# `owed`: refunds to the buyer that failed; that money is paid to nobody else.
BALANCES = """
select leg_id, booked.*, held.*, leaving.* from unnest($1::text[]) as l (leg_id), lateral (
    select
        coalesce(-sum(p.amount_cents) filter (where e.kind = 'charge'), 0)::bigint as paid,
        coalesce(sum(p.amount_cents) filter (where e.kind = 'refund'), 0)::bigint as refunded,
        coalesce(sum(p.amount_cents) filter (
            where e.kind in ('payout.released', 'payout.returned')), 0)::bigint as payout,
        coalesce(-sum(p.amount_cents), 0)::bigint as escrow
    from money_posting p join money_entry e using (entry_id)
    where p.account = 'escrow:' || l.leg_id
) booked, lateral (
    select
        coalesce(sum(p.amount_cents) filter (where e.kind = 'capture'), 0)::bigint as captured,
        coalesce((
            select h.amount_cents - coalesce((
                select sum(q.amount_cents) from payment q
                where q.leg_id = l.leg_id and q.source_payment = h.payment_id
                    and q.state <> 'failed'), 0)
            from deposit d join payment h on h.payment_id = d.payment_id
            where d.leg_id = l.leg_id and h.state = 'succeeded'), 0)::bigint as deposit
    from money_posting p join money_entry e using (entry_id)
    where p.account = 'deposit:' || l.leg_id
) held, lateral (
    select
        coalesce(sum(q.amount_cents) filter (where q.state = 'queued'), 0)::bigint as refunding,
        coalesce(sum(q.amount_cents) filter (
            where q.state = 'failed' and q.again is null and q.purpose in ('cancel', 'undo')
        ), 0)::bigint as owed
    from payment q where q.leg_id = l.leg_id and q.operation = 'refund'
) leaving
"""

AMEND = """
insert into amendment (amendment_id, group_id, leg_id, card_id, kind, title, items, amount_cents,
                       currency, state, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
on conflict (card_id) do update set title = excluded.title, items = excluded.items,
    amount_cents = excluded.amount_cents, state = excluded.state, updated_at = excluded.updated_at
returning amendment_id
"""
SET_AMENDMENT = """
update amendment set state = $2, updated_at = $3 where card_id = $1 and state is distinct from $4
"""

KEEP_DEPOSIT = """
insert into deposit (deposit_id, leg_id, amount_cents, currency, state, payment_id, created_at,
                     updated_at)
values ($1, $2, $3, $4, 'pending', $5, $6, $6)
on conflict (leg_id) do update set state = 'pending', captured_cents = 0,
    payment_id = excluded.payment_id, updated_at = excluded.updated_at
"""
HOLD_OF_LEG = "select payment_id from deposit where leg_id = $1"

INSERT_REFUND = """
insert into refund (refund_id, group_id, leg_id, card_id, amount_cents, currency, state, created_at,
                    updated_at)
values ($1, $2, $3, $4, $5, $6, 'queued', $7, $7)
"""
REFUND_AGAIN = "update refund set state = 'queued', updated_at = $2 where refund_id = $1"
# Marks the failed payments that a new payment repeats: every failed payout or release of the leg,
# or every failed refund of the card.
MADE_AGAIN = """
update payment set again = $1
where payment_id <> $1 and state = 'failed' and again is null and operation = $2 and leg_id = $3
    and ($2 in ('payout', 'release')
         or ($2 = 'refund' and purpose = 'card' and $5 = 'card' and card_id = $4))
"""
# The charges of a leg and what is left of each, the newest first. A charge for a whole group is
# here with the leg's share.
CHARGES_LEFT = """
select e.payment_id, -p.amount_cents - coalesce((
    select sum(r.amount_cents) from payment r
    where r.leg_id = $1 and r.source_payment = e.payment_id and r.operation = 'refund'
        and r.state <> 'failed'), 0)::bigint as left_cents
from money_posting p join money_entry e using (entry_id)
where p.account = 'escrow:' || $1 and e.kind = 'charge'
order by e.at desc, e.entry_id desc
"""


@dataclass(frozen=True, slots=True)
class _Ask:
    operation: OperationName
    key: str
    purpose: str
    account: str
    amount_cents: int
    leg_id: str | None
    card_id: str | None = None
    source_payment: str | None = None
    refund_id: str | None = None


async def balance_of(tx: ContractTransaction, leg_id: str) -> Balance:
    """A leg's money. It cannot change during the transaction, because the leg is locked."""
    return (await balances_of(tx.conn, [leg_id]))[leg_id]


async def balances_of(conn: Session, leg_ids: Sequence[str]) -> dict[str, Balance]:
    return {row["leg_id"]: _balance(row) for row in await conn.fetch(BALANCES, leg_ids)}


def _balance(row: Record) -> Balance:
    left_of_charges = row["paid"] - row["refunded"] - row["refunding"]
    escrow_cents = row["escrow"] - row["refunding"]
    return Balance(
        paid_cents=row["paid"],
        refunded_cents=row["refunded"],
        refundable_cents=max(0, min(left_of_charges, escrow_cents) - row["owed"]),
        deposit_held_cents=row["deposit"],
        deposit_captured_cents=row["captured"],
        payout_cents=row["payout"],
        escrow_cents=escrow_cents,
        owed_cents=row["owed"],
    )


async def amend(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    card_id: str,
    kind: str,
    title: str,
    items: list[Any],
    amount_cents: int,
    state: str = "pending",
) -> str:
    """Add an amendment to the contract. A card has at most one: a repeat replaces it."""
    amendment_id: str = await tx.conn.fetchval(
        AMEND,
        tx.new_id("amd"),
        group.group_id,
        leg.leg_id,
        card_id,
        kind,
        title,
        msgspec.json.encode(items).decode(),
        amount_cents,
        group.currency,
        state,
        tx.now_ms,
    )
    money = Money(amount_cents, group.currency)
    data = {"amendment_id": amendment_id, "kind": kind}
    tx.emit(_event("amendment.added", group, leg.leg_id, card_id, money, data))
    return amendment_id


async def set_amendment(
    tx: ContractTransaction, card_id: str, state: str, *, unless: str | None = None
) -> None:
    """Change the state of a card's amendment, except if it is in the state `unless`."""
    await tx.conn.execute(SET_AMENDMENT, card_id, state, tx.now_ms, unless)


async def queue_charge(
    tx: ContractTransaction,
    group: Group,
    leg: Leg | None,
    *,
    key: str,
    amount_cents: int,
    purpose: str,
    card_id: str | None = None,
) -> Payment:
    """Charge the buyer: for one leg, or without one for all legs of the group by their prices."""
    if leg is not None and leg.state is LegState.CANCELLED:
        raise ActionInvalidState("Nothing is charged for a leg that is cancelled.")
    leg_id = None if leg is None else leg.leg_id
    ask = _Ask("charge", key, purpose, group.buyer, amount_cents, leg_id, card_id)
    payment, is_new = await _queue(tx, group, ask)
    if is_new:
        tx.emit(_payment_event("payment.intent.created", group, payment))
    return payment


async def queue_hold(
    tx: ContractTransaction, group: Group, leg: Leg, *, key: str, purpose: str
) -> Payment:
    """Authorise the leg's deposit on the buyer's account."""
    ask = _Ask("hold", key, purpose, group.buyer, leg.deposit_cents, leg.leg_id)
    payment, is_new = await _queue(tx, group, ask)
    if is_new:
        await tx.conn.execute(
            KEEP_DEPOSIT,
            tx.new_id("dep"),
            leg.leg_id,
            leg.deposit_cents,
            group.currency,
            payment.payment_id,
            tx.now_ms,
        )
        tx.emit(_payment_event("payment.intent.created", group, payment))
    return payment


async def queue_refund(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    key: str,
    amount_cents: int,
    purpose: str,
    card_id: str | None = None,
) -> str | None:
    """Refund the buyer out of the leg's charges, the newest first. Returns the refund's id, or None
    for an amount of 0. Raises ActionConflict for more than is refundable."""
    repeated = await _payment_of_key(tx, f"{key}:0")
    if amount_cents == 0 or repeated is not None:
        return None if repeated is None else repeated.refund_id
    refundable_cents = (await balance_of(tx, leg.leg_id)).refundable_cents
    if amount_cents > refundable_cents:
        raise ActionConflict(f"At most {refundable_cents} cents can be refunded.")
    refund_id = tx.new_id("rfd")
    await tx.conn.execute(
        INSERT_REFUND,
        refund_id,
        group.group_id,
        leg.leg_id,
        card_id,
        amount_cents,
        group.currency,
        tx.now_ms,
    )
    parts = _split(amount_cents, await tx.conn.fetch(CHARGES_LEFT, leg.leg_id))
    for place, (source, part_cents) in enumerate(parts):
        ask = _Ask(
            "refund", f"{key}:{place}", purpose, group.buyer, part_cents, leg.leg_id, card_id,
            source, refund_id,
        )  # fmt: skip
        await _queue(tx, group, ask)
    money = Money(amount_cents, group.currency)
    tx.emit(_event("refund.created", group, leg.leg_id, card_id, money, {"refund_id": refund_id}))
    return refund_id


def _split(amount_cents: int, charges: list[Any]) -> list[tuple[str, int]]:
    parts = []
    for payment_id, left_cents in charges:
        part_cents = min(amount_cents, left_cents)
        if part_cents > 0:
            parts.append((payment_id, part_cents))
            amount_cents -= part_cents
    return parts


async def queue_capture(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    key: str,
    amount_cents: int,
    purpose: str,
    card_id: str | None = None,
) -> Payment:
    """Take part of the deposit. Raises ActionConflict for more than is held."""
    repeated = await _payment_of_key(tx, key)
    if repeated is not None:
        return repeated
    held_cents = (await balance_of(tx, leg.leg_id)).deposit_held_cents
    if amount_cents > held_cents:
        raise ActionConflict(f"At most {held_cents} cents are held as a deposit.")
    hold = await tx.conn.fetchval(HOLD_OF_LEG, leg.leg_id)
    ask = _Ask("capture", key, purpose, group.buyer, amount_cents, leg.leg_id, card_id, hold)
    payment, _ = await _queue(tx, group, ask)
    tx.emit(_payment_event("payment.intent.created", group, payment))
    return payment


async def queue_release(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    key: str,
    purpose: str,
    card_id: str | None = None,
) -> Payment | None:
    """Release what is left of the deposit. None if nothing is left."""
    repeated = await _payment_of_key(tx, key)
    if repeated is not None:
        return repeated
    held_cents = (await balance_of(tx, leg.leg_id)).deposit_held_cents
    if held_cents == 0:
        return None
    hold = await tx.conn.fetchval(HOLD_OF_LEG, leg.leg_id)
    ask = _Ask("release", key, purpose, group.buyer, held_cents, leg.leg_id, card_id, hold)
    payment, _ = await _queue(tx, group, ask)
    return payment


async def queue_payout(
    tx: ContractTransaction,
    group: Group,
    leg: Leg,
    *,
    key: str,
    purpose: str,
    card_id: str | None = None,
) -> Payment | None:
    """Pay the seller the leg's escrow, without what the buyer is owed. None if there is nothing to
    pay or the payout is held. This writes a new version of the leg: read the leg again."""
    repeated = await _payment_of_key(tx, key)
    if repeated is not None or leg.payout == "held":
        return repeated
    balance = await balance_of(tx, leg.leg_id)
    amount_cents = balance.escrow_cents - balance.owed_cents
    if amount_cents <= 0:
        return None
    ask = _Ask("payout", key, purpose, leg.seller, amount_cents, leg.leg_id, card_id)
    payment, _ = await _queue(tx, group, ask)
    await ledger.book(tx, [ledger.released(payment, leg)])
    await change_leg(tx, leg, actor=None, role="server", act="queue_payout", payout="queued")
    tx.emit(_payment_event("payout.queued", group, payment))
    return payment


async def _payment_of_key(tx: ContractTransaction, key: str) -> Payment | None:
    row = await tx.conn.fetchrow(sql.PAYMENT_OF_KEY, key)
    return None if row is None else sql.read_payment(row)


async def _queue(tx: ContractTransaction, group: Group, ask: _Ask) -> tuple[Payment, bool]:
    """Insert and queue the payment, unless its key exists. Returns it, and whether it is new."""
    row = await tx.conn.fetchrow(
        sql.INSERT_PAYMENT,
        tx.new_id("pay"),
        ask.key,
        ask.operation,
        ask.purpose,
        group.group_id,
        ask.leg_id,
        ask.card_id,
        ask.account,
        ask.amount_cents,
        group.currency,
        ask.source_payment,
        ask.refund_id,
        tx.now_ms,
    )
    if row is None:
        [row] = await tx.conn.fetch(sql.PAYMENT_OF_KEY, ask.key)
        return sql.read_payment(row), False
    payment = sql.read_payment(row)
    await tx.conn.execute(
        MADE_AGAIN, payment.payment_id, ask.operation, ask.leg_id, ask.card_id, ask.purpose
    )
    tx.queue_payment(payment.payment_id)
    return payment, True


async def repeat_refund(tx: ContractTransaction, group: Group, failed: Payment) -> Payment:
    """Repeat a failed part of a refund under a new key, because the provider's answer to the old
    key is final. Raises ActionConflict if the leg's escrow no longer has the money."""
    leg_id = failed.leg_id or ""
    if failed.amount_cents > (await balance_of(tx, leg_id)).escrow_cents:
        raise ActionConflict("What was to go back is not kept for this leg any more.")
    ask = _Ask(
        "refund", f"{failed.payment_id}:again", failed.purpose, failed.account,
        failed.amount_cents, leg_id, failed.card_id, failed.source_payment, failed.refund_id,
    )  # fmt: skip
    payment, _ = await _queue(tx, group, ask)
    await tx.conn.execute(REFUND_AGAIN, failed.refund_id, tx.now_ms)
    return payment


def _payment_event(event: str, group: Group, payment: Payment) -> NewEvent:
    money = Money(payment.amount_cents, payment.currency)
    data = {"payment_id": payment.payment_id, "operation": payment.operation}
    return _event(event, group, payment.leg_id, payment.card_id, money, data)


def _event(
    event: str,
    group: Group,
    leg_id: str | None,
    card_id: str | None,
    money: Money,
    data: dict[str, Any],
) -> NewEvent:
    return NewEvent(
        event,
        thread_id=group.thread_id,
        group_id=group.group_id,
        leg_id=leg_id,
        card_id=card_id,
        money=money,
        data=data,
    )
