"""Reading requests: bodies, queries and idempotency keys, and refusing what is not of the form."""

import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.kernel.limits import Limits
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Answer, Call, Caller, Endpoint, Who
from greenroom.platform.http.request_parsing import UNWANTED_BODY_BYTES

LIMITS = Limits(request_bytes=20_000, idempotency_key_characters=20)
JSON = {"Content-Type": "application/json"}
SECRET = "hunter2"


class Note(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[str, msgspec.Meta(max_length=10_000)]
    count: int | None = None
    mood: Literal["calm", "loud"] | None = None
    anything: Any = None
    tags: list[str] = []


class Filter(msgspec.Struct):
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 50
    unread: bool | None = None
    q: str | None = None
    kind: list[str] = []


async def authenticate(_header: str | None) -> Caller:
    return ANYONE


async def create_note(call: Call) -> Answer:
    return Answer(201, {"text": call.body.text, "key": call.idempotency_key})


async def list_notes(call: Call) -> Answer:
    return Answer(body=call.query)


async def touch_note(call: Call) -> Answer:
    return Answer(body={"key": call.idempotency_key, "fingerprint": call.fingerprint.hex()})


async def read_page(_call: Call) -> Answer:
    return Answer(body=b"<p>page</p>", content_type="text/html; charset=utf-8")


ANY = Who.ANYONE
APP = HttpApp(
    [
        Endpoint("POST", "/n", create_note, "Create", ANY, {201: Note}, "N", body=Note, once=True),
        Endpoint("GET", "/n", list_notes, "List", ANY, {200: Filter}, "N", query=Filter),
        Endpoint("POST", "/touch/{id}", touch_note, "Touch", ANY, {200: Note}, "N", once=True),
        Endpoint("GET", "/page", read_page, "Page", ANY, {200: str}, "N", plain=True),
    ],
    authenticate=authenticate,
    limits=LIMITS,
)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with _client() as client:
        yield client


def _client() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=APP)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def send(client: httpx.AsyncClient, body: bytes) -> httpx.Response:
    return await client.post("/n", content=body, headers=JSON)


