"""What clients see of the panel's tabs."""

from typing import Any, Literal

from msgspec import Struct

from greenroom.bookings.ledger import EntryKind
from greenroom.bookings.model import LegKind, Payout
from greenroom.bookings.wire import BookingView, LegStateName, MoneyView, SignerView
from greenroom.conversations.wire import CardView

TabName = Literal["brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions"]
TimerKind = Literal["card_expires", "review_ends", "leg_starts", "leg_ends"]


class MoneyReceiptView(Struct, frozen=True):
    """Where money moved: ours and the payment provider's own number of it."""

    entry_id: str
    kind: EntryKind
    amount: MoneyView
    payment_id: str | None
    provider_id: str | None
    card_id: str | None
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


class RefundView(Struct, frozen=True):
    id: str
    amount: MoneyView
    state: Literal["queued", "refunded", "failed"]
    card_id: str | None
    created_at: str


class LegDepositView(Struct, frozen=True):
    id: str
    amount: MoneyView
    captured: MoneyView
    held: MoneyView
    state: Literal["pending", "held", "captured", "released", "failed"]


class SumView(Struct, frozen=True):
    """`kept` is what lies in escrow for the sellers."""

    price: MoneyView
    amendments: MoneyView
    paid: MoneyView
    refunded: MoneyView
    kept: MoneyView
    deposit_held: MoneyView


class LegExpensesView(Struct, frozen=True):
    leg_id: str
    title: str
    kind: LegKind
    state: LegStateName
    payout: Payout
    sums: SumView
    deposit: LegDepositView | None
    amendments: list[AmendmentView]
    refunds: list[RefundView]
    receipts: list[MoneyReceiptView]


class ExpensesTab(Struct, frozen=True):
    """Money of the thread's booking, from the ledger; null and empty before there is one."""

    sums: SumView | None
    legs: list[LegExpensesView]
    tab: Literal["expenses"] = "expenses"


class DocumentRowView(Struct, frozen=True):
    """`card_id`: the open `sign` card of it; `can_ask`: there is none and someone has yet to
    sign, so that a party may make one."""

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


class DocsTab(Struct, frozen=True):
    documents: list[DocumentRowView]
    tab: Literal["docs"] = "docs"


class ActionsTab(Struct, frozen=True):
    """Open cards, the oldest first, each with what you can do."""

    cards: list[CardView]
    tab: Literal["actions"] = "actions"


class TabView(Struct, frozen=True):
    """`count`: how much waits there; null where nothing can wait."""

    tab: TabName
    available: bool
    count: int | None


class UpcomingView(Struct, frozen=True):
    """Something that happens by itself. `card_expires` and `review_ends` name the card."""

    kind: TimerKind
    card_id: str | None
    leg_id: str | None
    at: str


class PanelView(Struct, frozen=True):
    """What the panel opens with. `leg_id`: the leg that the thread is about, where it is about one.
    `timers`: what is still to come, the next first."""

    tabs: list[TabView]
    booking: BookingView | None
    leg_id: str | None
    timers: list[UpcomingView]
