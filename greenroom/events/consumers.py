"""Consumers of the event log: each has a cursor of its own and keeps no other waiting."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from asyncpg import Pool

from greenroom.events.log import EventLog
from greenroom.events.model import LoggedEvent
from greenroom.kernel.errors import Unavailable
from greenroom.platform.backoff import Backoff
from greenroom.platform.metrics import BACKGROUND_FAILURES
from greenroom.platform.postgres.pool import PASSING_FAILURES, Session


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a consumer has come with a batch: its cursor moves to `position`. With a `failure`
    this is raised after the commit, so that the next attempt comes after a pause."""

    position: int
    failure: Exception | None = None


Handle = Callable[[Session, Sequence[LoggedEvent]], Awaitable[Progress | None]]
"""Does what a consumer does with a batch of events, in the transaction that moves its cursor. None:
it is done with all of them."""

BATCH = 500
LOOK_S = 5.0
STANDBY_S = 1.0
BACKOFF = Backoff(base_ms=200, cap_ms=30_000)

ADD_CURSOR = """
insert into event_cursor (consumer, position) values ($1, $2) on conflict (consumer) do nothing
"""
CURSOR = "select position from event_cursor where consumer = $1 for update"
# Whoever has the row is at work on the same events.
CURSOR_IF_FREE = f"{CURSOR} skip locked"
ADVANCE = "update event_cursor set position = $2 where consumer = $1"
FORGET = "delete from event_cursor where consumer = $1"

log = logging.getLogger(__name__)


async def cursor_of(conn: Session, consumer: str, *, start: int) -> int:
    """Up to where the consumer has read. The cursor is made at `start` if there is none, and it is
    locked until the end of the transaction, so that a consumer works in one process at a time."""
    await conn.execute(ADD_CURSOR, consumer, start)
    position: int = await conn.fetchval(CURSOR, consumer)
    return position


async def advance(conn: Session, consumer: str, position: int) -> None:
    """Set the cursor; to an earlier position to read events again."""
    await conn.execute(ADVANCE, consumer, position)


async def forget(conn: Session, consumer: str) -> None:
    """Remove the cursor of a consumer that is no more."""
    await conn.execute(FORGET, consumer)


class Consumer:
    """Runs one consumer in a worker: reads behind its cursor, lets it handle the events, and moves
    the cursor in the same transaction. Several workers may have the same consumer; one of them at
    a time is at work. If `handle` raises, the same events come again, after a pause that grows."""

    def __init__(
        self,
        pool: Pool,
        events: EventLog,
        name: str,
        handle: Handle,
        *,
        batch: int = BATCH,
        backoff: Backoff = BACKOFF,
    ) -> None:
        """A new consumer begins at the end of the log."""
        self._pool = pool
        self._events = events
        self._name = name
        self._handle = handle
        self._batch = batch
        self._backoff = backoff
        self._position = 0
        self._has_cursor = False
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`."""
        failures = 0
        while not self._stopping.is_set():
            try:
                count = await self.step()
            except (Unavailable, *PASSING_FAILURES):
                log.warning("a consumer of events will try again", extra={"job": self._name})
            except Exception:
                BACKGROUND_FAILURES.labels(self._name).inc()
                log.exception("a consumer of events will try again", extra={"job": self._name})
            else:
                failures = 0
                if count is None:
                    await self._pause(STANDBY_S)
                elif not count:
                    await self._unless_stopped(self._events.wait_for_new(self._position, LOOK_S))
                continue
            failures += 1
            await self._backoff.pause(failures - 1, sleep=self._pause)

    def stop(self) -> None:
        self._stopping.set()

    async def drain(self) -> int:
        """Handle everything that is in the log, and say how much it was."""
        total = 0
        while count := await self.step():
            total += count
        return total

    async def step(self) -> int | None:
        """Handle the next events and say how many they were; None if another process is at work on
        them."""
        await self._add_cursor()
        async with self._pool.acquire() as conn, conn.transaction():
            position: int | None = await conn.fetchval(CURSOR_IF_FREE, self._name)
            if position is None:
                # Or somebody has removed the cursor, and the next step makes it again.
                self._has_cursor = False
                return None
            self._position = position
            events = await self._events.read(position, self._batch, conn=conn)
            if not events:
                return 0
            self._note_gap(events[0].position - position - 1)
            progress = await self._handle(conn, events) or Progress(events[-1].position)
            await advance(conn, self._name, progress.position)
        self._position = progress.position
        if progress.failure is not None:
            raise progress.failure
        return len(events)

    async def _add_cursor(self) -> None:
        if not self._has_cursor:
            await self._pool.execute(ADD_CURSOR, self._name, await self._events.head())
            self._has_cursor = True

    def _note_gap(self, missed: int) -> None:
        if missed > 0:
            told = {"job": self._name, "count": missed}
            log.error("a consumer was away for so long that events were deleted", extra=told)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _unless_stopped(self, waiting: Coroutine[Any, Any, object]) -> None:
        tasks = [asyncio.create_task(waiting), asyncio.create_task(self._stopping.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
