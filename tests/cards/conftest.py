"""A stage for cards, on conversations in PostgreSQL unless a module says otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.cards.catalogue import Catalogue, load_catalogue

from .stage import Stage

if TYPE_CHECKING:
    from conftest import FakeClock


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
