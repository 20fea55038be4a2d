"""What clients send and see of bookings, as JSON."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from greenroom.bookings.documents import Document, DocumentState, SignerState
from greenroom.bookings.manifests import Manifest
from greenroom.bookings.model import (
    ENDED,
    DepositState,
    Leg,
    LegKind,
    LegState,
    Payout,
    Policy,
    Side,
    Tier,
    check_policy,
    quote,
)
from greenroom.bookings.proposals import LegProposal, Proposal, check_proposal
from greenroom.bookings.reading import Booking
from greenroom.conversations.wire import ThreadView
from greenroom.kernel.clock import parse_rfc3339, rfc3339

Cents = Annotated[int, Meta(description="Whole cents.")]
Currency = Annotated[str, Meta(description="ISO 4217, such as EUR.")]
Moment = Annotated[str, Meta(description="RFC 3339 with an offset.")]
Sha256 = Annotated[str, Meta(description="64 hexadecimal digits.")]
PublicUrl = Annotated[str, Meta(description="https, of a public host, at most 2048 characters.")]
LegStateName = Literal[
    "proposed", "confirmed", "in_progress", "completed", "cancelled", "disputed"
]  # fmt: skip


class MoneyView(Struct, frozen=True):
    amount_cents: int
    currency: str


class TierView(Struct, frozen=True, forbid_unknown_fields=True):
    """With at least this notice, this part of what was paid is given back."""

    notice_hours: int
    refund_percent: int


class NewLeg(Struct, frozen=True, forbid_unknown_fields=True):
    seller: str
    title: Annotated[str, Meta(description="One line of at most 200 characters.")]
    start: Moment
    end: Moment
    timezone: Annotated[str, Meta(description="IANA, such as Europe/Vienna.")]
    price_cents: Cents
    deposit_cents: Cents = 0
    kind: LegKind = "talent"


class NewBooking(Struct, frozen=True, forbid_unknown_fields=True):
    """Without `thread_id` a thread of the buyer with the sellers is opened. Without `cancellation`
    the server's own policy counts."""

    buyer: str
    currency: Currency
    legs: list[NewLeg]
    thread_id: str | None = None
    cancellation: list[TierView] | None = None


class Cancellation(Struct, frozen=True, forbid_unknown_fields=True):
    """`by`: on whose behalf. The buyer gets back what the policy says; for the seller, and where
    nobody is named, everything is given back."""

    by: Side | None = None


class DepositView(Struct, frozen=True):
    id: str | None
    amount: MoneyView
    captured: MoneyView
    state: DepositState | Literal["none"]
    """`none`: not asked for yet."""


class QuoteView(Struct, frozen=True):
    """What the buyer would get back by cancelling now."""

    refund: MoneyView
    refund_percent: int
    notice_hours: int


class LegView(Struct, frozen=True):
    id: str
    kind: LegKind
    seller: str
    title: str
    state: LegStateName
    start: str
    end: str
    timezone: str
    price: MoneyView
    deposit: DepositView | None
    deliverables_accepted_at: str | None
    payout: Payout
    version: int
    cancellation_quote: QuoteView | None


class BookingView(Struct, frozen=True):
    id: str
    buyer: str
    currency: str
    state: Literal["proposed", "confirming", "confirmed", "cancelled"]
    thread_id: str | None
    total: MoneyView
    failure_code: str | None
    cancellation_policy: list[TierView]
    legs: list[LegView]
    created_at: str
    updated_at: str


class BookingOnly(Struct, frozen=True):
    booking: BookingView


class BookingMade(Struct, frozen=True):
    """What is kept of the answer to a new booking: it is shown as it is when it is asked for."""

    id: str


class BookingAndThread(Struct, frozen=True):
    booking: BookingView
    thread: ThreadView | None


class DocumentDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """`sha256` is of the file; the signers are parties of the booking."""

    title: str
    sha256: Sha256
    signers: list[str]
    leg_id: str | None = None
    url: PublicUrl | None = None
    bytes: int | None = None


class SignerView(Struct, frozen=True):
    user_id: str
    state: SignerState
    at: str | None


class DocumentView(Struct, frozen=True):
    id: str
    booking_id: str
    leg_id: str | None
    title: str
    url: str | None
    bytes: int | None
    sha256: str
    state: DocumentState
    signers: list[SignerView]
    created_at: str
    updated_at: str


