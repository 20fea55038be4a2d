"""Databases and tables to load samples into, as many as a test asks for."""

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

import asyncpg
import pytest

from greenroom.demo.media.album import FILES
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.settings import load_settings
from tests.support.remembered_media import RememberedMedia, remembered_files

from .places import NewPlace, Place


class NewDatabase(Protocol):
    def __call__(self, copied_from: str | None = None) -> Awaitable[str]:
        """The address of a database without a sample, or with all that is in another."""


async def run_on(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture(scope="session", autouse=True)
def remembered_media() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("greenroom.demo.sample.MediaProcess", RememberedMedia)
        for name, file in remembered_files().items():
            patch.setitem(FILES, name, file)
        yield


@pytest.fixture(scope="module")
async def new_database(postgres_url: str, template_database: str) -> AsyncIterator[NewDatabase]:
    made: list[str] = []

    async def make(copied_from: str | None = None) -> str:
        made.append(f"greenroom_demo_{secrets.token_hex(4)}")
        template = urlsplit(copied_from).path[1:] if copied_from else template_database
        await run_on(postgres_url, f"CREATE DATABASE {made[-1]} TEMPLATE {template}")
        return urlsplit(postgres_url)._replace(path=f"/{made[-1]}").geturl()

    yield make
    for name in made:
        # Not with force: that may not end an autovacuum, and without it PostgreSQL does so itself.
        await run_on(postgres_url, f"DROP DATABASE {name}")


@pytest.fixture(scope="module")
def aws_keys() -> Iterator[None]:
    """The engine takes any, but some there must be."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, os.environ.get(name) or "tests")
        yield


@pytest.fixture(scope="module")
def new_place(
    new_database: NewDatabase,
    dynamodb_access: Access,
    aws_keys: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> NewPlace:
    """An empty store of this kind, with a database for its accounts."""

    async def make(conversations: str) -> Place:
        home = {"GREENROOM_HOME": str(tmp_path_factory.mktemp("home"))}
        url = await new_database()
        if conversations == "postgres":
            return Place(load_settings(home), url)
        name = f"test-{secrets.token_hex(4)}"
        client = open_client(dynamodb_access)
        await create_table(client, name)
        await client.close()
        kept = {
            "GREENROOM_CONVERSATIONS": conversations,
            "GREENROOM_DYNAMODB_ENDPOINT": dynamodb_access.url,
            "GREENROOM_DYNAMODB_TABLE": name,
        }
        return Place(load_settings({**home, **kept}), url, dynamodb_access)

    return make


class Database:
    """Answers with the rows that are wrong, so that a failed test shows them."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._connection.fetch(query)]


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
