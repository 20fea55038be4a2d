"""The product with a payment provider that outlives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bookings.sandbox.provider import Sandbox
from greenroom.platform.backoff import Backoff
from tests.support.api import Api
from tests.support.clock import FakeClock
from tests.support.stripe_server import StripeServer

from .charging import Charging
from .providers import SECRET, Provider, SandboxProvider, StripeProvider

if TYPE_CHECKING:
    from greenroom.settings import Settings

AT_ONCE = Backoff(base_ms=0, cap_ms=0, attempts=3)


@pytest.fixture(scope="module", params=["sandbox", "stripe"])
async def provider(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, clock: FakeClock
) -> AsyncIterator[Provider]:
    if request.param == "stripe":
        async with StripeServer(clock) as server:
            yield StripeProvider(server)
        return
    file = tmp_path_factory.mktemp("provider") / "sandbox.db"
    async with Sandbox(file, secret=SECRET, clock=clock, backoff=AT_ONCE) as opened:
        yield SandboxProvider(opened)


@pytest.fixture(scope="module")
def settings(settings: Settings, provider: Provider) -> Settings:
    return provider.configure(settings)


@pytest.fixture(scope="module")
def charging(
    api: Api, pool: asyncpg.Pool, provider: Provider, settings: Settings, database_url: str
) -> Charging:
    return Charging(api, pool, provider, settings, database_url)
