"""Each call against each kind of caller, state and repeat; the reference says which calls exist.

A call without an entry in `TABLE` fails here, and so does an entry without a call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import asyncpg
import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.kernel.limits import Limits
from greenroom.settings import Settings
from tests.support import command
from tests.support.api import Api, Client, Json

from .backend_calls import BACKEND
from .contract_calls import CONTRACT, STRIPE_SECRET, promote
from .file_calls import FILES
from .matrix import MISSING, NOWHERE, Entry, Request, Scene, of_thread
from .moments import watching
from .webhook_calls import WEBHOOKS

NOBODY = "msg_019e33c9ac00zzzzzzzzzzzzzz"
WITHOUT_KEY = {
    *("simple_upload_file", "issue_ticket", "acknowledge", "renew_stream"),
    *("make_calendar", "take_payment_event", "complete_upload", "reveal_file"),
    "take_stripe_event",
}
"""POST calls that change nothing, only ever move forward, or are known by what they say, and so
take no Idempotency-Key."""
SEVERAL_MOMENTS = {
    *("sync", "stream_events", "simple_list"),
    *("get_upload", "get_file", "list_files", "get_panel_files", "export_thread"),
}
"""Calls whose parts may be of several moments. Events: each is about one thing, and what changes
while they are filled in comes with an event of its own. The polling API's list: marks are read
before the messages, so that a status can be behind for one poll and is never ahead. A file is of
one moment; whether the viewer may see its place is asked apart, where the place is kept. The files
tab: cards and manifests are of one moment, and each file as it is when it is shown. The export of a
thread: it may be long, so it is read page by page."""
PASSES_OVER_UNKNOWN = {"take_payment_event", "take_stripe_event"}
MOST_PARTICIPANTS = 5


def of_message(scene: Scene, json: Any = None) -> Request:
    return Request({"thread_id": scene.thread_id, "message_id": scene.message_id}, json)


def new_thread(scene: Scene) -> Request:
    first = {"client_id": "first", "body": "Hello"}
    return Request(json={"kind": "inquiry", "to": scene.dora.id, "first_message": first})


def new_participant(scene: Scene) -> Request:
    return of_thread(scene, {"user_id": scene.dora.id, "role": "host"})


def leaving(scene: Scene) -> Request:
    return Request({"thread_id": scene.thread_id, "user_id": "me"})


def simple_message(scene: Scene) -> Request:
    return Request(json={"receiverId": scene.bob.id, "content": "Hello", "type": "text"})


def simple_upload(_: Scene) -> Request:
    return Request(json={"fileName": "a.png", "contentType": "image/png", "size": 1})


def pair_of(scene: Scene) -> str:
    return f"conv_{scene.ann.id}_{scene.bob.id}"


async def make_old(scene: Scene) -> None:
    scene.api.clock.advance(hours=1)


async def block_dora(scene: Scene) -> None:
    await scene.ann.block(scene.dora)


async def fill(scene: Scene) -> None:
    for other in await scene.api.people(*(f"other{n}" for n in range(MOST_PARTICIPANTS - 2))):
        await scene.api.backend.add(scene.thread_id, other.id, "host")


async def lock(scene: Scene) -> None:
    """What no call does yet."""
    store = scene.api.rooms.store
    if isinstance(store, DynamoConversations):

        async def decide(change: Change) -> None:
            change.state = replace(change.state, locked=True)

        await store._threads.change(scene.thread_id, decide)
    else:
        statement = "update thread set locked = true where thread_id = $1"
        await scene.pool.execute(statement, scene.thread_id)


TABLE: dict[str, Entry] = {
    "send_message": Entry(
        lambda s: of_thread(s, {"client_id": "second", "body": "Are you free?"}),
        status=201,
        wrong=lambda s: of_thread(s, {"client_id": "second", "body": "Are you free?"}),
        code="THREAD_LOCKED",
        spoil=lock,
        other=lambda _: {"client_id": "third"},
    ),
    "list_messages": Entry(
        lambda s: of_thread(s, query={"limit": 50}),
        wrong=lambda s: of_thread(s, query={"before": s.message_id, "after": s.message_id}),
        code="INVALID_REQUEST",
    ),
    "edit_message": Entry(
        lambda s: of_message(s, {"body": "Hello again"}),
        wrong=lambda s: of_message(s, {"body": "Hello again"}),
        code="EDIT_WINDOW_CLOSED",
        spoil=make_old,
    ),
    "delete_message": Entry(of_message, wrong=of_message, code="THREAD_LOCKED", spoil=lock),
    "start_thread": Entry(
        new_thread,
        status=201,
        wrong=new_thread,
        code="MSG_BLOCKED_BY_USER",
        spoil=block_dora,
        other=lambda _: {"subject": "Something else"},
    ),
    "get_thread": Entry(
        of_thread, wrong=lambda _: Request({"thread_id": NOWHERE}), code="THREAD_NOT_FOUND"
    ),
    "add_participant": Entry(
        new_participant,
        wrong=new_participant,
        code="ACTION_INVALID_STATE",
        spoil=fill,
        other=lambda _: {"role": "seller"},
    ),
    "remove_participant": Entry(
        leaving,
        status=204,
        repeated=404,
        wrong=lambda s: Request({"thread_id": s.thread_id, "user_id": s.dora.id}),
        code="USER_NOT_FOUND",
    ),
    "promote_thread": Entry(
        lambda s: of_thread(s, {"leg_id": "leg_1"}),
        wrong=lambda s: of_thread(s, {"leg_id": "leg_1"}),
        code="ACTION_INVALID_STATE",
        spoil=promote,
        other=lambda _: {"leg_id": "leg_2"},
    ),
    "mark_read": Entry(
        lambda s: of_thread(s, {"up_to": s.message_id}),
        wrong=lambda s: of_thread(s, {"up_to": NOBODY}),
        code="NOT_FOUND",
        other=lambda _: {"up_to": NOBODY},
    ),
    "get_inbox": Entry(
        lambda _: Request(query={"limit": 100}),
        wrong=lambda _: Request(query={"cursor": "nonsense"}),
        code="INVALID_REQUEST",
    ),
    "edit_inbox_row": Entry(
        lambda s: of_thread(s, {"pinned": True, "muted_until": "2030-01-01T00:00:00Z"}),
        wrong=lambda s: of_thread(s, {"muted_until": "tomorrow"}),
        code="INVALID_REQUEST",
    ),
    "put_job": Entry(
        lambda s: Request({"job_id": f"job-{s.ann.id}"}, {"participants": [s.ann.id]}),
        status=201,
        wrong=lambda s: Request({"job_id": f"job-{s.ann.id}"}, {"participants": ["nobody"]}),
        code="USER_NOT_FOUND",
    ),
    "sync": Entry(
        lambda _: Request(),
        wrong=lambda _: Request(query={"since": "nonsense"}),
        code="INVALID_REQUEST",
    ),
    "acknowledge": Entry(
        lambda _: Request(json={"cursor": "0-0"}),
        status=204,
        repeated=204,
        wrong=lambda _: Request(json={"cursor": "nonsense"}),
        code="INVALID_REQUEST",
    ),
    "stream_events": Entry(
        lambda s: Request(query={"watch": s.thread_id}),
        wrong=lambda _: Request(query={"watch": NOWHERE}),
        code="THREAD_NOT_FOUND",
    ),
    "renew_stream": Entry(
        lambda _: Request({"stream_id": "str_019e33c9ac00zzzzzzzzzzzzzz"}),
        status=204,
        repeated=204,
    ),
    "issue_ticket": Entry(lambda _: Request(), status=201, repeated=201),
    "set_typing": Entry(
        lambda s: of_thread(s, {"on": True}),
        status=204,
        repeated=204,
        wrong=lambda _: Request({"thread_id": NOWHERE}, {"on": True}),
        code="THREAD_NOT_FOUND",
    ),
    "get_presence": Entry(
        of_thread, wrong=lambda _: Request({"thread_id": NOWHERE}), code="THREAD_NOT_FOUND"
    ),
    "block_user": Entry(
        lambda s: Request(json={"user_id": s.bob.id}),
        status=204,
        repeated=204,
        wrong=lambda _: Request(json={"user_id": "nobody"}),
        code="USER_NOT_FOUND",
        other=lambda s: {"user_id": s.dora.id},
    ),
    "list_blocks": Entry(
        lambda _: Request(query={"limit": "10"}),
        wrong=lambda _: Request(query={"cursor": "guess"}),
        code="INVALID_REQUEST",
    ),
    "unblock_user": Entry(lambda s: Request({"user_id": s.bob.id}), status=204, repeated=204),
    "simple_send": Entry(
        simple_message,
        status=201,
        repeated=201,
        wrong=simple_message,
        code="THREAD_LOCKED",
        spoil=lock,
        other=lambda _: {"content": "Something else"},
    ),
    "simple_list": Entry(
        lambda s: Request(query={"conversationId": pair_of(s), "since": "2026-01-01T00:00:00Z"}),
        wrong=lambda _: Request(query={"conversationId": NOWHERE}),
        code="THREAD_NOT_FOUND",
    ),
    "simple_conversations": Entry(lambda _: Request()),
    "simple_mark_as_read": Entry(
        lambda s: Request(json={"conversationId": pair_of(s)}),
        wrong=lambda _: Request(json={"conversationId": NOWHERE}),
        code="THREAD_NOT_FOUND",
        other=lambda s: {"conversationId": s.thread_id},
    ),
    "simple_upload_file": Entry(
        simple_upload,
        status=201,
        repeated=201,
        wrong=lambda _: Request(json={"fileName": "a", "contentType": "image/png", "size": 2**30}),
        code="ATTACHMENT_TOO_LARGE",
    ),
    **BACKEND,
    **CONTRACT,
    **FILES,
    **WEBHOOKS,
    "put_user": Entry(
        lambda s: Request({"user_id": f"new.{s.ann.id}"}, {"display_name": "New"}),
        status=201,
        wrong=lambda s: Request({"user_id": s.ann.id}, {"timezone": "Atlantis"}),
        code="INVALID_REQUEST",
    ),
    "get_user": Entry(
        lambda s: Request({"user_id": s.bob.id}),
        wrong=lambda _: Request({"user_id": "nobody"}),
        code="USER_NOT_FOUND",
    ),
    "get_me": Entry(lambda _: Request()),
    "get_preferences": Entry(lambda _: Request()),
    "put_preferences": Entry(
        lambda _: Request(json={"preferences": {"safe_mode": False}}),
        wrong=lambda _: Request(json={"preferences": {"safe_mode": None}}),
        code="INVALID_REQUEST",
    ),
    "get_limits": Entry(lambda _: Request()),
    "get_healthz": Entry(lambda _: Request()),
    "get_readyz": Entry(lambda _: Request()),
    "get_metrics": Entry(lambda _: Request()),
    "get_asyncapi": Entry(lambda _: Request()),
    "get_openapi": Entry(lambda _: Request()),
    "get_docs": Entry(lambda _: Request()),
}


class Operation:
    """One call of the reference."""

    def __init__(self, document: Json, name: str) -> None:
        self.name = name
        self._components = document["components"]
        self.method, self.path, self.about = next(
            (method.upper(), path, about)
            for path, methods in document["paths"].items()
            for method, about in methods.items()
            if about["operationId"] == name
        )

    @property
    def takes_key(self) -> bool:
        return any(each["name"] == "Idempotency-Key" for each in self.about.get("parameters", ()))

    @property
    def takes_json(self) -> bool:
        return "requestBody" in self.about

    @property
    def admitted(self) -> set[str]:
        """The kinds of callers who may make it; nobody: everybody may."""
        return {kind for each in self.about["security"] for kind in each}

    @property
    def named(self) -> list[str]:
        """The parameters of its path that name what may be missing."""
        return [name for name in MISSING if f"{{{name}}}" in self.path]

    def caller(self, scene: Scene) -> Client:
        if not self.about["security"]:
            return scene.api.anonymous
        if self.about["tags"] == ["Desk"]:
            return scene.olga
        return scene.ann if "person" in self.admitted else scene.api.backend

    async def call(
        self, caller: Client, request: Request, key: str | None = None
    ) -> httpx.Response:
        """Makes the call; whatever comes back must be as the reference says."""
        path = self.path.format(**request.path)
        method = self.method
        if self.is_endless:
            # Its head is as that of any other answer; the rest is tested over a real connection.
            head = await caller.call("HEAD", path, params=request.query)
            if head.status_code == 200:
                return head
        answer = await caller.call(
            method, path, request.json, params=request.query, key=key, headers=request.headers
        )
        self._check_documented(answer)
        return answer

    @property
    def is_endless(self) -> bool:
        return "text/event-stream" in self.about["responses"].get("200", {}).get("content", {})

    async def refusal(self, caller: Client, request: Request) -> tuple[int, str]:
        answer = await self.call(caller, request)
        assert answer.status_code >= 400, f"{self.name} was not refused: {answer.text}"
        return answer.status_code, answer.json()["code"]

    def _check_documented(self, answer: httpx.Response) -> None:
        documented = self.about["responses"].get(str(answer.status_code))
        assert documented, f"{self.name} answered {answer.status_code}: {answer.text}"
        if "content" not in documented:
            assert answer.content == b""
            return
        [(media, content)] = documented["content"].items()
        assert answer.headers["content-type"].startswith(media)
        if media in ("application/json", "application/problem+json"):
            schema = {**content["schema"], "components": self._components}
            Draft202012Validator(schema).validate(answer.json())
        if answer.status_code >= 400:
            assert f"`{answer.json()['code']}`" in documented["description"]


DOCUMENT: Json = command.run("openapi", given={}).json()
"""The reference, read before any test so that it is known which cases apply."""
OPERATIONS = {
    about["operationId"]: Operation(DOCUMENT, about["operationId"])
    for methods in DOCUMENT["paths"].values()
    for about in methods.values()
}
ON_ONE_STORE = pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
"""For what is decided before any store is asked."""


def calls(applies: Callable[[Operation, Entry], bool]) -> pytest.MarkDecorator:
    """The calls for which a test says something."""
    both = [(name, OPERATIONS.get(name), entry) for name, entry in TABLE.items()]
    names = [name for name, operation, entry in both if operation and applies(operation, entry)]
    return pytest.mark.parametrize("name", names)


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    return replace(limits, participants=MOST_PARTICIPANTS)


@pytest.fixture(scope="module")
def settings(settings: Settings) -> Settings:
    return replace(settings, stripe_webhook_secret=STRIPE_SECRET)


@pytest.fixture
async def scene(api: Api, pool: asyncpg.Pool, entry: Entry) -> Scene:
    ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
    olga = api.person(ann.id.replace("ann", "olga"), operator_role="trust")
    started = await ann.start(bob)
    thread_id, message_id = started["thread"]["id"], started["message"]["id"]
    made = Scene(api, pool, ann, bob, carl, dora, olga, thread_id, message_id)
    if entry.prepare is not None:
        await entry.prepare(made)
    return made


@pytest.fixture(params=TABLE)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def entry(name: str) -> Entry:
    return TABLE[name]


@pytest.fixture
def operation(name: str) -> Operation:
    return OPERATIONS[name]


@ON_ONE_STORE
async def test_the_reference_is_the_one_that_is_served(api: Api) -> None:
    assert (await api.anonymous.get("/openapi.json")).json() == DOCUMENT


def test_every_call_has_an_entry_and_every_entry_a_call() -> None:
    assert set(OPERATIONS) == set(TABLE)


def test_every_call_that_may_meet_a_wrong_state_has_one() -> None:
    without = {name for name, entry in TABLE.items() if entry.wrong is None}
    anyone = {name for name, each in OPERATIONS.items() if not each.about["security"]}
    assert without - anyone == {
        *("get_me", "get_preferences", "get_limits", "unblock_user", "simple_conversations"),
        *("issue_ticket", "renew_stream", "make_calendar", "list_webhooks"),
    }


def test_every_post_takes_an_idempotency_key() -> None:
    posts = [each for each in OPERATIONS.values() if each.method == "POST"]
    without = {each.name for each in posts if not each.takes_key}
    assert without == WITHOUT_KEY


@ON_ONE_STORE
async def test_anonymous(operation: Operation, entry: Entry, scene: Scene) -> None:
    answer = await operation.call(scene.api.anonymous, entry.valid(scene))
    if not operation.about["security"]:
        assert answer.status_code == 200
        return
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"] == "Bearer"


@ON_ONE_STORE
@calls(lambda operation, _: len(operation.admitted) == 1)
async def test_wrong_kind_of_caller(operation: Operation, entry: Entry, scene: Scene) -> None:
    wrong = {"person": scene.api.backend, "backend": scene.ann}
    [kind] = operation.admitted
    refusal = await operation.refusal(wrong[kind], entry.valid(scene))
    assert refusal == (403, "FORBIDDEN")


@calls(lambda operation, _: bool(operation.named) and "person" in operation.admitted)
async def test_outsider_cannot_tell_what_is_there_from_nothing(
    operation: Operation, entry: Entry, scene: Scene
) -> None:
    request = entry.valid(scene)
    elsewhere = {**request.path, **{name: MISSING[name] for name in operation.named}}
    there = await operation.call(scene.carl, request)
    nowhere = await operation.call(scene.carl, replace(request, path=elsewhere))
    code = "THREAD_NOT_FOUND" if "thread_id" in operation.named else "NOT_FOUND"
    assert (there.status_code, there.json()["code"]) == (404, code)
    assert {**there.json(), "corr_id": ""} == {**nowhere.json(), "corr_id": ""}
    volatile = ("x-correlation-id", "content-length")
    assert {k: v for k, v in there.headers.items() if k not in volatile} == {
        k: v for k, v in nowhere.headers.items() if k not in volatile
    }


async def test_member(operation: Operation, entry: Entry, scene: Scene) -> None:
    answer = await operation.call(operation.caller(scene), entry.valid(scene))
    assert answer.status_code == entry.status


@calls(lambda operation, _: operation.method == "GET" and operation.name not in SEVERAL_MOMENTS)
async def test_a_read_is_of_one_moment(
    operation: Operation, entry: Entry, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several statements in a row each may see what the others do not."""
    request = entry.valid(scene)
    with watching(monkeypatch) as watch:
        await operation.call(operation.caller(scene), request)
    assert len(set(map(id, watch.moments))) <= 1, f"{operation.name} read several moments"


