"""The sample's marketplace on another origin: its page, its backend, and the port that it has."""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from greenroom.bootstrap import token_verifier
from greenroom.demo.host_listener import host_listener
from greenroom.demo.host_page import HostRest
from greenroom.kernel.clock import system_clock
from greenroom.kernel.errors import Unauthenticated
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.tls import Certificate
from greenroom.server import bind
from greenroom.settings import Settings, load_settings
from greenroom.webapp.files import read_files
from tools.certificates import make_certificate

SERVER = "http://127.0.0.1:8000"
PAGE = (
    b'<meta name="greenroom-server" content="__GREENROOM_SERVER__" />'
    b'<script type="module" src="__GREENROOM_SERVER__/embed.js"></script>'
)
ORIGINS = "GREENROOM_ALLOWED_ORIGINS"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"GREENROOM_HOME": str(tmp_path), "GREENROOM_PORT": "0"})


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "app" / "assets").mkdir(parents=True)
    (folder / "host.html").write_bytes(PAGE)
    (folder / "index.html").write_bytes(b"the app's own page")
    (folder / "app" / "assets" / "host-A1b2.css").write_bytes(b"p { margin: 0 }")
    return folder


async def nobody(_header: str | None) -> NoReturn:
    raise Unauthenticated


@pytest.fixture
async def host(settings: Settings, built: Path) -> AsyncIterator[httpx.AsyncClient]:
    rest = HostRest(read_files(built), settings, system_clock, SERVER)
    app = HttpApp(rest.endpoints(), authenticate=nobody)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://host.test") as http:
        yield http


async def test_the_page_names_the_server(host: httpx.AsyncClient) -> None:
    answer = await host.get("/")
    assert answer.status_code == 200
    assert f'content="{SERVER}"' in answer.text
    assert f'src="{SERVER}/embed.js"' in answer.text
    assert "__GREENROOM" not in answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    again = await host.get("/", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


async def test_the_pages_policy_allows_the_server_and_no_other_site(
    host: httpx.AsyncClient,
) -> None:
    [policy] = (await host.get("/")).headers.get_list("content-security-policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'self' {SERVER}"
    assert rules["style-src"] == "'self'"
    assert rules["connect-src"] == f"'self' {SERVER} ws://127.0.0.1:8000"
    assert rules["img-src"] == f"'self' {SERVER} blob:"
    assert rules["media-src"] == f"{SERVER} blob:"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy


async def test_it_has_its_own_assets_and_none_of_the_servers_pages(
    host: httpx.AsyncClient,
) -> None:
    assert (await host.get("/app/assets/host-A1b2.css")).status_code == 200
    for path in ("/app", "/embed.js", "/index.html", "/host.html", "/v1/me", "/demo/people"):
        assert (await host.get(path)).status_code == 404


async def test_its_backend_says_who_its_visitors_are(
    host: httpx.AsyncClient, settings: Settings
) -> None:
    answer = await host.post("/chat-token", json={"user_id": "maya"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    known = await token_verifier(settings, system_clock).verify(answer.text)
    assert known.user_id == "maya"


async def test_only_the_samples_people_get_tokens_and_only_on_this_page(
    host: httpx.AsyncClient,
) -> None:
    stranger = await host.post("/chat-token", json={"user_id": "stranger"})
    assert (stranger.status_code, stranger.json()["code"]) == (404, "USER_NOT_FOUND")
    assert (await host.get("/chat-token?user=maya")).status_code == 405
    # Another site's page can neither ask with JSON nor read the answer.
    form = await host.post("/chat-token", content="user_id=maya")
    assert form.status_code == 415
    elsewhere = {"origin": "https://elsewhere.example"}
    asked = await host.post("/chat-token", json={"user_id": "maya"}, headers=elsewhere)
    assert "access-control-allow-origin" not in asked.headers


async def test_where_nothing_is_built_the_page_says_what_to_do(
    settings: Settings, tmp_path: Path
) -> None:
    rest = HostRest(read_files(tmp_path / "absent"), settings, system_clock, SERVER)
    transport = httpx.ASGITransport(app=HttpApp(rest.endpoints(), authenticate=nobody))
    async with httpx.AsyncClient(transport=transport, base_url="http://host.test") as http:
        answer = await http.get("/")
    assert answer.status_code == 404
    assert "make web" in answer.json()["detail"]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody has."""
    with bind("127.0.0.1", 0) as listener:
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_that_was_asked_for_must_be_there(settings: Settings, taken: int) -> None:
    with pytest.raises(OSError, match="in use"), host_listener(settings, taken):
        pass


def test_without_a_wish_any_free_port_will_do(settings: Settings, taken: int) -> None:
    with host_listener(replace(settings, port=taken - 1), None) as page:
        assert page.port not in (0, taken)
    with host_listener(replace(settings, port=65535), None) as page:
        assert page.port != 0


def test_the_page_may_call_the_server_whatever_it_is_called(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ORIGINS, "")
    own = replace(settings, allowed_origins=("https://lens.example",))
    with host_listener(own, 0) as page:
        allowed = page.let_in().allowed_origins
        assert allowed == (
            "https://lens.example",
            f"http://127.0.0.1:{page.port}",
            f"http://localhost:{page.port}",
        )
        # As a worker reads it.
        assert load_settings(os.environ).allowed_origins == allowed


def test_it_is_served_beside_the_server_until_that_ends(settings: Settings) -> None:
    with host_listener(settings, 0) as page:
        page.start(8000)
        answer = httpx.post(f"{page.url}/chat-token", json={"user_id": "theo"}, timeout=60)
        assert answer.status_code == 200
        port = page.port
    with socket.socket() as knocking:
        assert knocking.connect_ex(("127.0.0.1", port)) != 0


def test_with_a_certificate_it_speaks_https_too(settings: Settings, tmp_path: Path) -> None:
    made = make_certificate(tmp_path)
    secure = replace(settings, tls_cert=made.cert, tls_key=made.key)
    with host_listener(secure, 0) as page:
        page.start(8000, Certificate(made.cert, made.key))
        assert page.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(made.cert))
        answer = httpx.post(
            f"{page.url}/chat-token", json={"user_id": "theo"}, timeout=60, verify=trusted
        )
        assert answer.status_code == 200
