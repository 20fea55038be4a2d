"""The AsyncAPI 3 document of the feed, generated from the structs that are sent.

Operations are named from the server's side, as in all AsyncAPI documents: it sends events and
receives the clients' frames. Schemas are JSON Schema 2020-12, as in the OpenAPI document.
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from greenroom.conversations.model import EventType
from greenroom.conversations.wire import EventView
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.presence.wire import PresenceView, TypingView
from greenroom.realtime.close_codes import CloseCode
from greenroom.realtime.frames import (
    AckFrame,
    AuthFrame,
    ClientFrame,
    Close,
    DoneFrame,
    ErrorFrame,
    Hello,
    PingFrame,
    PongFrame,
    ReadFrame,
    SendFrame,
    SentFrame,
    ServerFrame,
    TypingFrame,
    WatchFrame,
)

Schema = dict[str, Any]

NOUNS: Mapping[EventType, tuple[str, ...]] = {
    EventType.MESSAGE_NEW: ("message", "inbox"),
    EventType.MESSAGE_EDITED: ("message", "inbox"),
    EventType.MESSAGE_DELETED: ("message", "inbox"),
    EventType.CARD_CHANGED: ("card", "inbox"),
    EventType.RECEIPT: ("receipt",),
    EventType.THREAD_CHANGED: (),
    EventType.INBOX_CHANGED: ("inbox",),
    EventType.FILE_CHANGED: ("file",),
    EventType.RESET: (),
}
"""The fields that every event of a type has. `thread.changed` has a `thread` unless you left it."""

ANSWERS: Mapping[type, type] = {
    SendFrame: SentFrame,
    ReadFrame: DoneFrame,
    AckFrame: DoneFrame,
    TypingFrame: DoneFrame,
    WatchFrame: DoneFrame,
    AuthFrame: DoneFrame,
    PingFrame: PongFrame,
}

_REF = "#/components/schemas/{name}"
_EPHEMERAL = {"typing": TypingView, "presence": PresenceView}


def asyncapi_document(*, title: str, version: str) -> Schema:
    frames = [*get_args(ClientFrame), *get_args(ServerFrame)]
    types = [EventView, *_EPHEMERAL.values(), *frames, Hello, Close]
    refs, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    of = dict(zip(types, refs, strict=True))
    messages: Schema = {kind.value: _event(kind, of[EventView]) for kind in EventType}
    for name, view in _EPHEMERAL.items():
        messages[name] = _message(name, of[view], "Not kept, without a cursor.")
    for frame in frames:
        messages[_frame_name(frame)] = _message(_frame_name(frame), of[frame], frame.__doc__)
    for named in (Hello, Close):
        name = named.__name__.lower()
        messages[name] = _message(name, of[named], named.__doc__)
    events = [*(kind.value for kind in EventType), *_EPHEMERAL]
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": f"{title}: the feed",
            "version": version,
            "description": "One feed per person, over WebSocket or server-sent events; the same "
            "events come from `GET /v1/sync` (see the OpenAPI document).",
        },
        "defaultContentType": "application/json",
        "channels": _channels(events, [_frame_name(frame) for frame in frames]),
        "operations": _operations(events),
        "components": {
            "schemas": schemas,
            "messages": messages,
            "securitySchemes": {
                "person": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "A person's token in the Authorization header.",
                },
                "ticket": {
                    "type": "httpApiKey",
                    "in": "query",
                    "name": "ticket",
                    "description": "From `POST /v1/tickets`, for clients that set no headers.",
                },
            },
        },
        "x-close-codes": [
            {"code": code.value, "reason": code.reason, "reconnect": code.reconnect}
            for code in CloseCode
        ],
    }


def _frame_name(frame: type) -> str:
    """With a prefix, because `typing` is both a client frame and a server event."""
    kind = "client" if frame in get_args(ClientFrame) else "answer"
    return f"{kind}.{msgspec.inspect.type_info(frame).tag}"  # type: ignore[attr-defined]


def _message(name: str, payload: Schema, summary: str | None) -> Schema:
    described = {"summary": " ".join(summary.split())} if summary else {}
    return {"name": name.rpartition(".")[2] or name, **described, "payload": payload}


def _event(kind: EventType, event: Schema) -> Schema:
    payload = {
        "allOf": [
            event,
            {"properties": {"type": {"const": kind.value}}, "required": [*NOUNS[kind]]},
        ]
    }
    return {"name": kind.value, "payload": payload}


def _channels(events: list[str], frames: list[str]) -> Schema:
    position = {"type": "string", "description": "The cursor of the last event applied."}
    watch = {"type": "string", "description": "Thread ids separated by commas, at most 50."}
    query = {
        "type": "object",
        "properties": {"since": position, "watch": watch, "ticket": {"type": "string"}},
    }
    return {
        "websocket": {
            "address": "/v1/ws",
            "description": "Each message is a text frame.",
            "messages": {name: _component(name) for name in [*events, *frames]},
            "bindings": {"ws": {"method": "GET", "query": query}},
        },
        "sse": {
            "address": "/v1/stream",
            "description": "Each event is a `data:` line with its cursor as `id:`; `hello` and "
            "`close` are named events.",
            "messages": {name: _component(name) for name in [*events, "hello", "close"]},
        },
    }


def _operations(events: list[str]) -> Schema:
    operations: Schema = {
        "pushOverWebSocket": _operation("send", "websocket", events),
        "pushOverSse": _operation("send", "sse", [*events, "hello", "close"]),
    }
    for frame, answer in ANSWERS.items():
        name = _frame_name(frame)
        take = _operation("receive", "websocket", [name])
        replies = [_in_channel("websocket", _frame_name(each)) for each in (answer, ErrorFrame)]
        take["reply"] = {"channel": _channel("websocket"), "messages": replies}
        operations[f"take{name.rpartition('.')[2].title()}"] = take
    return operations


def _operation(action: str, channel: str, messages: list[str]) -> Schema:
    return {
        "action": action,
        "channel": _channel(channel),
        "security": [
            {"$ref": "#/components/securitySchemes/person"},
            {"$ref": "#/components/securitySchemes/ticket"},
        ],
        "messages": [_in_channel(channel, name) for name in messages],
    }


def _component(name: str) -> Schema:
    return {"$ref": f"#/components/messages/{name}"}


def _channel(name: str) -> Schema:
    return {"$ref": f"#/channels/{name}"}


def _in_channel(channel: str, message: str) -> Schema:
    return {"$ref": f"#/channels/{channel}/messages/{message}"}


def asyncapi_endpoint(*, title: str, version: str) -> Endpoint:
    as_json = msgspec.json.encode(asyncapi_document(title=title, version=version))

    async def get_asyncapi(_call: Call) -> Answer:
        return Answer(body=as_json, headers={"cache-control": "public, max-age=300"})

    return Endpoint(
        "GET",
        "/asyncapi.json",
        get_asyncapi,
        "The feed as AsyncAPI 3",
        Who.ANYONE,
        {200: dict[str, Any]},
        "Sync",
    )
