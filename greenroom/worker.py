"""The worker: carries out payments, processes files, runs timers, collects events into the log, and
deletes what is past its keeping time.

Several workers may run at the same time and share the tasks. Timers must happen in order: one
worker at a time does a round of them, the one that holds a lock in the database.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol, TypeVar

from asyncpg import Pool
from prometheus_client import Gauge

from greenroom.bookings.money.running import PaymentRunner
from greenroom.bookings.timers import TIMER_BACKOFF, RunTimer, timer_handler
from greenroom.bookings.transactions import PAYMENT, TIMER
from greenroom.events.log import EventLog
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.backoff import Backoff
from greenroom.platform.metrics import BACKGROUND_FAILURES
from greenroom.platform.postgres.kept_answers import PRUNE_KEYS
from greenroom.platform.postgres.pool import PASSING_FAILURES, unavailable_on_failure
from greenroom.platform.postgres.rate_buckets import PRUNE_BUCKETS
from greenroom.platform.tasks.runner import TaskRunner
from greenroom.platform.tasks.table import Task, enqueue

CONFIRM_WAIT_S = 5.0
ROUND_S = 5.0
FORGOTTEN_MS = 60_000
FORGOTTEN_PER_ROUND = 100
DAY_MS = 24 * 60 * 60 * 1000

# Any number will do, as long as every worker takes the same one.
LEADER_LOCK = 4_736_251_986

# Should not happen: a payment is committed with its task.
FORGOTTEN_PAYMENTS = """
select p.payment_id from payment p
where p.state = 'queued' and p.created_at < $1
    and not exists (select from task t where t.kind = $2 and t.key = p.payment_id)
order by p.created_at limit $3
"""

# What waits, and since when: each part by an index of what is still to be done.
WAITING = """
select (select count(*) from task where is_dead) as dead,
    (select min(created_at) from payment where state = 'queued' and not needs_payer)
        as payment_since,
    (select count(*) from payment
        where state = 'failed' and again is null and operation in ('refund', 'release', 'payout')
            and failure_code is distinct from 'stopped') as failed_payments,
    (select min(due_at) from task
        where kind = $2 and not is_dead and due_at <= $1) as timer_since
"""

PRUNE_PROVIDER = """
delete from provider_event where event_id in (
    select event_id from provider_event where received_at < $1 order by received_at limit $2
)
"""

DEAD = Gauge(
    "greenroom_dead_letters",
    "Jobs and timers that wait for a person: `greenroom jobs list`",
    multiprocess_mode="max",
)
FAILED_PAYMENTS = Gauge(
    "greenroom_failed_payments",
    "Refunds, releases and payouts that failed and wait for a person: `greenroom payments list`",
    multiprocess_mode="max",
)
OLDEST_PAYMENT = Gauge(
    "greenroom_oldest_payment_seconds",
    "How long the longest waiting payment has had no outcome; not those that wait for a payer",
    multiprocess_mode="max",
)
OLDEST_TIMER = Gauge(
    "greenroom_oldest_timer_seconds",
    "How late the latest timer is",
    multiprocess_mode="max",
)
EVENTS_WAITING = Gauge(
    "greenroom_events_waiting",
    "Events in the outbox that are not in the event log yet",
    multiprocess_mode="max",
)
CONSUMER_LAG = Gauge(
    "greenroom_event_consumer_lag",
    "Events in the log that a consumer has not read yet",
    ["consumer"],
    multiprocess_mode="max",
)

log = logging.getLogger("greenroom.worker")

T = TypeVar("T")


class Background(Protocol):
    """Work that goes on beside the worker's tasks."""

    async def run(self) -> None:
        """Until `stop`. Must not raise."""
        ...

    def stop(self) -> None: ...

    async def drain(self) -> int:
        """Do all that there is to do now, and say how much it was."""
        ...


