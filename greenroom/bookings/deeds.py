"""A deed: one change of the contract, whole or not at all.

Whatever a deed does to bookings, money and cards, the history it leaves, the events it tells of,
the timers it sets, the work it queues and what threads show of it are one transaction. The order of
locks is the same everywhere: the idempotency key, threads, groups, legs (sorted), cards, and last,
inside `post`, feed heads.
"""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg
import msgspec
from asyncpg import Pool

from greenroom.conversations.postings import Posted, Posting, Postings, ThreadFacts
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.money import Money
from greenroom.platform.answers_postgres import claim, keep, recall
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres import Session, unavailable_on_failure

T = TypeVar("T")

WhenShown = Callable[[Sequence[Posted]], Awaitable[None]]
"""Never raises: what it is told of has happened."""

ATTEMPTS = 5
RETRY_PAUSE_S = 0.01

log = logging.getLogger(__name__)

# The history and the events of a deed, the timers that it sets and those that it ends, at once.
# A row's before-hash is the after-hash of the row before.
WRITE_DOWN = """
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
told as (
    insert into contract_event (event, occurred_at, actor, thread_id, group_id, leg_id, card_id,
                                amount_cents, currency, data)
    select e.event, $1, e.actor, e.thread_id, e.group_id, e.leg_id, e.card_id, e.amount_cents,
        e.currency, e.data
    from unnest($16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[],
                $22::bigint[], $23::text[], $24::jsonb[]) with ordinality
        as e (event, actor, thread_id, group_id, leg_id, card_id, amount_cents, currency, data, n)
    order by e.n
),
ended as (
    delete from timer t using unnest($25::text[], $26::text[]) as o (subject, name)
    where t.subject = o.subject and t.name = o.name
)
insert into timer as t (subject, name, due_at)
select * from unnest($27::text[], $28::text[], $29::timestamptz[])
on conflict (subject, name) do update set due_at = excluded.due_at, retry_at = null, attempts = 0,
    failure = null
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One transition, as the history keeps it. `after` is the whole subject; `input` what the actor
    gave with it. Both can hold what people wrote: they are kept where they can be erased."""

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
class Told:
    """A domain event of the contract."""

    event: str
    actor: str | None = None
    thread_id: str | None = None
    group_id: str | None = None
    leg_id: str | None = None
    card_id: str | None = None
    money: Money | None = None
    data: dict[str, Any] | None = None


