"""The web app's files: who gets them, in which form, and for how long."""

import gzip
from pathlib import Path

import httpx
import pytest

from greenroom.webapp.files import BUILT, read_files
from greenroom.webapp.rest import content_security_policy
from tests.support.api import Api

from .conftest import INDEX, OTHER, PICTURE, SCRIPT, SITE, OpenSite

PAGES = ("/app", "/app/sign-in", "/app/threads/thr_1", "/app/threads/no-such-thread")
ASSET = "/app/assets/app-B1x2.js"
FOR_EVERYBODY = (ASSET, "/embed.js")


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_is_the_same_shell(site: httpx.AsyncClient, path: str) -> None:
    answer = await site.get(path)
    assert (answer.status_code, answer.content) == (200, INDEX)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_the_bare_address_leads_to_the_web_app_where_it_is_built(
    site: httpx.AsyncClient, open_site: OpenSite, tmp_path: Path
) -> None:
    answer = await site.get("/")
    assert (answer.status_code, answer.headers["location"]) == (302, "/app")
    assert (await (await open_site(tmp_path / "nothing")).get("/")).status_code == 404


async def test_a_page_can_load_only_what_is_ours_and_never_turn_text_into_code(
    site: httpx.AsyncClient,
) -> None:
    [policy] = (await site.get("/app")).headers.get_list("content-security-policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' https: blob:",
        "media-src": "'self' https: blob:",
        "font-src": "'self'",
        "manifest-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "lit-html greenroom",
    }


@pytest.mark.parametrize(
    ("path", "kept", "content_type"),
    [
        (ASSET, "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"),
        (
            "/app/assets/app-B1x2.css",
            "public, max-age=31536000, immutable",
            "text/css; charset=utf-8",
        ),
        ("/app/assets/face-Zz9.png", "public, max-age=31536000, immutable", "image/png"),
        ("/embed.js", "public, max-age=300", "text/javascript; charset=utf-8"),
    ],
)
async def test_a_name_that_changes_with_its_contents_is_kept_for_good(
    site: httpx.AsyncClient, path: str, kept: str, content_type: str
) -> None:
    answer = await site.get(path)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == kept
    assert answer.headers["content-type"] == content_type


@pytest.mark.parametrize("origin", [None, SITE, OTHER])
@pytest.mark.parametrize("path", FOR_EVERYBODY)
async def test_pages_of_every_site_may_load_scripts(
    site: httpx.AsyncClient, path: str, origin: str | None
) -> None:
    answer = await site.get(path, headers={} if origin is None else {"origin": origin})
    assert answer.headers.get_list("access-control-allow-origin") == ["*"]
    assert answer.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]
    assert answer.headers.get_list("vary") == ["Accept-Encoding"]
    assert "access-control-allow-credentials" not in answer.headers


