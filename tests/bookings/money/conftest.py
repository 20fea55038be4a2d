"""The sandbox on its real socket, and somebody who listens to its webhooks."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from greenroom.bookings.sandbox.provider import Sandbox

from .sandbox_users import AT_ONCE, SECRET, Listener, Steering


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    made = Listener()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def steering(tmp_path: Path) -> AsyncIterator[Steering]:
    async with Sandbox(tmp_path / "sandbox.db", secret=SECRET, backoff=AT_ONCE) as sandbox:
        yield Steering(sandbox)


@pytest.fixture
async def telling(tmp_path: Path, listener: Listener) -> AsyncIterator[Steering]:
    """A sandbox that has somebody to tell."""
    file, url = tmp_path / "sandbox.db", listener.url
    async with Sandbox(file, secret=SECRET, webhook_url=url, backoff=AT_ONCE) as sandbox:
        yield Steering(sandbox)
