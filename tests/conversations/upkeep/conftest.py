"""Upkeep is tested wherever conversations are kept."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.platform.dynamodb.credentials import embedded_access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import open_client

from .kept import DynamoKept, Kept, PostgresKept


@pytest.fixture(scope="module")
async def kept(rooms: Rooms, pool: asyncpg.Pool) -> AsyncIterator[Kept]:
    settings = rooms.settings
    if settings.dynamodb_endpoint is None:
        yield PostgresKept(pool)
        return
    assert isinstance(rooms.store, DynamoConversations)
    threads, _ = rooms.store.parts
    client = open_client(embedded_access(settings.dynamodb_endpoint))
    yield DynamoKept(Table(client, settings.dynamodb_table, Meter()), pool, threads)
    await client.close()
