"""The port to the room `files`: what a message keeps of its files, and what viewers see of them.

A message stores references only. What a viewer may see of a file now, including the addresses of
its renditions, is asked for whenever a message is shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from msgspec import Struct

from greenroom.conversations.model import AttachmentRef, Event, Media, Message
from greenroom.kernel.errors import NotFound

FileState = Literal["uploading", "processing", "ready", "quarantined", "refused", "expired"]
RenditionKind = Literal["thumb", "preview", "blurred", "original", "poster"]

NO_FILES = "There is no such file."


class RenditionView(Struct, frozen=True):
    """One form of a file that the viewer may fetch now. The address lives for some minutes."""

    kind: RenditionKind
    url: str
    mime: str
    width: int | None = None
    height: int | None = None


class FileView(Struct, frozen=True):
    """A file as the viewer may see it now.

    `reason` says why a file was refused or quarantined; only its owner gets one. `visibility` is
    what Safe-Mode allows: `blurred` has the blurred rendition only, `hidden` has none. `can_reveal`
    says that `POST /v1/files/{id}/reveal` would show it.
    """

    id: str
    thread_id: str | None
    owner_id: str
    state: FileState
    reason: str | None
    media: Media
    name: str
    mime: str
    bytes: int
    sha256: str | None
    width: int | None
    height: int | None
    duration_ms: int | None
    peaks: list[int] | None
    """The wave form of a voice note, 0 to 100."""
    alt: str | None
    band: int | None
    visibility: Literal["clear", "blurred", "hidden"]
    can_reveal: bool
    renditions: list[RenditionView]
    created_at: str
    expires_at: str | None


class AttachmentView(Struct, frozen=True):
    """A file of a message: `kind` is `preview` for a stored file. `thumb` is the address of the
    smallest rendition that the viewer may see."""

    kind: Literal["preview", "manifest"]
    file_id: str
    name: str
    mime: str
    bytes: int
    sha256: str | None
    width: int | None
    height: int | None
    thumb: str | None
    file: FileView


def attachment_view(file: FileView) -> AttachmentView:
    return AttachmentView(
        kind="preview",
        file_id=file.id,
        name=file.name,
        mime=file.mime,
        bytes=file.bytes,
        sha256=file.sha256,
        width=file.width,
        height=file.height,
        thumb=_smallest(file),
        file=file,
    )


def _smallest(file: FileView) -> str | None:
    for kind in _SMALLEST:
        for each in file.renditions:
            if each.kind == kind:
                return each.url
    return None


_SMALLEST: tuple[RenditionKind, ...] = ("thumb", "poster", "blurred")


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file in the place where the viewer sees it. The viewer may see that place."""

    file_id: str
    thread_id: str | None
    """None: a file of the polling API that no message has yet. Only its owner sees it."""
    message_id: str | None
    """The message that shows it; None: it is not shown anywhere yet."""
    stamp: str | None = None
    """How the file stood when the message was read: see `AttachmentRef`."""


@dataclass(frozen=True, slots=True)
class UnboundUpload:
    """Where the bytes of a new file go, and the address under which a send names it."""

    method: str
    url: str
    headers: Mapping[str, str]
    file_url: str
    expires_at_ms: int


class Attachments(Protocol):
    """What this room needs of the room `files`."""

    async def check(
        self, author: str, thread_id: str, file_ids: Sequence[str]
    ) -> tuple[AttachmentRef, ...]:
        """The references for a message of this author in this thread. Raises NotFound unless each
        is a completed upload of the author's own for this thread, UploadQuarantined for one that
        was refused or quarantined, and InvalidRequest for too many or for one named twice."""
        ...

    async def look(self, viewer: str | None, uses: Iterable[FileUse]) -> Mapping[str, FileView]:
        """By file id, each as this viewer may see it now. Also remembers in which message a file
        is used. A file that is gone has the state `expired`. At most one query for all of them,
        and none for those that stand as their stamp says."""
        ...

    async def begin_unbound(
        self, owner: str, *, name: str, mime: str, byte_count: int
    ) -> UnboundUpload:
        """Begin an upload for the polling API: its thread is known when a message names the file.
        Raises AttachmentTooLarge, UnsupportedType and RateLimited."""
        ...

    async def complete_and_check(self, author: str, thread_id: str, file_id: str) -> AttachmentRef:
        """Complete such an upload, if that has not happened yet, and return its reference for a
        message in this thread, which need not exist yet. Raises what `check` raises; NotFound also
        while its bytes have not arrived, and for a file of another thread."""
        ...


async def look_for(
    attachments: Attachments, viewer: str | None, uses: Iterable[FileUse]
) -> Mapping[str, FileView]:
    """`Attachments.look`, which is not called if there are no files."""
    distinct = list(dict.fromkeys(uses))
    return await attachments.look(viewer, distinct) if distinct else {}


def uses_in_messages(messages: Iterable[Message]) -> Iterator[FileUse]:
    """The files of these messages, and those that the cards among them show."""
    for message in messages:
        for each in message.attachments:
            yield FileUse(each.file_id, message.thread_id, message.id, each.stamp)
        if message.card is not None:
            for file_id in message.card.get("files", ()):
                yield FileUse(file_id, message.thread_id, message.id)


def uses_in_events(events: Iterable[Event]) -> Iterator[FileUse]:
    for event in events:
        if event.message is not None:
            yield from uses_in_messages((event.message,))
        elif event.file_id is not None:
            yield FileUse(event.file_id, event.thread_id, event.message_id)


class NoAttachments:
    """For a server without files, and for tests of this room. No message has files here, so nobody
    looks for any."""

    async def check(self, *_: object) -> tuple[AttachmentRef, ...]:
        raise NotFound(NO_FILES)

    async def look(self, *_: object) -> Mapping[str, FileView]:
        return {}

    async def begin_unbound(self, *_: object, **__: object) -> UnboundUpload:
        raise NotFound(NO_FILES)

    async def complete_and_check(self, *_: object) -> AttachmentRef:
        raise NotFound(NO_FILES)
