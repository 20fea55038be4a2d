"""A transaction on the contract: bookings, money and cards change together or not at all.

One PostgreSQL transaction holds the change, its history, its events, its timers, the payments that
it queues, and the update of the thread. Locks are taken in one order everywhere: idempotency key,
threads, groups, legs (sorted), cards, and last, inside `update_thread`, feed heads.
"""

import hashlib
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg
import msgspec
from asyncpg import Pool

from greenroom.conversations.thread_updates import (
    AppliedUpdate,
    ThreadFacts,
    ThreadUpdate,
    ThreadUpdates,
)
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.money import Money
from greenroom.platform.backoff import Backoff
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.kept_answers import claim, keep, recall
from greenroom.platform.postgres.pool import Session, snapshot, unavailable_on_failure
from greenroom.platform.tasks.table import CHANNEL, REPLACE

T = TypeVar("T")

ThreadUpdatesListener = Callable[[Sequence[AppliedUpdate]], Awaitable[None]]
"""Must not raise: it is called after the commit, when the change can no longer be undone."""

LegsListener = Callable[["ContractTransaction", str, Sequence[str]], Awaitable[None]]
"""Called, in the same transaction, with a thread and the legs of its booking that have just been
confirmed or have ended."""

PAYMENT = "payment"
"""The kind of task that carries out a payment; its key is the payment's id."""

TIMER = "timer"
"""The kind of task that is run at its time and in order; its key is `timer_key`."""

BACKOFF = Backoff(base_ms=10, cap_ms=50, attempts=5)
"""For transactions that lost a deadlock."""

log = logging.getLogger(__name__)

# Writes the history, the events, the timers and the queued payments of a transaction in one
# statement. The before-hash of a history row is the after-hash of the subject's previous row.
# Events of one thread are logged in the order of their ids in the outbox, so whoever writes them
# holds the thread's lock.
INSERT_HISTORY_EVENTS_TASKS = f"""
with recorded as (
    insert into history (subject, seq, chain, at, actor, role, act, from_state, to_state, version,
                         before_hash, after_hash, input_hash)
    select r.subject, r.version, r.chain, $1, r.actor, r.role, r.act, r.from_state, r.to_state,
        r.version, coalesce(r.before_hash, (select h.after_hash from history h
            where h.subject = r.subject and h.seq = r.version - 1)), r.after_hash, r.input_hash
    from unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::bytea[], $11::bytea[], $12::bytea[])
        as r (subject, version, chain, actor, role, act, from_state, to_state, before_hash,
              after_hash, input_hash)
),
detailed as (
    insert into history_detail (subject, seq, salt, after, input)
    select * from unnest($2::text[], $3::int[], $13::bytea[], $14::jsonb[], $15::jsonb[])
),
emitted as (
    insert into outbox (event, occurred_at, actor, thread_id, group_id, leg_id, card_id,
                        amount_cents, currency, data)
    select e.event, $1, e.actor, coalesce(e.thread_id,
            (select g.thread_id from booking_group g where g.group_id = e.group_id)),
        e.group_id, e.leg_id, e.card_id, e.amount_cents, e.currency, e.data
    from unnest($16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[],
                $22::bigint[], $23::text[], $24::jsonb[]) with ordinality
        as e (event, actor, thread_id, group_id, leg_id, card_id, amount_cents, currency, data, n)
    order by e.n
),
ended as (
    delete from task where kind = '{TIMER}' and key = any($25::text[])
),
queued as (
    insert into task as t (kind, key, due_at)
    select * from unnest($26::text[], $27::text[], $28::timestamptz[])
    {REPLACE} returning kind
)
select pg_notify('{CHANNEL}', '') from queued where kind <> '{TIMER}' limit 1
"""  # noqa: S608 (put together from constants)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One transition of a subject (group, leg, card, document or manifest), as the history keeps
    it. `after` is the whole subject after the transition; `input` is what the actor sent. Both can
    contain text that people wrote, so they are stored in `history_detail`, which can be erased."""

    subject: str
    version: int
    chain: str
    actor: str | None
    role: str
    act: str
    from_state: str | None
    to_state: str
    after: dict[str, Any]
    input: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about a booking, a payment or a card, still to be written to the outbox."""

    event: str
    actor: str | None = None
    thread_id: str | None = None
    """Without it, the thread of the group."""
    group_id: str | None = None
    leg_id: str | None = None
    card_id: str | None = None
    money: Money | None = None
    data: dict[str, Any] | None = None


