"""Effects on proofs: pictures from which the buyer chooses."""

from dataclasses import replace

from greenroom.bookings.transactions import NewEvent
from greenroom.cards.context import EffectContext
from greenroom.cards.effects.times import DAY_MS, time_of
from greenroom.cards.registry import effect
from greenroom.kernel.errors import CardInvalid

LONGEST_ROUND_MS = 30 * DAY_MS

_OF_THE_ROUND = ("gallery", "note", "expires_at")


@effect("check_expiry")
async def check_expiry(ctx: EffectContext) -> None:
    if "expires_at" not in ctx.card.payload:
        return
    expires_ms = time_of(ctx.card.payload["expires_at"], "expires_at")
    if not ctx.tx.now_ms < expires_ms <= ctx.tx.now_ms + LONGEST_ROUND_MS:
        raise CardInvalid("expires_at must be in the future, by 30 days at most.")


@effect("first_gallery")
async def first_gallery(ctx: EffectContext) -> None:
    _check_watermarks(ctx)
    ctx.set_totals(round=1)


@effect("next_gallery")
async def next_gallery(ctx: EffectContext) -> None:
    """The note and the time of the round before end with it."""
    _check_watermarks(ctx)
    payload = {name: value for name, value in ctx.card.payload.items() if name not in _OF_THE_ROUND}
    ctx.card = replace(ctx.card, payload={**payload, **ctx.input})
    ctx.set_totals(round=ctx.card.totals["round"] + 1)
    ctx.drop_totals(["revision_notes", "file_notes"])


def _check_watermarks(ctx: EffectContext) -> None:
    """A watermark is made when a file is processed, so its upload asks for it."""
    is_wanted = ctx.card.payload.get("watermark") is True
    if is_wanted and not all(file.watermark for file in ctx.files.values()):
        raise CardInvalid("With `watermark`, upload each file of the gallery with a watermark.")


@effect("note_proof_revision")
async def note_proof_revision(ctx: EffectContext) -> None:
    """What should change: in all, and in single pictures, in the order of the gallery."""
    notes = {each["file_id"]: each["note"] for each in ctx.input.get("file_notes", ())}
    if "notes" in ctx.input:
        ctx.set_totals(revision_notes=ctx.input["notes"])
    if notes:
        ordered = [each for each in ctx.card.payload["gallery"] if each in notes]
        ctx.set_totals(file_notes=[{"file_id": each, "note": notes[each]} for each in ordered])


@effect("approve_proofs")
async def approve_proofs(ctx: EffectContext) -> None:
    """Write down the selection, in the order of the gallery."""
    gallery = ctx.card.payload["gallery"]
    chosen = [file_id for file_id in gallery if file_id in ctx.input.get("selections", ())]
    if chosen:
        ctx.set_totals(selections=chosen)
    ctx.tx.emit(
        NewEvent(
            "leg.proofs_approved",
            ctx.actor,
            thread_id=ctx.card.thread_id,
            group_id=ctx.card.group_id,
            leg_id=ctx.card.leg_id,
            card_id=ctx.card.id,
            data={"files": len(gallery), "selections": len(chosen)},
        )
    )
