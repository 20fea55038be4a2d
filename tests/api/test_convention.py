"""One convention for every answer: a single thing stands under its noun, a list under `items`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from greenroom.bootstrap import Rooms, openapi
from greenroom.settings import load_settings
from tests.support.api import Json

BESIDES = {
    "sync_cursor": "where the feed goes on from what this answer shows",
    "next_cursor": "where the next page begins",
    "has_more": "whether there is a next page",
    "counts": "what the list's folders hold",
    "locale": "the language that the list is in",
    "history": "what happened to the thing",
}
"""What may stand beside the thing or the list."""

EXCEPTIONS = {
    "POST /v1/threads/{thread_id}/messages": "a send answers with its message, as every client of "
    "the first version expects",
    "GET /v1/sync": "the feed: events and the cursor after them, the same on four transports",
    "POST /v1/tickets": "a ticket is a word to connect with, and nothing that has fields",
    "POST /v1/payments/webhook": "read by the payment provider, which wants a short yes",
    "POST /v1/payments/stripe/webhook": "read by Stripe, likewise",
    "GET /v1/threads/{thread_id}/panel/expenses": "a tab is a versioned document: its content is "
    "under `data`",
    "GET /v1/threads/{thread_id}/panel/files": "a tab, likewise",
    "GET /v1/threads/{thread_id}/panel/docs": "a tab, likewise",
    "GET /v1/threads/{thread_id}/panel/actions": "a tab, likewise",
}
TAB = {"tab", "version", "data", "updated_by", "updated_at"}
OF_THE_PRODUCT = "/v1/"
"""`/messages` has the names of the document it follows; the rest is for the machines of
operators."""


def answers(document: Json) -> Iterator[tuple[str, Json]]:
    """Every successful answer in JSON, by its call, with its schema."""
    for path, calls in document["paths"].items():
        if not path.startswith(OF_THE_PRODUCT):
            continue
        for method, call in calls.items():
            for status, answer in call["responses"].items():
                content = answer.get("content", {}).get("application/json")
                if status.startswith("2") and content:
                    yield f"{method.upper()} {path}", resolved(document, content["schema"])


def resolved(document: Json, schema: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def schema_name(field: Json) -> str:
    """The name of the schema that a field holds, also where it may be null; else nothing."""
    options = field.get("anyOf", [field])
    names = [each["$ref"].rpartition("/")[2] for each in options if "$ref" in each]
    return names[0] if names else ""


def is_named_after_its_thing(noun: str, field: Json) -> bool:
    """`user` holds a `UserView`, or as much of it as everybody may see: a `PublicUserView`."""
    is_null = field.get("type") == "null"
    name = schema_name(field).removesuffix("View").lower()
    return is_null or name.endswith(noun.replace("_", ""))


def complaint(schema: Json) -> str | None:
    fields: dict[str, Any] = dict(schema.get("properties", {}))
    items = fields.pop("items", None)
    things = {name: field for name, field in fields.items() if name not in BESIDES}
    bare = [name for name, field in things.items() if not is_named_after_its_thing(name, field)]
    if bare:
        return f"{', '.join(bare)}: not under a noun, or under another one's"
    if items is not None:
        is_list = items.get("type") == "array" and not things
        return None if is_list else "`items` is a list that stands for itself"
    return None if things else "neither a thing nor a list"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Json:
    settings = load_settings({"GREENROOM_HOME": str(tmp_path_factory.mktemp("home"))})
    return openapi(Rooms(settings, "postgresql://"))


def test_every_answer_follows_the_convention(document: Json) -> None:
    found = {call: complaint(schema) for call, schema in answers(document)}
    assert len(found) >= 30
    assert {call: why for call, why in found.items() if why and call not in EXCEPTIONS} == {}


def test_an_exception_is_one(document: Json) -> None:
    """What follows the convention by now is no exception to it."""
    found = {call: complaint(schema) for call, schema in answers(document)}
    assert [call for call in EXCEPTIONS if not found.get(call)] == []


def test_every_tab_is_an_envelope_around_its_data(document: Json) -> None:
    tabs = {call: schema for call, schema in answers(document) if "/panel/" in call}
    assert {call: set(tab["properties"]) for call, tab in tabs.items()} == dict.fromkeys(tabs, TAB)


@pytest.mark.parametrize(
    ("answer", "is_fine"),
    [
        ({"booking": {"$ref": "#/components/schemas/BookingView"}}, True),
        ({"items": {"type": "array"}, "next_cursor": {"type": "string"}}, True),
        ({"id": {"type": "string"}, "title": {"type": "string"}}, False),
        ({"items": {"type": "array"}, "title": {"type": "string"}}, False),
        ({"thing": {"$ref": "#/components/schemas/BookingView"}}, False),
        ({"types": {"type": "array"}}, False),
        ({"has_more": {"type": "boolean"}}, False),
        ({}, False),
    ],
)
def test_what_is_bare_is_noticed(answer: Json, is_fine: bool) -> None:
    assert (complaint({"properties": answer}) is None) == is_fine