class Worker:
    def __init__(
        self,
        pool: Pool,
        tasks: TaskRunner,
        runner: PaymentRunner,
        events: EventLog,
        *,
        timers: Mapping[str, RunTimer],
        clock: Clock,
        limits: Limits,
        timer_backoff: Backoff = TIMER_BACKOFF,
        at_start: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`timers` says who runs the timers of which subjects, such as `leg_`. `at_start` is done
        once before anything else, by the worker that leads."""
        self.tasks = tasks
        self._runners: list[Background] = [tasks]
        self._pool = pool
        self._runner = runner
        self._events = events
        self._consumers: set[str] = set()
        self._clock = clock
        self._limits = limits
        self._prunes_at_ms = 0
        self._at_start = at_start
        self._stopping = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        tasks.register(PAYMENT, self._run_payment)
        tasks.register_in_order(TIMER, timer_handler(timers), backoff=timer_backoff)

    def add(self, background: Background) -> None:
        """Run this as well, beside the others: slow tasks of one kind hold up no payment, and no
        consumer of events holds up another."""
        self._runners.append(background)

    def start(self) -> None:
        self._loops = [asyncio.create_task(each.run()) for each in self._runners]
        self._loops.append(asyncio.create_task(self._go_round()))

    async def stop(self) -> None:
        """Begin nothing new, wait a while for what runs, and give back the rest."""
        self._stopping.set()
        for each in self._runners:
            each.stop()
        await asyncio.gather(*self._loops)
        self._loops = []
        await self._runner.close()

    async def run_payments(self, payment_ids: Sequence[str]) -> None:
        """Carry these out now, for a caller who waits for them, but not for long. Their tasks do
        whatever could not be done."""
        await self._runner.run_now(payment_ids, wait_s=CONFIRM_WAIT_S)

    async def _run_payment(self, task: Task) -> None:
        await self._runner.run(task.key)

    async def run_until_idle(self) -> None:
        """Do everything that there is to do at the clock's time, without waiting for any pause."""
        done = 1
        while done:
            done = sum([await each.drain() for each in self._runners])
            async with self._leading() as is_leading:
                if is_leading:
                    done += await self.tasks.run_in_order(
                        TIMER, self._limits.timer_batch, draining=True
                    )

    async def _go_round(self) -> None:
        while not self._stopping.is_set():
            pause_s = ROUND_S
            try:
                pause_s = await self.go_round()
            except (Unavailable, *PASSING_FAILURES):
                log.warning("the worker cannot reach the database; it will try again")
            except Exception:
                log.exception("a round of the worker failed; it will try again")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)

    async def go_round(self) -> float:
        """One round, and how long to wait for the next: until a timer is due, but not for long,
        because timers are set all the time."""
        async with self._leading() as is_leading:
            if not is_leading:
                return ROUND_S
            if self._at_start is not None:
                await self._at_start()
                self._at_start = None
            ran = await _apart(self.tasks.run_in_order(TIMER, self._limits.timer_batch), "timers")
            await _apart(self._take_up_forgotten(), "forgotten")
            await _apart(self._prune_in_time(), "prune")
            await _apart(self._measure(), "measure")
            await _apart(self._measure_events(), "measure_events")
        if ran == self._limits.timer_batch:
            return 0.0
        due_ms = await self.tasks.next_due_ms(TIMER)
        return ROUND_S if due_ms is None else min(ROUND_S, (due_ms - self._clock()) / 1000)

    @asynccontextmanager
    async def _leading(self) -> AsyncIterator[bool]:
        """Whether this worker is the one that does it. The lock goes with its connection, so that a
        worker that dies leaves it to the others."""
        async with self._pool.acquire() as conn:
            got = await conn.fetchval("select pg_try_advisory_lock($1)", LEADER_LOCK)
            try:
                yield got
            finally:
                if got:
                    with suppress(*PASSING_FAILURES):
                        await conn.execute("select pg_advisory_unlock($1)", LEADER_LOCK)

    @unavailable_on_failure()
    async def _take_up_forgotten(self) -> None:
        before_ms = self._clock() - FORGOTTEN_MS
        async with self._pool.acquire() as conn, conn.transaction():
            rows = await conn.fetch(FORGOTTEN_PAYMENTS, before_ms, PAYMENT, FORGOTTEN_PER_ROUND)
            for row in rows:
                told = {"subject": row["payment_id"]}
                log.error("a payment had no task; it has one now", extra=told)
                await enqueue(conn, PAYMENT, row["payment_id"], due_ms=self._clock())

    @unavailable_on_failure()
    async def _measure(self) -> None:
        now_ms = self._clock()
        [row] = await self._pool.fetch(WAITING, now_ms, TIMER)
        DEAD.set(row["dead"])
        FAILED_PAYMENTS.set(row["failed_payments"])
        for gauge, since_ms in (
            (OLDEST_PAYMENT, row["payment_since"]),
            (OLDEST_TIMER, row["timer_since"]),
        ):
            gauge.set(0 if since_ms is None else max(0, now_ms - since_ms) / 1000)

    async def _measure_events(self) -> None:
        EVENTS_WAITING.set(await self._events.waiting())
        lags = await self._events.lags()
        for consumer in self._consumers - lags.keys():
            CONSUMER_LAG.labels(consumer).set(0)
        for consumer, lag in lags.items():
            CONSUMER_LAG.labels(consumer).set(lag)
        self._consumers = set(lags)

    async def _prune_in_time(self) -> None:
        if self._clock() < self._prunes_at_ms:
            return
        self._prunes_at_ms = self._clock() + self._limits.maintenance_interval_s * 1000
        pruned = await self.prune()
        if max(pruned.values()) >= self._limits.maintenance_batch:
            # More may have become old than one batch, so the next round goes on.
            self._prunes_at_ms = self._clock()
        for what, count in pruned.items():
            if count:
                log.info("pruned", extra={"job": what, "count": count})

    async def prune(self) -> dict[str, int]:
        """Delete a bounded amount of what is past its keeping time."""
        batch = self._limits.maintenance_batch
        before_ms = self._clock() - self._limits.event_log_kept_days * DAY_MS
        keys_before_ms = self._clock() - self._limits.idempotency_kept_days * DAY_MS
        async with unavailable_on_failure():
            # Where conversations are kept elsewhere, nobody else deletes the ledger's own.
            keys = await self._pool.execute(PRUNE_KEYS, keys_before_ms, batch)
            buckets = await self._pool.execute(PRUNE_BUCKETS, self._clock(), batch)
            told = await self._pool.execute(PRUNE_PROVIDER, before_ms, batch)
        return {
            "event_log": await self._events.prune(before_ms, batch),
            "provider_event": _count(told),
            "idempotency_key": _count(keys),
            "rate_limit": _count(buckets),
        }


async def _apart(work: Awaitable[T], name: str) -> T | None:
    """One part of a round that fails keeps no other from its turn; a database that is away ends
    the round."""
    try:
        return await work
    except (Unavailable, *PASSING_FAILURES):
        raise
    except Exception:
        BACKGROUND_FAILURES.labels(name).inc()
        log.exception("a part of the worker's round failed", extra={"job": name})
        return None


def _count(status: str) -> int:
    """The number in PostgreSQL's word on what a statement did, such as `DELETE 3`."""
    return int(status.rpartition(" ")[2])
