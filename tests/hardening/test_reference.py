"""Requests made from the reference, right and wrong: every answer is as the reference says."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    load_all_checks,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.failures import Failure, FailureGroup

from tests.support import IS_FULL
from tests.support.api import Api, Client, Json, Person

EXAMPLES = {"postgres": 40, "dynamodb": 15} if IS_FULL else {"postgres": 4, "dynamodb": 2}
EXAMPLES_WITHOUT_RIGHT = 4 if IS_FULL else 2
BASE = "http://greenroom.test"
# A secret can be anything, and needs no token that could be wrong.
TAKE_ANY_TEXT = {"get_calendar"}
AN_EXPENSE = {"amount_cents": 100, "merchant": "A bus", "date": "2027-01-01"}
ENDLESS = f"{BASE}/v1/stream"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
# Derandomised: the same requests each time, so a failure needs no seed to come back.
SAME_EACH_TIME = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Caller:
    """Sends generated requests, often on things that exist, and looks at the answers."""

    def __init__(
        self,
        kind: str,
        loop: asyncio.AbstractEventLoop,
        client: Client,
        ids: dict[str, list[str]],
    ) -> None:
        self.kind = kind
        self._loop = loop
        self._client = client
        self._ids = ids
        self.statuses: set[int] = set()

    def known_ids(self, operation: Any) -> st.SearchStrategy[dict[str, str]]:
        """Real ids for some of the path's parameters."""
        names = [each for each in self._ids if f"{{{each}}}" in operation.path]
        choices = {each: st.none() | st.sampled_from(self._ids[each]) for each in names}
        return st.fixed_dictionaries(choices).map(
            lambda chosen: {name: text for name, text in chosen.items() if text is not None}
        )

    def known_body(self) -> st.SearchStrategy[dict[str, Any]]:
        """Values for some fields of the body that can be right only by being known."""
        fields = {"up_to": "message_id", "reply_to": "message_id", "user_id": "user_id"}
        choices: dict[str, st.SearchStrategy[Any]] = {
            field: st.none() | st.sampled_from(self._ids[name]) for field, name in fields.items()
        }
        choices["to"] = st.none() | st.sampled_from(self._ids["user_id"])
        choices["buyer"] = st.none() | st.sampled_from(self._ids["user_id"])
        choices["type"] = st.none() | st.sampled_from(["propose_time", "extras", "cancel"])
        choices["version"] = st.none() | st.integers(1, 2)
        return st.fixed_dictionaries(choices)

    def call(self, case: Any, ids: dict[str, str], known: dict[str, Any]) -> None:
        case.path_parameters = {**(case.path_parameters or {}), **ids}
        if isinstance(case.body, dict):
            better = {name: text for name, text in known.items() if text and name in case.body}
            case.body = {**case.body, **better}
        given_headers = {"authorization": self._client.authorization() or ""}
        kwargs = case.as_transport_kwargs(base_url=BASE, headers=given_headers)
        for unused in ("timeout", "verify", "cert", "proxies", "allow_redirects", "stream"):
            kwargs.pop(unused, None)
        try:
            prepared = requests.Request(**kwargs).prepare()
        except (requests.exceptions.InvalidHeader, UnicodeError):
            return  # no HTTP client can send it
        answer = self._loop.run_until_complete(self._send(prepared))
        self.statuses.add(answer.status_code)
        # What is not built yet says so, which is a refusal like any other that is documented.
        checks = CHECKS[1:] if answer.status_code == 501 else CHECKS
        case.validate_response(answer, checks=checks)

    async def _send(self, prepared: requests.PreparedRequest) -> httpx.Response:
        headers = [
            (_bytes(name), _bytes(text))
            for name, text in prepared.headers.items()
            if name.lower() != "accept-encoding"
        ]
        method = prepared.method or ""
        if method == "GET" and (prepared.url or "").startswith(ENDLESS):
            # Its head is that of any other answer; one that is refused is asked for in full.
            head = await self._client._http.request("HEAD", prepared.url or "", headers=headers)
            if head.status_code < 400:
                return head
        return await self._client._http.request(
            method, prepared.url or "", headers=headers, content=_body(prepared)
        )


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def _body(prepared: requests.PreparedRequest) -> bytes:
    body = prepared.body
    if body is None:
        return b""
    assert isinstance(body, str | bytes), "nothing here is streamed"
    return _bytes(body)


@pytest.fixture(scope="module")
async def loop(api: Api) -> asyncio.AbstractEventLoop:
    """Where the rooms live. Hypothesis is not asynchronous, so it is run from outside."""
    return asyncio.get_running_loop()


