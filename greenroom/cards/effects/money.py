"""Effects on money: compute prices, and queue charges and refunds."""

from greenroom.bookings.cancellation_policy import quote
from greenroom.bookings.ending import cancel_leg as cancel
from greenroom.bookings.model import Balance, GroupState, LegState
from greenroom.bookings.money.orders import (
    UNDO,
    balance_of,
    queue_capture,
    queue_charge,
    set_amendment,
)
from greenroom.bookings.money.orders import amend as add_amendment
from greenroom.bookings.money.orders import queue_refund as ask_for_refund
from greenroom.cards.context import EffectContext
from greenroom.cards.model import Json
from greenroom.cards.registry import effect
from greenroom.cards.sql import SETTLED_OF_CARD
from greenroom.conversations.thread_updates import Notice
from greenroom.kernel.errors import ActionConflict, ActionInvalidState
from greenroom.kernel.money import MOST_CENTS, per_hour

AMENDMENT_KINDS = frozenset({"extras", "overtime", "expense"})
DEFAULT_KIND = "default"
PURPOSE = "card"


@effect("price_items", uses_leg=True)
async def price_items(ctx: EffectContext) -> None:
    group, _ = ctx.booked()
    items = [_priced(item) for item in ctx.card.payload["items"]]
    total_cents = sum(item["amount_cents"] for item in items)
    if total_cents > MOST_CENTS:
        raise ActionConflict("The items cost more than a booking can.")
    ctx.set_totals(items=items, total_cents=total_cents, currency=group.currency)


def _priced(item: Json) -> Json:
    kind = item.get("kind", DEFAULT_KIND)
    return {**item, "kind": kind, "amount_cents": item["qty"] * item["unit_cents"]}


@effect("price_overtime", uses_leg=True)
async def price_overtime(ctx: EffectContext) -> None:
    """Compute the price if the length is known. Otherwise a clock measures it later."""
    group, _ = ctx.booked()
    ctx.set_totals(currency=group.currency)
    minutes = ctx.card.payload.get("minutes")
    if minutes is not None:
        total_cents = per_hour(ctx.card.payload["rate_cents_per_hour"], minutes)
        ctx.set_totals(minutes=minutes, total_cents=total_cents)


@effect("take_amount", uses_leg=True)
async def take_amount(ctx: EffectContext) -> None:
    group, _ = ctx.booked()
    ctx.set_totals(total_cents=ctx.card.payload["amount_cents"], currency=group.currency)


@effect("amend", uses_leg=True)
async def amend(ctx: EffectContext) -> None:
    """Add `totals.total_cents`, with `totals.items` if any, to the contract."""
    await _amend(ctx, "pending")


@effect("book_amendment", uses_leg=True)
async def book_amendment(ctx: EffectContext) -> None:
    """Record an expense that the seller bears: nobody pays."""
    await _amend(ctx, "booked")


async def _amend(ctx: EffectContext, state: str) -> None:
    group, leg = ctx.booked()
    totals = ctx.card.totals
    await add_amendment(
        ctx.tx,
        group,
        leg,
        card_id=ctx.card.id,
        kind=ctx.type.name if ctx.type.name in AMENDMENT_KINDS else "extras",
        title=ctx.card.payload.get("merchant") or ctx.type.title["en"],
        items=totals.get("items", []),
        amount_cents=totals["total_cents"],
        state=state,
    )


@effect("charge", uses_leg=True, awaits_payment=True)
async def charge(ctx: EffectContext) -> None:
    """Charge the buyer the part of `totals.total_cents` that this card has not charged yet."""
    if _can_be_charged(ctx):
        await _charge(ctx, await _due(ctx))


@effect("charge_deposit_first", uses_leg=True, awaits_payment=True)
async def charge_deposit_first(ctx: EffectContext) -> None:
    """Like `charge`, but for a studio capture the held deposit first."""
    if not _can_be_charged(ctx):
        return
    group, leg = ctx.booked()
    due_cents = await _due(ctx)
    if leg.kind == "studio":
        held_cents = (await balance_of(ctx.tx, leg.leg_id)).deposit_held_cents
        captured_cents = min(due_cents, held_cents)
        if captured_cents > 0:
            await queue_capture(
                ctx.tx,
                group,
                leg,
                key=ctx.payment_key(":capture"),
                amount_cents=captured_cents,
                purpose=PURPOSE,
                card_id=ctx.card.id,
            )
            due_cents -= captured_cents
            ctx.set_totals(from_deposit_cents=captured_cents)
            if due_cents == 0:
                return
    await _charge(ctx, due_cents)


def _can_be_charged(ctx: EffectContext) -> bool:
    """What was agreed is charged even after the leg is completed, but not before it is confirmed
    and not after it is cancelled. Then a person gets an error, and a payment that a timer started
    has failed."""
    _, leg = ctx.booked()
    if leg.state not in (LegState.PROPOSED, LegState.CANCELLED):
        return True
    if ctx.actor is not None:
        raise ActionInvalidState(f"The leg is {leg.state}: nothing is charged for it.")
    ctx.end_payment(f"leg_{leg.state}")
    return False


