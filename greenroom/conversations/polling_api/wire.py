"""The JSON of the polling API, and its ids and times.

Field names are those of earlier marketplace clients that poll this API; see docs/polling.md.
The id of a conversation is `conv_{a}_{b}`, with the two user ids sorted, for the oldest thread of
only these two; every other thread has its own `thr_…` id. User ids may contain `_`, so parsing a
`conv_` id needs the viewer's own id.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from greenroom.conversations.attachments import FileView, RenditionKind, UnboundUpload
from greenroom.conversations.model import Message, Participant, Thread
from greenroom.conversations.store import Conversation
from greenroom.kernel.clock import milliseconds_of, rfc3339
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.kept import reads_kept

MESSAGE_PREFIX = "msg_"
PAIR_PREFIX = "conv_"
# The largest integer that JavaScript holds exactly. Existing clients have numbers as job ids.
MOST_EXACT = 2**53 - 1
LAST_MS = (1 << 48) - 1
LAST_CHANGE_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""

_FILE_URL = re.compile(r"/v1/files/(fil_[0-9a-z]{26})$")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")

MessageType = Literal["text", "image", "file"]
Status = Literal["sent", "delivered", "read"]
JobId = Annotated[int | str, Meta(description="A number where the marketplace's id is one.")]
ContentType = Annotated[str, Meta(min_length=1, max_length=255, description="Such as image/png.")]
Bytes = Annotated[int, Meta(ge=1, description="At most 10 MB.")]
ConversationId = Annotated[
    str, Meta(description="`conv_{a}_{b}` with both user ids sorted, or a thread's `thr_…`.")
]


class SimpleMessage(Struct, frozen=True, rename="camel"):
    """`id` is `message_{timestamp}_{id}` with the milliseconds of `createdAt`. A deleted message
    has an empty `content` and `deleted: true`. `updatedAt` is when it was sent, edited or deleted.
    `jobId` is the job that it was sent about. Of several files, which clients of `/v1` can send,
    the first is here. `fileUrl` is a fresh address for some minutes; it is left out while the file
    is processed, and when the viewer may not see it."""

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
    job_id: JobId | UnsetType = UNSET
    deleted: bool | UnsetType = UNSET


class SimpleConversation(Struct, frozen=True, rename="camel"):
    """`unreadCount` has your own count. Between two people it also has the other's, as far as their
    read receipts tell: of the 100 messages after the last one they have read."""

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
    content: Annotated[
        str, Meta(description="At most `body_characters` of `GET /v1/limits`. Never cut: refused.")
    ]
    type: MessageType
    file_url: Annotated[
        str | None, Meta(description="What `uploadFile` answered; with type image or file.")
    ] = None
    job_id: JobId | None = None

    def file_id(self) -> str | None:
        """The file that `fileUrl` names; None for a text. Raises InvalidRequest."""
        if self.type == "text":
            if self.file_url is not None:
                raise InvalidRequest("fileUrl belongs to type image or file")
            return None
        found = _FILE_URL.search(self.file_url or "")
        if found is None:
            raise InvalidRequest(f"type {self.type} needs a fileUrl that uploadFile has answered")
        return found[1]


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
    updated_since: Annotated[
        str | None,
        Meta(
            description=(
                "ISO 8601 or epoch milliseconds; the last `updatedAt` of a change that you have. "
                "Not together with `since`."
            )
        ),
    ] = None
    limit: Annotated[
        int | None, Meta(description="By default 50, or fewer where the server allows fewer.")
    ] = None


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
    """The type and the size in bytes by either name: `fileType` or `contentType`, `fileSize` or
    `size`."""

    file_name: Annotated[str, Meta(min_length=1, max_length=255)]
    file_type: ContentType | None = None
    file_size: Bytes | None = None
    content_type: ContentType | None = None
    size: Bytes | None = None

    def type_and_size(self) -> tuple[str, int]:
        """Whichever fields have them. Raises InvalidRequest unless each is given exactly once."""
        if (self.file_type is None) == (self.content_type is None):
            raise InvalidRequest("give either fileType or contentType")
        if (self.file_size is None) == (self.size is None):
            raise InvalidRequest("give either fileSize or size")
        return self.file_type or self.content_type or "", self.file_size or self.size or 0


class SimpleUploadAnswer(Struct, frozen=True, rename="camel"):
    """Send exactly these bytes to `uploadUrl` with this method and these headers."""

    upload_url: str
    method: str
    headers: dict[str, str]
    file_url: str
    expires_at: str


def upload_answer(upload: UnboundUpload) -> SimpleUploadAnswer:
    return SimpleUploadAnswer(
        upload_url=upload.url,
        method=upload.method,
        headers=dict(upload.headers),
        file_url=upload.file_url,
        expires_at=rfc3339(upload.expires_at_ms),
    )


class SimpleViews:
    """Makes the JSON of one conversation for one viewer."""

    def __init__(
        self, viewer: str, conversation: Conversation, files: Mapping[str, FileView] | None = None
    ) -> None:
        self._files = files or {}
        self._viewer = viewer
        self._conversation = conversation
        self._thread = conversation.thread
        self.id = conversation_id(viewer, conversation.pair_with, conversation.thread.id)

    @reads_kept
    def message(self, message: Message) -> SimpleMessage:
        receiver = receiver_of(message, self._thread)
        receiver_id = receiver.user_id if receiver is not None else self._viewer
        status = _status(message, receiver, self._viewer)
        return message_view(message, self.id, receiver_id, status, self._files)

    @reads_kept
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
    message: Message,
    conversation_id: str,
    receiver_id: str,
    status: Status,
    files: Mapping[str, FileView],
) -> SimpleMessage:
    file = files.get(message.attachments[0].file_id) if message.attachments else None
    tail = message.id.removeprefix(MESSAGE_PREFIX)
    return SimpleMessage(
        id=f"message_{message.created_at_ms}_{tail}",
        conversation_id=conversation_id,
        sender_id=message.author_id or "",
        receiver_id=receiver_id,
        content="" if message.deleted_at_ms is not None else message.body,
        type=_type_of(message),
        status=status,
        created_at=rfc3339(message.created_at_ms),
        updated_at=rfc3339(message.changed_at_ms),
        file_url=UNSET if file is None else _address(file) or UNSET,
        file_name=UNSET if file is None else file.name,
        file_size=UNSET if file is None else file.bytes,
        job_id=UNSET if message.job_id is None else _job_id(message.job_id),
        deleted=UNSET if message.deleted_at_ms is None else True,
    )


def _type_of(message: Message) -> MessageType:
    if message.kind == "text":
        return "text"
    is_image = bool(message.attachments) and message.attachments[0].media == "image"
    return "image" if is_image else "file"


def _address(file: FileView) -> str | None:
    """Of a picture its preview, else the file itself. If there are several forms, as JPEG, which
    every client can show."""
    kinds = _OF_PICTURES if file.media == "image" else _OF_FILES
    forms = sorted(file.renditions, key=lambda each: each.mime != "image/jpeg")
    return next((each.url for kind in kinds for each in forms if each.kind == kind), None)


_OF_PICTURES: tuple[RenditionKind, ...] = ("preview", "original", "blurred")
_OF_FILES: tuple[RenditionKind, ...] = ("original", "preview", "blurred")


def _status(message: Message, receiver: Participant | None, viewer: str) -> Status:
    if receiver is None:
        return "sent"
    if receiver.last_read is not None and message.id <= receiver.last_read.message_id:
        return "read"
    if receiver.user_id == viewer:
        # This answer delivers it.
        return "delivered"
    arrived = receiver.last_delivered
    return "delivered" if arrived is not None and message.id <= arrived.message_id else "sent"


def receiver_of(message: Message, thread: Thread) -> Participant | None:
    """The other participant; of several, the one who joined first."""
    others = [each for each in thread.participants if each.user_id != message.author_id]
    return next((each for each in others if each.status == "active"), next(iter(others), None))


def _present(thread: Thread) -> list[Participant]:
    """The active participants; if only one is left, all who ever were."""
    active = [each for each in thread.participants if each.status == "active"]
    return active if len(active) > 1 else list(thread.participants)


def _job_id(text: str) -> int | str:
    return int(text) if _NUMBER.fullmatch(text) and int(text) <= MOST_EXACT else text


def conversation_id(viewer: str, pair_with: str | None, thread_id: str) -> str:
    """The pair's id, unless it would parse to another person for this viewer."""
    if pair_with is None:
        return thread_id
    name = PAIR_PREFIX + "_".join(sorted((viewer, pair_with)))
    return name if others_named(viewer, name)[0] == pair_with else thread_id


def others_named(viewer: str, name: str) -> list[str]:
    """The users whom a `conv_` id can mean for this viewer, the likeliest first; none for other
    ids.

    With user ids such as `a_x`, `x_a` and `a_x_a` even the sorted form has two meanings.
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
    """A bound above every message id of that millisecond and below those of the next one."""
    ms = min(max(_milliseconds(since), 0), LAST_MS)
    return f"{MESSAGE_PREFIX}{ms:012x}~"


def moment_ms(since: str) -> int:
    """The time in milliseconds, limited to times that a message can have."""
    return min(max(_milliseconds(since), 0), LAST_CHANGE_MS)


def _milliseconds(since: str) -> int:
    """Rounded down, so that a message of the next millisecond counts as later."""
    if _NUMBER.fullmatch(since):
        return int(since)
    try:
        moment = datetime.fromisoformat(since)
    except ValueError:
        raise InvalidRequest(
            "give a time such as 2026-01-31T12:00:00.000Z, or epoch milliseconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return milliseconds_of(moment)
