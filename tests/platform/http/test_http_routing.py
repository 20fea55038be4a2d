"""Which call an address means, and who may make it."""

from collections.abc import AsyncIterator

import httpx
import pytest

from greenroom.kernel.errors import Unauthenticated
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import Answer, Call, Caller, Endpoint, Who
from greenroom.platform.http.routing import Routes

PERSON = {"Authorization": "Bearer ana"}
BACKEND = {"Authorization": "Bearer grk_1"}


async def authenticate(header: str | None) -> Caller:
    if header is None or not header.startswith("Bearer "):
        raise Unauthenticated
    token = header.removeprefix("Bearer ")
    if token.startswith("grk_"):
        return Caller("backend", None, key_id=token)
    return Caller("person", token)


async def echo(call: Call) -> Answer:
    return Answer(body={"caller": call.caller.id, "params": call.params})


async def echo_fixed(_call: Call) -> Answer:
    return Answer(body={"fixed": True})


def endpoint(method: str, path: str, who: Who, fixed: bool = False) -> Endpoint:
    handler = echo_fixed if fixed else echo
    return Endpoint(method, path, handler, "Echo", who, {200: dict[str, str]}, "Echo")


ENDPOINTS = [
    endpoint("GET", "/v1/threads/{thread_id}", Who.PERSON),
    endpoint("DELETE", "/v1/threads/{thread_id}/members/{user_id}", Who.PERSON),
    endpoint("GET", "/v1/threads/archived", Who.PERSON, fixed=True),
    endpoint("PUT", "/v1/users/{user_id}", Who.BACKEND),
    endpoint("GET", "/v1/users/{user_id}", Who.PERSON_OR_BACKEND),
    endpoint("GET", "/open", Who.ANYONE),
]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=HttpApp(ENDPOINTS, authenticate=authenticate))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def test_params_reach_the_handler_decoded(client: httpx.AsyncClient) -> None:
    answer = await client.delete("/v1/threads/thr_1/members/a%2Fb%20%C3%A9", headers=PERSON)
    assert answer.json()["params"] == {"thread_id": "thr_1", "user_id": "a/b é"}


async def test_a_fixed_segment_wins_over_a_param(client: httpx.AsyncClient) -> None:
    assert (await client.get("/v1/threads/archived", headers=PERSON)).json() == {"fixed": True}


def test_a_dead_end_behind_a_fixed_segment_falls_back_to_the_param() -> None:
    routes = Routes([("GET", "/a/b/c", "fixed"), ("GET", "/a/{x}/d/{y}", "param")])
    found = routes.find(b"/a/b/d/e")
    assert found is not None
    assert found[0].methods == {"GET": "param"}
    assert found[1] == ["b", "e"]


def test_the_same_call_cannot_be_declared_twice() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        Routes([("GET", "/a/{x}", 1), ("GET", "/a/{y}", 2)])


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing",
        "/v1/threads",
        "/v1/threads/",
        "/v1/Threads/thr_1",
        "/v1/threads/thr_1/",
        "/v1//threads/thr_1",
        "/v1/threads/%00",
        "/v1/threads/a%0Ab",
        "/v1/threads/%FF",
        "/v1/threads/" + "x" * 256,
        "/open/",
    ],
)
async def test_other_addresses_are_not_found(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path, headers=PERSON)
    assert answer.status_code == 404
    assert answer.json()["code"] == "NOT_FOUND"


async def test_another_method_is_refused_with_those_allowed(client: httpx.AsyncClient) -> None:
    answer = await client.post("/v1/users/ana")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS, PUT"
    assert answer.headers["content-type"] == "application/problem+json"


async def test_head_is_get_without_the_body(client: httpx.AsyncClient) -> None:
    full = await client.get("/open")
    head = await client.head("/open")
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == full.headers["content-length"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/open", {}, 200),
        ("GET", "/open", {"Authorization": "nonsense"}, 200),
        ("GET", "/v1/threads/thr_1", {}, 401),
        ("GET", "/v1/threads/thr_1", {"Authorization": "nonsense"}, 401),
        ("GET", "/v1/threads/thr_1", PERSON, 200),
        ("GET", "/v1/threads/thr_1", BACKEND, 403),
        ("PUT", "/v1/users/ana", PERSON, 403),
        ("PUT", "/v1/users/ana", BACKEND, 200),
        ("GET", "/v1/users/ana", PERSON, 200),
        ("GET", "/v1/users/ana", BACKEND, 200),
    ],
)
async def test_each_call_admits_those_it_is_for(
    client: httpx.AsyncClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert (await client.request(method, path, headers=headers)).status_code == status


async def test_a_caller_without_a_token_is_told_which_kind(client: httpx.AsyncClient) -> None:
    answer = await client.get("/v1/threads/thr_1")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["code"] == "UNAUTHENTICATED"


async def test_callers_are_named_by_kind_and_id(client: httpx.AsyncClient) -> None:
    person = await client.get("/v1/users/ana", headers=PERSON)
    backend = await client.get("/v1/users/ana", headers=BACKEND)
    assert person.json()["caller"] == "person:ana"
    assert backend.json()["caller"] == "backend:grk_1"
    assert (await client.get("/open")).json()["caller"] == "anyone"
