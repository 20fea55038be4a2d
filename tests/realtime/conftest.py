"""A server per module, another beside it on the same database, and any more that a test needs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from greenroom.bootstrap import Rooms
from greenroom.settings import Settings
from tests.support.clock import FakeClock
from tests.support.nats_server import NatsServer

from .server import Server

NewServer = Callable[..., AbstractAsyncContextManager[Server]]


@pytest.fixture(scope="session")
def nats_url() -> Iterator[str]:
    """A NATS server of its own."""
    with NatsServer() as nats:
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