async def test_a_body_of_the_right_form_is_taken(client: httpx.AsyncClient) -> None:
    answer = await client.post("/n", json={"text": "hé"})
    assert answer.status_code == 201
    assert answer.json() == {"text": "hé", "key": None}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "takes a JSON body"),
        (b"{", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field `text`"),
        (b'{"text": 1}', "at `$.text`"),
        (b'{"text": "a", "tags": [1]}', "at `$.tags[0]`"),
        (b'{"text": "a", "mood": "hunter2"}', "at `$.mood`"),
        (b'{"text": "a", "hunter": 1}', "unknown field `hunter`"),
        (b'{"text": "a", "my ` hunter2 ` field": 1}', "unknown field"),
        (b'{"text": "\xff"}', "not valid UTF-8"),
        (b'{"text": "\\ud800"}', ""),
        (b'{"text": "\\udc00 hunter2"}', "surrogate"),
        (b'{"text": "a\\u0000"}', "U+0000"),
        (b'{"text": "a", "anything": ' + b"[" * 8000 + b"]" * 8000 + b"}", "too deeply"),
        (b'{"text": "a", "count": 1e999}', "out of range"),
    ],
)
async def test_other_bodies_are_refused_with_the_place_but_not_the_value(
    client: httpx.AsyncClient, body: bytes, detail: str
) -> None:
    answer = await send(client, body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "INVALID_REQUEST"
    assert detail in answer.json()["detail"]
    assert SECRET not in answer.text


async def test_an_escaped_backslash_before_u0000_is_text(client: httpx.AsyncClient) -> None:
    answer = await send(client, rb'{"text": "\\u0000"}')
    assert answer.json()["text"] == "\\u0000"


@pytest.mark.parametrize("kind", ["", "text/plain", "application/jsonx", "multipart/form-data"])
async def test_a_body_that_is_not_json_is_an_unsupported_type(
    client: httpx.AsyncClient, kind: str
) -> None:
    answer = await client.post("/n", content=b'{"text":"a"}', headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json()["code"] == "UNSUPPORTED_TYPE"


async def test_a_charset_and_another_case_are_still_json(client: httpx.AsyncClient) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert (await client.post("/n", content=b'{"text":"a"}', headers=headers)).status_code == 201


async def test_reading_stops_at_the_limit() -> None:
    reads = 0

    async def receive() -> dict[str, Any]:
        nonlocal reads
        reads += 1
        return {"type": "http.request", "body": b"x" * 8192, "more_body": True}

    start = await call_directly(receive, [(b"transfer-encoding", b"chunked")])
    assert start["status"] == 413
    assert (b"connection", b"close") in start["headers"]
    assert reads == 3


async def test_an_announced_length_over_the_limit_is_refused_unread() -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing should be read")

    start = await call_directly(receive, [(b"content-length", b"20001")])
    assert start["status"] == 413


async def test_a_client_that_hangs_up_gets_no_answer() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    assert await call_directly(receive, [(b"content-length", b"5")]) == {}


async def call_directly(receive: Any, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    sent: list[Any] = []

    async def collect(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/n",
        "raw_path": b"/n",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), *headers],
    }
    await APP(scope, receive, collect)
    return sent[0] if sent else {}


async def test_a_call_without_a_body_ignores_a_small_one(client: httpx.AsyncClient) -> None:
    assert (await client.post("/touch/1", content=b"whatever")).status_code == 200
    large = await client.post("/touch/1", content=b"x" * (UNWANTED_BODY_BYTES + 1))
    assert large.status_code == 413


async def test_query_parameters_are_converted(client: httpx.AsyncClient) -> None:
    answer = await client.get("/n?limit=5&unread=true&q=a%20b&kind=x&kind=y")
    assert answer.json() == {"limit": 5, "unread": True, "q": "a b", "kind": ["x", "y"]}
    assert (await client.get("/n")).json()["limit"] == 50


@pytest.mark.parametrize(
    "query",
    [
        "limit=hunter2",
        "limit=51",
        "limit=",
        "unread=maybe",
        "hunter2=1",
        "q=a&q=b",
        "q=%00",
        "q=%FF",
        "q=" + "x" * 9000,
        "&".join(["kind=x"] * 40),
    ],
)
async def test_other_queries_are_refused(client: httpx.AsyncClient, query: str) -> None:
    answer = await client.get(f"/n?{query}")
    assert answer.status_code == 400
    assert SECRET not in answer.text


async def test_a_query_is_refused_where_none_is_taken(client: httpx.AsyncClient) -> None:
    assert (await client.post("/touch/1?q=1")).status_code == 400


async def test_a_page_ignores_what_others_append_to_its_address(
    client: httpx.AsyncClient,
) -> None:
    assert (await client.get("/page?utm_source=mail")).status_code == 200


async def test_the_fingerprint_is_of_path_and_raw_body(client: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k 1"}
    answer = await client.post("/touch/7", content=b"raw", headers=headers)
    expected = hashlib.sha256(b"/touch/7\nraw").hexdigest()
    assert answer.json() == {"key": "k 1", "fingerprint": expected}
    assert (await client.post("/touch/7")).json() == {"key": None, "fingerprint": ""}


@pytest.mark.parametrize("key", [b"", b" ", b"x" * 21, b"a\tb", b"\xc3\xa9"])
async def test_an_unusable_idempotency_key_is_refused(
    client: httpx.AsyncClient, key: bytes
) -> None:
    answer = await client.post("/touch/1", headers=[(b"Idempotency-Key", key)])
    assert answer.status_code == 400


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(
    body=st.binary(max_size=200)
    | st.text(st.characters(exclude_categories=()), max_size=100).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )
    | json_like.map(lambda value: msgspec.json.encode({"text": "a", "anything": value}))
    | json_like.map(msgspec.json.encode)
)
async def test_rubbish_bodies_never_break_the_server(body: bytes) -> None:
    async with _client() as client:
        assert (await send(client, body)).status_code in {201, 400, 413}


@settings(max_examples=200, deadline=None)
@given(
    path=st.binary(max_size=40),
    query=st.binary(max_size=60),
    key=st.binary(max_size=30),
)
async def test_rubbish_addresses_never_break_the_server(
    path: bytes, query: bytes, key: bytes
) -> None:
    statuses: list[int] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def collect(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    for raw_path, method in ((b"/touch/" + path, "POST"), (b"/n", "GET"), (path, "GET")):
        scope = {
            "type": "http",
            "method": method,
            "raw_path": raw_path,
            "query_string": query,
            "headers": [(b"idempotency-key", key), (b"content-length", key)],
        }
        await APP(scope, receive, collect)
    assert all(status < 500 for status in statuses)