@calls(lambda operation, _: operation.admitted >= {"person", "backend"})
async def test_backend_where_both_may_call(
    operation: Operation, entry: Entry, scene: Scene
) -> None:
    request = entry.valid(scene)
    if request.path.get("user_id") == "me":
        request.path["user_id"] = scene.bob.id
    answer = await operation.call(scene.api.backend, request)
    assert answer.status_code == entry.status


@calls(lambda _, entry: entry.wrong is not None)
async def test_wrong_state(operation: Operation, entry: Entry, scene: Scene) -> None:
    assert entry.wrong is not None
    if entry.spoil is not None:
        await entry.spoil(scene)
    _, code = await operation.refusal(operation.caller(scene), entry.wrong(scene))
    assert code == entry.code


@ON_ONE_STORE
@calls(lambda operation, _: operation.takes_json and operation.name not in PASSES_OVER_UNKNOWN)
async def test_body_with_an_unknown_field(operation: Operation, entry: Entry, scene: Scene) -> None:
    request = entry.valid(scene)
    assert request.json is not None
    misspelt = replace(request, json={**request.json, "bdoy": "Hello"})
    refusal = await operation.refusal(operation.caller(scene), misspelt)
    assert refusal == entry.misspelt


async def test_repeat(operation: Operation, entry: Entry, scene: Scene) -> None:
    caller, request = operation.caller(scene), entry.valid(scene)
    assert (await operation.call(caller, request)).status_code == entry.status
    assert (await operation.call(caller, request)).status_code == entry.repeated


