"""The product with a payment provider that outlives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bookings.sandbox.provider import Sandbox
from greenroom.platform.backoff import Backoff
from tests.support.api import Api
from tests.support.clock import FakeClock

from .charging import SECRET, Charging

if TYPE_CHECKING:
    from greenroom.settings import Settings

AT_ONCE = Backoff(base_ms=0, cap_ms=0, attempts=3)


@pytest.fixture(scope="module")
async def sandbox(
    tmp_path_factory: pytest.TempPathFactory, clock: FakeClock
) -> AsyncIterator[Sandbox]:
    file = tmp_path_factory.mktemp("provider") / "sandbox.db"
    async with Sandbox(file, secret=SECRET, clock=clock, backoff=AT_ONCE) as opened:
        yield opened


@pytest.fixture(scope="module")
def settings(settings: Settings, sandbox: Sandbox) -> Settings:
    return replace(settings, payments_url=sandbox.url, payments_secret=SECRET)


@pytest.fixture(scope="module")
def charging(
    api: Api, pool: asyncpg.Pool, sandbox: Sandbox, settings: Settings, database_url: str
) -> Charging:
    return Charging(api, pool, sandbox, settings, database_url)
