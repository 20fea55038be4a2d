"""What an outsider gets for what exists is what anybody gets for what does not: same status, body,
headers, and the same questions to the database in the same order."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.client import Client as DynamoDbClient
from tests.support.api import Api, Client, Json, Person

NOWHERE = {
    "thread_id": "thr_019e33c9ac00zzzzzzzzzzzzzz",
    "message_id": "msg_019e33c9ac00zzzzzzzzzzzzzz",
    "user_id": "nobody.at.all",
    "booking_id": "lbg_019e33c9ac00zzzzzzzzzzzzzz",
    "document_id": "doc_019e33c9ac00zzzzzzzzzzzzzz",
    "manifest_id": "man_019e33c9ac00zzzzzzzzzzzzzz",
    "leg_file": "leg_019e33c9ac00zzzzzzzzzzzzzz.ics",
    "card_id": "crd_019e33c9ac00zzzzzzzzzzzzzz",
    "action": "accept",
    "upload_id": "fil_019e33c9ac00zzzzzzzzzzzzzz",
    "file_id": "fil_019e33c9ac00zzzzzzzzzzzzzz",
}
SHA256 = "ab" * 32
A_CARD = {
    "type": "extras",
    "payload": {"items": [{"title": "Prints", "qty": 1, "unit_cents": 900}]},
}
A_MANIFEST = {
    "items": [
        {"name": "a.zip", "bytes": 1, "sha256": SHA256, "url": "https://files.example/a.zip"},
    ]
}
VOLATILE = ("x-correlation-id", "date")

# The body of each call on something with an id that a person may make; None: it takes none.
BODIES: dict[str, Any] = {
    "send_message": {"client_id": "x", "body": "Hello"},
    "list_messages": None,
    "edit_message": {"body": "Hello"},
    "delete_message": None,
    "get_thread": None,
    "add_participant": {"user_id": "friend", "role": "host"},
    "remove_participant": None,
    "mark_read": {"up_to": NOWHERE["message_id"]},
    "edit_inbox_row": {"starred": True},
    "unblock_user": None,
    "set_typing": {"on": True},
    "get_presence": None,
    "get_booking": None,
    "get_document": None,
    "add_manifest": A_MANIFEST,
    "list_manifests": None,
    "get_manifest": None,
    "get_leg_file": None,
    "get_card": None,
    "create_card": A_CARD,
    "act_on_card": {"version": 1},
    "get_panel": None,
    "get_panel_expenses": None,
    "get_panel_files": None,
    "get_panel_docs": None,
    "get_panel_actions": None,
    "get_upload": None,
    "complete_upload": None,
    "cancel_upload": None,
    "get_file": None,
    "edit_file": {"alt": "A hand"},
    "reveal_file": None,
    "list_files": None,
}
# Stream ids are secrets of whoever has them, and the answers the same whatever the id. A profile
# card is there for everybody with a token, as it is in the marketplace. Who is no operator is sent
# away from the desk before anything is looked for. Payments of others are in the matrix of the API
# (tests/api/test_matrix.py): here nobody pays.
ANSWER_NOTHING = {
    *("renew_stream", "get_user", "release_file", "delete_file", "get_payment_confirmation")
}
OUTSIDERS = ("stranger", "left", "blocked opener")


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    """One connection each, so that what is asked has one order."""
    return replace(limits, read_connections=1, feed_connections=1)


class Asked:
    """What the rooms ask their databases, one question after the other."""

    def __init__(self) -> None:
        self._heard: list[str] = []

    async def listen_to(self, rooms: Rooms) -> None:
        for pool in rooms._pools:
            connections = [await pool.acquire() for _ in range(pool.get_max_size())]
            for connection in connections:
                connection.add_query_logger(self._hear_statement)
                await pool.release(connection)
        if isinstance(rooms.store, DynamoConversations):
            self._listen_to_requests(rooms.store._table._client)

    def _hear_statement(self, record: Any) -> None:
        # asyncpg counts savepoints in their names.
        self._heard.append(re.sub(r"__asyncpg_savepoint_\w+__", "", " ".join(record.query.split())))

    def _listen_to_requests(self, client: DynamoDbClient) -> None:
        call = client.call

        async def hear(action: str, request: Json) -> Json:
            # Of keys and values only which kind they are of: the ids in them differ.
            kinds = re.findall(r"'S': '([A-Z]+)#", str(request))
            self._heard.append(" ".join([action, *sorted(request), *kinds]))
            return await call(action, request)

        client.call = hear  # type: ignore[method-assign, assignment]

    async def during(self, call: Any) -> tuple[httpx.Response, list[str]]:
        self._heard.clear()
        answer = await call
        # Loggers are told in the next turn of the loop.
        await asyncio.sleep(0)
        return answer, list(self._heard)


@pytest.fixture(scope="module")
async def asked(rooms: Rooms) -> Asked:
    asked = Asked()
    await asked.listen_to(rooms)
    return asked


@dataclass
class Scene:
    """Ann's thread with Bob, which nobody of `outsiders` may see any more or ever could."""

    ids: dict[str, str]
    outsiders: dict[str, Person]


