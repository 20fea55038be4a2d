"""What clients see of typing and presence, as JSON. See docs/realtime.md."""

from msgspec import Struct

from greenroom.kernel.clock import rfc3339
from greenroom.presence.model import Change, Sign, Snapshot


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
"""An event without a cursor: not kept, and told to those only who watch the thread."""


class TypingNow(Struct, frozen=True, forbid_unknown_fields=True):
    """Say it again every few seconds: it ends by itself 10 seconds after the last time."""

    on: bool


class PersonPresence(Struct, frozen=True):
    user_id: str
    online: bool
    typing: bool


class PresenceAnswer(Struct, frozen=True):
    """Everybody else in the thread, by user id."""

    items: list[PersonPresence]


def event_of(thread_id: str, change: Change, now_ms: int) -> Ephemeral:
    at = rfc3339(now_ms)
    if change.sign is Sign.TYPING:
        return TypingView(thread_id, change.user_id, change.is_on, at)
    return PresenceView(thread_id, change.user_id, change.is_on, at)


def answer_of(snapshot: Snapshot) -> PresenceAnswer:
    return PresenceAnswer(
        [
            PersonPresence(user, online=user in snapshot.online, typing=user in snapshot.typing)
            for user in sorted(snapshot.others)
        ]
    )
