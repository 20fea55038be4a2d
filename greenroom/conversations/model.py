"""Threads, messages, inbox rows and feed events, and the rules that need nothing but them. Pure.

Times are milliseconds since 1970.
"""

import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from greenroom.kernel.errors import ActionInvalidState, InvalidRequest, MsgEmpty, MsgTooLong
from greenroom.kernel.limits import Limits
from greenroom.kernel.text import nfc

Media = Literal["image", "video", "audio", "pdf", "other"]

DAY_MS = 24 * 60 * 60 * 1000
NO_STATES = frozenset({"proposed", "cancelled"})
"""Stages that do not show as the thread's state: a booking that is not confirmed yet or was
cancelled leaves the thread's state to the other rules of `derive_state`."""
OVER = frozenset({"completed", "cancelled"})
"""Stages in which a thread can be bound to its next booking."""
EARLIER_BOOKINGS = 50
"""How many earlier bookings a thread keeps."""


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
"""The two sides of the deal. They may add others, and neither can remove the other."""


class EventType(StrEnum):
    MESSAGE_NEW = "message.new"
    MESSAGE_EDITED = "message.edited"
    MESSAGE_DELETED = "message.deleted"
    CARD_CHANGED = "card.changed"
    RECEIPT = "receipt"
    THREAD_CHANGED = "thread.changed"
    INBOX_CHANGED = "inbox.changed"
    FILE_CHANGED = "file.changed"
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
    """A participant's read or delivery mark has moved up to this message."""

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
    """As others may see it."""
    last_delivered: ReadMark | None
    """The last message that their clients have acknowledged, as others may see it."""


@dataclass(frozen=True, slots=True)
class AttachmentRef:
    """What a message keeps of one of its files. `media` is what the sender said it is, so that the
    inbox can say "Photo" without looking at the file."""

    file_id: str
    media: Media
    stamp: str | None = field(default=None, compare=False)
    """How the file stood when the message was read, in the words of the room `files`. None: nobody
    has asked."""


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    thread_id: str
    seq: int
    author_id: str | None
    kind: str
    body: str
    body_html: str | None
    """None: the HTML is the escaped body."""
    system: dict[str, Any] | None
    reply_to: str | None
    client_id: str | None
    created_at_ms: int
    edited_at_ms: int | None = None
    deleted_at_ms: int | None = None
    card: dict[str, Any] | None = None
    """The card as the thread shows it now; None: this message is not a card."""
    job_id: str | None = None
    """The job that a client of the polling API named with this message."""
    attachments: tuple[AttachmentRef, ...] = ()
    """Its files, in the order that the author chose. A deleted message has none."""

    @property
    def changed_at_ms(self) -> int:
        """When it was deleted, last edited, or else created."""
        return self.deleted_at_ms or self.edited_at_ms or self.created_at_ms


@dataclass(frozen=True, slots=True)
class FileSummary:
    """The files of a message as the inbox shows them. `media` is `other` if they are of several
    kinds."""

    media: Media
    count: int


@dataclass(frozen=True, slots=True)
class LastMessage:
    """A message as the inbox shows it."""

    id: str
    author_id: str | None
    kind: str
    preview: str
    system: dict[str, Any] | None
    created_at_ms: int
    deleted_at_ms: int | None = None
    card_type: str | None = None
    files: FileSummary | None = None


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One viewer's row for one thread. `last_message` is the last one that they may see."""

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
    """The stage of the thread's current booking; None: there is none."""
    open_cards: int = 0
    file_messages: int = 0
    """How many messages with files the viewer sees, without deleted ones."""