@dataclass(slots=True)
class Deed:
    """A change while it is being made. Nothing has happened before it is committed."""

    conn: Session
    now_ms: int
    postings: Postings
    randomness: Randomness
    queue: "Callable[[Session, str], Awaitable[None]]"
    posted: list[Posted] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    _steps: list[Step] = field(default_factory=list)
    _told: list[Told] = field(default_factory=list)
    _timers: dict[tuple[str, str], int | None] = field(default_factory=dict)

    def new_id(self, prefix: str) -> str:
        return make_id(prefix, self.now_ms, self.randomness())

    async def access(
        self, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        return await self.postings.access(self.conn, thread_id, viewer, to_write=to_write)

    async def post(self, posting: Posting) -> Posted:
        """Last of all: it takes the locks that come last."""
        posted = await self.postings.post(self.conn, posting)
        self.posted.append(posted)
        return posted

    def record(self, step: Step) -> None:
        self._steps.append(step)

    def tell(self, told: Told) -> None:
        self._told.append(told)

    def set_timer(self, subject: str, name: str, due_ms: int) -> None:
        self._timers[subject, name] = due_ms

    def end_timer(self, subject: str, name: str) -> None:
        self._timers[subject, name] = None

    async def run_later(self, payment_id: str) -> None:
        """The worker carries this payment out once the deed is done."""
        await self.queue(self.conn, payment_id)
        self.queued.append(payment_id)

    async def write_down(self) -> None:
        if not (self._steps or self._told or self._timers):
            return
        steps, told = self._steps, self._told
        salts = [_salt(self.randomness) for _ in steps]
        ended = [of for of, due_ms in self._timers.items() if due_ms is None]
        begun = [(*of, due_ms) for of, due_ms in self._timers.items() if due_ms is not None]
        await self.conn.execute(
            WRITE_DOWN,
            self.now_ms,
            [step.subject for step in steps],
            [step.version for step in steps],
            [step.chain for step in steps],
            [step.actor for step in steps],
            [step.role for step in steps],
            [step.act for step in steps],
            [step.from_state for step in steps],
            [step.to_state for step in steps],
            # Two steps of one subject in one deed: the second follows the first, which no query
            # sees yet.
            _hashes_before(steps, salts),
            [_hash(salt, step.after) for step, salt in zip(steps, salts, strict=True)],
            [_hash(salt, step.input) for step, salt in zip(steps, salts, strict=True)],
            salts,
            [_json(step.after) for step in steps],
            [_json(step.input) for step in steps],
            [each.event for each in told],
            [each.actor for each in told],
            [each.thread_id for each in told],
            [each.group_id for each in told],
            [each.leg_id for each in told],
            [each.card_id for each in told],
            [each.money.amount_cents if each.money else None for each in told],
            [each.money.currency if each.money else None for each in told],
            [_json(each.data) for each in told],
            [subject for subject, _ in ended],
            [name for _, name in ended],
            [subject for subject, _, _ in begun],
            [name for _, name, _ in begun],
            [due_ms for _, _, due_ms in begun],
        )
        self._steps, self._told, self._timers = [], [], {}


class Deeds:
    """Makes deeds, and keeps the answers that were given for them."""

    def __init__(
        self,
        pool: Pool,
        postings: Postings,
        queue: Callable[[Session, str], Awaitable[None]],
        *,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self.pool = pool
        self.clock = clock
        self._postings = postings
        self._queue = queue
        self._randomness = randomness
        self._when_shown: list[WhenShown] = []

    def when_shown(self, listener: WhenShown) -> None:
        """Tell this one what threads show of each deed, once they do; a crash may come before."""
        self._when_shown.append(listener)

    async def do(self, work: Callable[[Deed], Awaitable[T]], once: Once | None = None) -> T | Kept:
        """Do the work in one transaction and, under a `Once`, keep its answer with it. Work that
        lost a deadlock is done again: it must not remember anything."""
        for attempt in range(ATTEMPTS):
            try:
                return await self._do(work, once)
            except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
                if attempt == ATTEMPTS - 1:
                    raise Unavailable("Too many changes at once.") from None
                await asyncio.sleep(RETRY_PAUSE_S * (attempt + 1))
        raise AssertionError

    async def _do(self, work: Callable[[Deed], Awaitable[T]], once: Once | None) -> T | Kept:
        outcome: T | Kept
        try:
            async with self.pool.acquire() as conn, conn.transaction():
                kept = None if once is None else await claim(conn, once, self.clock())
                if kept is not None:
                    return kept
                deed = Deed(conn, self.clock(), self._postings, self._randomness, self._queue)
                outcome = await work(deed)
                await deed.write_down()
                if once is not None:
                    await keep(conn, once, once.answer(outcome))
        except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
            raise
        except Exception:
            async with unavailable_on_failure():
                raise
        await self._postings.show(deed.posted)
        for listener in self._when_shown:
            await listener(deed.posted)
        return outcome

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


def canonical(value: object) -> bytes:
    """Sorted, without spaces: RFC 8785 for what has names in ASCII and no fractions."""
    return msgspec.json.encode(value, order="sorted")


def _salt(randomness: Randomness) -> bytes:
    return f"{randomness()}{randomness()}".encode()


def _hash(salt: bytes, value: object) -> bytes | None:
    return None if value is None else hashlib.sha256(salt + canonical(value)).digest()


def _hashes_before(steps: list[Step], salts: list[bytes]) -> list[bytes | None]:
    last: dict[str, bytes | None] = {}
    before = []
    for step, salt in zip(steps, salts, strict=True):
        before.append(last.get(step.subject))
        last[step.subject] = _hash(salt, step.after)
    return before


def _json(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
