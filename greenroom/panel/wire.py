"""The JSON of the panel and its tabs."""

from typing import Any, Literal

from msgspec import Struct

from greenroom.bookings.model import LegKind, Payout
from greenroom.bookings.money.ledger import EntryKind
from greenroom.bookings.rest.wire import (
    BookingView,
    LegStateName,
    ManifestView,
    MoneyView,
    SignerView,
    SumsView,
)
from greenroom.conversations.attachments import FileView
from greenroom.conversations.wire import CardView

TabName = Literal["brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions"]
TimerKind = Literal["card_expires", "review_ends", "leg_starts", "leg_ends"]


class MoneyReceiptView(Struct, frozen=True):
    """A movement of money, with its id here (`entry_id`, `payment_id`) and at the payment provider
    (`provider_id`). `is_undo`: as in a refund."""

    entry_id: str
    kind: EntryKind
    amount: MoneyView
    payment_id: str | None
    provider_id: str | None
    card_id: str | None
    is_undo: bool
    at: str


class AmendmentView(Struct, frozen=True):
    id: str
    kind: Literal["extras", "overtime", "expense"]
    title: str
    items: list[dict[str, Any]]
    amount: MoneyView
    state: Literal["pending", "paid", "failed", "void", "booked"]
    card_id: str
    created_at: str
    receipt: FileView | None = None
    """The receipt of an expense, as you may see it."""


class RefundView(Struct, frozen=True):
    """`is_undo`: it undoes a payment, for example of a booking that was not confirmed. It counts
    neither in `paid` nor in `refunded`."""

    id: str
    amount: MoneyView
    state: Literal["queued", "refunded", "failed"]
    is_undo: bool
    card_id: str | None
    created_at: str


class LegDepositView(Struct, frozen=True):
    id: str
    amount: MoneyView
    captured: MoneyView
    held: MoneyView
    state: Literal["pending", "held", "captured", "released", "failed"]


class LegExpensesView(Struct, frozen=True):
    leg_id: str
    title: str
    kind: LegKind
    state: LegStateName
    payout: Payout
    price: MoneyView
    sums: SumsView
    deposit: LegDepositView | None
    amendments: list[AmendmentView]
    refunds: list[RefundView]
    receipts: list[MoneyReceiptView]


class Expenses(Struct, frozen=True):
    """The money of the thread's booking. `sums` is null and `legs` is empty if there is none."""

    sums: SumsView | None
    legs: list[LegExpensesView]


class ProofsView(Struct, frozen=True):
    """The pictures of a `proofs` card in its present round. `selections` are the ids of those that
    the buyer has chosen."""

    card_id: str
    message_id: str | None
    state: str
    round: int
    leg_id: str | None
    created_by: str
    created_at: str
    updated_at: str
    expires_at: str | None
    files: list[FileView]
    selections: list[str]


class DeliveryView(Struct, frozen=True):
    """A `deliverable` card that shows a manifest."""

    card_id: str
    message_id: str | None
    state: str


class FinalsView(Struct, frozen=True):
    """A manifest, and the cards that deliver it, the newest first."""

    manifest: ManifestView
    cards: list[DeliveryView]


class AttachmentsView(Struct, frozen=True):
    """`next_cursor` is for `GET /v1/threads/{id}/files`."""

    items: list[FileView]
    next_cursor: str | None


class FilesData(Struct, frozen=True):
    """The newest 20 of `proofs` and of `finals`, and the first page of the files that were sent
    with messages; the newest first. Each file as you may see it."""

    proofs: list[ProofsView]
    finals: list[FinalsView]
    attachments: AttachmentsView


class DocumentRowView(Struct, frozen=True):
    """`card_id`: its open `sign` card. `can_ask`: there is none and a signature is missing, so that
    a party may create one."""

    id: str
    leg_id: str | None
    title: str
    url: str | None
    bytes: int | None
    sha256: str
    state: Literal["pending", "partly_signed", "signed", "declined", "expired"]
    signers: list[SignerView]
    card_id: str | None
    can_ask: bool
    created_at: str


class Docs(Struct, frozen=True):
    documents: list[DocumentRowView]


class Actions(Struct, frozen=True):
    """Open cards, the oldest first, each with the actions that you can take."""

    cards: list[CardView]


class ReadTab(Struct, frozen=True, kw_only=True):
    """A tab that is computed from the booking and its cards. Nobody edits it, so it has no version
    and no last editor."""

    version: None = None
    updated_by: None = None
    updated_at: None = None


class ExpensesTab(ReadTab, frozen=True, kw_only=True):
    data: Expenses
    tab: Literal["expenses"] = "expenses"


class FilesTab(ReadTab, frozen=True, kw_only=True):
    data: FilesData
    tab: Literal["files"] = "files"


class DocsTab(ReadTab, frozen=True, kw_only=True):
    data: Docs
    tab: Literal["docs"] = "docs"


class ActionsTab(ReadTab, frozen=True, kw_only=True):
    data: Actions
    tab: Literal["actions"] = "actions"


class TabView(Struct, frozen=True):
    """`count`: how many items wait there for the viewer; null for tabs in which nothing waits."""

    tab: TabName
    available: bool
    count: int | None


class UpcomingView(Struct, frozen=True):
    """A coming deadline. `card_expires` and `review_ends` name the card."""

    kind: TimerKind
    card_id: str | None
    leg_id: str | None
    at: str


class CardOfferView(Struct, frozen=True):
    """A type of card that you can create here now. `leg_ids`: the legs that it can be about."""

    type: str
    leg_ids: list[str]


class PanelView(Struct, frozen=True):
    """The overview of the panel. `leg_id`: the leg that the thread is about, if it is one.
    `timers`: coming deadlines, the next first. `can_make`: the cards that you can create now.
    `earlier`: at most 20 earlier bookings of the thread that were confirmed, the newest first."""

    tabs: list[TabView]
    booking: BookingView | None
    earlier: list[BookingView]
    leg_id: str | None
    timers: list[UpcomingView]
    can_make: list[CardOfferView]


class PanelOnly(Struct, frozen=True):
    panel: PanelView
