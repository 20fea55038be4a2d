"""The built web app on a server with the sample, one per file, and Chromium.

The sample is loaded once; every file has a copy of that database and of the stored files.
"""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support import command
from tests.support.databases import database_at, drop_database, run_sql
from tests.support.demo import start_demo
from tools.chromium import find_chromium, open_chromium
from tools.demo import Demo
from tools.webapp import build_web_app

from .foreign_site import ForeignSite, open_foreign_site
from .market import Market
from .people import PATIENCE_MS, People

LIMITS = {
    "GREENROOM_LIMIT_SENDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_CARDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_STARTS_PER_HOUR": "1000",
    "GREENROOM_LIMIT_STARTS_PER_DAY": "1000",
    "GREENROOM_LIMIT_VERIFIED_STARTS_PER_HOUR": "1000",
    "GREENROOM_LIMIT_VERIFIED_STARTS_PER_DAY": "1000",
}

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
async def web_app() -> None:
    await asyncio.to_thread(build_web_app)


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sample")


@pytest.fixture(scope="session")
async def sample_database(
    postgres_url: str, template_database: str, sample_home: Path
) -> AsyncIterator[str]:
    """The name of a database with the sample, to be copied."""
    name = f"greenroom_sample_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template_database}")
    given = {
        "GREENROOM_HOME": str(sample_home),
        "GREENROOM_DATABASE_URL": database_at(postgres_url, name),
    }
    loaded = await asyncio.to_thread(command.run, "demo", "--load-only", given=given)
    assert loaded.code == 0, loaded.err
    yield name
    await drop_database(postgres_url, name)


@pytest.fixture(scope="module")
async def database_url(postgres_url: str, sample_database: str) -> AsyncIterator[str]:
    """This file's own database, with the sample."""
    name = f"greenroom_test_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name} TEMPLATE {sample_database}")
    yield database_at(postgres_url, name)
    await drop_database(postgres_url, name)


@pytest.fixture(scope="module")
def blobs(
    sample_database: str, sample_home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """This file's own copy of the sample's stored files."""
    stored = sample_home / "blobs"
    own = tmp_path_factory.mktemp("stored") / "blobs"
    if stored.exists():
        shutil.copytree(stored, own)
    return own


@pytest.fixture(scope="module")
def site() -> Iterator[ForeignSite]:
    """A site of somebody else, which the server lets embed. Maya visits it."""
    with open_foreign_site() as opened:
        yield opened


@pytest.fixture(scope="module")
def demo_settings(database_url: str, site: ForeignSite, blobs: Path) -> dict[str, str]:
    """The environment of the demo; a file may add to it."""
    return {
        **LIMITS,
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_BLOBS": str(blobs),
        "GREENROOM_ALLOWED_ORIGINS": site.url,
    }


@pytest.fixture(scope="module")
def demo(demo_settings: dict[str, str], web_app: None, site: ForeignSite) -> Iterator[Demo]:
    """With the sample's people, threads and cards, as they are when the demo is new."""
    with start_demo(demo_settings) as running:
        site.server_url = running.url
        site.token = lambda: running.token("maya")
        yield running
        assert running.complaints() == []


@pytest.fixture(scope="module")
def market(demo: Demo, database_url: str) -> Market:
    return Market(demo, database_url)


@pytest.fixture(scope="session")
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
