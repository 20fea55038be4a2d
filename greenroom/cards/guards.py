"""Guards: what must hold before a transition. They refuse with a reason and change nothing."""

from collections import Counter

from greenroom.bookings.model import LegState
from greenroom.bookings.money import balance_of
from greenroom.cards.context import EffectContext
from greenroom.cards.effects_money import DEFAULT_KIND, check_live
from greenroom.cards.registry import guard
from greenroom.cards.sql_postgres import SETTLED_OF_CARD, USED_EXTRAS
from greenroom.kernel.errors import ActionConflict, ActionInvalidState


@guard("leg_is_live", uses_leg=True)
async def leg_is_live(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    check_live(leg)


@guard("leg_can_be_cancelled", uses_leg=True)
async def leg_can_be_cancelled(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    if leg.state not in (LegState.CONFIRMED, LegState.IN_PROGRESS):
        raise ActionInvalidState(f"A leg that is {leg.state} is not cancelled any more.")


@guard("within_caps", uses_leg=True)
async def within_caps(ctx: EffectContext) -> None:
    """The type's caps, over everything of a kind that this leg has taken. Kinds without a cap of
    their own share the default one, so that a new name is no way around it."""
    _, leg = ctx.booked()
    quantities: Counter[str] = Counter()
    totals_cents: Counter[str] = Counter()

    def count(kind: str, qty: int, amount_cents: int) -> None:
        cap = kind if kind in ctx.type.caps else DEFAULT_KIND
        quantities[cap] += qty
        totals_cents[cap] += amount_cents

    for item in ctx.card.totals["items"]:
        count(item["kind"], item["qty"], item["amount_cents"])
    for row in await ctx.deed.conn.fetch(USED_EXTRAS, leg.leg_id, ctx.card.id):
        count(row["kind"], row["qty"], row["amount_cents"])
    for item in ctx.card.totals["items"]:
        kind = item["kind"] if item["kind"] in ctx.type.caps else DEFAULT_KIND
        cap = ctx.type.caps.get(kind)
        if cap is None:
            continue
        if quantities[kind] > cap.max_qty:
            raise ActionConflict(f"At most {cap.max_qty} of the kind `{kind}` for one leg.")
        if totals_cents[kind] > cap.max_total_cents:
            most = f"{cap.max_total_cents} cents"
            raise ActionConflict(f"At most {most} of the kind `{kind}` for one leg.")


@guard("refund_within_paid", uses_leg=True)
async def refund_within_paid(ctx: EffectContext) -> None:
    _, leg = ctx.booked()
    refunded = await ctx.deed.conn.fetchval(SETTLED_OF_CARD, ctx.card.id, ["refund"])
    refundable_cents = (await balance_of(ctx.deed, leg.leg_id)).refundable_cents
    if ctx.card.totals["amount_cents"] - refunded > refundable_cents:
        raise ActionConflict(f"At most {refundable_cents} cents can be refunded.")
