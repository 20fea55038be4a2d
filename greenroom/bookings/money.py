"""What is asked of the payment provider, decided in the deed that needs it. Everything here is
called under the leg's lock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.bookings import ledger
from greenroom.bookings import sql_postgres as sql
from greenroom.bookings.deeds import Deed, Told
from greenroom.bookings.legs import change_leg
from greenroom.bookings.model import Balance, Group, Leg, LegState, OperationName, Payment
from greenroom.kernel.errors import ActionConflict, ActionInvalidState
from greenroom.kernel.money import Money
from greenroom.platform.postgres import Session

# What legs' own accounts say, and what is on its way out. Held: what is left of the newest hold.
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
    select coalesce(sum(q.amount_cents), 0)::bigint as refunding
    from payment q where q.leg_id = l.leg_id and q.state = 'queued' and q.operation = 'refund'
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
SET_AMENDMENT = "update amendment set state = $2, updated_at = $3 where card_id = $1"

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
REFUND_STATE = "select state from refund where refund_id = $1"
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


async def balance_of(deed: Deed, leg_id: str) -> Balance:
    """A leg's money; under the leg's lock it does not change until the deed is over."""
    return (await balances_of(deed.conn, [leg_id]))[leg_id]


async def balances_of(conn: Session, leg_ids: Sequence[str]) -> dict[str, Balance]:
    return {row["leg_id"]: _balance(row) for row in await conn.fetch(BALANCES, leg_ids)}


def _balance(row: Record) -> Balance:
    left_of_charges = row["paid"] - row["refunded"] - row["refunding"]
    escrow_cents = row["escrow"] - row["refunding"]
    return Balance(
        paid_cents=row["paid"],
        refunded_cents=row["refunded"],
        refundable_cents=max(0, min(left_of_charges, escrow_cents)),
        deposit_held_cents=row["deposit"],
        deposit_captured_cents=row["captured"],
        payout_cents=row["payout"],
        escrow_cents=escrow_cents,
    )


async def amend(
    deed: Deed,
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
    """An addition to the contract, one per card: a repeat replaces it."""
    amendment_id: str = await deed.conn.fetchval(
        AMEND,
        deed.new_id("amd"),
        group.group_id,
        leg.leg_id,
        card_id,
        kind,
        title,
        msgspec.json.encode(items).decode(),
        amount_cents,
        group.currency,
        state,
        deed.now_ms,
    )
    money = Money(amount_cents, group.currency)
    data = {"amendment_id": amendment_id, "kind": kind}
    deed.tell(_told("amendment.added", group, leg.leg_id, card_id, money, data))
    return amendment_id


async def set_amendment(deed: Deed, card_id: str, state: str) -> None:
    await deed.conn.execute(SET_AMENDMENT, card_id, state, deed.now_ms)


async def queue_charge(
    deed: Deed,
    group: Group,
    leg: Leg | None,
    *,
    key: str,
    amount_cents: int,
    purpose: str,
    card_id: str | None = None,
) -> Payment:
    """From the buyer, for one leg or, without one, for all legs of the group by their prices."""
    if leg is not None and leg.state is LegState.CANCELLED:
        raise ActionInvalidState("Nothing is charged for a leg that is cancelled.")
    leg_id = None if leg is None else leg.leg_id
    ask = _Ask("charge", key, purpose, group.buyer, amount_cents, leg_id, card_id)
    payment, is_new = await _queue(deed, group, ask)
    if is_new:
        deed.tell(_payment_told("payment.intent.created", group, payment))
    return payment


async def queue_hold(deed: Deed, group: Group, leg: Leg, *, key: str, purpose: str) -> Payment:
    """The leg's deposit, authorised on the buyer's account."""
    ask = _Ask("hold", key, purpose, group.buyer, leg.deposit_cents, leg.leg_id)
    payment, is_new = await _queue(deed, group, ask)
    if is_new:
        await deed.conn.execute(
            KEEP_DEPOSIT,
            deed.new_id("dep"),
            leg.leg_id,
            leg.deposit_cents,
            group.currency,
            payment.payment_id,
            deed.now_ms,
        )
        deed.tell(_payment_told("payment.intent.created", group, payment))
    return payment


async def queue_refund(
    deed: Deed,
    group: Group,
    leg: Leg,
    *,
    key: str,
    amount_cents: int,
    purpose: str,
    card_id: str | None = None,
) -> str | None:
    """Back to the buyer, out of the leg's charges, the newest first; the refund's id. None for
    nothing. Raises ActionConflict for more than is refundable."""
    repeated = await _payment_of_key(deed, f"{key}:0")
    if amount_cents == 0 or repeated is not None:
        return None if repeated is None else repeated.refund_id
    refundable_cents = (await balance_of(deed, leg.leg_id)).refundable_cents
    if amount_cents > refundable_cents:
        raise ActionConflict(f"At most {refundable_cents} cents can be refunded.")
    refund_id = deed.new_id("rfd")
    await deed.conn.execute(
        INSERT_REFUND,
        refund_id,
        group.group_id,
        leg.leg_id,
        card_id,
        amount_cents,
        group.currency,
        deed.now_ms,
    )
    parts = _split(amount_cents, await deed.conn.fetch(CHARGES_LEFT, leg.leg_id))
    for place, (source, part_cents) in enumerate(parts):
        ask = _Ask(
            "refund", f"{key}:{place}", purpose, group.buyer, part_cents, leg.leg_id, card_id,
            source, refund_id,
        )  # fmt: skip
        await _queue(deed, group, ask)
    money = Money(amount_cents, group.currency)
    deed.tell(_told("refund.created", group, leg.leg_id, card_id, money, {"refund_id": refund_id}))
    return refund_id


def _split(amount_cents: int, charges: list[Any]) -> list[tuple[str, int]]:
    parts = []
    for payment_id, left_cents in charges:
        part_cents = min(amount_cents, left_cents)
        if part_cents > 0:
            parts.append((payment_id, part_cents))
            amount_cents -= part_cents
    return parts


async def refund_state(deed: Deed, refund_id: str) -> str:
    """`queued` until all its parts are final, then `refunded` or `failed`."""
    state: str = await deed.conn.fetchval(REFUND_STATE, refund_id)
    return state


async def queue_capture(
    deed: Deed,
    group: Group,
    leg: Leg,
    *,
    key: str,
    amount_cents: int,
    purpose: str,
    card_id: str | None = None,
) -> Payment:
    """Take part of the deposit. Raises ActionConflict for more than is held."""
    repeated = await _payment_of_key(deed, key)
    if repeated is not None:
        return repeated
    held_cents = (await balance_of(deed, leg.leg_id)).deposit_held_cents
    if amount_cents > held_cents:
        raise ActionConflict(f"At most {held_cents} cents are held as a deposit.")
    hold = await deed.conn.fetchval(HOLD_OF_LEG, leg.leg_id)
    ask = _Ask("capture", key, purpose, group.buyer, amount_cents, leg.leg_id, card_id, hold)
    payment, _ = await _queue(deed, group, ask)
    deed.tell(_payment_told("payment.intent.created", group, payment))
    return payment


async def queue_release(
    deed: Deed, group: Group, leg: Leg, *, key: str, purpose: str, card_id: str | None = None
) -> Payment | None:
    """Let go what is left of the deposit; None where there is nothing left."""
    repeated = await _payment_of_key(deed, key)
    if repeated is not None:
        return repeated
    held_cents = (await balance_of(deed, leg.leg_id)).deposit_held_cents
    if held_cents == 0:
        return None
    hold = await deed.conn.fetchval(HOLD_OF_LEG, leg.leg_id)
    ask = _Ask("release", key, purpose, group.buyer, held_cents, leg.leg_id, card_id, hold)
    payment, _ = await _queue(deed, group, ask)
    return payment


async def queue_payout(
    deed: Deed, group: Group, leg: Leg, *, key: str, purpose: str, card_id: str | None = None
) -> Payment | None:
    """Everything that is kept for the leg, to its seller. None where there is nothing, and while
    the payout is held. The leg's version grows: take it from the deed anew."""
    repeated = await _payment_of_key(deed, key)
    if repeated is not None or leg.payout == "held":
        return repeated
    amount_cents = (await balance_of(deed, leg.leg_id)).escrow_cents
    if amount_cents == 0:
        return None
    ask = _Ask("payout", key, purpose, leg.seller, amount_cents, leg.leg_id, card_id)
    payment, _ = await _queue(deed, group, ask)
    await ledger.book(deed, [ledger.released(payment, leg)])
    await change_leg(deed, leg, actor=None, role="server", act="queue_payout", payout="queued")
    deed.tell(_payment_told("payout.queued", group, payment))
    return payment


