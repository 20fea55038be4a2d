"""Jobs on PgQueuer: work that a transaction decides on and a worker does after it.

A job is a row that is committed with the change that needs it, so there is no change without its
job and no job without its change. It is done at least once: a worker that dies in the middle is
noticed by its missing heartbeats, and another one takes the job. What fails is tried again after a
pause that grows; after the last attempt it is a dead letter, which stays until it is replayed.

PgQueuer and what it imports is heavy, so it is loaded by what uses it and not by this module. Its
times are those of the database, not of our clock: they say nothing to people.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import cache
from importlib.metadata import version
from random import random as system_random
from typing import TYPE_CHECKING, Any, cast

import asyncpg

from greenroom.platform.backoff import Backoff
from greenroom.platform.postgres import PASSING_FAILURES, Session

if TYPE_CHECKING:
    from pgqueuer.domain.models import Job, TracebackRecord
    from pgqueuer.domain.settings import DBSettings
    from pgqueuer.domain.types import JOB_STATUS
    from pgqueuer.ports.driver import Driver
    from pgqueuer.queries import Queries

CHANNEL = "greenroom_jobs"
CONCURRENCY = 8
POLL_S = 5.0
STALE_S = 30.0
GRACE_S = 20.0
NOT_YET_IN_DRAIN_MS = 60_000

Handler = Callable[[str], Awaitable[None]]

log = logging.getLogger("greenroom.jobs")

MADE_BY = "select obj_description(to_regclass('pgqueuer'), 'pg_class')"

# The library keeps a log of each job's states, which nothing here reads once the job is gone.
PRUNE_LOG = """
delete from pgqueuer_log where id in (
    select l.id from pgqueuer_log l
    where l.created < now() - interval '1 day'
        and not exists (select from pgqueuer q where q.id = l.job_id)
    order by l.created limit $1
)
"""

MAKE_DUE = """
update pgqueuer set execute_after = now() - interval '1 second'
where status = 'queued' and entrypoint = any($1) and execute_after >= now()
"""


class NotYetError(Exception):
    """Nothing has gone wrong, it is only too early: try again later, however often that was."""


async def install(conn: asyncpg.Connection | Session) -> None:
    """Create the library's tables, or bring older ones up to date, after our own migrations.

    Two at once: one does it, the other waits and then finds nothing to do. The connection must be
    one session from beginning to end. The version is noted with the table, so that what needs no
    change costs no more than a look.
    """
    made_by = f"PgQueuer {version('pgqueuer')}"
    if await conn.fetchval(MADE_BY) != made_by:
        await queries_on(conn).upgrade()
        await conn.execute(f"comment on table pgqueuer is '{made_by}'")


async def enqueue(conn: Session, name: str, payload: str, *, delay_ms: int = 0) -> None:
    """Let a worker do it once the caller's transaction is committed."""
    later = timedelta(milliseconds=delay_ms)
    await queries_on(conn).enqueue(name, payload.encode(), execute_after=later)


@cache
def _settings() -> "DBSettings":
    """Everything is named here: by itself the library would also listen to variables of the
    environment with such ordinary names as CHANNEL."""
    from pgqueuer.domain.settings import DBSettings, Durability  # noqa: PLC0415
    from pgqueuer.domain.types import Channel  # noqa: PLC0415

    return DBSettings(
        prefix="",
        db_schema=None,
        channel=Channel(CHANNEL),
        function="fn_pgqueuer_changed",
        statistics_table="pgqueuer_statistics",
        queue_status_type="pgqueuer_status",
        queue_table="pgqueuer",
        queue_table_log="pgqueuer_log",
        trigger="tg_pgqueuer_changed",
        schedules_table="pgqueuer_schedules",
        # Jobs survive a crash; the log of what became of them need not.
        durability=Durability.balanced,
        widen_id=True,
    )


@cache
def _builders() -> tuple[Any, Any, Any]:
    from pgqueuer.adapters.persistence import qb  # noqa: PLC0415

    return (
        qb.QueryBuilderEnvironment(_settings()),
        qb.QueryQueueBuilder(_settings()),
        qb.QuerySchedulerBuilder(_settings()),
    )


