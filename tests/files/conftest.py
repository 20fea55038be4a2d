"""Ann and Bob in a thread, and files between them."""

from __future__ import annotations

import asyncpg
import pytest

from greenroom.kernel.limits import Limits
from tests.support.api import Api

from .stage import FileStage


@pytest.fixture(scope="module")
def conversations() -> str:
    return "postgres"


@pytest.fixture(scope="module")
def limits() -> Limits:
    many = 100_000
    return Limits(
        sends_per_minute=60_000,
        starts_per_hour=many,
        starts_per_day=many,
        uploads_per_hour=many,
        open_uploads=many,
        send_connections=1,
        read_connections=2,
        feed_connections=1,
        file_bytes=1_000_000,
        part_bytes=1000,
    )


@pytest.fixture
async def stage(api: Api, pool: asyncpg.Pool) -> FileStage:
    return await FileStage.open(api, pool)
