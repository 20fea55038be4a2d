"""The JSON of typing and presence. See docs/realtime.md."""

from msgspec import Struct

from greenroom.kernel.clock import rfc3339
from greenroom.presence.model import PresenceChange, PresenceKind, Snapshot


class TypingView(Struct, frozen=True, tag_field="type", tag="typing"):
    thread_id: str
    user_id: str
    on: bool
    at: str


class PresenceView(Struct, frozen=True, tag_field="type", tag="presence"):
    thread_id: str
    user_id: str
    online: bool
    at: str


Ephemeral = TypingView | PresenceView
"""An event without a cursor: not stored, and sent only to connections that watch the thread."""


class TypingNow(Struct, frozen=True, forbid_unknown_fields=True):
    """Repeat it every few seconds: it ends by itself 10 seconds after the last call."""

    on: bool


class PersonPresence(Struct, frozen=True):
    user_id: str
    online: bool
    typing: bool


class PresenceAnswer(Struct, frozen=True):
    """All other participants of the thread, ordered by user id."""

    items: list[PersonPresence]


def event_of(thread_id: str, change: PresenceChange, now_ms: int) -> Ephemeral:
    at = rfc3339(now_ms)
    if change.kind is PresenceKind.TYPING:
        return TypingView(thread_id, change.user_id, change.is_on, at)
    return PresenceView(thread_id, change.user_id, change.is_on, at)


def answer_of(snapshot: Snapshot) -> PresenceAnswer:
    return PresenceAnswer(
        [
            PersonPresence(user, online=user in snapshot.online, typing=user in snapshot.typing)
            for user in sorted(snapshot.others)
        ]
    )
