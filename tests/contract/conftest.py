"""The adapters that the contract holds for, and what every test of it needs."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from greenroom.conversations.feeds_postgres import PINNED_PLANS, Wake
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.store_postgres import PostgresConversations
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres import new_pool

from .world import ROOMY, Disturb, OpenStore, Seed, WildClock, names, seeded_randomness

MOST_LOOKS = 60
LOCK_THREAD = "select 1 from thread where thread_id = $1 for update"
LOCK_HEAD = "select 1 from feed_head where user_id = $1 for update"
IS_WAITED_FOR = """
select exists (select 1 from pg_stat_activity
    where datname = current_database() and pg_backend_pid() = any (pg_blocking_pids(pid)))
"""


def nobody(_user_ids: Iterable[str]) -> None:
    """Nobody follows a feed here."""


def postgres_adapter(url: str) -> OpenStore:
    @asynccontextmanager
    async def open_store(
        *, clock: Clock, randomness: Randomness, limits: Limits = ROOMY, wake: Wake = nobody
    ) -> AsyncIterator[ConversationStore]:
        async def pool(connections: int, settings: Mapping[str, str] | None = None) -> Any:
            return await new_pool(
                url,
                min_size=1,
                max_size=connections,
                statement_timeout_ms=limits.statement_timeout_ms,
                settings=settings,
            )

        store = PostgresConversations(
            await pool(limits.read_connections),
            await pool(limits.send_connections),
            await pool(limits.feed_connections, PINNED_PLANS),
            await pool(limits.ack_connections),
            clock=clock,
            randomness=randomness,
            limits=limits,
            wake=wake,
        )
        try:
            yield store
        finally:
            await store.close()

    return open_store


@pytest.fixture(scope="module", params=["postgres"])
def open_store(request: pytest.FixtureRequest, database_url: str) -> OpenStore:
    adapters: dict[str, Callable[[str], OpenStore]] = {"postgres": postgres_adapter}
    return adapters[request.param](database_url)


@pytest.fixture
def disturb(database_url: str) -> Disturb:
    @asynccontextmanager
    async def hold_rows(
        threads: Sequence[str], people: Sequence[str], seed: int
    ) -> AsyncIterator[None]:
        stopping = asyncio.Event()
        holders = [hold_in_turn(database_url, threads, people, seed + n, stopping) for n in (1, 2)]
        tasks = [asyncio.create_task(each) for each in holders]
        try:
            yield
        finally:
            stopping.set()
            await asyncio.gather(*tasks)

    return hold_rows


async def hold_in_turn(
    url: str, threads: Sequence[str], people: Sequence[str], seed: int, stopping: asyncio.Event
) -> None:
    """Lock one row after another, each until somebody has been seen waiting for it."""
    choose = random.Random(seed)
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


@pytest.fixture
def clock() -> WildClock:
    return WildClock()


@pytest.fixture
async def store(open_store: OpenStore, clock: WildClock, seed: Seed) -> AsyncIterator[Any]:
    randomness = seeded_randomness(seed.random.randrange(1 << 40))
    async with open_store(clock=clock, randomness=randomness) as opened:
        yield opened


@pytest.fixture
def person() -> Callable[[], str]:
    """Someone whom no other test knows."""
    ids = names("p")
    return lambda: next(ids)


@pytest.fixture
def seed() -> Seed:
    """Printed with a failure, as pytest shows what a failed test wrote."""
    chosen = Seed.chosen()
    print(f"replay with {chosen}")
    return chosen
