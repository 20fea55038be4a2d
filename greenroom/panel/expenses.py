"""The expenses tab: rows of the ledger, summed per leg and over the booking."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from asyncpg import Pool, Record

from greenroom.bookings.wire import MoneyView
from greenroom.kernel.clock import rfc3339
from greenroom.panel import sql
from greenroom.panel.wire import (
    AmendmentView,
    ExpensesTab,
    LegDepositView,
    LegExpensesView,
    MoneyReceiptView,
    RefundView,
    SumView,
)

ROWS_SHOWN = 500
CAME_IN = ("charge", "capture")
COUNTS = ("pending", "paid", "failed")
"""Amendments that are part of the price, whether or not they are paid yet."""


class Found(NamedTuple):
    amendments: Sequence[Record]
    refunds: Sequence[Record]
    movements: Sequence[Record]
    moved: Sequence[Record]
    amended: Sequence[Record]
    balances: Sequence[Record]


async def expenses_of(pool: Pool, group_id: str | None, leg_id: str | None) -> ExpensesTab:
    legs = await pool.fetch(sql.LEGS, group_id, leg_id)
    if not legs:
        return ExpensesTab(None, [])
    ids = [leg["leg_id"] for leg in legs]
    found = Found(
        await pool.fetch(sql.AMENDMENTS, ids, ROWS_SHOWN),
        await pool.fetch(sql.REFUNDS, ids, ROWS_SHOWN),
        await pool.fetch(sql.MOVEMENTS, ids, ROWS_SHOWN),
        await pool.fetch(sql.MOVED, ids),
        await pool.fetch(sql.AMENDED, ids, COUNTS),
        await pool.fetch(sql.BALANCES, ids),
    )
    shown = [_leg(leg, found) for leg in legs]
    return ExpensesTab(_sum([leg.sums for leg in shown], legs[0]["currency"]), shown)


def _leg(leg: Record, found: Found) -> LegExpensesView:
    leg_id, currency = leg["leg_id"], leg["currency"]

    def own(rows: Sequence[Record]) -> list[Record]:
        return [row for row in rows if row["leg_id"] == leg_id]

    return LegExpensesView(
        leg_id=leg_id,
        title=leg["title"],
        kind=leg["kind"],
        state=leg["state"],
        payout=leg["payout"],
        sums=_sums(leg, own(found.moved), own(found.amended), own(found.balances)),
        deposit=_deposit(leg),
        amendments=[_amendment(row, currency) for row in own(found.amendments)],
        refunds=[_refund(row, currency) for row in own(found.refunds)],
        receipts=[_receipt(row, currency) for row in own(found.movements)],
    )


def _sums(
    leg: Record, movements: list[Record], amended: list[Record], balances: list[Record]
) -> SumView:
    moved: defaultdict[str, int] = defaultdict(int)
    moved.update({row["kind"]: row["amount_cents"] for row in movements})
    kept = {row["kind"]: row["cents"] for row in balances}

    def money(cents: int) -> MoneyView:
        return MoneyView(cents, leg["currency"])

    return SumView(
        price=money(leg["price_cents"]),
        amendments=money(sum(row["amount_cents"] for row in amended)),
        paid=money(sum(moved[kind] for kind in CAME_IN)),
        refunded=money(moved["refund"]),
        kept=money(kept.get("escrow", 0)),
        deposit_held=money(kept.get("deposit", 0)),
    )


def _sum(sums: list[SumView], currency: str) -> SumView:
    names = SumView.__struct_fields__
    totals = {name: sum(getattr(each, name).amount_cents for each in sums) for name in names}
    return SumView(**{name: MoneyView(cents, currency) for name, cents in totals.items()})


def _deposit(leg: Record) -> LegDepositView | None:
    if leg["deposit_id"] is None:
        return None
    currency, whole, captured = leg["currency"], leg["deposit_cents"], leg["captured_cents"]
    is_held = leg["deposit_state"] == "held"
    return LegDepositView(
        leg["deposit_id"],
        MoneyView(whole, currency),
        MoneyView(captured, currency),
        MoneyView(whole - captured if is_held else 0, currency),
        leg["deposit_state"],
    )


def _amendment(row: Record, currency: str) -> AmendmentView:
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
    )


def _refund(row: Record, currency: str) -> RefundView:
    return RefundView(
        row["refund_id"],
        MoneyView(row["amount_cents"], currency),
        row["state"],
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
        rfc3339(row["at"]),
    )
