"""The double-entry ledger: every movement of money is an entry whose postings sum to zero. Entries
are only added; the database refuses to change or delete them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from greenroom.bookings.model import Group, Leg, Payment
from greenroom.bookings.transactions import ContractTransaction

EntryKind = Literal[
    "charge", "hold", "capture", "release", "refund", "payout.released", "payout.returned",
    "payout.paid",
]  # fmt: skip
AccountKind = Literal["provider", "holds", "escrow", "deposit", "seller"]

# Inserts missing accounts, entries and their postings in one statement.
BOOK = """
with accounts as (
    insert into money_account (account, kind, currency, leg_id)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) order by 1
    on conflict do nothing
),
entries as (
    insert into money_entry (entry_id, kind, key, currency, group_id, leg_id, card_id, payment_id,
                             at)
    select e.*, $13 from unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                                $10::text[], $11::text[], $12::text[]) as e
)
insert into money_posting (entry_id, place, account, amount_cents)
select * from unnest($14::text[], $15::smallint[], $16::text[], $17::bigint[])
"""


class Account(NamedTuple):
    name: str
    kind: AccountKind
    leg_id: str | None = None


def provider(currency: str) -> Account:
    """Cash at the payment provider."""
    return Account(f"provider:{currency}", "provider")


def holds(currency: str) -> Account:
    """Authorised at the payment provider, not captured."""
    return Account(f"holds:{currency}", "holds")


def escrow(leg_id: str) -> Account:
    """Paid by the buyer and kept for a leg until it ends."""
    return Account(f"escrow:{leg_id}", "escrow", leg_id)


def deposit(leg_id: str) -> Account:
    return Account(f"deposit:{leg_id}", "deposit", leg_id)


def seller(user_id: str, currency: str) -> Account:
    """Released to a seller, not yet paid out."""
    return Account(f"seller:{user_id}:{currency}", "seller")


@dataclass(frozen=True, slots=True)
class Entry:
    kind: EntryKind
    key: str
    payment: Payment
    leg_id: str | None
    postings: tuple[tuple[Account, int], ...]


def entries_of(payment: Payment, group: Group) -> list[Entry]:
    """The entries of a payment that has succeeded. A charge for a whole group has one per leg."""
    if payment.operation == "charge" and payment.leg_id is None:
        return [
            _charged(payment, leg.leg_id, leg.price_cents, f"{payment.payment_id}:{leg.leg_id}")
            for leg in group.legs
            if leg.price_cents > 0
        ]
    leg = group.leg(payment.leg_id or "")
    if payment.operation == "charge":
        return [_charged(payment, leg.leg_id, payment.amount_cents, payment.payment_id)]
    return [_moved(payment, leg)]


def _charged(payment: Payment, leg_id: str, cents: int, key: str) -> Entry:
    postings = ((provider(payment.currency), cents), (escrow(leg_id), -cents))
    return Entry("charge", key, payment, leg_id, postings)


def _moved(payment: Payment, leg: Leg) -> Entry:
    cash, held = provider(payment.currency), holds(payment.currency)
    kept, promised = escrow(leg.leg_id), deposit(leg.leg_id)
    cents = payment.amount_cents
    kind: EntryKind
    if payment.operation == "hold":
        kind, postings = "hold", ((held, cents), (promised, -cents))
    elif payment.operation == "release":
        kind, postings = "release", ((promised, cents), (held, -cents))
    elif payment.operation == "capture":
        capture = ((promised, cents), (held, -cents), (cash, cents), (kept, -cents))
        return Entry("capture", payment.payment_id, payment, leg.leg_id, capture)
    elif payment.operation == "refund":
        kind, postings = "refund", ((kept, cents), (cash, -cents))
    else:
        owed = seller(leg.seller, payment.currency)
        kind, postings = "payout.paid", ((owed, cents), (cash, -cents))
    return Entry(kind, payment.payment_id, payment, leg.leg_id, postings)


def released(payment: Payment, leg: Leg) -> Entry:
    """The entry of a queued payout: the money moves from escrow to the seller's account."""
    postings = (
        (escrow(leg.leg_id), payment.amount_cents),
        (seller(leg.seller, payment.currency), -payment.amount_cents),
    )
    key = f"{payment.payment_id}:released"
    return Entry("payout.released", key, payment, leg.leg_id, postings)


def returned(payment: Payment, leg: Leg) -> Entry:
    """The entry of a failed payout: the money moves back to escrow and can be paid out again."""
    postings = (
        (seller(leg.seller, payment.currency), payment.amount_cents),
        (escrow(leg.leg_id), -payment.amount_cents),
    )
    key = f"{payment.payment_id}:returned"
    return Entry("payout.returned", key, payment, leg.leg_id, postings)


async def book(tx: ContractTransaction, entries: Sequence[Entry]) -> None:
    if not entries:
        return
    currency = entries[0].payment.currency
    accounts = {account for entry in entries for account, _ in entry.postings}
    ids = [tx.new_id("ent") for _ in entries]
    postings = [
        (entry_id, place, account.name, cents)
        for entry_id, entry in zip(ids, entries, strict=True)
        for place, (account, cents) in enumerate(entry.postings)
    ]
    await tx.conn.execute(
        BOOK,
        [account.name for account in accounts],
        [account.kind for account in accounts],
        [currency for _ in accounts],
        [account.leg_id for account in accounts],
        ids,
        [entry.kind for entry in entries],
        [entry.key for entry in entries],
        [currency for _ in entries],
        [entry.payment.group_id for entry in entries],
        [entry.leg_id for entry in entries],
        [entry.payment.card_id for entry in entries],
        [entry.payment.payment_id for entry in entries],
        tx.now_ms,
        *(list(column) for column in zip(*postings, strict=True)),
    )