@pytest.fixture(scope="module")
async def scene(api: Api) -> Scene:
    ann, bob, carl, dora, emil = await api.people("ann", "bob", "carl", "dora", "emil")
    started = await ann.start(bob)
    thread_id = started["thread"]["id"]
    agreed = await agree(api, ann, bob, thread_id)
    await api.backend.put("/v1/users/friend", {"display_name": "Friend"})
    await api.backend.add(thread_id, dora.id, "host")
    await dora.leave(thread_id)
    # Emil never hears of a thread that someone whom he blocked brings him into.
    await emil.block(ann)
    answer = await ann.post(
        f"/v1/threads/{thread_id}/participants", {"user_id": emil.id, "role": "host"}
    )
    assert answer.status_code == 200
    file_id = await send_file(api, ann, thread_id)
    ids = {
        **agreed,
        "upload_id": file_id,
        "file_id": file_id,
        "thread_id": thread_id,
        "message_id": started["message"]["id"],
        "user_id": bob.id,
        "action": "accept",
    }
    outsiders = dict(zip(OUTSIDERS, (carl, dora, emil), strict=True))
    for each in outsiders.values():
        assert (await each.get("/v1/me")).status_code == 200
    return Scene(ids, outsiders)


async def send_file(api: Api, ann: Person, thread_id: str) -> str:
    asked = {"thread_id": thread_id, "name": "a.txt", "mime": "text/plain", "bytes": 5}
    upload = (await ann.post("/v1/uploads", asked)).json()["upload"]
    file_id: str = upload["id"]
    put = await api.http.put(upload["url"], content=b"Hello", headers=upload["headers"])
    assert put.status_code == 204
    assert (await ann.call("POST", f"/v1/uploads/{file_id}/complete")).status_code == 200
    await ann.send(thread_id, "", attachments=[{"file_id": file_id}])
    return file_id


async def agree(api: Api, ann: Person, bob: Person, thread_id: str) -> dict[str, str]:
    """Ann books Bob; there is a document, a list of deliverables and a card. The ids of it all."""
    leg = {
        "seller": bob.id,
        "title": "A shoot",
        "start": "2027-06-01T10:00:00Z",
        "end": "2027-06-01T12:00:00Z",
        "timezone": "UTC",
        "price_cents": 0,
    }
    new = {"buyer": ann.id, "currency": "EUR", "thread_id": thread_id, "legs": [leg]}
    booking = (await api.backend.post("/v1/bookings", new)).json()["booking"]
    path, thread = f"/v1/bookings/{booking['id']}", f"/v1/threads/{thread_id}"
    confirmed = (await api.backend.call("POST", f"{path}/confirm")).json()["booking"]
    assert confirmed["state"] == "confirmed"
    document = {"title": "Model release", "sha256": SHA256, "signers": [ann.id]}
    return {
        "booking_id": booking["id"],
        "leg_file": f"{booking['legs'][0]['id']}.ics",
        "document_id": (await api.backend.post(f"{path}/documents", document)).json()["document"][
            "id"
        ],
        "manifest_id": (await bob.post(f"{thread}/manifests", A_MANIFEST)).json()["manifest"]["id"],
        "card_id": (await bob.post(f"{thread}/cards", A_CARD)).json()["card"]["id"],
    }


@pytest.fixture(scope="module")
async def operations(api: Api) -> dict[str, tuple[str, str, Json]]:
    document = (await api.anonymous.get("/openapi.json")).json()
    return {
        about["operationId"]: (method.upper(), path, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
        if "{" in path and {"person": []} in about["security"]
    }


def test_every_call_on_something_with_an_id_is_here(
    operations: dict[str, tuple[str, str, Json]],
) -> None:
    assert set(operations) - ANSWER_NOTHING == set(BODIES)


_numbers = itertools.count(1)


@pytest.mark.parametrize("outsider", OUTSIDERS)
@pytest.mark.parametrize("with_key", [False, True], ids=["", "with key"])
@pytest.mark.parametrize("name", BODIES)
async def test_outsiders_see_what_is_not_there(
    operations: dict[str, tuple[str, str, Json]],
    scene: Scene,
    asked: Asked,
    name: str,
    with_key: bool,
    outsider: str,
) -> None:
    method, template, about = operations[name]
    takes_key = any(each["name"] == "Idempotency-Key" for each in about["parameters"])
    if with_key and not takes_key:
        pytest.skip("this call takes no key")
    who = scene.outsiders[outsider]
    call = caller(who, method, BODIES[name], with_key=with_key)
    # Once for nothing: what is looked up once and then known is no secret.
    await call(template.format(**NOWHERE))
    nowhere = await asked.during(call(template.format(**NOWHERE)))
    for there in (
        scene.ids,
        {**NOWHERE, "thread_id": scene.ids["thread_id"]},
        {**scene.ids, "thread_id": NOWHERE["thread_id"]},
        {**scene.ids, "user_id": "me"},
    ):
        found = await asked.during(call(template.format(**there)))
        check_same(found[0], nowhere[0])
        assert found[1] == nowhere[1], "asked more or less of the database"
        assert found[1]


def caller(who: Client, method: str, body: Any, *, with_key: bool) -> Callable[[str], Any]:
    def call(path: str) -> Any:
        key = f"key {next(_numbers)}" if with_key else None
        return who.call(method, path, body, key=key)

    return call


def check_same(found: httpx.Response, nowhere: httpx.Response) -> None:
    assert found.status_code == nowhere.status_code
    assert shown(found) == shown(nowhere)
    headers = [
        [pair for pair in each.headers.multi_items() if pair[0] not in VOLATILE]
        for each in (found, nowhere)
    ]
    assert headers[0] == headers[1]


def shown(answer: httpx.Response) -> Json | None:
    return {**answer.json(), "corr_id": ""} if answer.content else None
