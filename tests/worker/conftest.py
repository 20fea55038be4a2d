"""Jobs and the worker on a real PostgreSQL."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from greenroom.platform.backoff import Backoff
from greenroom.platform.jobs import Jobs, install


@pytest.fixture(scope="module")
async def queue_pool(pool: asyncpg.Pool) -> asyncpg.Pool:
    """The module's pool, with the queue's tables."""
    async with pool.acquire() as conn:
        await install(conn)
    return pool


@pytest.fixture
async def jobs(queue_pool: asyncpg.Pool) -> AsyncIterator[Jobs]:
    """On an empty queue; what fails is tried three times, without pauses."""
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    made = Jobs(queue_pool, backoff=Backoff(base_ms=0, cap_ms=0, attempts=3), chance=lambda: 0.0)
    yield made
    made.stop()