def _queries(driver: "Driver") -> "Queries":
    from pgqueuer.queries import Queries  # noqa: PLC0415

    return Queries(driver, *_builders())


def queries_on(conn: asyncpg.Connection | Session) -> "Queries":
    """The library's own statements, on a connection of ours."""
    from pgqueuer.db import AsyncpgDriver  # noqa: PLC0415

    return _queries(AsyncpgDriver(cast("asyncpg.Connection", conn)))


class Jobs:
    """Does jobs: `run` until `stop`, a few at a time; or `drain` what there is."""

    def __init__(
        self,
        pool: asyncpg.Pool,
        *,
        backoff: Backoff | None = None,
        concurrency: int = CONCURRENCY,
        chance: Callable[[], float] = system_random,
        poll_s: float = POLL_S,
        stale_s: float = STALE_S,
        grace_s: float = GRACE_S,
    ) -> None:
        """`run` keeps one connection of the pool to listen, so it needs three at the least."""
        from pgqueuer.db import AsyncpgPoolDriver  # noqa: PLC0415

        self.backoff = backoff or Backoff()
        self._pool = pool
        self._queries = _queries(AsyncpgPoolDriver(pool))
        self._handlers: dict[str, Handler] = {}
        self._concurrency = concurrency
        self._chance = chance
        self._poll_s = poll_s
        self._stale = timedelta(seconds=stale_s)
        self._grace_s = grace_s
        self._id = uuid.uuid4()
        self._running: dict[asyncio.Task[bool], Job] = {}
        self._wake = asyncio.Event()
        self._stopping = False

    def handle(self, name: str, handler: Handler) -> None:
        """A handler may be called again for what it has done: it must then do nothing."""
        self._handlers[name] = handler

    async def run(self) -> None:
        """Do jobs until `stop`. Outlives the database's absences."""
        beating = asyncio.create_task(self._beat())
        try:
            while not self._stopping:
                try:
                    async with self._listening() as lost:
                        await self._run_while_connected(lost)
                except PASSING_FAILURES:
                    log.warning("jobs cannot reach the database; they will try again")
                    await self._pause_after_failure()
                except Exception:
                    log.exception("jobs cannot be picked up; they will try again")
                    await self._pause_after_failure()
        finally:
            await self._end_running()
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    def stop(self) -> None:
        """For good, also before `run` has begun."""
        self._stopping = True
        self._wake.set()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[asyncio.Event]:
        lost = asyncio.Event()

        def end(_: object) -> None:
            lost.set()
            self._wake.set()

        async with self._pool.acquire() as conn:
            await conn.add_listener(CHANNEL, self._hear)
            conn.add_termination_listener(end)
            try:
                yield lost
            finally:
                if not conn.is_closed():
                    conn.remove_termination_listener(end)
                    with suppress(*PASSING_FAILURES):
                        await conn.remove_listener(CHANNEL, self._hear)

    def _hear(self, _connection: Any, _pid: int, _channel: str, payload: Any) -> None:
        """The library's trigger also tells of jobs that are gone, which is nobody's work."""
        if json.loads(payload).get("operation") == "insert":
            self._wake.set()

    async def _run_while_connected(self, lost: asyncio.Event) -> None:
        while not self._stopping and not lost.is_set():
            self._wake.clear()
            free = self._concurrency - len(self._running)
            if free:
                for job in await self._pick(free):
                    self._begin(job)
            await self._pause(await self._until_next())

    async def _pick(self, count: int) -> "list[Job]":
        from pgqueuer.domain.types import QueueEntrypoint, QueueManagerId  # noqa: PLC0415
        from pgqueuer.ports.repository import EntrypointExecutionParameter  # noqa: PLC0415

        if not self._handlers:
            return []
        unlimited = EntrypointExecutionParameter(concurrency_limit=0)
        return await self._queries.dequeue(
            batch_size=count,
            entrypoints={QueueEntrypoint(name): unlimited for name in self._handlers},
            queue_manager_id=QueueManagerId(self._id),
            global_concurrency_limit=None,
            heartbeat_timeout=self._stale,
        )

    def _begin(self, job: "Job") -> None:
        # After late heartbeats one's own job looks as if its worker were gone.
        if any(other.id == job.id for other in self._running.values()):
            return
        task = asyncio.create_task(self._carry_out(job))
        self._running[task] = job
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[bool]) -> None:
        self._running.pop(task, None)
        self._wake.set()

    async def _until_next(self) -> float:
        """Until a job that waits for its time, or another look in any case."""
        from pgqueuer.domain.types import QueueEntrypoint  # noqa: PLC0415

        names = [QueueEntrypoint(name) for name in self._handlers]
        eta = await self._queries.next_deferred_eta(names)
        return self._poll_s if eta is None else min(self._poll_s, max(0.0, eta.total_seconds()))

    async def _pause(self, seconds: float) -> None:
        if self._stopping:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _pause_after_failure(self) -> None:
        # Whatever woke us, there is nobody to ask.
        self._wake.clear()
        await self._pause(self._poll_s)

    async def _carry_out(self, job: "Job", *, draining: bool = False) -> bool:
        """False when it was too early."""
        try:
            await self._handlers[job.entrypoint]((job.payload or b"").decode())
        except NotYetError as reason:
            delay_ms = NOT_YET_IN_DRAIN_MS if draining else self._delay_ms(job)
            await self._recorded(self._queries.retry_job(job, _ms(delay_ms), _trace(job, reason)))
            return False
        except Exception as failure:  # noqa: BLE001 (whatever it is, it is recorded with the job)
            await self._recorded(self._fail(job, failure, draining=draining))
        else:
            await self._recorded(self._end(job, "successful", None))
        return True

    async def _fail(self, job: "Job", failure: Exception, *, draining: bool) -> None:
        told = {"job": job.entrypoint, "subject": (job.payload or b"").decode()}
        if self.backoff.is_over(job.attempts):
            log.error(
                "a job has failed for good: `greenroom jobs list`", exc_info=failure, extra=told
            )
            await self._end(job, "failed", _trace(job, failure))
            return
        told["code"] = type(failure).__name__
        log.warning("a job failed and will be tried again", extra=told)
        delay_ms = 0 if draining else self._delay_ms(job)
        await self._queries.retry_job(job, _ms(delay_ms), _trace(job, failure))

    def _delay_ms(self, job: "Job") -> int:
        return self.backoff.delay_ms(job.attempts, self._chance())

    async def _end(self, job: "Job", status: "JOB_STATUS", trace: "TracebackRecord | None") -> None:
        await self._queries.log_jobs([(job, status, trace)])

    async def _recorded(self, writing: Awaitable[None]) -> None:
        """A job whose end cannot be written down is found by its missing heartbeats, and done
        again."""
        try:
            await writing
        except PASSING_FAILURES:
            log.warning("what became of a job could not be written down; it will be done again")

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._stale.total_seconds() / 3)
            ids = [job.id for job in self._running.values()]
            if ids:
                await self._recorded(self._queries.update_heartbeat(ids))

    async def _end_running(self) -> None:
        """Let what runs come to its end; what takes too long is given back for another worker."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=self._grace_s)
        given_back = [self._running[task] for task in late]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        for job in given_back:
            await self._recorded(self._queries.retry_job(job, _ms(0), None))

    async def drain(self) -> int:
        """Do all that there is, one after the other and without waiting for any pause to be over;
        what is not yet possible is tried once. Says how many attempts there were, without those
        that were too early."""
        await self._pool.execute(MAKE_DUE, list(self._handlers))
        count = 0
        while jobs := await self._pick(self._concurrency):
            for job in jobs:
                count += await self._carry_out(job, draining=True)
        return count

    async def prune(self, limit: int) -> int:
        """Forget a bounded part of the library's log."""
        return int((await self._pool.execute(PRUNE_LOG, limit)).rpartition(" ")[2])


def _ms(milliseconds: int) -> timedelta:
    return timedelta(milliseconds=milliseconds)


def _trace(job: "Job", failure: Exception) -> "TracebackRecord":
    from pgqueuer.domain.models import TracebackRecord  # noqa: PLC0415

    return TracebackRecord.from_exception(failure, job.id)
