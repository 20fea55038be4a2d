"""The demo's own calls, and that a server has none of them."""

from collections.abc import AsyncIterator

import httpx
import pytest

from greenroom.bootstrap import Rooms, http_app
from greenroom.demo.people import PEOPLE
from greenroom.demo.rest import DemoRest
from tests.support.api import Api

CALLS = (
    ("GET", "/demo/people", None),
    ("POST", "/demo/sign-in", {"user_id": "maya"}),
    ("GET", "/demo/avatars/maya.svg", None),
)


@pytest.fixture
async def demo(rooms: Rooms) -> AsyncIterator[httpx.AsyncClient]:
    app = http_app(rooms, extra=DemoRest(rooms.settings, rooms.clock).endpoints())
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://demo.test") as http:
        yield http


async def test_the_people_are_listed(demo: httpx.AsyncClient) -> None:
    items = (await demo.get("/demo/people")).json()["items"]
    assert {item["user_id"] for item in items} == set(PEOPLE)
    assert items[0] == {
        "user_id": "maya",
        "display_name": "Maya Lindqvist",
        "role": "buyer",
        "city": "Leeds",
        "timezone": "Europe/London",
        "avatar_url": "/demo/avatars/maya.svg",
    }
    for item in items:
        assert (await demo.get(item["avatar_url"])).status_code == 200


async def test_whoever_signs_in_is_that_person(demo: httpx.AsyncClient) -> None:
    answer = await demo.post("/demo/sign-in", json={"user_id": "noor"})
    assert answer.status_code == 200
    assert answer.json()["user"]["display_name"] == "Noor Haddad"
    headers = {"Authorization": f"Bearer {answer.json()['token']}"}
    assert (await demo.get("/v1/me", headers=headers)).json()["user"]["user_id"] == "noor"


@pytest.mark.parametrize("user_id", ["stranger", "", "g1-00000000", "../maya", "MAYA"])
async def test_only_the_samples_people_can_be_signed_in(
    demo: httpx.AsyncClient, api: "Api", user_id: str
) -> None:
    await api.people("stranger")
    answer = await demo.post("/demo/sign-in", json={"user_id": user_id})
    assert (answer.status_code, answer.json()["code"]) == (404, "USER_NOT_FOUND")


@pytest.mark.parametrize("body", [{}, {"user_id": 7}, {"user_id": "maya", "desk": "admin"}, []])
async def test_a_sign_in_of_another_form_is_refused(demo: httpx.AsyncClient, body: object) -> None:
    assert (await demo.post("/demo/sign-in", json=body)).status_code == 400


async def test_a_portrait_may_be_cached_and_can_do_nothing(demo: httpx.AsyncClient) -> None:
    answer = await demo.get("/demo/avatars/g1-00000007.svg")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=86400"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("file", ["maya", "maya.png", ".svg", "a%20b.svg", "%3Cscript%3E.svg"])
async def test_what_is_no_persons_portrait_is_not_there(demo: httpx.AsyncClient, file: str) -> None:
    assert (await demo.get(f"/demo/avatars/{file}")).status_code == 404


async def test_the_demo_documents_its_calls(demo: httpx.AsyncClient) -> None:
    paths = (await demo.get("/openapi.json")).json()["paths"]
    assert {"/demo/people", "/demo/sign-in", "/demo/avatars/{file}"} <= set(paths)


async def test_a_server_has_none_of_these_calls(api: "Api") -> None:
    for method, path, body in CALLS:
        assert await api.anonymous.refusal(method, path, body) == (404, "NOT_FOUND")
    document = (await api.anonymous.get("/openapi.json")).text
    assert "/demo" not in document
