"""A small build, made by the test: what the room does with it is the same."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from greenroom.kernel.errors import Unauthenticated
from greenroom.platform.http.app import HttpApp
from greenroom.webapp.files import read_files
from greenroom.webapp.rest import WebAppRest

INDEX = b"<!doctype html><title>Messages</title>" + b"<p>A page</p>" * 50
SCRIPT = b"export const words = 'the same again and again';\n" * 50
PICTURE = bytes(range(256))
"""Compressing makes it longer."""
SITE = "https://lens.example"
OTHER = "https://elsewhere.example"


async def nobody(_header: str | None) -> NoReturn:
    raise Unauthenticated


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    assets = folder / "app" / "assets"
    assets.mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "host.html").write_bytes(b"<meta name=greenroom-server content=__GREENROOM_SERVER__>")
    (folder / "embed.js").write_bytes(SCRIPT)
    (assets / "app-B1x2.js").write_bytes(SCRIPT)
    (assets / "app-B1x2.css").write_bytes(b"p { margin: 0 }")
    (assets / "face-Zz9.png").write_bytes(PICTURE)
    (tmp_path / "secret.txt").write_text("not for anybody")
    (assets / "way-out.txt").symlink_to(tmp_path / "secret.txt")
    return folder


OpenSite = Callable[[Path], Awaitable[httpx.AsyncClient]]


@pytest.fixture
async def open_site() -> AsyncIterator[OpenSite]:
    opened: list[httpx.AsyncClient] = []

    async def open_one(folder: Path) -> httpx.AsyncClient:
        endpoints = WebAppRest(read_files(folder)).endpoints()
        app = HttpApp(endpoints, authenticate=nobody, allowed_origins=[SITE])
        transport = httpx.ASGITransport(app=app)
        opened.append(httpx.AsyncClient(transport=transport, base_url="http://app.test"))
        # Each test says itself what it takes.
        opened[-1].headers.pop("accept-encoding")
        return opened[-1]

    yield open_one
    for client in opened:
        await client.aclose()


@pytest.fixture
async def site(open_site: OpenSite, built: Path) -> httpx.AsyncClient:
    return await open_site(built)
