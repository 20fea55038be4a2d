"""A site of each kind: around PostgreSQL, and around a NATS server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from .nats_server import NatsServer
from .site import Site


@pytest.fixture(scope="package")
def nats_server() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


@pytest.fixture(params=["postgres", "nats"])
async def site(
    request: pytest.FixtureRequest, database_url: str, nats_server: NatsServer
) -> AsyncIterator[Site]:
    made = Site(request.param, database_url if request.param == "postgres" else nats_server.url)
    await made.gate.open()
    yield made
    await made.close()
