"""Request bodies, query parameters and answers of the endpoints in this folder."""

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
    Meta(
        description="Your own id for this send, at most `client_id_characters` of "
        "`GET /v1/limits`; a repeat returns the first."
    ),
]
Body = Annotated[
    str,
    Meta(
        description="At most `body_characters` of `GET /v1/limits`; a subset of Markdown. Never "
        "cut: refused."
    ),
]
MessageId = Annotated[str, Meta(description="The id of a message in this thread.")]
PageSize = Annotated[
    int | None, Meta(description="By default 50, or fewer where the server allows fewer.")
]


class FirstMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """Without files, which are uploaded for a thread that exists: send them next."""

    client_id: ClientId
    body: Body


class NewThread(Struct, frozen=True, forbid_unknown_fields=True):
    """`to` is one user id or several. `listing_key` is allowed with one recipient: your
    marketplace's own key of what this is about. If the opener already started a
    thread with this person under the same key and both are still in it, the message is added to
    that thread and the other fields are ignored."""

    kind: Literal["inquiry", "invite"]
    to: str | list[str]
    first_message: FirstMessage
    role_context: str | None = None
    subject: str | None = None
    job_id: str | None = None
    listing_key: str | None = None


class ThreadStarted(Struct, frozen=True):
    """`request` is for message requests, which a later version adds; always null for now."""

    thread: ThreadView
    message: MessageView
    request: None = None


class ThreadItem(Struct, frozen=True):
    thread: ThreadView
    inbox: InboxView


class ThreadPage(Struct, frozen=True):
    """Your backend gets `thread` alone: it has no inbox and no feed."""

    thread: ThreadView
    inbox: InboxView | UnsetType = UNSET
    sync_cursor: str | UnsetType = UNSET


class ThreadOnly(Struct, frozen=True):
    thread: ThreadView


class InboxOnly(Struct, frozen=True):
    inbox: InboxView


class InboxQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`q` is searched for in subjects and in the other participants' names."""

    folder: Literal["all", "action", "bookings", "offers", "requests", "archived", "spam"] = "all"
    unread: bool | None = None
    starred: bool | None = None
    kind: Kind | None = None
    state: State | None = None
    role_context: str | None = None
    city: str | None = None
    has_files: bool | None = None
    q: str | None = None
    cursor: str | None = None
    limit: PageSize = None


class InboxCounts(Struct, frozen=True):
    """Threads with something unread, per folder; `action` counts those where something waits for
    you, whether or not you have read it."""

    all: int
    action: int
    bookings: int
    offers: int
    requests: int
    archived: int
    spam: int


class InboxEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields that are left out stay as they are. `muted_until` takes a time up to the year 9999, or
    null to unmute."""

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


class JobOnly(Struct, frozen=True):
    job: JobView


class InboxAnswer(Struct, frozen=True):
    items: list[ThreadItem]
    next_cursor: str | None
    counts: InboxCounts
    sync_cursor: str


class MessagesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`before` and `after` take a message id; without them, the newest page."""

    before: str | None = None
    after: str | None = None
    limit: PageSize = None


class MessagesAnswer(Struct, frozen=True):
    """`sync_cursor` is left out for your backend, which has no feed."""

    items: list[MessageView]
    has_more: bool
    sync_cursor: str | UnsetType = UNSET


class NewAttachment(Struct, frozen=True, forbid_unknown_fields=True):
    file_id: Annotated[str, Meta(description="A completed upload of yours for this thread.")]


class NewMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """`client_id` is the sender's own id for this send: a repeat returns the first message. `body`
    may be empty or left out when there are `attachments`."""

    client_id: ClientId
    body: Body = ""
    attachments: Annotated[
        list[NewAttachment], Meta(description="At most `attachments` of `GET /v1/limits`.")
    ] = []
    reply_to: MessageId | None = None


class MessageOnly(Struct, frozen=True):
    message: MessageView


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


class BlocksQuery(Struct, frozen=True, forbid_unknown_fields=True):
    cursor: str | None = None
    limit: PageSize = None


class BlockView(Struct, frozen=True):
    """A user whom you have blocked."""

    user_id: str
    display_name: str
    avatar_url: str | None
    created_at: str


class BlocksAnswer(Struct, frozen=True):
    items: list[BlockView]
    next_cursor: str | None