async def test_only_an_allowed_site_may_read_a_page(site: httpx.AsyncClient) -> None:
    allowed = await site.get("/app", headers={"origin": SITE})
    assert allowed.headers.get_list("access-control-allow-origin") == [SITE]
    assert allowed.headers.get_list("vary") == ["Accept-Encoding, Origin"]
    other = await site.get("/app", headers={"origin": OTHER})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize(
    ("accepts", "is_gzipped"),
    [
        ("gzip, deflate, br, zstd", True),
        ("GZIP;q=0.5", True),
        ("*", True),
        ("br, *;q=0.1", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("br", False),
        ("identity, *;q=0", False),
        ("", False),
    ],
)
async def test_a_browser_gets_what_it_takes(
    site: httpx.AsyncClient, accepts: str, is_gzipped: bool
) -> None:
    answer = await site.get("/embed.js", headers={"accept-encoding": accepts})
    # httpx decompresses by itself, so that the contents are the same either way.
    assert answer.content == SCRIPT
    assert answer.headers.get("content-encoding") == ("gzip" if is_gzipped else None)
    short = len(gzip.compress(SCRIPT, 9, mtime=0))
    assert int(answer.headers["content-length"]) == (short if is_gzipped else len(SCRIPT))


async def test_what_compressing_makes_longer_stays_as_it_is(site: httpx.AsyncClient) -> None:
    answer = await site.get("/app/assets/face-Zz9.png", headers={"accept-encoding": "gzip"})
    assert answer.content == PICTURE
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/app", *FOR_EVERYBODY])
@pytest.mark.parametrize("accepts", ["gzip", "identity"])
async def test_who_has_it_already_does_not_get_it_again(
    site: httpx.AsyncClient, path: str, accepts: str
) -> None:
    first = await site.get(path, headers={"accept-encoding": accepts})
    etag = first.headers["etag"]
    assert etag.startswith('"')
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        headers = {"accept-encoding": accepts, "if-none-match": known}
        again = await site.get(path, headers=headers)
        assert (again.status_code, again.content) == (304, b"")
        for name in ("etag", "cache-control", "vary"):
            assert again.headers[name] == first.headers[name]
        assert "content-length" not in again.headers
        assert "content-encoding" not in again.headers
    changed = {"accept-encoding": accepts, "if-none-match": '"other"'}
    assert (await site.get(path, headers=changed)).status_code == 200


async def test_each_form_has_a_tag_of_its_own(site: httpx.AsyncClient) -> None:
    tags = {
        (await site.get("/embed.js", headers={"accept-encoding": accepts})).headers["etag"]
        for accepts in ("gzip", "identity")
    }
    assert len(tags) == 2


@pytest.mark.parametrize("path", ["/app", *FOR_EVERYBODY])
async def test_head_says_the_same_without_the_contents(site: httpx.AsyncClient, path: str) -> None:
    headers = {"accept-encoding": "gzip"}
    whole, head = await site.get(path, headers=headers), await site.head(path, headers=headers)
    assert (head.status_code, head.content) == (200, b"")
    for name in ("etag", "content-length", "content-encoding", "content-type", "cache-control"):
        assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize(
    "file",
    [
        "..%2f..%2findex.html",
        "..%2F..%2F..%2Fsecret.txt",
        "%2e%2e%2f%2e%2e%2findex.html",
        "..%5c..%5cindex.html",
        "%2e%2e",
        "%2e",
        "%00",
        "app-B1x2.js%00.css",
        "APP-B1x2.js",
        "app-B1x2.js%20",
        "%2Fetc%2Fpasswd",
        "way-out.txt",
        "index.html",
        "",
    ],
)
async def test_nothing_but_the_built_assets_can_be_asked_for(
    site: httpx.AsyncClient, file: str
) -> None:
    url = site.base_url.copy_with(raw_path=f"/app/assets/{file}".encode())
    answer = await site.get(url)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["/index.html", "/host.html", "/app/", "/app/index.html"])
async def test_only_the_pages_have_addresses(site: httpx.AsyncClient, path: str) -> None:
    assert (await site.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/app", "/app/threads/thr_1", *FOR_EVERYBODY])
async def test_where_nothing_is_built_the_answer_says_what_to_do(
    open_site: OpenSite, tmp_path: Path, path: str
) -> None:
    site = await open_site(tmp_path / "absent")
    answer = await site.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert "make web" in answer.json()["detail"]
    assert answer.headers["cache-control"] == "no-store"


async def test_pages_are_for_reading(site: httpx.AsyncClient) -> None:
    answer = await site.post("/app", json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


def test_files_are_read_once(built: Path) -> None:
    before = read_files(built)
    (built / "embed.js").write_bytes(b"changed")
    assert read_files(built) is before


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True, scope="module")
async def test_the_server_shows_the_web_app_and_its_reference_leaves_it_out(api: "Api") -> None:
    answer = await api.anonymous.get("/app")
    if "index.html" in read_files(BUILT):
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    else:
        assert "make web" in answer.json()["detail"]
    assert "/app" not in (await api.anonymous.get("/openapi.json")).json()["paths"]


def test_a_page_may_use_the_store_that_files_come_from() -> None:
    policy = content_security_policy("https://files.s3.eu-west-1.amazonaws.com")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for name in ("connect-src", "img-src", "media-src"):
        assert "https://files.s3.eu-west-1.amazonaws.com" in rules[name].split()
    assert rules["script-src"] == rules["style-src"] == "'self'"
