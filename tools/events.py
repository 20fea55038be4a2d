"""`make events`: docs/events.md with every domain event, its fields and an example."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from greenroom.webhooks.catalogue.loading import EventType, load_definitions, load_events

PAGE = Path(__file__).resolve().parents[1] / "docs" / "events.md"

HEAD = """\
# Events

What happens in Greenroom is an event: a message was written, a booking was confirmed, money moved.
Your backend gets events as [webhooks](webhooks.md) or from [EventBridge](eventbridge.md). Both
deliver the same body:

| field | what it has |
|---|---|
| `type` | what happened, such as `message.send` |
| `timestamp` | when it happened, in UTC |
| `data` | what it is about |

Every `data` has `event_id`, `actor` and `thread_number`, except that of a test event
(`webhook.test`), which has a `webhook_id` only:

- Each event is delivered at least once. A repeat has the same `event_id`.
- `thread_number` counts the events of a thread: 1, 2, 3 … without gaps, in the order in which they
  were committed. `timestamp` is the time that the change itself has, so of two events of one
  moment the later one can have the earlier time.
- `actor` is the user who did it; null: the server or your backend.

The other fields hold what the event is about, each complete, **as it is when the event is
delivered**. This can be newer than the event: if a message is edited twice, both events can have
the last text. What the event itself recorded is in `details` and `amount`.

- `{"id": …, "deleted": true}`: it was deleted, erased or has expired since. A booking that your
  backend only named when it promoted a thread is none of this server's and looks the same.
- `{"id": …, "restricted": true}`: not every participant of the thread sees it, for example because
  one has blocked another. Nothing more is said about it.
- `{"id": …, "truncated": true}`: the event was too large for EventBridge, or could not be read.
- Names of people, receipts of delivery and names of files are never in an event. Text that people
  wrote (marked *content* below) is only in it if content was asked for.
- New fields and new types of events can come with any version: ignore what you do not know.
  Blocks, archiving, stars, mutes and presence are private to a person and are no events.

`lbg` stands for a booking, which is a group of legs; `action` for a card. A field with a question
mark can be missing. The JSON Schemas (2020-12) are in `greenroom/webhooks/catalogue/` of the
package, one file for each type.

"""

FOOT = """
This page is written by `make events` from `greenroom/webhooks/catalogue/`.
"""

FAMILIES = {
    "thread": "Threads",
    "participant": "Threads",
    "message": "Messages",
    "action": "Cards",
    "lbg": "Bookings",
    "leg": "Bookings",
    "amendment": "Bookings",
    "payment": "Money",
    "deposit": "Money",
    "refund": "Money",
    "payout": "Money",
    "docs": "Documents",
    "manifest": "Documents",
    "file": "Files",
}
COMMON = ("event_id", "actor", "thread_number", "truncated")
SHARED = ("gone", "restricted", "reference")
"""Definitions that the page explains at its top."""


def main() -> None:
    PAGE.write_text(page())
    print(f"wrote {PAGE}")


def page() -> str:
    return "".join((HEAD, *_overview(), *_details(), *_nouns(), FOOT))


def _families() -> Iterator[tuple[str, list[EventType]]]:
    order = list(dict.fromkeys(FAMILIES.values()))
    events = sorted(load_events().values(), key=lambda each: order.index(_family(each)))
    for family, members in groupby(events, _family):
        yield family, list(members)


def _family(event: EventType) -> str:
    return FAMILIES[event.name.partition(".")[0]]


def _overview() -> Iterator[str]:
    yield "## All events\n\n| event | meaning |\n|---|---|\n"
    for _, events in _families():
        for each in events:
            yield f"| [`{each.name}`](#{_anchor(each.name)}) | {each.meaning} |\n"
    yield "\n"


def _details() -> Iterator[str]:
    for family, events in _families():
        yield f"## {family}\n\n"
        for each in events:
            yield from _detail(each)


def _detail(event: EventType) -> Iterator[str]:
    yield f"### {event.name}\n\n{event.meaning}\n\nSent: {_lower(event.when)}\n\n"
    fields = {
        name: schema for name, schema in event.data["properties"].items() if name not in COMMON
    }
    required = event.data["required"]
    yield "Fields of `data`: "
    yield ", ".join(_reference(name, name in required) for name in fields if name != "details")
    yield "\n"
    if "details" in fields:
        yield f"\n`details`:\n\n{_table(fields['details'])}"
    yield f"\n```json\n{_shown(event.example)}\n```\n\n"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _shown(example: Mapping[str, Any]) -> str:
    """JSON with one line for each field of the data."""
    lines = [f"    {_line(name)}: {_line(value)}" for name, value in example["data"].items()]
    head = [f"  {_line(name)}: {_line(example[name])},\n" for name in ("type", "timestamp")]
    return "".join(("{\n", *head, '  "data": {\n', ",\n".join(lines), "\n  }\n}"))


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _reference(name: str, is_required: bool) -> str:
    return f"[`{name}`](#{name})" + ("" if is_required else "?")


def _nouns() -> Iterator[str]:
    yield "## What events are about\n\n"
    for name, definition in load_definitions().items():
        whole = _whole(definition)
        if name in SHARED or whole is None:
            continue
        yield f"### {name}\n\n{definition['description']}\n\n{_table(whole)}\n"


def _whole(definition: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The form of a thing that is there; None for a plain value."""
    if "properties" in definition:
        return definition
    return next((each for each in definition.get("anyOf", ()) if "properties" in each), None)


def _table(schema: Mapping[str, Any]) -> str:
    rows = [
        f"| `{name}`{_mark(name, schema)} | {_type(each)} | {_note(each)} |\n"
        for name, each in schema["properties"].items()
    ]
    return "| field | type | |\n|---|---|---|\n" + "".join(rows)


def _mark(name: str, schema: Mapping[str, Any]) -> str:
    return "" if name in schema["required"] else "?"


def _note(schema: Mapping[str, Any]) -> str:
    note = str(schema.get("description", ""))
    return f"*content.* {note}" if schema.get("x-content") else note


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "enum" in schema:
        return ", ".join("null" if each is None else f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(_name_of(each, schema) for each in types)


def _name_of(type_name: str, schema: Mapping[str, Any]) -> str:
    if type_name == "array":
        items = schema["items"]
        if "properties" in items:
            return "list of {" + ", ".join(f"`{name}`" for name in items["properties"]) + "}"
        return f"list of {_type(items)}"
    if type_name == "string":
        if schema.get("format") == "date-time":
            return "time"
        prefix = schema.get("pattern", "")
        return f"`{prefix[1:]}…`" if prefix.endswith("_") else "text"
    return {"integer": "number", "boolean": "true or false"}.get(type_name, type_name)


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    return title.replace(".", "")


if __name__ == "__main__":
    main()
