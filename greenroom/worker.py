"""The worker: carries out payments, runs timers, hands on events, and forgets what is past.

Several may run, each with its own jobs. Of what must happen in order, timers and events, one at a
time does a round: whoever holds a lock in the database.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

from asyncpg import Pool
from prometheus_client import Gauge

from greenroom.bookings.events import ContractEvents, DeliverContract
from greenroom.bookings.running import PaymentRunner
from greenroom.bookings.timers import TIMER_BACKOFF, RunTimer, Timers
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.answers_postgres import PRUNE_KEYS
from greenroom.platform.backoff import Backoff
from greenroom.platform.buckets_postgres import PRUNE_BUCKETS
from greenroom.platform.jobs import Jobs, enqueue
from greenroom.platform.postgres import PASSING_FAILURES, unavailable_on_failure

PAYMENT_JOB = "payment"
CONFIRM_WAIT_S = 5.0
ROUND_S = 5.0
FORGOTTEN_MS = 60_000
FORGOTTEN_PER_ROUND = 100
DAY_MS = 24 * 60 * 60 * 1000

# Any number will do, as long as every worker takes the same one.
LEADER_LOCK = 4_736_251_986

# Should not happen: a payment is committed with its job.
FORGOTTEN_PAYMENTS = """
select p.payment_id from payment p
where p.state = 'queued' and p.created_at < $1
    and not exists (select from pgqueuer q
                    where q.entrypoint = $2 and q.payload = convert_to(p.payment_id, 'UTF8'))
order by p.created_at limit $3
"""

# What waits, and how long it has: each by an index of what is still to be done.
WAITING = """
select (select count(*) from pgqueuer where status = 'failed')
        + (select count(*) from timer where failure is not null) as dead,
    (select min(created_at) from payment where state = 'queued') as payment_since,
    (select min(due_at) from timer where failure is null and due_at <= $1) as timer_since
"""

DEAD = Gauge(
    "greenroom_dead_letters",
    "Jobs and timers that wait for a person: `greenroom jobs list`",
    multiprocess_mode="max",
)
OLDEST_PAYMENT = Gauge(
    "greenroom_oldest_payment_seconds",
    "How long the longest waiting payment has had no outcome",
    multiprocess_mode="max",
)
OLDEST_TIMER = Gauge(
    "greenroom_oldest_timer_seconds",
    "How late the latest timer is",
    multiprocess_mode="max",
)

log = logging.getLogger("greenroom.worker")


class Worker:
    def __init__(
        self,
        pool: Pool,
        jobs: Jobs,
        runner: PaymentRunner,
        *,
        timers: Mapping[str, RunTimer],
        clock: Clock,
        limits: Limits,
        listeners: Sequence[DeliverContract] = (),
        timer_backoff: Backoff = TIMER_BACKOFF,
    ) -> None:
        """`timers` says who runs the timers of which subjects, such as `leg_`."""
        self.jobs = jobs
        self._pool = pool
        self._runner = runner
        self._timers = Timers(pool, timers, clock=clock, backoff=timer_backoff)
        self._events = ContractEvents(pool, listeners)
        self._clock = clock
        self._limits = limits
        self._prunes_at_ms = 0
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        jobs.handle(PAYMENT_JOB, runner.run)

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self.jobs.run()), asyncio.create_task(self._go_round())]

    async def stop(self) -> None:
        """Begin nothing new, let what runs come to its end for a while, and give back the rest."""
        self._stopping.set()
        self.jobs.stop()
        await asyncio.gather(*self._tasks)
        self._tasks = []
        await self._runner.close()

    async def run_payments(self, payment_ids: Sequence[str]) -> None:
        """Carry these out now, for somebody who waits for them; but nobody waits for long. Their
        jobs do whatever could not be done."""
        await self._runner.run_now(payment_ids, wait_s=CONFIRM_WAIT_S)

    async def run_until_idle(self) -> None:
        """Do everything that there is to do at the clock's time, without waiting for any pause."""
        done = 1
        while done:
            done = await self.jobs.drain()
            async with self._leading() as is_leading:
                if is_leading:
                    done += await self._timers.run_due(self._limits.timer_batch, at_once=True)
                    done += await self._events.hand_over()

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
            ran = await self._timers.run_due(self._limits.timer_batch)
            await self._take_up_forgotten()
            await self._prune_in_time()
            handed = await self._events.hand_over()
            await self._measure()
        if ran == self._limits.timer_batch or handed:
            return 0.0
        due_ms = await self._timers.next_due_ms()
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
            rows = await conn.fetch(FORGOTTEN_PAYMENTS, before_ms, PAYMENT_JOB, FORGOTTEN_PER_ROUND)
            for row in rows:
                told = {"subject": row["payment_id"]}
                log.error("a payment had no job; it has one now", extra=told)
                await enqueue(conn, PAYMENT_JOB, row["payment_id"])

    @unavailable_on_failure()
    async def _measure(self) -> None:
        now_ms = self._clock()
        [row] = await self._pool.fetch(WAITING, now_ms)
        DEAD.set(row["dead"])
        for gauge, since_ms in (
            (OLDEST_PAYMENT, row["payment_since"]),
            (OLDEST_TIMER, row["timer_since"]),
        ):
            gauge.set(0 if since_ms is None else max(0, now_ms - since_ms) / 1000)

    async def _prune_in_time(self) -> None:
        if self._clock() < self._prunes_at_ms:
            return
        self._prunes_at_ms = self._clock() + self._limits.maintenance_interval_s * 1000
        for what, count in (await self.prune()).items():
            if count:
                log.info("pruned", extra={"job": what, "count": count})

    async def prune(self) -> dict[str, int]:
        """Forget a bounded amount of what is past its keeping time."""
        batch = self._limits.maintenance_batch
        before_ms = self._clock() - self._limits.outbox_kept_days * DAY_MS
        keys_before_ms = self._clock() - self._limits.idempotency_kept_days * DAY_MS
        async with unavailable_on_failure():
            log_rows = await self.jobs.prune(batch)
            # Where conversations are kept elsewhere, nobody else forgets the ledger's own.
            keys = await self._pool.execute(PRUNE_KEYS, keys_before_ms, batch)
            buckets = await self._pool.execute(PRUNE_BUCKETS, self._clock(), batch)
        return {
            **await self._events.prune(before_ms, batch),
            "job_log": log_rows,
            "idempotency_key": _count(keys),
            "rate_limit": _count(buckets),
        }


def _count(status: str) -> int:
    """The number in PostgreSQL's word on what a statement did, such as `DELETE 3`."""
    return int(status.rpartition(" ")[2])
