"""Processes that are killed at a chosen place, between any two things that others can see."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import asyncpg
import httpx

from greenroom.bookings.money.provider import Operation, Outcome, PaymentProvider
from greenroom.bootstrap import Rooms, http_app
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.platform.dynamodb.client import Client as DynamoClient
from greenroom.platform.dynamodb.client import Send
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from greenroom.settings import Settings

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
END = "select pg_terminate_backend(pid, 10000) from unnest($1::int[]) as p (pid)"


class Killed(BaseException):
    """The process is no more: nothing that would handle an error runs on."""


class Death:
    """Comes at the place with this number; None: not at all. From then on nothing that the process
    still thinks it does reaches anybody."""

    def __init__(self, at: int | None) -> None:
        self.places: list[str] = []
        self.is_dead = False
        self.is_awake = False
        self.came = asyncio.Event()
        self.pids: set[int] = set()
        self._at = at

    def passes(self, place: str) -> None:
        self.check()
        if not self.is_awake:
            return
        self.places.append(place)
        if len(self.places) - 1 == self._at:
            self.is_dead = True
            self.came.set()
            raise Killed(place)

    def check(self) -> None:
        if self.is_dead:
            raise Killed

    async def statement(
        self, conn: asyncpg.Connection, query: str, run: Callable[[], Awaitable[Any]]
    ) -> Any:
        """A place before everything that writes and after everything that commits. Between two of
        these, others see the same."""
        self.pids.add(conn.get_server_pid())
        words = query.split(maxsplit=3)
        brief = " ".join(words[:3]).lower()
        if brief.startswith(("select", "begin")):
            self.check()
            return await run()
        self.passes(f"before: {brief}")
        result = await run()
        if not conn.is_in_transaction():
            self.passes(f"after: {brief}")
        return result

    def connection_class(self) -> type[asyncpg.Connection]:
        death = self

        class Mortal(asyncpg.Connection):
            async def execute(self, query: str, *args: Any, **more: Any) -> Any:
                plain = super().execute
                return await death.statement(self, query, lambda: plain(query, *args, **more))

            async def fetch(self, query: str, *args: Any, **more: Any) -> Any:
                plain = super().fetch
                return await death.statement(self, query, lambda: plain(query, *args, **more))

            async def fetchrow(self, query: str, *args: Any, **more: Any) -> Any:
                plain = super().fetchrow
                return await death.statement(self, query, lambda: plain(query, *args, **more))

            async def fetchval(self, query: str, *args: Any, **more: Any) -> Any:
                plain = super().fetchval
                return await death.statement(self, query, lambda: plain(query, *args, **more))

        return Mortal

    def on_the_way_to(self, send: Send) -> Send:
        async def sending(action: str, body: bytes) -> tuple[int, bytes]:
            if action not in WRITES:
                self.check()
                return await send(action, body)
            self.passes(f"before: {action}")
            answer = await send(action, body)
            self.passes(f"after: {action}")
            return answer

        return sending


class MortalProvider:
    def __init__(self, provider: PaymentProvider, death: Death) -> None:
        self._provider = provider
        self._death = death

    async def carry_out(self, operation: Operation) -> Outcome:
        self._death.passes(f"before: the provider's {operation.operation}")
        outcome = await self._provider.carry_out(operation)
        self._death.passes(f"after: the provider's {operation.operation}")
        return outcome


class Process:
    """The whole product, as one more process on the same database."""

    def __init__(
        self, settings: Settings, database_url: str, clock: FakeClock, death: Death
    ) -> None:
        self.rooms = Rooms(settings, database_url, clock=clock)
        self.death = death
        self._pools = self.rooms._pools
        for pool in self._pools:
            cast("Any", pool)._connection_class = death.connection_class()
        runner = self.rooms.contract.runner
        runner._provider = MortalProvider(runner._provider, death)
        self._dynamodb = _dynamodb_client(self.rooms)
        if self._dynamodb is not None:
            self._dynamodb._send = death.on_the_way_to(self._dynamodb._send)

    async def live(
        self, life: Callable[[httpx.AsyncClient, Rooms], Awaitable[None]], pool: asyncpg.Pool
    ) -> None:
        """Until it is killed, or has done all that it wanted to."""
        await self.rooms.__aenter__()
        self._before = asyncio.all_tasks()
        self.death.is_awake = True
        living = asyncio.create_task(self._live(life))
        dying = asyncio.create_task(self.death.came.wait())
        try:
            await asyncio.wait([living, dying], return_when=asyncio.FIRST_COMPLETED)
            if living.done() and not self.death.is_dead:
                living.result()
        finally:
            await self._bury(pool)

    async def _live(self, life: Callable[[httpx.AsyncClient, Rooms], Awaitable[None]]) -> None:
        transport = httpx.ASGITransport(app=http_app(self.rooms))
        async with httpx.AsyncClient(transport=transport, base_url="http://mortal") as http:
            await life(http, self.rooms)

    async def _bury(self, pool: asyncpg.Pool) -> None:
        """Without any farewell: its connections break, and what it held is free."""
        self.death.is_dead = True
        await pool.fetch(END, list(self.death.pids))
        for each in self._pools:
            each.terminate()
        left = asyncio.all_tasks() - self._before
        for task in left:
            task.cancel()
        # What is left of a dead process may say anything.
        await asyncio.gather(*left, return_exceptions=True)
        if self._dynamodb is not None:
            await self._dynamodb.close()


@contextmanager
def mourning_nobody() -> Iterator[None]:
    """While this is open, and after it, nobody reports on what the tasks of the dead have died of:
    a report can come at any moment, also while the interpreter is busy with itself."""
    loop = asyncio.get_running_loop()

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), Killed):
            loop.default_exception_handler(context)

    before = loop.get_exception_handler()
    loop.set_exception_handler(report)
    try:
        yield
    finally:
        gc.collect()
        loop.set_exception_handler(before)


def _dynamodb_client(rooms: Rooms) -> DynamoClient | None:
    if not isinstance(rooms.store, DynamoConversations):
        return None
    return rooms.store.parts[0].table._client
