"""A rig of each kind: around PostgreSQL, and around a NATS server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.nats_server import NatsServer

from .rig import BusRig


@pytest.fixture(scope="package")
def nats_server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture(params=["postgres", "nats"])
async def rig(
    request: pytest.FixtureRequest, database_url: str, nats_server: NatsServer
) -> AsyncIterator[BusRig]:
    made = BusRig(request.param, database_url if request.param == "postgres" else nats_server.url)
    await made.gate.open()
    yield made
    await made.close()