class ManifestItem(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    bytes: int
    sha256: Sha256
    url: PublicUrl


class NewManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """1 to 500 files that lie elsewhere; they are never fetched. `leg_id` where the project has
    several legs."""

    items: list[ManifestItem]
    leg_id: str | None = None


class ManifestView(Struct, frozen=True):
    """`sha256` is of `items` as JSON with sorted names and without spaces."""

    id: str
    thread_id: str
    booking_id: str | None
    leg_id: str | None
    created_by: str
    items: list[ManifestItem]
    sha256: str
    created_at: str


class CalendarAddress(Struct, frozen=True):
    """A secret address: whoever has it sees your bookings' times and titles."""

    url: str


def read_proposal(new: NewBooking, default: Policy, now_ms: int) -> Proposal:
    legs = [
        LegProposal(
            leg.kind,
            leg.seller,
            leg.title,
            parse_rfc3339(leg.start),
            parse_rfc3339(leg.end),
            leg.timezone,
            leg.price_cents,
            leg.deposit_cents,
        )
        for leg in new.legs
    ]
    return check_proposal(
        buyer=new.buyer,
        currency=new.currency,
        legs=legs,
        policy=default if new.cancellation is None else _read_policy(new.cancellation),
        thread_id=new.thread_id,
        now_ms=now_ms,
    )


def _read_policy(tiers: list[TierView]) -> Policy:
    return check_policy(Tier(tier.notice_hours, tier.refund_percent) for tier in tiers)


def booking_view(booking: Booking, now_ms: int) -> BookingView:
    group = booking.group
    return BookingView(
        id=group.group_id,
        buyer=group.buyer,
        currency=group.currency,
        state=group.state.value,
        thread_id=group.thread_id,
        total=MoneyView(group.total_cents, group.currency),
        failure_code=group.failure_code,
        cancellation_policy=[
            TierView(tier.notice_hours, tier.refund_percent) for tier in group.policy
        ],
        legs=[_leg_view(booking, leg, now_ms) for leg in group.legs],
        created_at=rfc3339(group.created_at_ms),
        updated_at=rfc3339(group.updated_at_ms),
    )


def _leg_view(booking: Booking, leg: Leg, now_ms: int) -> LegView:
    return LegView(
        id=leg.leg_id,
        kind=leg.kind,
        seller=leg.seller,
        title=leg.title,
        state=leg.state.value,
        start=rfc3339(leg.start_ms),
        end=rfc3339(leg.end_ms),
        timezone=leg.timezone,
        price=MoneyView(leg.price_cents, booking.group.currency),
        deposit=_deposit_view(booking, leg),
        deliverables_accepted_at=_moment(leg.deliverables_accepted_at_ms),
        payout=leg.payout,
        version=leg.version,
        cancellation_quote=_quote_view(booking, leg, now_ms),
    )


def _deposit_view(booking: Booking, leg: Leg) -> DepositView | None:
    if leg.deposit_cents == 0:
        return None
    currency = booking.group.currency
    amount = MoneyView(leg.deposit_cents, currency)
    deposit = booking.deposits.get(leg.leg_id)
    if deposit is None:
        return DepositView(None, amount, MoneyView(0, currency), "none")
    captured = MoneyView(deposit.captured_cents, currency)
    return DepositView(deposit.deposit_id, amount, captured, deposit.state)


def _quote_view(booking: Booking, leg: Leg, now_ms: int) -> QuoteView | None:
    """Before a leg is confirmed, as if its price were paid; nothing for one that has ended."""
    if leg.state in ENDED:
        return None
    paid_cents = most_cents = leg.price_cents
    balance = booking.balances.get(leg.leg_id)
    if leg.state is not LegState.PROPOSED and balance is not None:
        paid_cents, most_cents = balance.paid_cents, balance.refundable_cents
    quoted = quote(
        booking.group.policy,
        paid_cents=paid_cents,
        starts_ms=leg.start_ms,
        now_ms=now_ms,
        by="buyer",
    )
    refund = MoneyView(min(quoted.refund_cents, most_cents), booking.group.currency)
    return QuoteView(refund, quoted.refund_percent, quoted.notice_hours)


def document_view(document: Document) -> DocumentView:
    return DocumentView(
        id=document.document_id,
        booking_id=document.group_id,
        leg_id=document.leg_id,
        title=document.title,
        url=document.url,
        bytes=document.bytes,
        sha256=document.sha256,
        state=document.state,
        signers=[
            SignerView(signer.user_id, signer.state, _moment(signer.at_ms))
            for signer in document.signers
        ],
        created_at=rfc3339(document.created_at_ms),
        updated_at=rfc3339(document.updated_at_ms),
    )


def manifest_view(manifest: Manifest) -> ManifestView:
    return ManifestView(
        id=manifest.manifest_id,
        thread_id=manifest.thread_id,
        booking_id=manifest.group_id,
        leg_id=manifest.leg_id,
        created_by=manifest.created_by,
        items=[
            ManifestItem(item.name, item.bytes, item.sha256, item.url) for item in manifest.items
        ],
        sha256=manifest.sha256,
        created_at=rfc3339(manifest.created_at_ms),
    )


def _moment(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
