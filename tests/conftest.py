"""PostgreSQL and DynamoDB for tests: one engine of each per run, one database or table per module.

And the product on top of them: `rooms`, and `api` to call it as people do.
"""

import os
import random
import secrets
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from greenroom.bootstrap import Rooms, http_app
from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.s3.signing import Bucket
from greenroom.platform.dynamodb.credentials import Access, embedded_access
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.embedded.s3.requests import ENGINE_REGION
from greenroom.platform.embedded.s3.shared import EmbeddedS3
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.postgres.pool import open_pool
from greenroom.settings import Settings, load_settings
from tests.support.api import Api
from tests.support.clock import FakeClock
from tests.support.databases import database_at, drop_database, memory_folder, new_home, run_sql
from tests.support.run_folder import open_run_folder, remove_run_folder
from tests.support.s3 import BUCKET, S3Engine
from tests.support.seeds import chosen_seed, repeat_generated_examples
from tests.support.tls import share_tls_context

repeat_generated_examples()
share_tls_context()

DYNAMODB_TEST_BYTES = 1_000_000_000
POSTGRES_TEST_BYTES = 8_000_000_000
"""Far more than what tests write into one engine, logs included."""


def pytest_configure(config: pytest.Config) -> None:
    if open_run_folder():
        config.add_cleanup(remove_run_folder)


@pytest.fixture(scope="session", autouse=True)
def _only_this_machine() -> Iterator[None]:
    """Names of other machines are not found, whatever the network of this one says."""
    look_up = socket.getaddrinfo

    def find(host: Any, *args: Any, **options: Any) -> Any:
        with suppress(ValueError):
            ip_address(str(host))
            return look_up(host, *args, **options)
        if host in (None, "", "localhost"):
            return look_up(host, *args, **options)
        raise socket.gaierror(socket.EAI_NONAME, "tests know no other machine")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", find)
        yield


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server on which databases may be created: the given one, or an embedded one."""
    given = os.environ.get("GREENROOM_TEST_DATABASE_URL")
    if given:
        yield given
        return
    # Not pytest's tmp_path: only root may enter that, and the server does not run as root.
    folder = memory_folder(POSTGRES_TEST_BYTES)
    home = Path(tempfile.mkdtemp(prefix="greenroom-test-", dir=folder))
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
    await drop_database(postgres_url, name)


@pytest.fixture(scope="module")
async def database_url(postgres_url: str, template_database: str) -> AsyncIterator[str]:
    """This module's own database: migrated, empty, dropped at the end."""
    name = f"greenroom_test_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template_database}")
    yield database_at(postgres_url, name)
    await drop_database(postgres_url, name)


@pytest.fixture(scope="session")
def dynamodb_access() -> Iterator[Access]:
    """To a DynamoDB engine that runs until the end: the given one, or an embedded one."""
    given = os.environ.get("GREENROOM_DYNAMODB_TEST_URL")
    if given:
        yield embedded_access(given)
        return
    folder = memory_folder(DYNAMODB_TEST_BYTES)
    home = Path(tempfile.mkdtemp(prefix="greenroom-test-", dir=folder))
    try:
        with EmbeddedDynamoDb(home).using() as url:
            yield embedded_access(url)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def s3_engine() -> Iterator[S3Engine]:
    """An embedded S3 that runs until the end, with a bucket."""
    home = new_home()
    engine = EmbeddedS3(home)
    try:
        with engine.using() as url:
            engine.prepare(BUCKET, ["https://shop.example", "http://127.0.0.1:8000"])
            bucket = Bucket(f"{url}/{BUCKET}", ENGINE_REGION)
            yield S3Engine(url, bucket, engine.keys())
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
async def dynamodb_table(dynamodb_access: Access) -> str:
    """The name of this module's own table."""
    name = f"test-{secrets.token_hex(4)}"
    client = open_client(dynamodb_access)
    await create_table(client, name)
    await client.close()
    return name


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    """Where they are kept: every test runs on both. What is about one of the two says so, a module
    by `parametrize("conversations", [one], indirect=True)`, a folder by a fixture of this name."""
    kept: str = request.param
    return kept


@pytest.fixture(scope="module")
def conversations_environment(
    request: pytest.FixtureRequest, conversations: str
) -> Iterator[dict[str, str]]:
    """The settings that say so, on this module's own table."""
    if conversations == "postgres":
        yield {}
        return
    access: Access = request.getfixturevalue("dynamodb_access")
    with pytest.MonkeyPatch.context() as patch:
        # The engine takes any keys, but some there must be, here and in servers that tests start.
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, os.environ.get(name) or "tests")
        yield {
            "GREENROOM_CONVERSATIONS": conversations,
            "GREENROOM_DYNAMODB_ENDPOINT": access.url,
            "GREENROOM_DYNAMODB_TABLE": request.getfixturevalue("dynamodb_table"),
        }


@pytest.fixture(scope="module")
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(database_url, min_size=1, max_size=8, statement_timeout_ms=15_000)
    yield opened
    await opened.close()


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> random.Random:
    """Printed with a failure, as pytest shows what a failed test wrote."""
    number = chosen_seed(request.node.nodeid)
    print(f"replay with GREENROOM_SEED={number}")
    return random.Random(number)


@pytest.fixture(scope="module")
def open_home() -> Iterator[Path]:
    """For engines that do not run as root: only root may enter pytest's tmp_path."""
    folder = new_home("greenroom-home-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def limits() -> Limits:
    """Raised where an ordinary test would meet them; a module that tests limits has its own."""
    many = 100_000
    return Limits(
        sends_per_minute=60_000,
        simple_sends_per_minute=60_000,
        starts_per_hour=many,
        starts_per_day=many,
        webhooks=many,
        send_connections=1,
        read_connections=2,
        feed_connections=1,
    )


@pytest.fixture(scope="module")
def settings(
    tmp_path_factory: pytest.TempPathFactory,
    limits: Limits,
    conversations_environment: dict[str, str],
) -> Settings:
    home = {"GREENROOM_HOME": str(tmp_path_factory.mktemp("home"))}
    return replace(load_settings({**home, **conversations_environment}), limits=limits)


@pytest.fixture(scope="module")
async def rooms(settings: Settings, database_url: str, clock: FakeClock) -> AsyncIterator[Rooms]:
    async with Rooms(settings, database_url, clock=clock) as opened:
        yield opened


@pytest.fixture(scope="module")
async def api(rooms: Rooms, clock: FakeClock) -> AsyncIterator[Api]:
    key = await rooms.accounts.create_key("tests")
    transport = httpx.ASGITransport(app=http_app(rooms))
    async with httpx.AsyncClient(transport=transport, base_url="http://greenroom.test") as http:
        yield Api(rooms, http, clock, key.text)
