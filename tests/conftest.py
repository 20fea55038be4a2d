"""PostgreSQL for tests: one server per run, one database per test module."""

import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from greenroom.platform.embedded_postgres import EmbeddedPostgres
from greenroom.platform.migrations import migrate
from greenroom.platform.postgres import open_pool


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server on which databases may be created: the given one, or an embedded one."""
    given = os.environ.get("GREENROOM_TEST_DATABASE_URL")
    if given:
        yield given
        return
    # Not pytest's tmp_path: only root may enter that, and the server does not run as root.
    home = Path(tempfile.mkdtemp(prefix="greenroom-test-"))
    home.chmod(0o755)
    server = EmbeddedPostgres(home)
    try:
        yield server.acquire()
    finally:
        server.release()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def template_database(postgres_url: str) -> AsyncIterator[str]:
    """The name of a database with all migrations, to be copied."""
    name = f"greenroom_template_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name}")
    await migrate(database_at(postgres_url, name))
    yield name
    await run_sql(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
async def database_url(postgres_url: str, template_database: str) -> AsyncIterator[str]:
    """This module's own database: migrated, empty, dropped at the end."""
    name = f"greenroom_test_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template_database}")
    yield database_at(postgres_url, name)
    await run_sql(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(database_url, min_size=1, max_size=8, statement_timeout_ms=15_000)
    yield opened
    await opened.close()


async def run_sql(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def database_at(server_url: str, name: str) -> str:
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()
