"""The bodies, queries and answers of this room's calls."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from greenroom.conversations.wire import (
    InboxView,
    Kind,
    MessageView,
    RoleName,
    State,
    ThreadView,
)

ClientId = Annotated[
    str,
    Meta(description="Your own id for this send, 1–64 characters; a repeat returns the first."),
]
Body = Annotated[
    str, Meta(description="At most 2000 characters; a subset of Markdown. Never cut: refused.")
]
MessageId = Annotated[str, Meta(description="The id of a message in this thread.")]


class FirstMessage(Struct, frozen=True, forbid_unknown_fields=True):
    client_id: ClientId
    body: Body


class NewThread(Struct, frozen=True, forbid_unknown_fields=True):
    """`to` is one user id or several."""

    kind: Literal["inquiry", "invite"]
    to: str | list[str]
    first_message: FirstMessage
    role_context: str | None = None
    subject: str | None = None
    job_id: str | None = None


class ThreadStarted(Struct, frozen=True):
    """`request` is the gate of a first contact; null where none is needed."""

    thread: ThreadView
    message: MessageView
    request: None = None


class ThreadItem(Struct, frozen=True):
    thread: ThreadView
    inbox: InboxView


class ThreadPage(Struct, frozen=True):
    thread: ThreadView
    inbox: InboxView
    sync_cursor: str


class ThreadOnly(Struct, frozen=True):
    thread: ThreadView


class InboxOnly(Struct, frozen=True):
    inbox: InboxView


class InboxQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`q` is looked for in subjects and in the other people's names."""

    folder: Literal["all", "action", "bookings", "offers", "requests", "archived", "spam"] = "all"
    unread: bool | None = None
    starred: bool | None = None
    kind: Kind | None = None
    state: State | None = None
    role_context: str | None = None
    city: str | None = None
    q: str | None = None
    cursor: str | None = None
    limit: int = 50


class InboxCounts(Struct, frozen=True):
    """Threads with something unread, per folder."""

    all: int
    action: int
    bookings: int
    offers: int
    requests: int
    archived: int
    spam: int


class InboxEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """What is left out stays. `muted_until` takes a time in UTC, or null for none."""

    archived: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    starred: bool | UnsetType = UNSET
    muted_until: str | UnsetType | None = UNSET


class JobParticipants(Struct, frozen=True, forbid_unknown_fields=True):
    """The only people who may talk in this job."""

    participants: list[str]


class JobView(Struct, frozen=True):
    job_id: str
    participants: list[str]


class InboxAnswer(Struct, frozen=True):
    items: list[ThreadItem]
    next_cursor: str | None
    counts: InboxCounts
    sync_cursor: str


class MessagesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`before` and `after` take a message id; without them, the newest page."""

    before: str | None = None
    after: str | None = None
    limit: int = 50


class MessagesAnswer(Struct, frozen=True):
    items: list[MessageView]
    has_more: bool
    sync_cursor: str


class NewMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """`client_id` is the sender's own id for this send: a repeat returns the first message."""

    client_id: ClientId
    body: Body
    reply_to: MessageId | None = None


class MessageEdit(Struct, frozen=True, forbid_unknown_fields=True):
    body: Body


class ReadUpTo(Struct, frozen=True, forbid_unknown_fields=True):
    up_to: MessageId


class NewParticipant(Struct, frozen=True, forbid_unknown_fields=True):
    user_id: str
    role: RoleName


class Promotion(Struct, frozen=True, forbid_unknown_fields=True):
    """The booking that the thread is now about: a group or a single leg."""

    group_id: str | None = None
    leg_id: str | None = None


class NewBlock(Struct, frozen=True, forbid_unknown_fields=True):
    user_id: str
