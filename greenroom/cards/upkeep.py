"""Checks bookings, cards and the ledger, exports those of a person, and erases a person's texts.

An erasure removes what the person wrote. Amounts, times, states and the history with its hashes
stay, under opaque ids, because the other party needs them.
"""

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.bookings.transactions import ContractTransaction, ContractTransactions, canonical
from greenroom.cards import sql
from greenroom.cards.rows import keep_card, read_card
from greenroom.cards.wire import shadow_of
from greenroom.conversations.thread_updates import ThreadUpdate
from greenroom.conversations.upkeep import Fault
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.idempotency import Kept
from greenroom.platform.postgres.pool import Session, snapshot

BATCH = 500
WORDS = frozenset({"note", "notes", "reason"})
"""The fields of payloads and totals that contain free text of people."""

# Entries that do not sum to zero. A constraint refuses them, but a restored database may have been
# loaded without its checks.
UNBALANCED = """
select entry_id, sum(amount_cents) as found from money_posting
group by entry_id having sum(amount_cents) <> 0 order by entry_id limit $1
"""
# Stored balances that differ from the sum of their postings.
BALANCES_OFF = """
select a.account, a.balance_cents as found, coalesce(sum(p.amount_cents), 0)::bigint as counted
from money_account a left join money_posting p on p.account = a.account
where a.kind in ('escrow', 'deposit')
group by a.account, a.balance_cents
having a.balance_cents <> coalesce(sum(p.amount_cents), 0) order by a.account limit $1
"""
# Payments that succeeded and have no ledger entry.
UNBOOKED = """
select p.payment_id from payment p where p.state = 'succeeded'
    and not exists (select 1 from money_entry e where e.payment_id = p.payment_id)
order by p.payment_id limit $1
"""
# Cards, legs and groups whose version differs from their history.
BEHIND_HISTORY = """
select s.subject, s.version as found, coalesce(max(h.seq), 0) as counted from (
    select card_id as subject, version from card
    union all select leg_id, version from leg
    union all select group_id, version from booking_group) s
left join history h on h.subject = s.subject
group by s.subject, s.version having s.version <> coalesce(max(h.seq), 0) or count(*) <> s.version
order by s.subject limit $1
"""
HISTORY_AFTER = """
select h.subject, h.seq, h.before_hash, h.after_hash, d.salt, d.after::text as after,
    lag(h.after_hash) over (partition by h.subject order by h.seq) as last_hash
from history h left join history_detail d on d.subject = h.subject and d.seq = h.seq
where (h.subject, h.seq) > ($1, $2) order by h.subject, h.seq limit $3
"""

BOOKINGS_OF = """
select g.group_id, g.state, g.currency, g.thread_id, g.created_at, l.leg_id, l.title,
    l.state as leg_state, l.price_cents, lower(l.during) as starts_at, upper(l.during) as ends_at,
    case when g.buyer = $1 then 'buyer' else 'seller' end as role
from booking_group g join leg l on l.group_id = g.group_id
where (g.buyer = $1 or l.seller = $1) and l.leg_id > $2 order by l.leg_id limit $3
"""
FORGET_DETAILS = "delete from history_detail where subject = $1"
FORGET_INPUTS = """
update history_detail d set input = null from history h
where h.subject = d.subject and h.seq = d.seq and h.actor = $1 and d.input is not null
"""
PAYMENT_ACCOUNT = """
select customer, payment_method, payee from payment_account where user_id = $1
"""
FORGET_PAYMENT_ACCOUNT = "delete from payment_account where user_id = $1"
# Of payments that are final; one that is under way needs its references.
FORGET_PARTIES = """
update payment set party = null where account = $1 and party is not null and state <> 'queued'
"""
FORGET_CALENDAR = "delete from calendar_feed where user_id = $1"


