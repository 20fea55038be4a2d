"""Embedded databases of our own, because they are going to be killed."""

import random
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from tests.support.databases import new_home

from .databases import Database, DynamoDatabase, PostgresDatabase
from .talk import Server, Talk

StartTalk = Callable[..., Awaitable[Talk]]


@pytest.fixture(scope="package")
def home() -> Iterator[Path]:
    # Not pytest's tmp_path: only root may enter that, and the database does not run as root.
    folder = new_home("greenroom-torture-")
    postgres, dynamodb = EmbeddedPostgres(folder), EmbeddedDynamoDb(folder)
    try:
        postgres.acquire()
        dynamodb.acquire()
        yield folder
    finally:
        dynamodb.release()
        postgres.release()
        EmbeddedPostgres(folder).stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(home: Path, conversations: str) -> Iterator[Database]:
    kinds: dict[str, Callable[[Path], Database]] = {
        "postgres": PostgresDatabase,
        "dynamodb": DynamoDatabase,
    }
    made = kinds[conversations](home)
    yield made
    made.close()


@pytest.fixture
async def start_talk(home: Path, database: Database) -> AsyncIterator[StartTalk]:
    """A running server with two people who have threads on it; all of it ends with the test."""
    begun: list[Talk] = []

    async def start_one(*, threads: int = 3, workers: int = 1) -> Talk:
        server = Server(home, database.environment, workers=workers)
        talk = Talk(server, f"{random.SystemRandom().randrange(1 << 40):x}")
        begun.append(talk)
        await server.begin()
        await talk.begin(threads)
        return talk

    yield start_one
    for talk in begun:
        await talk.close()
        await talk.server.clear_away()
