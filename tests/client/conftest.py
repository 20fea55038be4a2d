"""One server per module, on a database of its own."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.server_process import ServerProcess

from .pair import Pair


@pytest.fixture(scope="module")
async def server(
    open_home: Path, database_url: str, conversations_environment: dict[str, str]
) -> AsyncIterator[ServerProcess]:
    environment = {"GREENROOM_DATABASE_URL": database_url, **conversations_environment}
    started = ServerProcess(open_home, environment)
    # Chosen before the start, because addresses of uploads have it.
    started.port = free_port()
    await asyncio.to_thread(started.start)
    yield started
    await asyncio.to_thread(started.stop)
    print(*started.complaints()[-20:], sep="\n")


@pytest.fixture
def pair(server: ServerProcess) -> Pair:
    return Pair(server)
