"""The nouns of a conversation and the rules that need nothing but them. Times are milliseconds."""

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from greenroom.kernel.errors import InvalidRequest, MsgEmpty, MsgTooLong
from greenroom.kernel.limits import Limits
from greenroom.kernel.text import nfc

DAY_MS = 24 * 60 * 60 * 1000
PREVIEW_CHARACTERS = 140
CANCELLED = "cancelled"
"""A stage that is no state: a thread whose booking was cancelled is one in which people talk."""


class ThreadKind(StrEnum):
    INQUIRY = "inquiry"
    INVITE = "invite"
    PROJECT = "project"
    DISPUTE = "dispute"
    SUPPORT = "support"
    SYSTEM = "system"


class ThreadState(StrEnum):
    OPEN = "open"
    AWAITING_REPLY = "awaiting_reply"
    PENDING_DECISION = "pending_decision"
    CONFIRMED = "confirmed"
    COMPLETED = "completed"
    DISPUTED = "disputed"
    ARCHIVED = "archived"


class Role(StrEnum):
    BUYER = "buyer"
    SELLER = "seller"
    HOST = "host"
    SUPPORT = "support"
    ADMIN = "admin"


PARTIES = frozenset({Role.BUYER, Role.SELLER})
"""The two sides of the deal: they invite others and cannot be removed by each other."""


class EventType(StrEnum):
    MESSAGE_NEW = "message.new"
    MESSAGE_EDITED = "message.edited"
    MESSAGE_DELETED = "message.deleted"
    CARD_CHANGED = "card.changed"
    RECEIPT = "receipt"
    THREAD_CHANGED = "thread.changed"
    INBOX_CHANGED = "inbox.changed"
    RESET = "reset"


MESSAGE_EVENTS = frozenset(
    {
        EventType.MESSAGE_NEW,
        EventType.MESSAGE_EDITED,
        EventType.MESSAGE_DELETED,
        EventType.CARD_CHANGED,
    }
)


@dataclass(frozen=True, slots=True)
class ReadMark:
    message_id: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """Somebody's mark has moved up to this message."""

    user_id: str
    kind: Literal["delivered", "read"]
    message_id: str
    seq: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Participant:
    user_id: str
    display_name: str
    avatar_url: str | None
    role: str
    status: str
    joined_at_ms: int
    last_read: ReadMark | None
    """As others may know it."""
    last_delivered: ReadMark | None
    """What their clients have acknowledged, as others may know it."""


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    thread_id: str
    seq: int
    author_id: str | None
    kind: str
    body: str
    body_html: str | None
    """None: the body, escaped, is its own rendering."""
    system: dict[str, Any] | None
    reply_to: str | None
    client_id: str | None
    created_at_ms: int
    edited_at_ms: int | None = None
    deleted_at_ms: int | None = None
    card: dict[str, Any] | None = None
    """What the thread shows of a card, as it is now; None: this message is none."""


@dataclass(frozen=True, slots=True)
class LastMessage:
    """A message as lists show it."""

    id: str
    author_id: str | None
    kind: str
    preview: str
    system: dict[str, Any] | None
    created_at_ms: int
    deleted_at_ms: int | None = None
    card_type: str | None = None


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One viewer's line for one thread; `last_message` is the last one that they may see."""

    thread_id: str
    thread_kind: str
    placement: str
    unread_count: int
    pinned: bool
    starred: bool
    awaits_reply: bool
    needs_action: bool
    muted_until_ms: int | None
    last_read: ReadMark | None
    last_message: LastMessage | None
    last_activity_ms: int
    stage: str | None = None
    """How far the thread's contract has come: confirmed, completed or disputed."""
    open_cards: int = 0


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as one viewer sees it, with their inbox row."""

    id: str
    kind: str
    locked: bool
    subject: str | None
    role_context: str | None
    job_id: str | None
    group_id: str | None
    leg_id: str | None
    city: str | None
    safe_mode_required: bool
    request_state: str
    opened_by: str
    created_at_ms: int
    updated_at_ms: int
    participants: tuple[Participant, ...]
    inbox: InboxRow | None
    """None when the marketplace's backend looks, which has no inbox."""
    stage: str | None = None
    open_cards: int = 0


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in one user's feed. Opaque to clients; only this class reads its text."""

    epoch: str
    n: int

    def __str__(self) -> str:
        return f"{self.epoch}-{self.n:x}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        match = re.fullmatch(r"([0-9a-z]{1,16})-([0-9a-f]{1,15})", text)
        if match is None:
            raise InvalidRequest("since is not a cursor of ours; leave it out to start over")
        return cls(match[1], int(match[2], 16))


