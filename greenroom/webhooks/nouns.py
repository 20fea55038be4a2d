"""The JSON of the things that events are about, as the marketplace's backend gets it.

Names of people are never in it. Text that people wrote is in it only with `include_content`.
"""

from collections.abc import Callable
from typing import Any

from greenroom.bookings.documents.actions import Document
from greenroom.bookings.documents.manifests import Manifest
from greenroom.bookings.finding import AmendmentFound, Refund
from greenroom.bookings.model import Group, Leg, Payment
from greenroom.cards.model import Card
from greenroom.conversations.model import Message, Thread
from greenroom.conversations.store import FoundMessage
from greenroom.files.model import File
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.money import Money

Json = dict[str, Any]
Noun = Callable[[Any, bool], Json]
"""Makes the JSON of a thing, the second argument being `include_content`."""


def gone(thing_id: str) -> Json:
    """Something that was deleted or erased, or that never was in this database."""
    return {"id": thing_id, "deleted": True}


def restricted(thing_id: str) -> Json:
    """Something that not all participants of its thread see."""
    return {"id": thing_id, "restricted": True}


def thread_noun(thread: Thread, include_content: bool) -> Json:
    noun: Json = {
        "id": thread.id,
        "kind": thread.kind,
        "stage": thread.stage,
        "locked": thread.locked,
        "job_id": thread.job_id,
        "group_id": thread.group_id,
        "leg_id": thread.leg_id,
        "opened_by": thread.opened_by,
        "open_cards": thread.open_cards,
        "participants": [
            {"user_id": each.user_id, "role": each.role, "status": each.status}
            for each in thread.participants
        ],
        "created_at": rfc3339(thread.created_at_ms),
        "updated_at": rfc3339(thread.updated_at_ms),
    }
    if include_content:
        noun["subject"] = thread.subject
    return noun


def message_noun(found: FoundMessage, include_content: bool) -> Json:
    message = found.message
    if message.deleted_at_ms is not None:
        return gone(message.id)
    if found.is_partial:
        return restricted(message.id)
    noun: Json = {
        "id": message.id,
        "thread_id": message.thread_id,
        "seq": message.seq,
        "author_id": message.author_id,
        "kind": message.kind,
        "card_id": found.card_id,
        "file_ids": [each.file_id for each in message.attachments],
        "notice": _notice(message),
        "reply_to": message.reply_to,
        "job_id": message.job_id,
        "created_at": rfc3339(message.created_at_ms),
        "edited_at": _time(message.edited_at_ms),
    }
    if include_content:
        noun["body"] = message.body
    return noun


def _notice(message: Message) -> str | None:
    """The code of a notice of the server. Its parameters are in the events of what it tells."""
    return None if message.system is None else str(message.system["code"])


def card_noun(card: Card, include_content: bool) -> Json:
    noun: Json = {
        "id": card.id,
        "thread_id": card.thread_id,
        "message_id": card.message_id,
        "type": card.type,
        "state": card.state,
        "version": card.version,
        "created_by": card.created_by,
        "buyer": card.buyer,
        "seller": card.seller,
        "group_id": card.group_id,
        "leg_id": card.leg_id,
        "answers_card": card.answers_card,
        "waits_for": list(card.waits_for),
        "expires_at": _time(card.expires_at_ms),
        "created_at": rfc3339(card.created_at_ms),
        "updated_at": rfc3339(card.updated_at_ms),
    }
    if include_content:
        noun |= {"payload": card.payload, "totals": card.totals}
    return noun


def booking_noun(group: Group, include_content: bool) -> Json:
    return {
        "id": group.group_id,
        "buyer": group.buyer,
        "state": group.state.value,
        "thread_id": group.thread_id,
        "total": _cents(group.total_cents, group.currency),
        "failure_code": group.failure_code,
        "legs": [leg_noun((leg, group.currency), include_content) for leg in group.legs],
        "created_at": rfc3339(group.created_at_ms),
        "updated_at": rfc3339(group.updated_at_ms),
    }