class ContractUpkeep:
    def __init__(self, transactions: ContractTransactions) -> None:
        self._transactions = transactions
        self._pool = transactions.pool

    async def check(self) -> AsyncGenerator[Fault, None]:
        """Derived values that differ from their source. Nothing is repaired here: a person must
        look at a wrong ledger."""
        async with snapshot(self._pool) as conn:
            async for fault in faults_on(conn):
                yield fault

    async def export(self, user_id: str) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        """The person's bookings, as buyer or seller, the cards that they have created, and how the
        payment provider knows them."""
        async with snapshot(self._pool) as conn:
            after = ""
            while rows := await conn.fetch(BOOKINGS_OF, user_id, after, BATCH):
                for row in rows:
                    yield "bookings", _booking(row)
                after = rows[-1]["leg_id"]
            after = ""
            while rows := await conn.fetch(sql.CARDS_MADE_BY, user_id, after, BATCH):
                for row in rows:
                    yield "cards", shadow_of(read_card(row)).card
                after = rows[-1]["card_id"]
            for row in await conn.fetch(PAYMENT_ACCOUNT, user_id):
                yield "payment_accounts", dict(row)

    async def erase(self, user_id: str) -> int:
        """Erase the person's free texts, their calendar address and how the payment provider knows
        them. Returns the number of changed cards. Safe to repeat."""
        await self._pool.execute(FORGET_CALENDAR, user_id)
        await self._pool.execute(FORGET_PAYMENT_ACCOUNT, user_id)
        await self._pool.execute(FORGET_PARTIES, user_id)
        await self._pool.execute(FORGET_INPUTS, user_id)
        after, count = "", 0
        while rows := await self._pool.fetch(sql.CARDS_MADE_BY, user_id, after, BATCH):
            for row in rows:
                count += await self._erase_card(row["card_id"], row["thread_id"])
            after = rows[-1]["card_id"]
        return count

    async def _erase_card(self, card_id: str, thread_id: str) -> int:
        async def work(tx: ContractTransaction) -> int:
            try:
                await tx.access(thread_id, None)
            except ThreadNotFound:
                thread_is_there = False
            else:
                thread_is_there = True
            await tx.conn.execute(FORGET_DETAILS, card_id)
            [row] = await tx.conn.fetch(sql.LOCK_CARD, card_id)
            card = read_card(row)
            silent = _without_words(card.payload), _without_words(card.totals)
            if silent == (card.payload, card.totals):
                return 0
            card = replace(card, payload=silent[0], totals=silent[1])
            await keep_card(tx, card)
            if thread_is_there:
                shadow, message_id = shadow_of(card), card.message_id
                await tx.update_thread(
                    ThreadUpdate(thread_id, changed_card=shadow, message_id=message_id)
                )
            return 1

        erased = await self._transactions.run(work)
        return 0 if isinstance(erased, Kept) else erased


async def faults_on(conn: Session) -> AsyncIterator[Fault]:
    for row in await conn.fetch(UNBALANCED, BATCH):
        yield _fault("money_entry", row["entry_id"], row["found"], 0)
    for row in await conn.fetch(BALANCES_OFF, BATCH):
        yield _fault("money_balance", row["account"], row["found"], row["counted"])
    for row in await conn.fetch(UNBOOKED, BATCH):
        yield _fault("payment_unbooked", row["payment_id"], "no entry", "one")
    for row in await conn.fetch(BEHIND_HISTORY, BATCH):
        yield _fault("contract_version", row["subject"], row["found"], row["counted"])
    async for fault in _wrong_hashes(conn):
        yield fault


async def _wrong_hashes(conn: Session) -> AsyncIterator[Fault]:
    """Check that each history entry follows the previous one, and its hash if details are kept."""
    after, last = ("", 0), b""
    while rows := await conn.fetch(HISTORY_AFTER, *after, BATCH):
        for row in rows:
            expected = row["last_hash"] or (last if row["subject"] == after[0] else None)
            if row["seq"] > 1 and row["before_hash"] != expected:
                yield _fault("history_order", row["subject"], row["seq"], "the one before")
            if row["salt"] is not None and _hash_of(row) != row["after_hash"]:
                yield _fault("history_hash", row["subject"], row["seq"], "its own hash")
        after, last = (rows[-1]["subject"], rows[-1]["seq"]), rows[-1]["after_hash"]


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_words(each) for name, each in value.items() if name not in WORDS}
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    return value


def _hash_of(row: Record) -> bytes:
    after = canonical(msgspec.json.decode(row["after"]))
    return hashlib.sha256(row["salt"] + after).digest()


def _fault(kind: str, what: str, found: object, right: object) -> Fault:
    return Fault(kind, what, None, str(found), str(right))


def _booking(row: Record) -> dict[str, Any]:
    return {
        "id": row["group_id"],
        "role": row["role"],
        "state": row["state"],
        "thread_id": row["thread_id"],
        "created_at": rfc3339(row["created_at"]),
        "leg": {
            "id": row["leg_id"],
            "title": row["title"],
            "state": row["leg_state"],
            "start": rfc3339(row["starts_at"]),
            "end": rfc3339(row["ends_at"]),
            "price": {"amount_cents": row["price_cents"], "currency": row["currency"]},
        },
    }
