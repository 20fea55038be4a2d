"""Does tasks: takes what is due from the table, calls the handler of its kind, and tries again what
fails.

A task is done at least once. A worker holds what it has taken for a few seconds at a time and says
regularly that it is still at it; when it dies, another worker takes the task. What fails is tried
again after a pause that grows; after the last attempt the task is dead and waits until a person
replays it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import random as system_random

import asyncpg

from greenroom.kernel.clock import Clock
from greenroom.platform.backoff import Backoff
from greenroom.platform.postgres.pool import PASSING_FAILURES, unavailable_on_failure
from greenroom.platform.tasks import table
from greenroom.platform.tasks.table import CHANNEL, Task, read_task

CONCURRENCY = 8
POLL_S = 5.0
HELD_S = 6.0
GRACE_S = 20.0
TOO_EARLY_IN_DRAIN_MS = 60_000
FAILURE_CHARACTERS = 500

Handler = Callable[[Task], Awaitable[None]]

log = logging.getLogger("greenroom.tasks")


class NotYetError(Exception):
    """Nothing has gone wrong, it is only too early: try again later, however often that was. The
    pause grows as after failures, unless the handler knows a better one."""

    def __init__(self, message: str, *, pause_ms: int | None = None) -> None:
        super().__init__(message)
        self.pause_ms = pause_ms


@dataclass(frozen=True, slots=True)
class _Kind:
    handler: Handler
    backoff: Backoff
    in_order: bool


class TaskRunner:
    """`run` does tasks until `stop`, a few at a time. `drain` does what there is and returns.
    `run_in_order` does the kinds that must be done one after the other."""

    def __init__(
        self,
        pool: asyncpg.Pool,
        *,
        clock: Clock,
        backoff: Backoff | None = None,
        concurrency: int = CONCURRENCY,
        chance: Callable[[], float] = system_random,
        poll_s: float = POLL_S,
        held_s: float = HELD_S,
        grace_s: float = GRACE_S,
    ) -> None:
        """`run` keeps one connection of the pool to listen, so it needs three at the least."""
        self._pool = pool
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._kinds: dict[str, _Kind] = {}
        self._concurrency = concurrency
        self._chance = chance
        self._poll_s = poll_s
        self._held_s = held_s
        self._grace_s = grace_s
        self._running: dict[asyncio.Task[bool], Task] = {}
        self._wake = asyncio.Event()
        self._stopping = False

    def register(self, kind: str, handler: Handler, *, backoff: Backoff | None = None) -> None:
        """Let `handler` do the tasks of this kind. It can be called again for a task that it has
        done, by another worker at the same time too: it must then have no second effect."""
        self._kinds[kind] = _Kind(handler, backoff or self._backoff, in_order=False)

    def register_in_order(
        self, kind: str, handler: Handler, *, backoff: Backoff | None = None
    ) -> None:
        """Let `handler` do the tasks of this kind one at a time, the longest due first. It must
        delete or replace the task in the transaction of its effect, so that both happen once."""
        self._kinds[kind] = _Kind(handler, backoff or self._backoff, in_order=True)

    @property
    def _concurrent(self) -> list[str]:
        return [name for name, kind in self._kinds.items() if not kind.in_order]

    async def run(self) -> None:
        """Do tasks until `stop`. When the database is away, wait until it is back."""
        holding = asyncio.create_task(self._hold_on())
        try:
            while not self._stopping:
                try:
                    async with self._listening() as lost:
                        await self._run_while_connected(lost)
                except PASSING_FAILURES:
                    log.warning("tasks cannot reach the database; they will try again")
                    await self._pause_after_failure()
                except Exception:
                    log.exception("tasks cannot be taken; they will try again")
                    await self._pause_after_failure()
        finally:
            await self._end_running()
            holding.cancel()
            with suppress(asyncio.CancelledError):
                await holding

    def stop(self) -> None:
        """Begin no more tasks, ever; can be called before `run` has begun."""
        self._stopping = True
        self._wake.set()

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[asyncio.Event]:
        lost = asyncio.Event()

        def wake(*_: object) -> None:
            self._wake.set()

        def end(_: object) -> None:
            lost.set()
            self._wake.set()

        async with self._pool.acquire() as conn:
            await conn.add_listener(CHANNEL, wake)
            conn.add_termination_listener(end)
            try:
                yield lost
            finally:
                if not conn.is_closed():
                    conn.remove_termination_listener(end)
                    with suppress(*PASSING_FAILURES):
                        await conn.remove_listener(CHANNEL, wake)

    async def _run_while_connected(self, lost: asyncio.Event) -> None:
        while not self._stopping and not lost.is_set():
            self._wake.clear()
            for task in await self._take(self._concurrency - len(self._running)):
                self._begin(task)
            await self._pause(await self._until_next_s())

    async def _take(self, count: int) -> list[Task]:
        if count <= 0:
            return []
        of = (self._concurrent, self._clock())
        rows = await self._pool.fetch(table.TAKE, *of, count, self._held_s)
        return sorted(map(read_task, rows), key=lambda task: (task.due_ms, task.key))

    def _begin(self, task: Task) -> None:
        running = asyncio.create_task(self._do(task))
        self._running[running] = task
        running.add_done_callback(self._forget)

    def _forget(self, running: asyncio.Task[bool]) -> None:
        self._running.pop(running, None)
        self._wake.set()

    async def _until_next_s(self) -> float:
        """Until a task that waits for its time, or another look in any case. With no capacity left
        there is nothing to look for: the end of a task wakes the loop."""
        if len(self._running) >= self._concurrency:
            return self._poll_s
        of = (self._concurrent, self._clock())
        next_s = await self._pool.fetchval(table.UNTIL_NEXT_S, *of)
        return self._poll_s if next_s is None else min(self._poll_s, next_s)

    async def _pause(self, seconds: float) -> None:
        if self._stopping:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _pause_after_failure(self) -> None:
        # What woke us is of no use while the database is away.
        self._wake.clear()
        await self._pause(self._poll_s)

    async def _do(self, task: Task, *, draining: bool = False) -> bool:
        """False when it was too early."""
        try:
            await self._kinds[task.kind].handler(task)
        except NotYetError as reason:
            pause_ms = self._pause_ms(task, reason, draining=draining)
            await self._recorded(self._put_off(task, pause_ms))
            return False
        except Exception as failure:  # noqa: BLE001 (whatever it is, it is recorded with the task)
            await self._recorded(self._fail(task, failure, draining=draining))
        else:
            await self._recorded(self._end(task, draining=draining))
        return True

    def _pause_ms(self, task: Task, reason: NotYetError, *, draining: bool) -> float:
        if draining:
            return TOO_EARLY_IN_DRAIN_MS
        if reason.pause_ms is not None:
            return reason.pause_ms
        return self._kinds[task.kind].backoff.delay_ms(task.attempts, self._chance())

    async def _end(self, task: Task, *, draining: bool) -> None:
        of = (task.id, task.version)
        if not self._kinds[task.kind].in_order:
            await self._pool.execute(table.END, *of)
        elif await self._pool.fetchval(table.IS_THERE, *of):
            await self._fail(task, RuntimeError("what it did has not ended it"), draining=draining)

    async def _fail(self, task: Task, failure: Exception, *, draining: bool) -> None:
        backoff = self._kinds[task.kind].backoff
        told = {"job": task.kind, "subject": task.key}
        is_dead = backoff.is_over(task.failures)
        if is_dead:
            log.error("a task failed for good: `greenroom jobs list`", exc_info=failure, extra=told)
        else:
            log.warning(
                "a task failed and will be tried again",
                extra={**told, "code": type(failure).__name__},
            )
        pause_ms = 0 if draining else backoff.delay_ms(task.attempts, self._chance())
        await self._put_off(task, pause_ms, failure, is_dead=is_dead)

    async def _put_off(
        self,
        task: Task,
        pause_ms: float,
        failure: Exception | None = None,
        *,
        is_dead: bool = False,
    ) -> None:
        text = None
        if failure is not None:
            text = f"{type(failure).__name__}: {failure}"[:FAILURE_CHARACTERS]
        retry_ms = self._clock() + int(pause_ms)
        counts = int(failure is not None)
        of = (task.id, task.version)
        await self._pool.execute(table.PUT_OFF, *of, retry_ms, counts, text, is_dead)

    async def _recorded(self, writing: Awaitable[None]) -> None:
        """When the end of a task cannot be written down, the hold on it runs out, and it is done
        again."""
        try:
            await writing
        except PASSING_FAILURES:
            log.warning("what became of a task could not be written down; it will be done again")
        except Exception:
            log.exception("what became of a task could not be written down; it will be done again")

    async def _hold_on(self) -> None:
        while True:
            await asyncio.sleep(self._held_s / 3)
            held = list(self._running.values())
            if held:
                await self._recorded(self._hold(held))

    async def _hold(self, held: list[Task]) -> None:
        ids, versions = [task.id for task in held], [task.version for task in held]
        await self._pool.execute(table.HOLD_ON, ids, versions, self._held_s)

    async def _end_running(self) -> None:
        """Wait for what runs; what takes too long is given back for another worker."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=self._grace_s)
        given_back = [self._running[running] for running in late]
        for running in late:
            running.cancel()
        if late:
            await asyncio.wait(late)
        for task in given_back:
            await self._recorded(self._give_back(task))

    async def _give_back(self, task: Task) -> None:
        await self._pool.execute(table.GIVE_BACK, task.id, task.version)

    async def drain(self) -> int:
        """Do all that is due of the concurrent kinds, one after the other and without waiting for
        any pause to be over; what is too early is tried once. Says how many attempts there were,
        without those that were too early."""
        await self._pool.execute(table.DO_NOT_WAIT, self._concurrent, self._clock())
        count = 0
        while tasks := await self._take(self._concurrency):
            for task in tasks:
                count += await self._do(task, draining=True)
        return count

    @unavailable_on_failure()
    async def run_in_order(self, kind: str, limit: int, *, draining: bool = False) -> int:
        """Do what is due of a kind that has an order, and say how many attempts there were. A task
        that fails is put off and keeps no other from its turn. Only one worker at a time may do
        this: the caller holds a lock. `draining` does not wait for any pause to be over."""
        count = 0
        if draining:
            await self._pool.execute(table.DO_NOT_WAIT, [kind], self._clock())
        for _ in range(limit):
            row = await self._pool.fetchrow(table.NEXT_IN_ORDER, kind, self._clock())
            if row is None:
                break
            count += await self._do(read_task(row), draining=draining)
        return count

    @unavailable_on_failure()
    async def next_due_ms(self, kind: str) -> int | None:
        """When the next task of this kind is due that is not due yet."""
        due_ms: int | None = await self._pool.fetchval(table.NEXT_DUE, kind, self._clock())
        return due_ms