@calls(lambda operation, _: operation.takes_key)
async def test_repeat_under_a_key(operation: Operation, entry: Entry, scene: Scene) -> None:
    caller, request = operation.caller(scene), entry.valid(scene)
    first = await operation.call(caller, request, key="k 1")
    again = await operation.call(caller, request, key="k 1")
    # A send's key stands for its message, which may have changed since; the rest is kept whole.
    is_send = operation.name in ("send_message", "simple_send")
    assert again.status_code == (200 if is_send else first.status_code)
    assert json_of(again) == json_of(first)
    if entry.elsewhere is not None:
        changed = replace(request, path=entry.elsewhere)
    else:
        changed = replace(request, json={**request.json, **entry.other(scene)})
    mismatch = await operation.call(caller, changed, key="k 1")
    assert (mismatch.status_code, mismatch.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")


@calls(lambda operation, _: operation.method != "GET")
async def test_an_answer_is_the_same_on_both_stores(
    operation: Operation, entry: Entry, scene: Scene, conversations: str
) -> None:
    """But for names and times of its own: field by field, and null on both what is so on one."""
    answer = await operation.call(operation.caller(scene), entry.valid(scene), key="k 1")
    _ANSWERS[conversations, operation.name] = answer.status_code, without_names(json_of(answer))
    assert len({str(_ANSWERS.get((each, operation.name))) for each in STORES} - {"None"}) == 1, [
        _ANSWERS.get((each, operation.name)) for each in STORES
    ]


STORES = ("postgres", "dynamodb")
_ANSWERS: dict[tuple[str, str], tuple[int, Any]] = {}
"""What each call has answered on each store: those of the first wait for the second's."""

_ID = re.compile(r"\b([a-z]{2,7})_[0-9a-z]{26}\b")
_DELIVERY = re.compile(r"\bwhd_\d+\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_PERSON = re.compile(r"(ann|bob|carl|dora)\.\d+")
_SIMPLE_ID = re.compile(r"\bmessage_\d+_[0-9a-z]+")
_OWN = ("ticket", "url", "uploadUrl", "sync_cursor", "cursor", "secret")
"""Fields whose values are secrets, or places in one's own feed."""


def without_names(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        return {_nameless(name): without_names(value[name], name) for name in sorted(value)}
    if isinstance(value, list):
        return [without_names(each) for each in value]
    if not isinstance(value, str):
        return value
    return "<own>" if field in _OWN else _nameless(value)


def _nameless(text: str) -> str:
    for pattern, instead in (
        (_ID, r"<\1>"),
        (_DELIVERY, "<delivery>"),
        (_TIME, "<time>"),
        (_SIMPLE_ID, "<message>"),
        (_PERSON, r"<\1>"),
    ):
        text = pattern.sub(instead, text)
    return text


def json_of(answer: httpx.Response) -> Any:
    return answer.json() if answer.content else None