async def _due(ctx: EffectContext) -> int:
    ctx.drop_totals(["failure_code"])
    total_cents: int = ctx.card.totals["total_cents"]
    return total_cents - await _settled(ctx, ["charge", "capture"])


async def _settled(ctx: EffectContext, operations: list[str]) -> int:
    cents: int = await ctx.tx.conn.fetchval(SETTLED_OF_CARD, ctx.card.id, operations)
    return cents


async def _charge(ctx: EffectContext, due_cents: int) -> None:
    group, leg = ctx.booked()
    if due_cents <= 0:
        ctx.end_payment()
        return
    await queue_charge(
        ctx.tx,
        group,
        leg,
        key=ctx.payment_key(),
        amount_cents=due_cents,
        purpose=PURPOSE,
        card_id=ctx.card.id,
    )


@effect("amendment_paid")
async def amendment_paid(ctx: EffectContext) -> None:
    await set_amendment(ctx.tx, ctx.card.id, "paid")


@effect("amendment_failed")
async def amendment_failed(ctx: EffectContext) -> None:
    await set_amendment(ctx.tx, ctx.card.id, "failed")


@effect("void_amendment")
async def void_amendment(ctx: EffectContext) -> None:
    await set_amendment(ctx.tx, ctx.card.id, "void")


@effect("give_back", uses_leg=True)
async def give_back(ctx: EffectContext) -> None:
    """Refund what was charged before another part of the payment failed."""
    group, leg = ctx.booked()
    settled_cents = await _settled(ctx, ["charge", "capture"])
    refundable_cents = (await balance_of(ctx.tx, leg.leg_id)).refundable_cents
    await ask_for_refund(
        ctx.tx,
        group,
        leg,
        key=ctx.payment_key(":back"),
        amount_cents=min(settled_cents, refundable_cents),
        purpose=UNDO,
        card_id=ctx.card.id,
    )


@effect("take_refund_amount", uses_leg=True)
async def take_refund_amount(ctx: EffectContext) -> None:
    """Take the amount that was asked for, or everything that can be refunded."""
    group, leg = ctx.booked()
    balance: Balance = await balance_of(ctx.tx, leg.leg_id)
    if balance.refundable_cents == 0:
        raise ActionConflict("Nothing of this leg can be refunded.")
    amount_cents = ctx.card.payload.get("amount_cents", balance.refundable_cents)
    ctx.set_totals(amount_cents=amount_cents, currency=group.currency)


@effect("queue_refund", uses_leg=True, awaits_payment=True)
async def queue_refund(ctx: EffectContext) -> None:
    """Refund the part of `totals.amount_cents` that this card has not refunded yet."""
    group, leg = ctx.booked()
    ctx.drop_totals(["failure_code"])
    due_cents = ctx.card.totals["amount_cents"] - await _settled(ctx, ["refund"])
    if due_cents <= 0:
        ctx.end_payment()
        return
    await ask_for_refund(
        ctx.tx,
        group,
        leg,
        key=ctx.payment_key(),
        amount_cents=due_cents,
        purpose=PURPOSE,
        card_id=ctx.card.id,
    )


@effect("quote_cancel", uses_leg=True)
async def quote_cancel(ctx: EffectContext) -> None:
    """Quote the refund by the booking's policy, and the deposit that is released. The quote
    stays valid while the card is open, even if less notice is left by then."""
    group, leg = ctx.booked()
    balance = await balance_of(ctx.tx, leg.leg_id)
    quoted = quote(
        group.policy,
        paid_cents=balance.paid_cents,
        starts_ms=leg.start_ms,
        now_ms=ctx.tx.now_ms,
        by="buyer" if ctx.role == "buyer" else "seller",
    )
    ctx.set_totals(
        quote={
            "refund_cents": min(quoted.refund_cents, balance.refundable_cents),
            "refund_percent": quoted.refund_percent,
            "notice_hours": quoted.notice_hours,
            "deposit_cents": balance.deposit_held_cents,
        },
        currency=group.currency,
    )


@effect("cancel_leg", uses_leg=True)
async def cancel_leg(ctx: EffectContext) -> None:
    """Cancel with the quoted refund, or what is left of it after refunds since then."""
    group, leg = ctx.booked()
    refundable_cents = (await balance_of(ctx.tx, leg.leg_id)).refundable_cents
    group = await cancel(
        ctx.tx,
        group,
        leg,
        refund_cents=min(ctx.card.totals["quote"]["refund_cents"], refundable_cents),
        actor=ctx.actor,
        role=ctx.role,
        card_id=ctx.card.id,
    )
    if group.state is GroupState.CANCELLED:
        asked_by = "buyer" if ctx.card.created_by == group.buyer else "seller"
        params = {"booking_id": group.group_id, "by": asked_by}
        ctx.notices = (Notice("booking.cancelled", params),)