@dataclass(frozen=True, slots=True)
class Event:
    """What changed, for one viewer, filled in with what they may see now."""

    type: EventType
    cursor: Cursor
    at_ms: int
    thread_id: str | None = None
    message: Message | None = None
    inbox: InboxRow | None = None
    thread: Thread | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message about to be sent, normalised and rendered."""

    client_id: str
    body: str
    body_html: str | None
    reply_to: str | None = None

    def hash(self) -> bytes:
        """Tells a repeat from another message under the same client_id, also after an edit."""
        text = f"{len(self.body)}\n{self.body}\n{self.reply_to or ''}"
        return hashlib.blake2b(text.encode(), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class ThreadDraft:
    id: str
    kind: ThreadKind
    opened_by: str
    members: dict[str, Role] = field(default_factory=dict)
    subject: str | None = None
    role_context: str | None = None
    job_id: str | None = None


# Tab and line breaks stay; the rest of the control characters, the bidi overrides that can dress
# one text up as another, and what cannot be stored as UTF-8 go.
_REMOVED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LINE_BREAKS = re.compile("\r\n?|[\u2028\u2029\u0085]")
# Spaces, and what Unicode calls default ignorable, and the Braille blank.
_INVISIBLE = re.compile(
    "[\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


def normalise_text(text: str) -> str:
    text = _LINE_BREAKS.sub("\n", text)
    return nfc(_REMOVED.sub("", text))


def normalise_body(text: str, limits: Limits) -> str:
    """The body as it will be stored. Refused when too long or empty, never cut."""
    body = normalise_text(text).strip()
    if len(body) > limits.body_characters:
        raise MsgTooLong(f"{len(body)} characters; at most {limits.body_characters} are taken")
    if not _INVISIBLE.sub("", body):
        raise MsgEmpty
    return body


def normalise_label(name: str, text: str | None, limit: int) -> str | None:
    """A one-line text such as a subject; empty means none."""
    if text is None:
        return None
    label = " ".join(normalise_text(text).split())
    if len(label) > limit:
        raise InvalidRequest(f"{name} has {len(label)} characters; at most {limit} are taken")
    return label or None


def preview(message: Message) -> str:
    """The first line or so, for lists. A deleted message has none."""
    text = " ".join(message.body.split())
    return text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"


def as_last_message(message: Message) -> LastMessage:
    return LastMessage(
        message.id,
        message.author_id,
        message.kind,
        preview(message),
        message.system,
        message.created_at_ms,
        message.deleted_at_ms,
        None if message.card is None else message.card.get("type"),
    )


def derive_state(
    kind: str,
    inbox: InboxRow | None,
    now_ms: int,
    limits: Limits,
    *,
    stage: str | None = None,
    open_cards: int = 0,
) -> ThreadState:
    """The thread's state for one viewer: the first that holds wins; clients never set it.

    `stage` and `open_cards` are those of the thread, of which a viewer's row has a copy.
    """
    quiet_ms = limits.quiet_days_until_archived * DAY_MS
    if inbox is not None:
        stage, open_cards = inbox.stage, inbox.open_cards
        if now_ms - inbox.last_activity_ms > quiet_ms:
            return ThreadState.ARCHIVED
    if stage == ThreadState.DISPUTED:
        return ThreadState.DISPUTED
    if open_cards > 0:
        return ThreadState.PENDING_DECISION
    if stage is not None and stage != CANCELLED:
        return ThreadState(stage)
    if kind == ThreadKind.PROJECT and stage != CANCELLED:
        return ThreadState.CONFIRMED
    if inbox is not None and inbox.awaits_reply:
        return ThreadState.AWAITING_REPLY
    return ThreadState.OPEN
