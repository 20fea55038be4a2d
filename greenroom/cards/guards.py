"""Guards: checks that a transition must pass. They refuse with a reason and change nothing."""

from collections import Counter

from greenroom.bookings.money.orders import balance_of
from greenroom.cards.context import EffectContext
from greenroom.cards.effects.money import DEFAULT_KIND
from greenroom.cards.registry import guard
from greenroom.cards.sql import OPEN_TYPES, SETTLED_OF_CARD, USED_EXTRAS
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, CardInvalid


@guard("nothing_is_asked_back", uses_leg=True)
async def nothing_is_asked_back(ctx: EffectContext) -> None:
    """Refuses while a refund is open: a timer must not take the buyer's silence for consent."""
    _, leg = ctx.booked()
    open_types = await ctx.tx.conn.fetchval(OPEN_TYPES, leg.leg_id, ctx.card.id)
    if "refund" in (open_types or ()):
        raise ActionInvalidState("A refund of this leg is asked for and not decided.")


@guard("within_caps", uses_leg=True)
async def within_caps(ctx: EffectContext) -> None:
    """Checks the type's caps over all extras of the leg. Kinds without a cap of their own share the
    default cap, so that an invented kind does not avoid it."""
    _, leg = ctx.booked()
    quantities: Counter[str] = Counter()
    totals_cents: Counter[str] = Counter()

    def count(kind: str, qty: int, amount_cents: int) -> None:
        cap = kind if kind in ctx.type.caps else DEFAULT_KIND
        quantities[cap] += qty
        totals_cents[cap] += amount_cents

    for item in ctx.card.totals["items"]:
        count(item["kind"], item["qty"], item["amount_cents"])
    for row in await ctx.tx.conn.fetch(USED_EXTRAS, leg.leg_id, ctx.card.id):
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
    refunded = await ctx.tx.conn.fetchval(SETTLED_OF_CARD, ctx.card.id, ["refund"])
    refundable_cents = (await balance_of(ctx.tx, leg.leg_id)).refundable_cents
    if ctx.card.totals["amount_cents"] - refunded > refundable_cents:
        raise ActionConflict(f"At most {refundable_cents} cents can be refunded.")


@guard("selects_from_gallery")
async def selects_from_gallery(ctx: EffectContext) -> None:
    payload, selections = ctx.card.payload, ctx.input["selections"]
    if not set(selections) <= set(payload["gallery"]):
        raise CardInvalid("selections takes files of the card's gallery.")
    most = payload.get("max_selections", len(payload["gallery"]))
    if len(selections) > most:
        raise CardInvalid(f"selections takes at most {most} files.")


@guard("notes_on_gallery")
async def notes_on_gallery(ctx: EffectContext) -> None:
    named = [each["file_id"] for each in ctx.input.get("file_notes", ())]
    if not named and "notes" not in ctx.input:
        raise CardInvalid("Say what should change: in notes, or in file_notes for single pictures.")
    if len(set(named)) != len(named) or not set(named) <= set(ctx.card.payload["gallery"]):
        raise CardInvalid("file_notes takes files of the card's gallery, each once.")
