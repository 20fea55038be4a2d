"""What is behind the API, on every store."""

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.store import DynamoConversations

from .inside import DynamoInside, Inside, PostgresInside


@pytest.fixture(scope="module")
def inside(rooms: Rooms, pool: asyncpg.Pool) -> Inside:
    if isinstance(rooms.store, DynamoConversations):
        return DynamoInside(rooms.store)
    return PostgresInside(pool)