def leg_noun(leg_and_currency: tuple[Leg, str], include_content: bool) -> Json:
    leg, currency = leg_and_currency
    noun: Json = {
        "id": leg.leg_id,
        "booking_id": leg.group_id,
        "kind": leg.kind,
        "seller": leg.seller,
        "state": leg.state.value,
        "start": rfc3339(leg.start_ms),
        "end": rfc3339(leg.end_ms),
        "timezone": leg.timezone,
        "price": _cents(leg.price_cents, currency),
        "payout": leg.payout,
        "deliverables_accepted_at": _time(leg.deliverables_accepted_at_ms),
        "version": leg.version,
    }
    if include_content:
        noun["title"] = leg.title
    return noun


def payment_noun(payment: Payment, _include_content: bool) -> Json:
    return {
        "id": payment.payment_id,
        "operation": payment.operation,
        "purpose": payment.purpose,
        "state": payment.state,
        "user_id": payment.account,
        "amount": _cents(payment.amount_cents, payment.currency),
        "booking_id": payment.group_id,
        "leg_id": payment.leg_id,
        "card_id": payment.card_id,
        "refund_id": payment.refund_id,
        "provider_id": payment.provider_id,
        "failure_code": payment.failure_code,
        "repeated_by": payment.again,
        "created_at": rfc3339(payment.created_at_ms),
        "updated_at": rfc3339(payment.updated_at_ms),
    }


def refund_noun(refund: Refund, _include_content: bool) -> Json:
    return {
        "id": refund.refund_id,
        "state": refund.state,
        "amount": _cents(refund.amount_cents, refund.currency),
        "booking_id": refund.group_id,
        "leg_id": refund.leg_id,
        "card_id": refund.card_id,
        "created_at": rfc3339(refund.created_at_ms),
        "updated_at": rfc3339(refund.updated_at_ms),
    }


def amendment_noun(amendment: AmendmentFound, include_content: bool) -> Json:
    noun: Json = {
        "id": amendment.amendment_id,
        "kind": amendment.kind,
        "state": amendment.state,
        "amount": _cents(amendment.amount_cents, amendment.currency),
        "booking_id": amendment.group_id,
        "leg_id": amendment.leg_id,
        "card_id": amendment.card_id,
        "created_at": rfc3339(amendment.created_at_ms),
        "updated_at": rfc3339(amendment.updated_at_ms),
    }
    if include_content:
        noun["title"] = amendment.title
    return noun


def document_noun(document: Document, include_content: bool) -> Json:
    noun: Json = {
        "id": document.document_id,
        "booking_id": document.group_id,
        "leg_id": document.leg_id,
        "state": document.state,
        "sha256": document.sha256,
        "signers": [
            {"user_id": each.user_id, "state": each.state, "at": _time(each.at_ms)}
            for each in document.signers
        ],
        "created_at": rfc3339(document.created_at_ms),
        "updated_at": rfc3339(document.updated_at_ms),
    }
    if include_content:
        noun |= {"title": document.title, "url": document.url}
    return noun


def manifest_noun(manifest: Manifest, include_content: bool) -> Json:
    noun: Json = {
        "id": manifest.manifest_id,
        "thread_id": manifest.thread_id,
        "booking_id": manifest.group_id,
        "leg_id": manifest.leg_id,
        "created_by": manifest.created_by,
        "sha256": manifest.sha256,
        "count": len(manifest.items),
        "bytes": sum(each.bytes for each in manifest.items),
        "created_at": rfc3339(manifest.created_at_ms),
    }
    if include_content:
        noun["items"] = [
            {"name": each.name, "bytes": each.bytes, "sha256": each.sha256, "url": each.url}
            for each in manifest.items
        ]
    return noun


def file_noun(file: File, _include_content: bool) -> Json:
    """Without its name and description, which not everybody in the thread has to see."""
    if file.state == "expired":
        return gone(file.id)
    return {
        "id": file.id,
        "thread_id": file.thread_id,
        "owner": file.owner,
        "purpose": file.purpose,
        "media": file.media,
        "mime": file.content_mime or file.mime,
        "bytes": file.bytes,
        "state": file.state,
        "reason": file.reason,
        "band": file.band,
        "width": file.width,
        "height": file.height,
        "duration_ms": file.duration_ms,
        "created_at": rfc3339(file.created_at_ms),
    }


def amount_noun(money: Money) -> Json:
    return _cents(money.amount_cents, money.currency)


def _cents(amount_cents: int, currency: str) -> Json:
    return {"amount_cents": amount_cents, "currency": currency}


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
