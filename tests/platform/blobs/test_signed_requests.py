"""Signed requests to S3 do exactly what they were signed for, and nothing else."""

import secrets
from collections.abc import AsyncIterator, Callable
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import httpx
import pytest

from greenroom.kernel.clock import system_clock
from greenroom.platform.aws.signing import FixedKeys, Keys
from greenroom.platform.blobs.s3.client import S3Client
from greenroom.platform.blobs.s3.signing import Bucket
from greenroom.platform.blobs.s3.store import S3Blobs
from tests.support.clock import DAY_MS, FakeClock
from tests.support.s3 import S3Engine

from .chunks import PART_BYTES, chunks, joined

KEY = "threads/thr_1/attachments/fil_1/original"
OTHER = "threads/thr_2/attachments/fil_2/original"
DATA = b"0123456789"
MIME = "image/png"

Query = dict[str, str]


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient() as client:
        yield client


def edited(url: str, change: Callable[[Query], None]) -> str:
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    change(query)
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))


def setting(name: str, value: str) -> Callable[[Query], None]:
    return lambda query: query.update({name: value})


def without(name: str) -> Callable[[Query], None]:
    def change(query: Query) -> None:
        del query[name]

    return change


def upload_url(blobs: S3Blobs, key: str = KEY) -> str:
    return blobs.sign_upload(key, mime=MIME, byte_count=len(DATA), seconds=600).url


def download_url(blobs: S3Blobs, key: str = KEY) -> str:
    return blobs.sign_download(key, mime=MIME, disposition="inline", seconds=600)


async def put(blobs: S3Blobs, key: str = KEY, data: bytes = DATA) -> None:
    await blobs.put(key, chunks(data), mime=MIME, byte_count=len(data))


async def test_an_upload_stores_what_it_was_signed_for(
    s3_blobs: S3Blobs, http: httpx.AsyncClient
) -> None:
    signed = s3_blobs.sign_upload(KEY, mime=MIME, byte_count=len(DATA), seconds=600)
    assert signed.headers == {"content-type": MIME}
    answer = await http.request(
        signed.method, signed.url, content=DATA, headers=dict(signed.headers)
    )
    assert answer.status_code == 200, answer.text
    assert await joined(s3_blobs.read(KEY)) == DATA


async def test_a_download_has_the_type_and_disposition_that_were_signed(
    s3_blobs: S3Blobs, http: httpx.AsyncClient
) -> None:
    await put(s3_blobs)
    disposition = "attachment; filename*=UTF-8''caf%C3%A9.png"
    url = s3_blobs.sign_download(KEY, mime="image/webp", disposition=disposition, seconds=600)
    answer = await http.get(url)
    assert (answer.status_code, answer.content) == (200, DATA)
    assert answer.headers["content-type"] == "image/webp"
    assert answer.headers["content-disposition"] == disposition
    part = await http.get(url, headers={"range": "bytes=2-4"})
    assert (part.status_code, part.content) == (206, DATA[2:5])


async def refused(answer: httpx.Response) -> None:
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    assert DATA not in answer.content


LATE = "20200101T000000Z"


@pytest.mark.parametrize(
    "change",
    [
        setting("X-Amz-Signature", "0" * 64),
        setting("X-Amz-Signature", ""),
        without("X-Amz-Signature"),
        setting("X-Amz-Expires", "604800"),
        setting("X-Amz-Expires", "601"),
        without("X-Amz-Expires"),
        setting("X-Amz-Date", LATE),
        without("X-Amz-Date"),
        without("X-Amz-Credential"),
        setting("X-Amz-SignedHeaders", "host"),
        setting("X-Amz-SignedHeaders", "content-type;host"),
        setting("X-Amz-Algorithm", "none"),
        setting("acl", ""),
        setting("tagging", ""),
        setting("uploadId", "x"),
        setting("versionId", "x"),
    ],
)
async def test_a_changed_address_is_refused(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, change: Callable[[Query], None]
) -> None:
    url = edited(upload_url(s3_blobs), change)
    await refused(await http.put(url, content=DATA, headers={"content-type": MIME}))
    assert await s3_blobs.find(KEY) is None
    await put(s3_blobs)
    original = download_url(s3_blobs)
    if (url := edited(original, change)) != edited(original, lambda _: None):
        await refused(await http.get(url))


