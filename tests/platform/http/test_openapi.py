"""The reference: a document that strict tools accept, and a page for people."""

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from greenroom.kernel.errors import MsgTooLong, RateLimited, ThreadNotFound
from greenroom.platform.http.app import HttpApp
from greenroom.platform.http.endpoint import ANYONE, Answer, Call, Caller, Endpoint, Who
from greenroom.platform.http.problems import known_problems
from greenroom.platform.http.reference.openapi import openapi_document
from greenroom.platform.http.standard import standard_endpoints


class FileLink(msgspec.Struct, tag="file", tag_field="kind"):
    file_id: str


class Spot(msgspec.Struct, tag="spot", tag_field="kind"):
    latitude: float
    longitude: float


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    client_id: Annotated[
        str, msgspec.Meta(min_length=1, max_length=64, description="Yours; makes a repeat safe.")
    ]
    body: Annotated[str, msgspec.Meta(max_length=2000)] | None = None
    mood: Literal["calm", "loud"] | None = None
    extra: Any = None
    attachments: list[FileLink | Spot] = []


class Message(msgspec.Struct):
    id: str
    body: str | None
    author: str | None = None
    nickname: str | msgspec.UnsetType = msgspec.UNSET
    labels: dict[str, str] = {}


class PageQuery(msgspec.Struct):
    before: Annotated[str, msgspec.Meta(description="A message id.")] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 50
    unread: bool | None = None
    folder: Literal["inbox", "archive"] | None = None
    kind: list[str] = []


class Page(msgspec.Struct):
    items: list[Message]
    has_more: bool = False


async def create_message(_call: Call) -> Answer:
    return Answer(201)


async def list_messages(_call: Call) -> Answer:
    return Answer()


async def delete_message(_call: Call) -> Answer:
    return Answer(204)


async def put_user(_call: Call) -> Answer:
    return Answer()


async def not_ready() -> None:
    raise RuntimeError


async def is_ready() -> None:
    pass


async def authenticate(_header: str | None) -> Caller:
    return ANYONE


ENDPOINTS = [
    Endpoint(
        "POST",
        "/v1/threads/{thread_id}/messages",
        create_message,
        "Send a message",
        Who.PERSON,
        {201: Message, 200: Message},
        "Messages",
        description="A repeat with the same `client_id` answers 200 with the message as it is.",
        body=NewMessage,
        errors=(MsgTooLong, ThreadNotFound, RateLimited),
        once=True,
    ),
    Endpoint(
        "GET",
        "/v1/threads/{thread_id}/messages",
        list_messages,
        "List a thread's messages",
        Who.PERSON_OR_BACKEND,
        {200: Page},
        "Messages",
        query=PageQuery,
        errors=(ThreadNotFound,),
    ),
    Endpoint(
        "DELETE",
        "/v1/threads/{thread_id}/messages/{message_id}",
        delete_message,
        "Delete a message",
        Who.PERSON,
        {204: None},
        "Messages",
    ),
    Endpoint(
        "PUT",
        "/v1/users/{user_id}",
        put_user,
        "Register or update a person",
        Who.BACKEND,
        {200: Message},
        "People",
        body=Message,
    ),
]


def standard(ready: Any = is_ready) -> list[Endpoint]:
    return standard_endpoints(ENDPOINTS, ready=ready, title="Greenroom", version="0.1.0")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document(
        [*ENDPOINTS, *standard()], title="Greenroom", version="0.1.0", problems=known_problems()
    )


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with client_with(is_ready) as client:
        yield client


def client_with(ready: Any) -> httpx.AsyncClient:
    app = HttpApp([*ENDPOINTS, *standard(ready)], authenticate=authenticate)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_a_strict_generator_makes_a_client_from_it(
    document: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    (tmp_path / "config.json").write_text('{"post_hooks": []}')
    made = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("openapi-python-client")), "generate"),
            *("--path", "openapi.json", "--config", "config.json", "--output-path", "client"),
            *("--meta", "none", "--fail-on-warning"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert (tmp_path / "client" / "api" / "messages" / "create_message.py").exists()


def test_each_operation_lists_what_can_happen(document: dict[str, Any]) -> None:
    send = document["paths"]["/v1/threads/{thread_id}/messages"]["post"]
    assert send["operationId"] == "create_message"
    assert set(send["responses"]) == {
        *("200", "201", "400", "401", "403", "404", "413", "415", "422", "429", "500", "503")
    }
    assert send["responses"]["404"]["description"] == "`THREAD_NOT_FOUND`, `NOT_FOUND`"
    assert send["security"] == [{"person": []}]
    assert [each["name"] for each in send["parameters"]] == ["thread_id", "Idempotency-Key"]


def test_query_parameters_are_never_null(document: dict[str, Any]) -> None:
    listing = document["paths"]["/v1/threads/{thread_id}/messages"]["get"]
    schemas = {each["name"]: each["schema"] for each in listing["parameters"]}
    assert schemas["limit"] == {"type": "integer", "minimum": 1, "maximum": 50, "default": 50}
    assert schemas["unread"] == {"type": "boolean"}
    assert set(schemas["folder"]["enum"]) == {"inbox", "archive"}
    assert "PageQuery" not in document["components"]["schemas"]
    assert listing["security"] == [{"person": []}, {"backend": []}]


def test_codes_are_an_enum(document: dict[str, Any]) -> None:
    codes = document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]
    assert {each.code for each in known_problems()} == set(codes)


def test_two_handlers_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="create_message"):
        openapi_document([ENDPOINTS[0]] * 2, title="", version="", problems=())


async def test_health_and_readiness(client: httpx.AsyncClient) -> None:
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json() == {"status": "ready"}
    async with client_with(not_ready) as waiting:
        assert (await waiting.get("/healthz")).status_code == 200
        assert (await waiting.get("/readyz")).status_code == 503


async def test_metrics_count_by_template_not_by_address(client: httpx.AsyncClient) -> None:
    await client.delete("/v1/threads/thr_secret/messages/msg_1")
    await client.request("BREW", "/v1/coffee")
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'route="/v1/threads/{thread_id}/messages/{message_id}"' in answer.text
    assert 'method="OTHER",route="unmatched",status="404"' in answer.text
    assert "greenroom_http_in_flight" in answer.text
    assert "thr_secret" not in answer.text


async def test_the_served_document_is_the_one_that_was_built(
    client: httpx.AsyncClient, document: dict[str, Any]
) -> None:
    assert (await client.get("/openapi.json")).json() == document


class Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        found = dict(attrs)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.links += [found["href"] or ""] if "href" in found else []


async def test_the_page_has_every_call_and_code_and_no_dead_link(
    client: httpx.AsyncClient,
) -> None:
    answer = await client.get("/docs")
    page = Anchors()
    page.feed(answer.text)
    assert len(page.ids) == len(set(page.ids))
    inner = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)
    assert {each.operation_id for each in ENDPOINTS} <= inner
    assert {each.code for each in known_problems()} <= set(page.ids)
    assert "script" not in page.tags
    assert not re.search(r"""(?:src|href)=["']?https?:""", answer.text)


async def test_the_page_allows_its_own_style_and_nothing_else(client: httpx.AsyncClient) -> None:
    policy = (await client.get("/docs")).headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
