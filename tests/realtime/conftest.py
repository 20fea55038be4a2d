"""A server per module, another beside it on the same database, and any more that a test needs."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from greenroom.bootstrap import Rooms
from greenroom.settings import Settings

from .site import Server

if TYPE_CHECKING:
    from conftest import FakeClock

NewServer = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    """A NATS server of its own, by the helper of the tests of the bus."""
    path = Path(__file__).parents[1] / "bus" / "nats_server.py"
    spec = importlib.util.spec_from_file_location("nats_server", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.NatsServer() as nats:
        yield nats.url


@pytest.fixture(scope="module")
def settings(settings: Settings, conversations: str, request: pytest.FixtureRequest) -> Settings:
    """As they are set where there is more than one server."""
    if conversations == "postgres":
        return settings
    return replace(settings, nats_url=request.getfixturevalue("nats_url"))


@pytest.fixture(scope="module")
async def server(settings: Settings, database_url: str, clock: FakeClock) -> AsyncIterator[Server]:
    async with Server(Rooms(settings, database_url, clock=clock)) as started:
        yield started


@pytest.fixture(scope="module")
def rooms(server: Server) -> Rooms:
    """What `api` calls is this server's, so that people write here and listen where a test says."""
    return server.rooms


@pytest.fixture(scope="module")
async def other(settings: Settings, database_url: str, clock: FakeClock) -> AsyncIterator[Server]:
    """A second process on the same database."""
    async with Server(Rooms(settings, database_url, clock=clock)) as started:
        yield started


@pytest.fixture(scope="module")
def new_server(settings: Settings, database_url: str, clock: FakeClock) -> NewServer:
    """One more server, with settings and limits of its own."""

    @contextlib.asynccontextmanager
    async def start(
        *, nats_url: str | None = settings.nats_url, **limits: Any
    ) -> AsyncIterator[Server]:
        own = replace(settings, nats_url=nats_url, limits=replace(settings.limits, **limits))
        async with Server(Rooms(own, database_url, clock=clock)) as started:
            yield started

    return start


@pytest.fixture
def seed() -> random.Random:
    """Printed with a failure, as pytest shows what a failed test wrote."""
    given = os.environ.get("GREENROOM_SEED")
    number = int(given) if given else random.SystemRandom().randrange(1 << 32)
    print(f"replay with GREENROOM_SEED={number}")
    return random.Random(number)