@dataclass(slots=True)
class ContractTransaction:
    """A change in progress. History, events and timers are collected here and written by `flush`;
    nothing is visible to others before the commit."""

    conn: Session
    now_ms: int
    thread_updates: ThreadUpdates
    randomness: Randomness
    legs_listeners: Sequence[LegsListener] = ()
    applied: list[AppliedUpdate] = field(default_factory=list)
    _entries: list[HistoryEntry] = field(default_factory=list)
    _events: list[NewEvent] = field(default_factory=list)
    _timers: dict[str, int | None] = field(default_factory=dict)
    _payments: set[str] = field(default_factory=set)

    def new_id(self, prefix: str) -> str:
        return make_id(prefix, self.now_ms, self.randomness())

    async def access(
        self, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        return await self.thread_updates.access(self.conn, thread_id, viewer, to_write=to_write)

    async def close_cards(self, thread_id: str, leg_ids: Sequence[str]) -> None:
        """Close the open cards about these legs that make no sense any more now that the legs are
        confirmed or have ended. The caller holds the locks of the legs."""
        for close in self.legs_listeners:
            await close(self, thread_id, leg_ids)

    async def update_thread(self, update: ThreadUpdate) -> AppliedUpdate:
        """Call this last: it locks feed heads, which come last in the order of locks."""
        applied = await self.thread_updates.apply(self.conn, update)
        self.applied.append(applied)
        return applied

    async def tell_booking_changed(self, thread_id: str | None) -> None:
        """Let open panels read the booking again, unless an update of this transaction has told the
        thread already. Call this last. Does nothing for a thread that was erased."""
        told = {each.update.thread_id for each in self.applied}
        if thread_id is None or thread_id in told:
            return
        with suppress(ThreadNotFound):
            await self.update_thread(ThreadUpdate(thread_id, booking_changed=True))

    def record(self, entry: HistoryEntry) -> None:
        self._entries.append(entry)

    def emit(self, event: NewEvent) -> None:
        self._events.append(event)

    @property
    def has_events(self) -> bool:
        return bool(self._events)

    def set_timer(self, subject: str, name: str, due_ms: int) -> None:
        self._timers[timer_key(subject, name)] = due_ms

    def end_timer(self, subject: str, name: str) -> None:
        self._timers[timer_key(subject, name)] = None

    def queue_payment(self, payment_id: str) -> None:
        """The worker carries this payment out after the commit."""
        self._payments.add(payment_id)

    async def flush(self) -> None:
        if not (self._entries or self._events or self._timers or self._payments):
            return
        entries, events = self._entries, self._events
        salts = [_salt(self.randomness) for _ in entries]
        ended = [key for key, due_ms in self._timers.items() if due_ms is None]
        tasks = [(PAYMENT, payment_id, self.now_ms) for payment_id in self._payments]
        tasks += [(TIMER, key, due) for key, due in self._timers.items() if due is not None]
        # Rows are locked in one order, so that two transactions do not wait for each other.
        tasks.sort()
        await self.conn.execute(
            INSERT_HISTORY_EVENTS_TASKS,
            self.now_ms,
            [entry.subject for entry in entries],
            [entry.version for entry in entries],
            [entry.chain for entry in entries],
            [entry.actor for entry in entries],
            [entry.role for entry in entries],
            [entry.act for entry in entries],
            [entry.from_state for entry in entries],
            [entry.to_state for entry in entries],
            # A second entry of one subject follows the first, which no query sees yet.
            _hashes_before(entries, salts),
            [_hash(salt, entry.after) for entry, salt in zip(entries, salts, strict=True)],
            [_hash(salt, entry.input) for entry, salt in zip(entries, salts, strict=True)],
            salts,
            [_json(entry.after) for entry in entries],
            [_json(entry.input) for entry in entries],
            [each.event for each in events],
            [each.actor for each in events],
            [each.thread_id for each in events],
            [each.group_id for each in events],
            [each.leg_id for each in events],
            [each.card_id for each in events],
            [each.money.amount_cents if each.money else None for each in events],
            [each.money.currency if each.money else None for each in events],
            [_json(each.data) for each in events],
            ended,
            *([task[column] for task in tasks] for column in range(3)),
        )


@dataclass(frozen=True, slots=True)
class ContractSnapshot:
    """A read-only snapshot: every read through `conn` sees the same moment. It locks nothing."""

    conn: Session
    now_ms: int
    thread_updates: ThreadUpdates

    async def access(self, thread_id: str, viewer: str | None) -> ThreadFacts:
        return await self.thread_updates.access_without_lock(self.conn, thread_id, viewer)


class ContractTransactions:
    """Runs contract transactions, and stores their answers under idempotency keys."""

    def __init__(
        self,
        pool: Pool,
        thread_updates: ThreadUpdates,
        *,
        clock: Clock,
        randomness: Randomness,
        wake_collector: Callable[[], None] = lambda: None,
    ) -> None:
        """`wake_collector` is called after the commit of a transaction with events."""
        self.pool = pool
        self.clock = clock
        self._thread_updates = thread_updates
        self._randomness = randomness
        self._wake_collector = wake_collector
        self._thread_updates_listeners: list[ThreadUpdatesListener] = []
        self._legs_listeners: list[LegsListener] = []

    def on_thread_updates(self, listener: ThreadUpdatesListener) -> None:
        """Call `listener` after the commit with the thread updates of each transaction. It is not
        called if the process dies before that."""
        self._thread_updates_listeners.append(listener)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[ContractSnapshot]:
        """All reads inside see the same moment, and no writer waits for them."""
        async with snapshot(self.pool) as conn:
            yield ContractSnapshot(conn, self.clock(), self._thread_updates)

    def on_legs_changed(self, listener: LegsListener) -> None:
        """Call `listener` inside the transaction in which legs are confirmed or end, so that it can
        close the open cards about them."""
        self._legs_listeners.append(listener)

    async def run(
        self, work: Callable[[ContractTransaction], Awaitable[T]], once: Once | None = None
    ) -> T | Kept:
        """Run `work` in one transaction and, with `once`, store its answer in the same transaction.
        After a deadlock `work` is run again from the start, so it must not keep state between
        calls."""
        for attempt in itertools.count():
            try:
                return await self._run_once(work, once)
            except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
                if BACKOFF.is_over(attempt):
                    raise Unavailable("Too many changes at once.") from None
                await BACKOFF.pause(attempt)
        raise AssertionError

    async def _run_once(
        self, work: Callable[[ContractTransaction], Awaitable[T]], once: Once | None
    ) -> T | Kept:
        outcome: T | Kept
        try:
            async with self.pool.acquire() as conn, conn.transaction():
                kept = None if once is None else await claim(conn, once, self.clock())
                if kept is not None:
                    return kept
                tx = ContractTransaction(
                    conn,
                    self.clock(),
                    self._thread_updates,
                    self._randomness,
                    self._legs_listeners,
                )
                outcome = await work(tx)
                await tx.flush()
                if once is not None:
                    await keep(conn, once, once.answer(outcome))
        except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
            raise
        except Exception:
            async with unavailable_on_failure():
                raise
        if tx.has_events:
            self._wake_collector()
        await self._thread_updates.show(tx.applied)
        for listener in self._thread_updates_listeners:
            await listener(tx.applied)
        return outcome

    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        """Make committed updates visible in their threads. Safe to repeat: an update that a thread
        already has is left as it is."""
        await self._thread_updates.show(applied)

    async def catch_up(self, thread_id: str) -> None:
        """Bring the thread up to date with everything that is committed about it."""
        await self._thread_updates.catch_up(thread_id)

    @unavailable_on_failure()
    async def recall(self, once: Once) -> Kept | None:
        return await recall(self.pool, once)

    @unavailable_on_failure()
    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        async with self.pool.acquire() as conn, conn.transaction():
            kept = await claim(conn, once, self.clock())
            if kept is None:
                await keep(conn, once, refusal)
            return kept or refusal


def timer_key(subject: str, name: str) -> str:
    """One timer of a name per subject. No id has a slash in it."""
    return f"{subject}/{name}"


def canonical(value: object) -> bytes:
    """JSON with sorted names and without spaces. Equal to RFC 8785 for values with ASCII names and
    without fractions."""
    return msgspec.json.encode(value, order="sorted")


def _salt(randomness: Randomness) -> bytes:
    return f"{randomness()}{randomness()}".encode()


def _hash(salt: bytes, value: object) -> bytes | None:
    return None if value is None else hashlib.sha256(salt + canonical(value)).digest()


def _hashes_before(entries: list[HistoryEntry], salts: list[bytes]) -> list[bytes | None]:
    last: dict[str, bytes | None] = {}
    before = []
    for entry, salt in zip(entries, salts, strict=True):
        before.append(last.get(entry.subject))
        last[entry.subject] = _hash(salt, entry.after)
    return before


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