@pytest.fixture(scope="module")
async def document(api: Api) -> Json:
    found: Json = (await api.anonymous.get("/openapi.json")).json()
    return found


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
async def caller(kind: str, api: Api, loop: asyncio.AbstractEventLoop) -> Caller:
    ann, bob, carl = await api.people("ann", "bob", "carl")
    mine = await ann.start(bob)
    theirs = await bob.start(carl)
    threads = [each["thread"]["id"] for each in (mine, theirs)]
    ids = {
        "thread_id": [threads[0], *threads],
        "message_id": [each["message"]["id"] for each in (mine, theirs)],
        "user_id": [bob.id, carl.id, ann.id, "me"],
        **await contract_ids(api, ann, bob, threads[0]),
    }
    clients: dict[str, Client] = {
        "person": ann,
        "backend": api.backend,
        "anonymous": api.anonymous,
    }
    return Caller(kind, loop, clients[kind], ids)


async def contract_ids(api: Api, ann: Person, bob: Person, thread_id: str) -> dict[str, list[str]]:
    """Ann books Bob, in their thread; what comes of it, by its parameter in paths."""
    leg = {
        "seller": bob.id,
        "title": "A shoot",
        "start": "2027-06-01T10:00:00Z",
        "end": "2027-06-01T12:00:00Z",
        "timezone": "UTC",
        "price_cents": 0,
    }
    new = {"buyer": ann.id, "currency": "EUR", "legs": [leg]}
    made = [
        (await api.backend.post("/v1/bookings", {**new, "thread_id": of})).json()["booking"]
        for of in (thread_id, None)
    ]
    path, thread = f"/v1/bookings/{made[0]['id']}", f"/v1/threads/{thread_id}"
    await api.backend.call("POST", f"{path}/confirm")
    document = {"title": "Release", "sha256": "ab" * 32, "signers": [ann.id]}
    item = {"name": "a", "bytes": 1, "sha256": "ab" * 32, "url": "https://files.example/a"}
    cards = [
        (await bob.post(f"{thread}/cards", {"type": name, "payload": payload})).json()["card"]["id"]
        for name, payload in (
            ("expense", {**AN_EXPENSE, "buyer_payable": False}),
            ("complete", {"kind": "milestone"}),
        )
    ]
    return {
        "booking_id": [each["id"] for each in made],
        "leg_file": [f"{made[0]['legs'][0]['id']}.ics"],
        "document_id": [
            (await api.backend.post(f"{path}/documents", document)).json()["document"]["id"]
        ],
        "manifest_id": [
            (await bob.post(f"{thread}/manifests", {"items": [item]})).json()["manifest"]["id"]
        ],
        "card_id": cards,
        "action": ["accept", "decline", "dispute"],
        "secret_file": [
            (await ann.call("POST", "/v1/me/calendar")).json()["calendar"]["url"].rpartition("/")[2]
        ],
    }


REACHED = {
    "person": {200, 201, 204, 400, 403, 404, 422},
    "backend": {200, 201, 204, 400, 403, 404, 409},
    "anonymous": {200, 401},
}


@pytest.mark.parametrize(
    ("conversations", "kind"),
    [
        *(("postgres", kind) for kind in REACHED),
        # Who else may call is not the store's to say.
        ("dynamodb", "person"),
    ],
    indirect=True,
)
def test_every_answer_is_in_the_reference(
    document: Json, caller: Caller, conversations: str
) -> None:
    load_all_checks()
    schema = schemathesis.openapi.from_dict(document)
    found: list[Any] = list(schema.get_all_operations())
    operations = [each.ok() for each in found]
    assert len(operations) == sum(len(methods) for methods in document["paths"].values())
    failures: list[str] = []
    for operation in operations:
        for mode in GenerationMode:
            try:
                _try_operation(operation, mode, caller, EXAMPLES[conversations])
            except (FailureGroup, Failure) as failure:
                failures.append(f"{operation.label} ({mode.value}): {failure}")
    assert not failures, "\n\n".join(failures)
    assert caller.statuses >= REACHED[caller.kind], "it did not get as far as it should"


def _try_operation(operation: Any, mode: GenerationMode, caller: Caller, examples: int) -> None:
    about = operation.definition.raw
    if mode is GenerationMode.NEGATIVE and not (about.get("parameters") or "requestBody" in about):
        return  # a call without input has no wrong one
    if mode is GenerationMode.NEGATIVE and about["operationId"] in TAKE_ANY_TEXT:
        return
    admitted = {kind for each in about["security"] for kind in each}
    count = examples if caller.kind in admitted else EXAMPLES_WITHOUT_RIGHT

    @settings(SAME_EACH_TIME, max_examples=count)
    @given(
        operation.as_strategy(generation_mode=mode),
        caller.known_ids(operation),
        caller.known_body(),
    )
    def run(case: Any, ids: dict[str, str], known: dict[str, Any]) -> None:
        caller.call(case, ids, known)

    run()
