"""The built web app on a server with the sample, and Chromium: one of each per file."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, expect

from tools.chromium import find_chromium, open_chromium
from tools.demo import Demo, run_demo
from tools.webapp import build_web_app

from .market import Market
from .people import PATIENCE_MS, People

LIMITS = {
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_CARDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000",
}

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
async def web_app() -> None:
    await asyncio.to_thread(build_web_app)


@pytest.fixture(scope="module")
def demo(database_url: str, web_app: None) -> Iterator[Demo]:
    """With the sample's people, threads and cards, as they are when the demo is new."""
    with run_demo({**LIMITS, "GREENROOM_DATABASE_URL": database_url}) as running:
        yield running
        assert running.complaints() == []


@pytest.fixture(scope="module")
def market(demo: Demo, database_url: str) -> Market:
    return Market(demo, database_url)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with open_chromium(await find_chromium()) as opened:
        yield opened


@pytest.fixture
async def people(browser: Browser, demo: Demo) -> AsyncIterator[People]:
    """Whoever was opened is closed at the end, and must have seen no error."""
    opened = People(browser, demo)
    yield opened
    await opened.close()
    assert opened.complaints() == []
