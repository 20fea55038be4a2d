"""Every store there is, and two servers on top of each."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.credentials import Access, embedded_access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.presence.store import PresenceStore
from tests.support.clock import FakeClock

from .servers import Gated, Server, SharedBus, TwoServers
from .stage import DynamoStage, PostgresStage, Stage


@pytest.fixture(scope="session")
def access() -> Iterator[Access]:
    """An engine of this run's own."""
    home = Path(tempfile.mkdtemp(prefix="greenroom-test-"))
    home.chmod(0o755)
    try:
        with EmbeddedDynamoDb(home).using() as url:
            yield embedded_access(url)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
async def table_name(access: Access) -> AsyncIterator[str]:
    """This module's own table: empty, dropped at the end."""
    name = f"greenroom_test_{secrets.token_hex(4)}"
    client = open_client(access)
    await create_table(client, name)
    yield name
    await client.call("DeleteTable", {"TableName": name})
    await client.close()


@pytest.fixture(scope="module")
async def table(access: Access, table_name: str) -> AsyncIterator[Table]:
    opened = Table(open_client(access), table_name, Meter())
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
def conversations() -> str:
    """`stage` goes through the stores here; what `api` calls stands beside it."""
    return "postgres"


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def stage(request: pytest.FixtureRequest) -> Stage:
    """Asks only for the engine it is about, so that neither needs the other."""
    if request.param == "postgres":
        return PostgresStage(request.getfixturevalue("api"), request.getfixturevalue("pool"))
    return DynamoStage(request.getfixturevalue("table"))


@pytest.fixture
def store(stage: Stage, limits: Limits) -> PresenceStore:
    return stage.store(limits)


@pytest.fixture
async def servers(
    store: PresenceStore, clock: FakeClock, limits: Limits
) -> AsyncIterator[TwoServers]:
    buses: list[SharedBus] = []
    servers = [Server(Gated(store), SharedBus(buses), clock, limits) for _ in range(2)]
    yield TwoServers(*servers)
    for server in servers:
        await server.presence.close()
