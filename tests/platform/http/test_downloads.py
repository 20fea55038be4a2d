"""Answers of known length: whole, by range, not at all when the client has them already."""

import socket
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.kernel.errors import NotFound
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Answer, Call, Caller, Download, Endpoint, Who
from tests.hardening.wire import head

from .test_server import Tiny
from .test_uploads import SERVER, peak_bytes
from .transfer_server import CHUNK, DOWNLOAD_BYTES, LIMITS

DATA = bytes(range(250))


async def authenticate(_header: str | None) -> Caller:
    return ANYONE


async def read(start: int, stop: int) -> AsyncIterator[bytes]:
    for at in range(start, stop, 7):
        yield DATA[at : min(at + 7, stop)]


async def get_file(_call: Call) -> Download:
    return Download(len(DATA), read, "v1", "image/webp", {"cache-control": "private, max-age=300"})


async def get_empty(_call: Call) -> Download:
    return Download(0, read, "v0")


async def get_lost(_call: Call) -> Download | Answer:
    async def nothing(_start: int, _stop: int) -> AsyncIterator[bytes]:
        raise NotFound
        yield b""  # type: ignore[unreachable]

    return Download(10, nothing, "v1")


def endpoint(path: str, handler: object) -> Endpoint:
    return Endpoint("GET", path, handler, "", Who.ANYONE, {200: None}, "T")  # type: ignore[arg-type]


APP = HttpApp(
    [endpoint("/file", get_file), endpoint("/empty", get_empty), endpoint("/lost", get_lost)],
    authenticate=authenticate,
)


async def get(path: str = "/file", method: str = "GET", **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=APP)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await client.request(method, path, headers=given)


async def test_the_whole_comes_with_its_length_type_and_tag() -> None:
    answer = await get()
    assert answer.status_code == 200
    assert answer.content == DATA
    assert answer.headers["content-length"] == str(len(DATA))
    assert answer.headers["content-type"] == "image/webp"
    assert answer.headers["etag"] == '"v1"'
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["cache-control"] == "private, max-age=300"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_head_has_the_headers_and_no_bytes() -> None:
    answer = await get(method="HEAD", range="bytes=0-1")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(DATA))


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=240-", 240, 250),
        ("bytes=240-9999", 240, 250),
        ("bytes=-5", 245, 250),
        ("bytes=-9999", 0, 250),
        ("Bytes=0-", 0, 250),
    ],
)
async def test_a_range_is_answered_exactly(asked: str, start: int, stop: int) -> None:
    answer = await get(range=asked)
    assert answer.status_code == 206
    assert answer.content == DATA[start:stop]
    assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/250"
    assert answer.headers["content-length"] == str(stop - start)


@pytest.mark.parametrize("asked", ["bytes=250-", "bytes=9-8", "bytes=-0", "bytes=99999-"])
async def test_a_range_outside_is_refused_with_the_length(asked: str) -> None:
    answer = await get(range=asked)
    assert answer.status_code == 416
    assert answer.headers["content-range"] == "bytes */250"
    assert answer.json()["bytes"] == 250


@pytest.mark.parametrize(
    "asked", ["bytes=0-1,4-5", "lines=1-2", "bytes=", "bytes=a-b", "bytes=--1"]
)
async def test_what_is_not_one_range_is_answered_with_the_whole(asked: str) -> None:
    answer = await get(range=asked)
    assert (answer.status_code, answer.content) == (200, DATA)


async def test_a_client_that_has_it_gets_nothing() -> None:
    for known in ('"v1"', 'W/"v1"', '"v0", "v1"', "*"):
        answer = await get(if_none_match=known)
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == '"v1"'
    assert (await get(if_none_match='"v0"')).status_code == 200


async def test_a_range_of_another_version_is_answered_with_the_whole() -> None:
    assert (await get(range="bytes=0-1", if_range='"v1"')).status_code == 206
    for other in ('"v0"', 'W/"v1"', "Wed, 21 Oct 2015 07:28:00 GMT"):
        assert (await get(range="bytes=0-1", if_range=other)).content == DATA


async def test_an_empty_one_has_no_ranges() -> None:
    answer = await get("/empty")
    assert (answer.status_code, answer.content) == (200, b"")
    assert (await get("/empty", range="bytes=0-")).status_code == 416


async def test_what_cannot_be_read_is_a_problem() -> None:
    answer = await get("/lost")
    assert answer.status_code == 404
    assert answer.json()["code"] == "NOT_FOUND"


@given(asked=st.text(alphabet="0123456789-,= x", max_size=24))
async def test_any_range_header_gets_an_answer_of_its_length(asked: str) -> None:
    answer = await get(range=f"bytes={asked}")
    assert answer.status_code in (200, 206, 416)
    assert int(answer.headers["content-length"]) == len(answer.content)


@pytest.fixture
def server() -> Iterator[Tiny]:
    started = Tiny(script=SERVER)
    yield started
    assert started.stop() == 0
    started.close()


def test_a_download_reads_only_as_fast_as_its_client(server: Tiny) -> None:
    server.get("/ping")
    before = peak_bytes(server)
    with httpx.stream("GET", f"http://127.0.0.1:{server.port}/give") as answer:
        received = sum(map(len, answer.iter_raw()))
    assert received == DOWNLOAD_BYTES
    assert peak_bytes(server) - before < 8 * 1024 * 1024


def test_a_download_that_nobody_reads_is_ended(server: Tiny) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as idle:
        idle.sendall(head("GET", "/give"))
        assert int(server.line("read to")) < DOWNLOAD_BYTES - len(CHUNK)
    assert LIMITS.slow_reader_s < 5


def test_a_client_that_leaves_ends_the_reading(server: Tiny) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(head("GET", "/give"))
        assert leaving.recv(12) == b"HTTP/1.1 200"
    assert int(server.line("read to")) < DOWNLOAD_BYTES - len(CHUNK)


def test_half_a_download_never_looks_whole(server: Tiny) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        server.get("/broken")
