"""A stage for cards, on conversations in PostgreSQL unless a module says otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.cards.catalogue.loading import Catalogue, load_catalogue
from tests.support.clock import FakeClock

from .stage import Stage


@pytest.fixture(scope="module")
def conversations() -> str:
    return "postgres"


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture
async def stage(
    rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, catalogue: Catalogue
) -> AsyncIterator[Stage]:
    opened = Stage(rooms, pool, clock, catalogue)
    yield opened
    await opened.check()
