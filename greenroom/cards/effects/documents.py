"""Effects on documents that people sign."""

from dataclasses import replace

from greenroom.bookings.documents import actions as documents
from greenroom.bookings.documents.actions import Document
from greenroom.bookings.legs import thread_of
from greenroom.cards.context import EffectContext
from greenroom.cards.registry import effect
from greenroom.cards.sql import DOCUMENT_HAS_CARD
from greenroom.kernel.errors import ActionConflict, CardInvalid, NotFound


@effect("load_signers")
async def load_signers(ctx: EffectContext) -> None:
    """The document names its signers; the creator of the card does not choose them."""
    try:
        document = await documents.lock_document(ctx.tx, ctx.card.payload["document_id"])
    except NotFound:
        raise CardInvalid("There is no such document.") from None
    if await thread_of(ctx.tx, document.group_id) != ctx.card.thread_id:
        raise CardInvalid("There is no such document in this thread's booking.")
    if not document.is_open:
        raise ActionConflict(f"The document is {document.state}.")
    if await ctx.tx.conn.fetchval(DOCUMENT_HAS_CARD, ctx.card.thread_id, document.document_id):
        raise ActionConflict(
            "A card already asks for signatures on this document.",
            hint="Sign on that card, or withdraw it and ask again.",
        )
    ctx.card = replace(ctx.card, group_id=document.group_id)
    ctx.set_totals(title=document.title, sha256=document.sha256)
    _show_signers(ctx, document)


@effect("sign_document")
async def sign_document(ctx: EffectContext) -> None:
    """The signer sends the hash of the file they saw, so that nobody signs another text."""
    signed = await documents.sign_document(
        ctx.tx, ctx.card.payload["document_id"], ctx.actor or "", ctx.input["sha256"]
    )
    _show_signers(ctx, signed)


@effect("decline_document")
async def decline_document(ctx: EffectContext) -> None:
    declined = await documents.decline_document(
        ctx.tx, ctx.card.payload["document_id"], ctx.actor or ""
    )
    _show_signers(ctx, declined)


@effect("expire_document")
async def expire_document(ctx: EffectContext) -> None:
    await documents.expire_document(ctx.tx, ctx.card.payload["document_id"])


def _show_signers(ctx: EffectContext, document: Document) -> None:
    ctx.set_totals(
        signers=[{"user_id": signer.user_id, "state": signer.state} for signer in document.signers]
    )