async def hold_payout(deed: Deed, leg: Leg, reason: str) -> Leg:
    """The seller is not paid while this stands. What has left already does not come back."""
    if leg.payout in ("queued", "paid"):
        return leg
    held = await change_leg(
        deed,
        leg,
        actor=None,
        role="server",
        act="hold_payout",
        payout="held",
        payout_held_reason=reason,
    )
    deed.tell(Told("payout.held", group_id=leg.group_id, leg_id=leg.leg_id))
    return held


async def free_payout(deed: Deed, leg: Leg) -> Leg:
    """The end of a hold: `queue_payout` works again."""
    if leg.payout != "held":
        return leg
    return await change_leg(
        deed,
        leg,
        actor=None,
        role="server",
        act="free_payout",
        payout="none",
        payout_held_reason=None,
    )


async def _payment_of_key(deed: Deed, key: str) -> Payment | None:
    row = await deed.conn.fetchrow(sql.PAYMENT_OF_KEY, key)
    return None if row is None else sql.read_payment(row)


async def _queue(deed: Deed, group: Group, ask: _Ask) -> tuple[Payment, bool]:
    """The payment under its key, and whether it is new."""
    row = await deed.conn.fetchrow(
        sql.INSERT_PAYMENT,
        deed.new_id("pay"),
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
        deed.now_ms,
    )
    if row is None:
        [row] = await deed.conn.fetch(sql.PAYMENT_OF_KEY, ask.key)
        return sql.read_payment(row), False
    payment = sql.read_payment(row)
    await deed.run_later(payment.payment_id)
    return payment, True


def _payment_told(event: str, group: Group, payment: Payment) -> Told:
    money = Money(payment.amount_cents, payment.currency)
    data = {"payment_id": payment.payment_id, "operation": payment.operation}
    return _told(event, group, payment.leg_id, payment.card_id, money, data)


def _told(
    event: str,
    group: Group,
    leg_id: str | None,
    card_id: str | None,
    money: Money,
    data: dict[str, Any],
) -> Told:
    return Told(
        event,
        thread_id=group.thread_id,
        group_id=group.group_id,
        leg_id=leg_id,
        card_id=card_id,
        money=money,
        data=data,
    )
