"""The frames of a WebSocket besides events: those of clients, and the answers to them."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from greenroom.conversations.rest.bodies import NewAttachment
from greenroom.conversations.wire import InboxView, MessageView

Ref = Annotated[str, Meta(max_length=64, description="Repeated in the answer.")]


class _Frame(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True):
    ref: Ref | None = None


class SendFrame(_Frame, frozen=True, tag="send"):
    """The same as `POST /v1/threads/{thread_id}/messages`."""

    thread_id: str
    client_id: str
    body: str = ""
    attachments: list[NewAttachment] = []
    reply_to: str | None = None


class ReadFrame(_Frame, frozen=True, tag="read"):
    """The same as `POST /v1/threads/{thread_id}/read`."""

    thread_id: str
    up_to: str


class AckFrame(_Frame, frozen=True, tag="ack"):
    """The client has received everything up to this cursor."""

    cursor: str


class TypingFrame(_Frame, frozen=True, tag="typing"):
    thread_id: str
    on: bool


class WatchFrame(_Frame, frozen=True, tag="watch"):
    """Get typing and presence events of these threads; replaces the threads watched before."""

    threads: list[str]


class AuthFrame(_Frame, frozen=True, tag="auth"):
    """A new token of the same person, before the old one expires."""

    token: str


class PingFrame(_Frame, frozen=True, tag="ping"):
    pass


ClientFrame = SendFrame | ReadFrame | AckFrame | TypingFrame | WatchFrame | AuthFrame | PingFrame

client_frames = msgspec.json.Decoder(ClientFrame)


class SentFrame(Struct, frozen=True, tag_field="type", tag="sent"):
    message: MessageView
    repeat: bool
    ref: str | UnsetType = UNSET


class DoneFrame(Struct, frozen=True, tag_field="type", tag="done"):
    inbox: InboxView | UnsetType = UNSET
    expires_at: str | UnsetType = UNSET
    ref: str | UnsetType = UNSET


class PongFrame(Struct, frozen=True, tag_field="type", tag="pong"):
    ref: str | UnsetType = UNSET


class ErrorFrame(Struct, frozen=True, tag_field="type", tag="error"):
    """A problem document as in REST answers. The connection stays open."""

    status: int
    code: str
    title: str
    detail: str
    hint: str
    corr_id: str
    retry_after_s: float | UnsetType = UNSET
    ref: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET
    """The file because of which a send was refused."""


class Hello(Struct, frozen=True):
    """The first event of an SSE stream, named `hello`."""

    stream: str
    expires_at: str


class Close(Struct, frozen=True):
    """The last event of an SSE stream, named `close`."""

    code: Literal[1012, 4401, 4403, 4408, 4409, 4500]
    reason: str
    reconnect: bool
    retry_after_ms: int


ServerFrame = SentFrame | DoneFrame | PongFrame | ErrorFrame

encode: Any = msgspec.json.Encoder().encode


def is_object(raw: bytes) -> bool:
    """Whether an invalid frame is at least a JSON object that is not nested too deeply."""
    try:
        msgspec.json.decode(raw, type=_Object)
    except (ValueError, RecursionError):
        return False
    return True


def ref_of(raw: bytes) -> str | UnsetType:
    """The `ref` of an object that could not be decoded as a frame."""
    try:
        ref = msgspec.json.decode(raw, type=_Ref).ref
    except ValueError:
        return UNSET
    return ref or UNSET


class _Object(Struct):
    pass


class _Ref(Struct):
    ref: Ref | None = None
