"""A stage for bookings, on conversations in PostgreSQL unless a module says otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from tests.support.clock import FakeClock

from .stage import Stage


@pytest.fixture(scope="module")
def conversations() -> str:
    return "postgres"


@pytest.fixture
async def stage(rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock) -> AsyncIterator[Stage]:
    opened = Stage(rooms, pool, clock)
    yield opened
    await opened.check_ledger()
