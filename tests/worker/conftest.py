"""Tasks and the worker on a real PostgreSQL."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.platform.backoff import Backoff
from greenroom.platform.tasks.runner import TaskRunner

if TYPE_CHECKING:
    from tests.support.clock import FakeClock


@pytest.fixture
async def tasks(pool: asyncpg.Pool, clock: "FakeClock") -> AsyncIterator[TaskRunner]:
    """On an empty table; what fails is tried three times, without pauses."""
    await pool.execute("truncate task")
    backoff = Backoff(base_ms=0, cap_ms=0, attempts=3)
    made = TaskRunner(pool, clock=clock, backoff=backoff, chance=lambda: 0.0)
    yield made
    made.stop()
