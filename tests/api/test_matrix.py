"""Each call against each kind of caller, state and repeat; the reference says which calls exist.

A call without an entry in `TABLE` fails here, and so does an entry without a call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import asyncpg
import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.store_dynamodb import DynamoConversations
from greenroom.kernel.limits import Limits

from .contract_calls import CONTRACT, promote
from .matrix import MISSING, NOWHERE, Entry, Request, Scene, of_thread

if TYPE_CHECKING:
    from conftest import Api, Client, Json

NOBODY = "msg_019e33c9ac00zzzzzzzzzzzzzz"
PERSON: Json = {"person": []}
BACKEND: Json = {"backend": []}
WITHOUT_KEY = {
    *("simple_upload_file", "issue_ticket", "acknowledge", "renew_stream"),
    *("make_calendar", "take_payment_event"),
}
"""POST calls that change nothing, only ever move forward, or are known by what they say, and so
take no Idempotency-Key."""
PASSES_OVER_UNKNOWN_FIELDS = {"take_payment_event"}
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
        simple_upload, status=501, repeated=501, wrong=simple_upload, code="NOT_IMPLEMENTED"
    ),
    **CONTRACT,
    "put_user": Entry(
        lambda s: Request({"user_id": f"new.{s.ann.id}"}, {"display_name": "New"}),
        status=201,
        wrong=lambda s: Request({"user_id": s.ann.id}, {"timezone": "Atlantis"}),
        code="INVALID_REQUEST",
    ),
    "get_me": Entry(lambda _: Request()),
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

    def caller(self, scene: Scene) -> Client:
        if not self.about["security"]:
            return scene.api.anonymous
        return scene.ann if PERSON in self.about["security"] else scene.api.backend

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
        if "json" in media:
            schema = {**content["schema"], "components": self._components}
            Draft202012Validator(schema).validate(answer.json())
        if answer.status_code >= 400:
            assert f"`{answer.json()['code']}`" in documented["description"]


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    return replace(limits, participants=MOST_PARTICIPANTS)


@pytest.fixture(scope="module")
async def document(api: Api) -> Json:
    body: Json = (await api.anonymous.get("/openapi.json")).json()
    return body


@pytest.fixture
async def scene(api: Api, pool: asyncpg.Pool, entry: Entry) -> Scene:
    ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
    started = await ann.start(bob)
    thread_id, message_id = started["thread"]["id"], started["message"]["id"]
    made = Scene(api, pool, ann, bob, carl, dora, thread_id, message_id)
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
def operation(document: Json, name: str) -> Operation:
    return Operation(document, name)


def test_every_call_has_an_entry_and_every_entry_a_call(document: Json) -> None:
    documented = {
        about["operationId"] for methods in document["paths"].values() for about in methods.values()
    }
    assert documented == set(TABLE)


def test_every_call_that_may_meet_a_wrong_state_has_one(document: Json) -> None:
    without = {name for name, entry in TABLE.items() if entry.wrong is None}
    anyone = {name for name in TABLE if not Operation(document, name).about["security"]}
    assert without - anyone == {
        *("get_me", "unblock_user", "simple_conversations"),
        *("issue_ticket", "renew_stream", "make_calendar"),
    }


def test_every_post_takes_an_idempotency_key(document: Json) -> None:
    operations = [Operation(document, name) for name in TABLE]
    without = {each.name for each in operations if each.method == "POST" and not each.takes_key}
    assert without == WITHOUT_KEY


async def test_anonymous(operation: Operation, entry: Entry, scene: Scene) -> None:
    answer = await operation.call(scene.api.anonymous, entry.valid(scene))
    if not operation.about["security"]:
        assert answer.status_code == 200
        return
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_wrong_kind_of_caller(operation: Operation, entry: Entry, scene: Scene) -> None:
    wrong = {"person": scene.api.backend, "backend": scene.ann}
    admitted = {kind for each in operation.about["security"] for kind in each}
    if len(admitted) == 1:
        [kind] = admitted
        refusal = await operation.refusal(wrong[kind], entry.valid(scene))
        assert refusal == (403, "FORBIDDEN")


async def test_outsider_cannot_tell_what_is_there_from_nothing(
    operation: Operation, entry: Entry, scene: Scene
) -> None:
    named = [name for name in MISSING if f"{{{name}}}" in operation.path]
    if not named or PERSON not in operation.about["security"]:
        return
    request = entry.valid(scene)
    elsewhere = {**request.path, **{name: MISSING[name] for name in named}}
    there = await operation.call(scene.carl, request)
    nowhere = await operation.call(scene.carl, replace(request, path=elsewhere))
    code = "THREAD_NOT_FOUND" if "thread_id" in named else "NOT_FOUND"
    assert (there.status_code, there.json()["code"]) == (404, code)
    assert {**there.json(), "corr_id": ""} == {**nowhere.json(), "corr_id": ""}
    volatile = ("x-correlation-id", "content-length")
    assert {k: v for k, v in there.headers.items() if k not in volatile} == {
        k: v for k, v in nowhere.headers.items() if k not in volatile
    }


async def test_member(operation: Operation, entry: Entry, scene: Scene) -> None:
    answer = await operation.call(operation.caller(scene), entry.valid(scene))
    assert answer.status_code == entry.status


async def test_backend_where_both_may_call(
    operation: Operation, entry: Entry, scene: Scene
) -> None:
    if PERSON in operation.about["security"] and BACKEND in operation.about["security"]:
        request = entry.valid(scene)
        if request.path.get("user_id") == "me":
            request.path["user_id"] = scene.bob.id
        answer = await operation.call(scene.api.backend, request)
        assert answer.status_code == entry.status


async def test_wrong_state(operation: Operation, entry: Entry, scene: Scene) -> None:
    if entry.wrong is None:
        return
    if entry.spoil is not None:
        await entry.spoil(scene)
    _, code = await operation.refusal(operation.caller(scene), entry.wrong(scene))
    assert code == entry.code


async def test_body_with_an_unknown_field(operation: Operation, entry: Entry, scene: Scene) -> None:
    request = entry.valid(scene)
    if request.json is not None and operation.name not in PASSES_OVER_UNKNOWN_FIELDS:
        misspelt = replace(request, json={**request.json, "bdoy": "Hello"})
        refusal = await operation.refusal(operation.caller(scene), misspelt)
        assert refusal == entry.misspelt


async def test_repeat(operation: Operation, entry: Entry, scene: Scene) -> None:
    caller, request = operation.caller(scene), entry.valid(scene)
    assert (await operation.call(caller, request)).status_code == entry.status
    assert (await operation.call(caller, request)).status_code == entry.repeated


async def test_repeat_under_a_key(operation: Operation, entry: Entry, scene: Scene) -> None:
    if not operation.takes_key:
        return
    caller, request = operation.caller(scene), entry.valid(scene)
    first = await operation.call(caller, request, key="k 1")
    again = await operation.call(caller, request, key="k 1")
    # A send's key stands for its message, which may have changed since; the rest is kept whole.
    is_send = operation.name in ("send_message", "simple_send")
    assert again.status_code == (200 if is_send else first.status_code)
    assert kept_of(operation, again) == kept_of(operation, first)
    if entry.elsewhere is not None:
        changed = replace(request, path=entry.elsewhere)
    else:
        changed = replace(request, json={**request.json, **entry.other(scene)})
    mismatch = await operation.call(caller, changed, key="k 1")
    assert (mismatch.status_code, mismatch.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")


def kept_of(operation: Operation, answer: httpx.Response) -> Any:
    """A card's answer is kept before its thread has it, where that is kept elsewhere."""
    if operation.name != "create_card":
        return answer.content
    made = answer.json()
    for place in ("id", "seq", "created_at"):
        del made["message"][place]
    del made["card"]["message_id"], made["message"]["card"]["message_id"]
    return made
