"""What each adapter suffers while many write at once: rows that are held, races that are lost."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager

import asyncpg

from greenroom.conversations.dynamodb.items.keys import thread_key
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Key, Table, Update
from greenroom.platform.dynamodb.transport import open_client

from .world import Disturb

AT_ONCE = 2
MOST_LOOKS = 60
LOCK_THREAD = "select 1 from thread where thread_id = $1 for update"
LOCK_HEAD = "select 1 from feed_head where user_id = $1 for update"
IS_WAITED_FOR = """
select exists (select 1 from pg_stat_activity
    where datname = current_database() and pg_backend_pid() = any (pg_blocking_pids(pid)))
"""

Meddle = Callable[
    [random.Random, Sequence[str], Sequence[str], asyncio.Event], Coroutine[None, None, None]
]


def meddling(meddle: Meddle) -> Disturb:
    @asynccontextmanager
    async def disturb(
        threads: Sequence[str], people: Sequence[str], seed: int
    ) -> AsyncIterator[None]:
        stopping = asyncio.Event()
        tasks = [
            asyncio.create_task(meddle(random.Random(seed + n), threads, people, stopping))
            for n in range(1, AT_ONCE + 1)
        ]
        try:
            yield
        finally:
            stopping.set()
            await asyncio.gather(*tasks)

    return disturb


def postgres_mischief(url: str) -> Disturb:
    async def hold_in_turn(
        choose: random.Random,
        threads: Sequence[str],
        people: Sequence[str],
        stopping: asyncio.Event,
    ) -> None:
        """Lock one row after another, each until somebody has been seen waiting for it."""
        connection = await asyncpg.connect(url)
        try:
            while not stopping.is_set():
                async with connection.transaction():
                    if choose.random() < 0.5:
                        lock, row = LOCK_THREAD, choose.choice(threads)
                    else:
                        lock, row = LOCK_HEAD, choose.choice(people)
                    await connection.execute(lock, row)
                    for _ in range(choose.randrange(MOST_LOOKS)):
                        if await connection.fetchval(IS_WAITED_FOR) or stopping.is_set():
                            break
        finally:
            await connection.close()

    return meddling(hold_in_turn)


def dynamodb_mischief(access: Access, table_name: str) -> Disturb:
    async def raise_in_turn(
        choose: random.Random,
        threads: Sequence[str],
        _people: Sequence[str],
        stopping: asyncio.Event,
    ) -> None:
        """Raise the version of one thread after another, so that whoever decides on it just then
        has done so in vain; and let somebody through before the next."""
        table = Table(open_client(access), table_name, Meter())
        try:
            while not stopping.is_set():
                key = thread_key(choose.choice(threads))
                await table.write(Update(key, "SET ver = ver + :one", values={":one": 1}))
                raised = await version(table, key)
                for _ in range(choose.randrange(MOST_LOOKS)):
                    if await version(table, key) != raised or stopping.is_set():
                        break
        finally:
            await table.close()

    return meddling(raise_in_turn)


async def version(table: Table, key: Key) -> int:
    item = await table.get(key)
    assert item is not None
    found: int = item["ver"]
    return found