@pytest.mark.parametrize(
    ("name", "value"),
    [("response-content-type", "text/html"), ("response-content-disposition", "inline; x")],
)
async def test_a_download_of_another_type_is_refused(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, name: str, value: str
) -> None:
    await put(s3_blobs)
    for change in (setting(name, value), without(name)):
        await refused(await http.get(edited(download_url(s3_blobs), change)))


@pytest.mark.parametrize("size", [0, 1, len(DATA) - 1, len(DATA) + 1, 100_000])
async def test_another_length_is_refused(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, size: int
) -> None:
    answer = await http.put(
        upload_url(s3_blobs), content=bytes(size), headers={"content-type": MIME}
    )
    await refused(answer)
    assert await s3_blobs.find(KEY) is None


async def test_a_body_without_a_length_is_refused(
    s3_blobs: S3Blobs, http: httpx.AsyncClient
) -> None:
    answer = await http.put(
        upload_url(s3_blobs), content=chunks(DATA), headers={"content-type": MIME}
    )
    await refused(answer)
    assert await s3_blobs.find(KEY) is None


@pytest.mark.parametrize("mime", ["text/html", "image/PNG", "image/png; charset=utf-8", None])
async def test_another_type_is_refused(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, mime: str | None
) -> None:
    headers = {} if mime is None else {"content-type": mime}
    await refused(await http.put(upload_url(s3_blobs), content=DATA, headers=headers))
    assert await s3_blobs.find(KEY) is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE", "PATCH"])
async def test_an_upload_is_good_for_no_other_method(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, method: str
) -> None:
    await put(s3_blobs)
    answer = await http.request(
        method, upload_url(s3_blobs), content=DATA, headers={"content-type": MIME}
    )
    await refused(answer)
    assert await joined(s3_blobs.read(KEY)) == DATA


@pytest.mark.parametrize("method", ["PUT", "HEAD", "POST", "DELETE"])
async def test_a_download_is_good_for_no_other_method(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, method: str
) -> None:
    await put(s3_blobs)
    await refused(await http.request(method, download_url(s3_blobs)))
    assert await joined(s3_blobs.read(KEY)) == DATA


@pytest.mark.parametrize(
    "path",
    [OTHER, KEY + "2", KEY.upper(), f"x/../{OTHER}", f"%2e%2e/{OTHER}", OTHER.replace("/", "//")],
)
async def test_another_object_is_refused(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, path: str
) -> None:
    await put(s3_blobs, OTHER)
    for url in (upload_url(s3_blobs), download_url(s3_blobs)):
        moved = url.replace(KEY, path)
        await refused(await http.put(moved, content=b"9" * 10, headers={"content-type": MIME}))
        await refused(await http.get(moved))
    assert await joined(s3_blobs.read(OTHER)) == DATA


async def test_signatures_are_not_good_for_each_other(
    s3_blobs: S3Blobs, http: httpx.AsyncClient
) -> None:
    await put(s3_blobs, OTHER)
    ours = dict(parse_qsl(urlsplit(upload_url(s3_blobs)).query))["X-Amz-Signature"]
    url = edited(upload_url(s3_blobs, OTHER), setting("X-Amz-Signature", ours))
    await refused(await http.put(url, content=b"9" * 10, headers={"content-type": MIME}))
    assert await joined(s3_blobs.read(OTHER)) == DATA


