"""Databases to load samples into, as many as a test asks for."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from greenroom.demo.bulk import TABLES

NewDatabase = Callable[[], Awaitable[str]]


async def run_on(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture
async def new_database(postgres_url: str, template_database: str) -> AsyncIterator[NewDatabase]:
    made: list[str] = []

    async def make() -> str:
        made.append(f"greenroom_demo_{secrets.token_hex(4)}")
        await run_on(postgres_url, f"CREATE DATABASE {made[-1]} TEMPLATE {template_database}")
        return urlsplit(postgres_url)._replace(path=f"/{made[-1]}").geturl()

    yield make
    for name in made:
        # Not with force: that may not end an autovacuum, and without it PostgreSQL does so itself.
        await run_on(postgres_url, f"DROP DATABASE {name}")


class Database:
    """Answers with the rows that are wrong, so that a failed test shows them."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._connection.fetch(query)]

    async def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table that a load fills."""
        tables = (*TABLES, "message_audit", "outbox", "user_block")
        everything = "select * from {} order by 1, 2"
        return {table: await self.rows(everything.format(table)) for table in tables}


@pytest.fixture
def look_into() -> Callable[[str], Any]:
    @asynccontextmanager
    async def open_database(url: str) -> AsyncIterator[Database]:
        connection = await asyncpg.connect(url)
        try:
            yield Database(connection)
        finally:
            await connection.close()

    return open_database
