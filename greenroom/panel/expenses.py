"""The expenses tab: sums of the booking and its legs, with amendments, refunds and receipts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from asyncpg import Record

from greenroom.bookings.model import Leg
from greenroom.bookings.money.sums import add_up
from greenroom.bookings.reading import Booking, booking_of_thread
from greenroom.bookings.rest.wire import MoneyView, sums_view
from greenroom.bookings.transactions import ContractSnapshot
from greenroom.cards.showing import LooksAtFiles
from greenroom.conversations.attachments import FileUse, FileView
from greenroom.conversations.thread_updates import ThreadFacts
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.wire import (
    AmendmentView,
    Expenses,
    LegDepositView,
    LegExpensesView,
    MoneyReceiptView,
    RefundView,
)

ROWS_SHOWN = 500


class Found(NamedTuple):
    """What the database has, as of one moment."""

    thread_id: str
    booking: Booking
    amendments: Sequence[Record]
    refunds: Sequence[Record]
    movements: Sequence[Record]


async def find_expenses(snapshot: ContractSnapshot, thread: ThreadFacts) -> Found | None:
    booking = await booking_of_thread(snapshot, thread.group_id, thread.leg_id)
    if booking is None:
        return None
    ids = [leg.leg_id for leg in booking.group.legs]
    return Found(
        thread.id,
        booking,
        await snapshot.conn.fetch(sql.AMENDMENTS, ids, ROWS_SHOWN),
        await snapshot.conn.fetch(sql.REFUNDS, ids, ROWS_SHOWN),
        await snapshot.conn.fetch(sql.MOVEMENTS, ids, ROWS_SHOWN),
    )


async def expenses_of(files: LooksAtFiles, viewer: str, found: Found | None) -> Expenses:
    """Each receipt as this viewer may see it now."""
    if found is None:
        return Expenses(None, [])
    booking, legs = found.booking, found.booking.group.legs
    receipts = await files.look(viewer, _receipt_files(found))
    sums = add_up(booking.sums[leg.leg_id] for leg in legs)
    return Expenses(
        sums_view(sums, booking.group.currency), [_leg(found, leg, receipts) for leg in legs]
    )


def _receipt_files(found: Found) -> list[FileUse]:
    return [
        FileUse(row["receipt_file_id"], found.thread_id, row["card_id"])
        for row in found.amendments
        if row["receipt_file_id"] is not None
    ]


def _leg(found: Found, leg: Leg, receipts: Mapping[str, FileView]) -> LegExpensesView:
    booking, leg_id, currency = found.booking, leg.leg_id, found.booking.group.currency

    def own(rows: Sequence[Record]) -> list[Record]:
        return [row for row in rows if row["leg_id"] == leg_id]

    return LegExpensesView(
        leg_id=leg_id,
        title=leg.title,
        kind=leg.kind,
        state=leg.state.value,
        payout=leg.payout,
        price=MoneyView(leg.price_cents, currency),
        sums=sums_view(booking.sums[leg_id], currency),
        deposit=_deposit(booking, leg),
        amendments=[_amendment(row, currency, receipts) for row in own(found.amendments)],
        refunds=[_refund(row, currency) for row in own(found.refunds)],
        receipts=[_receipt(row, currency) for row in own(found.movements)],
    )


def _deposit(booking: Booking, leg: Leg) -> LegDepositView | None:
    deposit = booking.deposits.get(leg.leg_id)
    if deposit is None:
        return None
    return LegDepositView(
        deposit.deposit_id,
        MoneyView(deposit.amount_cents, deposit.currency),
        MoneyView(deposit.captured_cents, deposit.currency),
        MoneyView(booking.sums[leg.leg_id].held_cents, deposit.currency),
        deposit.state,
    )


def _amendment(row: Record, currency: str, receipts: Mapping[str, FileView]) -> AmendmentView:
    items: list[dict[str, Any]] = msgspec.json.decode(row["items"])
    return AmendmentView(
        row["amendment_id"],
        row["kind"],
        row["title"],
        items,
        MoneyView(row["amount_cents"], currency),
        row["state"],
        row["card_id"],
        rfc3339(row["created_at"]),
        receipts.get(row["receipt_file_id"]),
    )


def _refund(row: Record, currency: str) -> RefundView:
    return RefundView(
        row["refund_id"],
        MoneyView(row["amount_cents"], currency),
        row["state"],
        row["is_undo"],
        row["card_id"],
        rfc3339(row["created_at"]),
    )


def _receipt(row: Record, currency: str) -> MoneyReceiptView:
    return MoneyReceiptView(
        row["entry_id"],
        row["kind"],
        MoneyView(row["amount_cents"], currency),
        row["payment_id"],
        row["provider_id"],
        row["card_id"],
        row["is_undo"],
        rfc3339(row["at"]),
    )
