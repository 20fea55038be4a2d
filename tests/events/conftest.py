"""An empty event log on a real PostgreSQL, written to as changes do."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from .workbench import Workbench


@pytest.fixture
async def bench(pool: asyncpg.Pool) -> AsyncIterator[Workbench]:
    bench = Workbench(pool)
    await bench.clear()
    yield bench
    await bench.stop()