@pytest.mark.parametrize("age_s", [601, 3600, 24 * 3600])
async def test_a_late_request_is_refused(
    s3_engine: S3Engine, s3_blobs: S3Blobs, prefix: str, http: httpx.AsyncClient, age_s: int
) -> None:
    clock = FakeClock()
    clock.now_ms = system_clock() - age_s * 1000
    earlier = S3Blobs(S3Client(s3_engine.bucket, FixedKeys(s3_engine.keys), clock=clock), prefix)
    await put(s3_blobs)
    headers = {"content-type": MIME}
    await refused(await http.put(upload_url(earlier), content=b"9" * 10, headers=headers))
    await refused(await http.get(download_url(earlier)))
    assert await joined(s3_blobs.read(KEY)) == DATA


@pytest.mark.parametrize("keys", [Keys("", ""), Keys("GR000000000000000000", "guess")])
async def test_other_keys_are_refused(
    s3_engine: S3Engine, prefix: str, http: httpx.AsyncClient, keys: Keys
) -> None:
    for forger in (keys, Keys(s3_engine.keys.access_key, secrets.token_hex(20))):
        forged = S3Blobs(S3Client(s3_engine.bucket, FixedKeys(forger)), prefix)
        headers = {"content-type": MIME}
        await refused(await http.put(upload_url(forged), content=DATA, headers=headers))


async def test_nothing_is_public(
    s3_engine: S3Engine, s3_blobs: S3Blobs, prefix: str, http: httpx.AsyncClient
) -> None:
    await put(s3_blobs)
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        await refused(await http.request(method, f"{s3_engine.bucket.url}/{prefix}{KEY}"))
    await refused(await http.get(s3_engine.bucket.url))
    assert await joined(s3_blobs.read(KEY)) == DATA


async def test_a_part_is_stored_only_as_signed(s3_blobs: S3Blobs, http: httpx.AsyncClient) -> None:
    handle = await s3_blobs.begin_parts(KEY, mime=MIME)
    other = await s3_blobs.begin_parts(OTHER, mime=MIME)
    data = bytes(PART_BYTES)
    signed = s3_blobs.sign_part(KEY, handle, 1, byte_count=len(data), seconds=600)
    for change in (setting("partNumber", "2"), setting("uploadId", other), without("uploadId")):
        await refused(await http.put(edited(signed.url, change), content=data))
    await refused(await http.put(signed.url, content=data[1:]))
    await refused(await http.put(signed.url.replace(KEY, OTHER), content=data))
    assert await s3_blobs.parts(KEY, handle) == await s3_blobs.parts(OTHER, other) == []
    answer = await http.put(signed.url, content=data, headers=dict(signed.headers))
    assert answer.status_code == 200, answer.text
    [part] = await s3_blobs.parts(KEY, handle)
    assert (part.number, part.bytes) == (1, len(data))
    await s3_blobs.finish_parts(KEY, handle, [part])
    found = await s3_blobs.find(KEY)
    assert found is not None
    assert found.bytes == len(data)


def test_a_download_address_stays_the_same_and_lives_long_enough() -> None:
    clock = FakeClock()
    clock.now_ms -= clock.now_ms % DAY_MS
    client = S3Client(Bucket("https://b.example", "r"), FixedKeys(Keys("a", "b")), clock=clock)
    blobs = S3Blobs(client)
    first = download_url(blobs)
    clock.advance(seconds=299)
    assert download_url(blobs) == first
    clock.advance(seconds=1)
    assert download_url(blobs) != first


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://shop.example", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.0.0.1:8001", False),
        ("https://evil.example", False),
    ],
)
async def test_pages_of_listed_origins_may_use_them(
    s3_blobs: S3Blobs, http: httpx.AsyncClient, origin: str, is_allowed: bool
) -> None:
    asked = {
        "origin": origin,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "content-type",
    }
    answer = await http.options(upload_url(s3_blobs), headers=asked)
    assert (answer.headers.get("access-control-allow-origin") in (origin, "*")) is is_allowed
