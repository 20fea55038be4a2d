"""The JSON of bookings, documents, manifests and calendars."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from greenroom.bookings.cancellation_policy import Policy, Tier, check_policy, quote
from greenroom.bookings.documents.actions import Document, DocumentState, SignerState
from greenroom.bookings.documents.manifests import Manifest
from greenroom.bookings.model import ENDED, DepositState, Leg, LegKind, LegState, Payout, Side
from greenroom.bookings.money.sums import Sums, add_up
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
    """With at least this notice, this part of what was paid is refunded."""

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
    the server's default policy applies."""

    buyer: str
    currency: Currency
    legs: list[NewLeg]
    thread_id: str | None = None
    cancellation: list[TierView] | None = None


class Cancellation(Struct, frozen=True, forbid_unknown_fields=True):
    """`by`: who cancels. For the buyer the refund follows the policy; for the seller, or if nobody
    is named, everything is refunded."""

    by: Side | None = None


class DepositView(Struct, frozen=True):
    id: str | None
    amount: MoneyView
    captured: MoneyView
    state: DepositState | Literal["none"]
    """`none`: not requested yet."""


class QuoteView(Struct, frozen=True):
    """What the buyer would get back by cancelling now."""

    refund: MoneyView
    refund_percent: int
    notice_hours: int


class SumsView(Struct, frozen=True):
    """Always `agreed = paid + pending + open` and `paid = refunded + kept + paid_out`.
    `agreed`: the price and all additions. `pending`: is being charged. `open`: not charged yet.
    `failed`: could not be charged; not part of `agreed`. `kept`: paid, neither refunded nor paid
    out. `paid_out`: released to the seller. `held`: the deposit on hold."""

    agreed: MoneyView
    paid: MoneyView
    pending: MoneyView
    open: MoneyView
    failed: MoneyView
    refunded: MoneyView
    kept: MoneyView
    paid_out: MoneyView
    held: MoneyView


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
    sums: SumsView
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
    sums: SumsView
    failure_code: str | None
    confirmation: str | None
    """The payment that the buyer has to confirm with their bank; only while `confirming`."""
    cancellation_policy: list[TierView]
    legs: list[LegView]
    created_at: str
    updated_at: str


class BookingMade(Struct, frozen=True):
    """The stored answer to a new booking. A repeat returns the current booking of this id."""

    id: str


class BookingAndThread(Struct, frozen=True):
    booking: BookingView
    thread: ThreadView | None


class BookingList(Struct, frozen=True):
    items: list[BookingView]
    next_cursor: str | None


class BookingsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Bookings of a thread, of a person (as buyer or seller), or of both. `cursor` is the
    `next_cursor` of the last page."""

    user_id: str | None = None
    thread_id: str | None = None
    cursor: Annotated[str, Meta(max_length=40)] | None = None
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class BookingOnly(Struct, frozen=True):
    booking: BookingView


class DocumentDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """`sha256` is the hash of the file. The signers must be parties of the booking."""

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


class DocumentOnly(Struct, frozen=True):
    document: DocumentView


class ManifestItem(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    bytes: int
    sha256: Sha256
    url: PublicUrl


class NewManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """1 to 500 files that are stored elsewhere; the server never fetches them. `leg_id` is needed
    if the project has several legs."""

    items: list[ManifestItem]
    leg_id: str | None = None


class ManifestView(Struct, frozen=True):
    """`sha256` is the hash of `items` as JSON with sorted names and without spaces."""

    id: str
    thread_id: str
    booking_id: str | None
    leg_id: str | None
    created_by: str
    items: list[ManifestItem]
    sha256: str
    created_at: str


class ManifestOnly(Struct, frozen=True):
    manifest: ManifestView


class ManifestList(Struct, frozen=True):
    items: list[ManifestView]
    next_cursor: str | None


class ManifestsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`cursor` is the `next_cursor` of the last page."""

    cursor: Annotated[str, Meta(max_length=40)] = ""
    limit: Annotated[int, Meta(ge=1, le=20)] = 20


class CalendarView(Struct, frozen=True):
    """`url` is secret: everybody who has it sees the times and titles of your bookings."""

    url: str


class CalendarOnly(Struct, frozen=True):
    calendar: CalendarView


def read_proposal(new: NewBooking, default: Policy, now_ms: int) -> Proposal:
    legs = [
        LegProposal(
            leg.kind,
            leg.seller,
            leg.title,
            parse_rfc3339(leg.start, "start"),
            parse_rfc3339(leg.end, "end"),
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
        sums=sums_view(
            add_up(_sums_of(booking, leg) for leg in group.legs), booking.group.currency
        ),
        failure_code=group.failure_code,
        confirmation=booking.confirmation,
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
        sums=sums_view(_sums_of(booking, leg), booking.group.currency),
        deposit=_deposit_view(booking, leg),
        deliverables_accepted_at=_moment(leg.deliverables_accepted_at_ms),
        payout=leg.payout,
        version=leg.version,
        cancellation_quote=_quote_view(booking, leg, now_ms),
    )


def sums_view(sums: Sums, currency: str) -> SumsView:
    names = SumsView.__struct_fields__
    return SumsView(**{name: MoneyView(getattr(sums, f"{name}_cents"), currency) for name in names})


def _sums_of(booking: Booking, leg: Leg) -> Sums:
    return booking.sums.get(leg.leg_id, Sums())


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
    """Before a leg is confirmed, as if its price were paid. None for an ended leg."""
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
