"""What is killed under the server: the database in which conversations are kept."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import asyncpg

from greenroom.platform.embedded.dynamodb.engine import Engine, find_engine
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from tests.support.waiting import until

WAITING = """
select count(*) from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock'
"""

Release = Callable[[], Awaitable[None]]


class Database(Protocol):
    """The embedded one of a home. Whoever restarts it uses it until `close`."""

    @property
    def environment(self) -> dict[str, str]: ...

    async def kill(self) -> None:
        """As the kernel or a power cut would. Returns when the last of its processes is gone."""

    async def restart(self) -> None: ...

    def holding(self, thread_id: str) -> AbstractAsyncContextManager[Release]:
        """While open, and until it is released, a send to this thread comes to no end."""

    async def is_waited_for(self) -> bool:
        """Whether a send has come to where it is held, as far as this can be seen."""

    def close(self) -> None: ...


class PostgresDatabase:
    environment: dict[str, str]

    def __init__(self, home: Path) -> None:
        self.environment = {}
        self._home = home
        self._restarted: list[EmbeddedPostgres] = []
        self._holder: asyncpg.Connection | None = None

    async def kill(self) -> None:
        status = EmbeddedPostgres(self._home).status()
        assert status.pid is not None
        os.kill(status.pid, signal.SIGKILL)
        # Some of its processes outlive the postmaster by a moment.
        await until(lambda: not _is_anyone_in(status.data_dir), "the end of its processes")

    async def restart(self) -> None:
        self._restarted.append(EmbeddedPostgres(self._home))
        await asyncio.to_thread(self._restarted[-1].acquire)

    @contextlib.asynccontextmanager
    async def holding(self, thread_id: str) -> AsyncIterator[Release]:
        connection = await asyncpg.connect(EmbeddedPostgres(self._home).url())
        self._holder = connection
        try:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(
                "select 1 from thread where thread_id = $1 for update", thread_id
            )
            yield transaction.rollback
        finally:
            await connection.close()

    async def is_waited_for(self) -> bool:
        assert self._holder is not None
        return bool(await self._holder.fetchval(WAITING))

    def close(self) -> None:
        for each in self._restarted:
            each.release()


class DynamoDatabase:
    environment: dict[str, str]

    def __init__(self, home: Path) -> None:
        self.environment = {
            "GREENROOM_CONVERSATIONS": "dynamodb",
            "GREENROOM_DYNAMODB_ENDPOINT": "embedded",
        }
        self._home = home
        self._restarted: list[EmbeddedDynamoDb] = []

    def _engine(self) -> Engine | None:
        return find_engine(self._home / "dynamodb")

    async def kill(self) -> None:
        engine = self._engine()
        assert engine is not None
        os.kill(engine.pid, signal.SIGKILL)
        await until(lambda: self._engine() is None, "the end of the engine")

    async def restart(self) -> None:
        self._restarted.append(EmbeddedDynamoDb(self._home))
        await asyncio.to_thread(self._restarted[-1].acquire)

    @contextlib.asynccontextmanager
    async def holding(self, _thread_id: str) -> AsyncIterator[Release]:
        """There are no locks to be held: the engine itself holds its breath."""
        engine = self._engine()
        assert engine is not None

        async def release() -> None:
            os.kill(engine.pid, signal.SIGCONT)

        os.kill(engine.pid, signal.SIGSTOP)
        try:
            yield release
        finally:
            await release()

    async def is_waited_for(self) -> bool:
        return True

    def close(self) -> None:
        for each in self._restarted:
            each.release()


def _is_anyone_in(data: Path) -> bool:
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and (process / "cwd").samefile(data):
                return True
    return False
