"""The AsyncAPI document is valid, complete, and true of what goes over the wire."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

import pytest
from jsonschema import Draft7Validator, Draft202012Validator  # type: ignore[import-untyped]

from greenroom.conversations.model import EventType
from greenroom.kernel.clock import rfc3339
from greenroom.realtime.asyncapi import ANSWERS, NOUNS
from greenroom.realtime.close_codes import CloseCode
from greenroom.realtime.frames import ClientFrame
from tests.support.api import Api, Json

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
async def document(api: Api) -> Json:
    found: Json = (await api.anonymous.get("/asyncapi.json")).json()
    return found


def test_it_is_valid_asyncapi_3(document: Json, installed_sdk: Path) -> None:
    specs = installed_sdk / "node_modules" / "@asyncapi" / "specs"
    path = specs / "schemas" / "3.0.0-without-$id.json"
    Draft7Validator(json.loads(path.read_text())).validate(document)


def test_every_event_frame_and_close_code_is_in_it(document: Json) -> None:
    messages = document["components"]["messages"]
    assert set(NOUNS) == set(EventType)
    assert {kind.value for kind in EventType} <= set(messages)
    assert set(ANSWERS) == set(get_args(ClientFrame))
    assert [each["code"] for each in document["x-close-codes"]] == [
        each.value for each in CloseCode
    ]


def test_every_reference_leads_somewhere(document: Json) -> None:
    def check(node: object) -> None:
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                found: object = document
                for part in reference.removeprefix("#/").split("/"):
                    assert isinstance(found, dict)
                    found = found[part]
            for each in node.values():
                check(each)
        elif isinstance(node, list):
            for each in node:
                check(each)

    check(document)


async def test_events_are_as_it_says(api: Api, document: Json) -> None:
    ann, bob, carl = await api.people("ann", "bob", "carl")
    thread_id = await ann.thread_with(bob)
    message = await bob.send(thread_id)
    await ann.read(thread_id, message["id"])
    await bob.edit(message, "Hello again")
    await bob.remove(message)
    await bob.read(thread_id, (await ann.send(thread_id))["id"])
    start = api.clock() + 86_400_000
    payload = {"start": rfc3339(start), "end": rfc3339(start + 3_600_000), "timezone": "UTC"}
    new = {"type": "propose_time", "payload": payload}
    card = (await bob.post(f"/v1/threads/{thread_id}/cards", new)).json()["card"]
    await ann.post(f"/v1/cards/{card['id']}/decline", {"version": 1})
    await api.rooms.store.tell_file_changed(None, "fil_" + 26 * "0", ann.id, None)
    await api.backend.add(thread_id, carl.id, "host")
    await carl.leave(thread_id)
    events = [*await ann.sync(), *await carl.sync(), *await ann.sync("another-1")]
    for event in events:
        schema = document["components"]["messages"][event["type"]]["payload"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(event)
    assert {event["type"] for event in events} == {kind.value for kind in EventType}
