"""What clients of the simple polling API see: its seed's names, field for field.

A conversation's id is `conv_{a}_{b}`, the two ids sorted, for the oldest thread of just the two;
every other thread goes by its own `thr_…`. User ids may contain `_`, so a `conv_` id is read with
the reader's own id in mind.
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from greenroom.conversations.model import Message, Participant, Thread
from greenroom.conversations.store import Conversation
from greenroom.kernel.clock import milliseconds_of, rfc3339
from greenroom.kernel.errors import InvalidRequest

MESSAGE_PREFIX = "msg_"
PAIR_PREFIX = "conv_"
# What JavaScript holds exactly; the seed's job ids are numbers.
MOST_EXACT = 2**53 - 1
LAST_MS = (1 << 48) - 1

_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")

MessageType = Literal["text", "image", "file"]
Status = Literal["sent", "delivered", "read"]
JobId = Annotated[int | str, Meta(description="A number where the marketplace's id is one.")]
ConversationId = Annotated[
    str, Meta(description="`conv_{a}_{b}` with both user ids sorted, or a thread's `thr_…`.")
]


class SimpleMessage(Struct, frozen=True, rename="camel"):
    """`id` is `message_{timestamp}_{id}` with the milliseconds of `createdAt`. What was deleted has
    an empty `content`."""

    id: str
    conversation_id: str
    sender_id: str
    receiver_id: str
    content: str
    type: MessageType
    status: Status
    created_at: str
    updated_at: str
    file_url: str | UnsetType = UNSET
    file_name: str | UnsetType = UNSET
    file_size: int | UnsetType = UNSET


class SimpleConversation(Struct, frozen=True, rename="camel"):
    """`unreadCount` has your own count and, between two, what the other has not read as far as
    their read receipts tell; that one is counted in the 100 messages after their mark."""

    id: str
    participants: list[str]
    unread_count: dict[str, int]
    created_at: str
    updated_at: str
    job_id: JobId | UnsetType = UNSET
    last_message: str | UnsetType = UNSET
    last_message_at: str | UnsetType = UNSET


class SimpleSend(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    receiver_id: str
    content: Annotated[str, Meta(description="At most 2000 characters. Never cut: refused.")]
    type: MessageType
    file_url: str | None = None
    job_id: JobId | None = None


class SimpleSent(Struct, frozen=True, rename="camel"):
    message: SimpleMessage
    conversation_id: str


class SimpleListQuery(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    conversation_id: ConversationId
    since: Annotated[
        str | None,
        Meta(
            description="ISO 8601 or epoch milliseconds; the `createdAt` of the last one you have."
        ),
    ] = None
    limit: int = 50


class SimpleMessages(Struct, frozen=True, rename="camel"):
    messages: list[SimpleMessage]
    has_more: bool


class SimpleConversations(Struct, frozen=True, rename="camel"):
    conversations: list[SimpleConversation]


class SimpleRead(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    conversation_id: ConversationId


class SimpleReadAnswer(Struct, frozen=True, rename="camel"):
    conversation_id: str
    unread_count: dict[str, int]


class SimpleUpload(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    file_name: str
    content_type: str
    size: Annotated[int, Meta(description="Bytes.")]


class SimpleViews:
    """Shapes one conversation for one viewer."""

    def __init__(self, viewer: str, conversation: Conversation) -> None:
        self._viewer = viewer
        self._conversation = conversation
        self._thread = conversation.thread
        self.id = conversation_id(viewer, conversation.pair_with, conversation.thread.id)

    def message(self, message: Message) -> SimpleMessage:
        receiver = receiver_of(message, self._thread)
        receiver_id = receiver.user_id if receiver is not None else self._viewer
        return message_view(message, self.id, receiver_id, _status(message, receiver))

    def conversation(self) -> SimpleConversation:
        thread, last = self._thread, self._conversation.last_spoken
        last_ms = last.created_at_ms if last is not None else 0
        return SimpleConversation(
            id=self.id,
            participants=sorted(each.user_id for each in _present(thread)),
            unread_count=self.unread_count(),
            created_at=rfc3339(thread.created_at_ms),
            updated_at=rfc3339(max(thread.updated_at_ms, last_ms)),
            job_id=UNSET if thread.job_id is None else _job_id(thread.job_id),
            last_message=UNSET if last is None else last.preview,
            last_message_at=UNSET if last is None else rfc3339(last.created_at_ms),
        )

    def unread_count(self) -> dict[str, int]:
        inbox = self._thread.inbox
        own = inbox.unread_count if inbox is not None else 0
        return {self._viewer: own, **self._conversation.unread_by}


def message_view(
    message: Message, conversation_id: str, receiver_id: str, status: Status
) -> SimpleMessage:
    changed_ms = message.deleted_at_ms or message.edited_at_ms or message.created_at_ms
    tail = message.id.removeprefix(MESSAGE_PREFIX)
    return SimpleMessage(
        id=f"message_{message.created_at_ms}_{tail}",
        conversation_id=conversation_id,
        sender_id=message.author_id or "",
        receiver_id=receiver_id,
        content="" if message.deleted_at_ms is not None else message.body,
        type="text" if message.kind == "text" else "file",
        status=status,
        created_at=rfc3339(message.created_at_ms),
        updated_at=rfc3339(changed_ms),
    )


def _status(message: Message, receiver: Participant | None) -> Status:
    if receiver is None:
        return "sent"
    if receiver.last_read is not None and message.id <= receiver.last_read.message_id:
        return "read"
    arrived = receiver.last_delivered
    return "delivered" if arrived is not None and message.id <= arrived.message_id else "sent"


def receiver_of(message: Message, thread: Thread) -> Participant | None:
    """The other person; of several, the one who has been there longest."""
    others = [each for each in thread.participants if each.user_id != message.author_id]
    return next((each for each in others if each.status == "active"), next(iter(others), None))


def _present(thread: Thread) -> list[Participant]:
    """Those who are there; beside someone left alone, those who were."""
    active = [each for each in thread.participants if each.status == "active"]
    return active if len(active) > 1 else list(thread.participants)


def _job_id(text: str) -> int | str:
    return int(text) if _NUMBER.fullmatch(text) and int(text) <= MOST_EXACT else text


def conversation_id(viewer: str, pair_with: str | None, thread_id: str) -> str:
    """The pair's id, unless the viewer would read someone else in it."""
    if pair_with is None:
        return thread_id
    name = PAIR_PREFIX + "_".join(sorted((viewer, pair_with)))
    return name if others_named(viewer, name)[0] == pair_with else thread_id