class BookingRef(NamedTuple):
    """The booking that a thread is bound to. Exactly one of the two ids is set."""

    group_id: str | None
    leg_id: str | None


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
    """None for the marketplace's backend, which has no inbox."""
    stage: str | None = None
    open_cards: int = 0
    bookings: tuple[BookingRef, ...] = ()
    """Bookings before the current one, oldest first."""
    external_key: str | None = None
    """The marketplace's own key of the thread. Only its backend sees it."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position in one user's feed. Opaque to clients; only this class parses its text."""

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
    """A change in one viewer's feed, with the current values that they may see."""

    type: EventType
    cursor: Cursor
    at_ms: int
    thread_id: str | None = None
    message: Message | None = None
    inbox: InboxRow | None = None
    thread: Thread | None = None
    receipt: Receipt | None = None
    message_id: str | None = None
    """Of `file.changed`: the message that shows the file; None: only its owner knows of it."""
    file_id: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it is sent, normalised and rendered."""

    client_id: str
    body: str
    body_html: str | None
    reply_to: str | None = None
    attachments: tuple[AttachmentRef, ...] = ()

    @property
    def kind(self) -> str:
        return "asset" if self.attachments else "text"

    def hash(self) -> bytes:
        """Kept with the message to tell a repeat from another message with the same client_id, even
        after the message was edited."""
        text = f"{len(self.body)}\n{self.body}\n{self.reply_to or ''}"
        if self.attachments:
            text += "\n" + " ".join(each.file_id for each in self.attachments)
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
    listing_key: str | None = None
    """The marketplace's key of what the thread is about. Only allowed with one recipient."""
    city: str | None = None
    safe_mode_required: bool = False

    @property
    def recipients(self) -> list[str]:
        return [user for user in self.members if user != self.opened_by]

    @property
    def opened_as(self) -> str:
        """The kind, the people and their roles, to compare with a later call under the same key.
        No user id contains a space or `=`."""
        people = (f"{user}={role}" for user, role in sorted(self.members.items()))
        return " ".join([self.kind, *people])


# Removed: control characters except tab and line break, bidi overrides (which can make one text
# look like another), and surrogates, which UTF-8 cannot store.
_REMOVED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LINE_BREAKS = re.compile("\r\n?|[\u2028\u2029\u0085]")
# Spaces, the characters that Unicode calls default ignorable, and the Braille blank.
_INVISIBLE = re.compile(
    "[\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)


def normalise_text(text: str) -> str:
    text = _LINE_BREAKS.sub("\n", text)
    return nfc(_REMOVED.sub("", text))


def normalise_body(text: str, limits: Limits, *, may_be_empty: bool = False) -> str:
    """The body as it is stored. Raises MsgTooLong or MsgEmpty; never truncates."""
    body = normalise_text(text).strip()
    if len(body) > limits.body_characters:
        raise MsgTooLong(f"{len(body)} characters; at most {limits.body_characters} are taken")
    if _INVISIBLE.sub("", body):
        return body
    if not may_be_empty:
        raise MsgEmpty
    return ""


def check_edit(message: Message, body: str) -> None:
    """Raises MsgEmpty unless the message has files, whose caption may be empty."""
    if not body and not message.attachments:
        raise MsgEmpty


def normalise_label(name: str, text: str | None, limit: int) -> str | None:
    """A one-line text such as a subject. Empty becomes None."""
    if text is None:
        return None
    label = " ".join(normalise_text(text).split())
    if len(label) > limit:
        raise InvalidRequest(f"{name} has {len(label)} characters; at most {limit} are taken")
    return label or None


def derive_state(
    kind: str,
    inbox: InboxRow | None,
    now_ms: int,
    limits: Limits,
    *,
    stage: str | None = None,
    open_cards: int = 0,
) -> ThreadState:
    """The thread's state for one viewer: the first rule that applies wins. Clients never set it.

    `stage` and `open_cards` are the thread's; the viewer's inbox row, if given, has a copy of them.
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
    if stage is not None and stage not in NO_STATES:
        return ThreadState(stage)
    if kind == ThreadKind.PROJECT and stage is None:
        return ThreadState.CONFIRMED
    if inbox is not None and inbox.awaits_reply:
        return ThreadState.AWAITING_REPLY
    return ThreadState.OPEN


def check_takes_people(kind: str) -> None:
    if kind == ThreadKind.SYSTEM:
        raise ActionInvalidState("A thread of notices is for one person.")


def check_promotion(kind: str, stage: str | None, *, follows: bool = False) -> None:
    """Raises ActionInvalidState if a thread cannot be bound to another booking. `follows`: the
    caller knows that the thread's current booking is over."""
    if kind in (ThreadKind.INQUIRY, ThreadKind.INVITE):
        return
    if kind != ThreadKind.PROJECT:
        raise ActionInvalidState(f"A thread of kind {kind} belongs to no booking.")
    if not follows and stage not in OVER:
        raise ActionInvalidState("This thread belongs to another booking, which is not over.")


def promotion_said(*, is_project: bool) -> tuple[str, str]:
    """The codes of the notice and of the domain event when a thread is bound to a booking: its
    first one, or for a project its next one."""
    if is_project:
        return "thread.next_booking", "thread.next_booking"
    return "thread.promoted", "thread.promoted_to_project"
