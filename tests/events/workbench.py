"""A log, collectors and consumers of one process, and transactions that write events."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg

from greenroom.events.collector import LOCK, Collector, HandsOver
from greenroom.events.consumers import Consumer, Handle
from greenroom.events.log import EventLog
from greenroom.events.model import LoggedEvent
from greenroom.platform.backoff import Backoff
from greenroom.platform.bus.port import LocalBus
from greenroom.worker import Background
from tests.support.clock import FakeClock

AT_ONCE = Backoff(base_ms=0, cap_ms=0)
CLEAR = """
delete from outbox; delete from event_log; delete from event_log_head; delete from event_thread;
delete from event_cursor
"""
WRITE = """
insert into outbox (event, occurred_at, thread_id, message_id)
select 'message.send', $1, $2, text
from unnest($3::text[]) with ordinality as t (text, n) order by n
"""
LEADER = """
select pid from pg_locks where locktype = 'advisory' and granted and objid = $1
    and database = (select oid from pg_database where datname = current_database())
"""


class Workbench:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool
        self.clock = FakeClock()
        self.bus = LocalBus()
        self.log = EventLog(pool, self.bus)
        self._running: list[tuple[Background, asyncio.Task[None]]] = []

    async def clear(self) -> None:
        await self.pool.execute(CLEAR)

    def collector(self, *, store: HandsOver | None = None, batch: int = 1000) -> Collector:
        return Collector(self.pool, self.log, self.bus, clock=self.clock, store=store, batch=batch)

    def consumer(self, name: str, handle: Handle, batch: int = 500) -> Consumer:
        return Consumer(self.pool, self.log, name, handle, batch=batch, backoff=AT_ONCE)

    def start(self, *backgrounds: Background) -> None:
        self._running += [(each, asyncio.create_task(each.run())) for each in backgrounds]

    async def stop(self) -> None:
        for background, _ in self._running:
            background.stop()
        self.bus.publish("event-log", ["0"])
        await asyncio.gather(*(task for _, task in self._running))
        self._running = []

    async def write(self, thread_id: str | None, *texts: str) -> None:
        """A change with these events, and its wake-up."""
        async with self.writing(thread_id, *texts):
            pass
        self.bus.publish("feed", ["somebody"])

    @asynccontextmanager
    async def writing(self, thread_id: str | None, *texts: str) -> AsyncIterator[None]:
        """Committed at the end."""
        async with self.pool.acquire() as conn, conn.transaction():
            await conn.execute(WRITE, self.clock(), thread_id, texts)
            yield

    async def collect(self) -> None:
        await self.collector().drain()

    async def texts(self, after: int = 0) -> list[str | None]:
        return texts_of(await self.log.read(after, 100_000))

    async def of_thread(self, thread_id: str) -> list[str | None]:
        events = await self.log.of_thread(thread_id, 0, 100_000)
        assert [each.thread_number for each in events] == list(range(1, len(events) + 1))
        return texts_of(events)

    async def leader(self) -> int | None:
        """The process of the database that serves the collector that leads."""
        pid: int | None = await self.pool.fetchval(LEADER, LOCK)
        return pid


def texts_of(events: Sequence[LoggedEvent]) -> list[str | None]:
    return [each.message_id for each in events]