def others_named(viewer: str, name: str) -> list[str]:
    """Whom a `conv_` id can mean to this viewer, the likeliest first; nobody for other ids.

    Between ids like `a_x`, `x_a` and `a_x_a` even the sorted form can be read in two ways.
    """
    if not name.startswith(PAIR_PREFIX):
        return []
    both = name.removeprefix(PAIR_PREFIX)
    others = []
    if both.startswith(f"{viewer}_"):
        others.append(both.removeprefix(f"{viewer}_"))
    if both.endswith(f"_{viewer}"):
        others.append(both.removesuffix(f"_{viewer}"))
    likely = [each for each in others if "_".join(sorted((viewer, each))) == both]
    return list(dict.fromkeys([*likely, *others]))


def id_after(since: str) -> str:
    """A bound above every message id of that millisecond and below those of the next."""
    ms = min(max(_milliseconds(since), 0), LAST_MS)
    return f"{MESSAGE_PREFIX}{ms:012x}~"


def _milliseconds(since: str) -> int:
    """Rounded down: a message at the next millisecond is after any fraction of this one."""
    if _NUMBER.fullmatch(since):
        return int(since)
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise InvalidRequest(
            "since takes a time such as 2026-01-31T12:00:00.000Z, or epoch milliseconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return milliseconds_of(moment)
