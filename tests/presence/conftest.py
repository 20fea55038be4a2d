"""The store on PostgreSQL, and two servers on top of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.kernel.limits import Limits
from greenroom.presence.store_postgres import PostgresPresence

from .site import Gated, Server, SharedBus, Site

if TYPE_CHECKING:
    from conftest import FakeClock


@pytest.fixture
def store(pool: asyncpg.Pool, limits: Limits) -> PostgresPresence:
    return PostgresPresence(pool, limits=limits)


@pytest.fixture
async def site(store: PostgresPresence, clock: FakeClock, limits: Limits) -> AsyncIterator[Site]:
    buses: list[SharedBus] = []
    servers = [Server(Gated(store), SharedBus(buses), clock, limits) for _ in range(2)]
    yield Site(*servers)
    for server in servers:
        await server.presence.close()
