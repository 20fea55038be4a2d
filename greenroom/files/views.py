"""The JSON of files and uploads, as each viewer may see them."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from greenroom.conversations.attachments import FileUse, FileView, RenditionView
from greenroom.files.model import File, Rendition, Visibility, renditions_for
from greenroom.kernel.clock import rfc3339

Address = Callable[[File, Rendition], str]
"""The address at which the viewer may fetch a rendition now."""


class PartView(Struct, frozen=True):
    """A part of an upload: make exactly this request with its bytes, unless it is `received`."""

    number: int
    bytes: int
    method: str
    url: str
    headers: dict[str, str]
    received: bool


class UploadView(Struct, frozen=True):
    """Make exactly this request with the bytes of the file, before `expires_at`. With `parts`, make
    the request of each part instead; they can be repeated one by one on a bad network."""

    id: str
    method: str
    url: str
    headers: dict[str, str]
    expires_at: str
    received: bool
    part_bytes: int | None = None
    parts: list[PartView] | None = None


class DeskFileView(Struct, frozen=True):
    """A file as operators see it."""

    id: str
    thread_id: str | None
    owner_id: str
    state: Literal["uploading", "processing", "ready", "quarantined", "refused", "expired"]
    reason: str | None
    media: Literal["image", "video", "audio", "pdf", "other"]
    name: str
    mime: str
    bytes: int
    sha256: str | None
    band: int | None
    created_at: str


def file_view(
    file: File,
    *,
    viewer: str | None,
    visibility: Visibility,
    band: int,
    can_reveal: bool,
    address: Address | None,
    expires_at_ms: int | None,
) -> FileView:
    """`address` is None for whoever gets no addresses."""
    renditions = () if address is None else renditions_for(file, visibility)
    return FileView(
        id=file.id,
        thread_id=file.thread_id,
        owner_id=file.owner,
        state=file.state,
        reason=file.reason if viewer == file.owner else None,
        media=file.media,
        name=file.name,
        mime=file.content_mime or file.mime,
        bytes=file.bytes,
        sha256=file.sha256,
        width=file.width,
        height=file.height,
        duration_ms=file.duration_ms,
        peaks=None if file.peaks is None else list(file.peaks),
        alt=file.alt,
        band=band if file.state == "ready" else None,
        visibility=visibility,
        can_reveal=can_reveal,
        renditions=[
            RenditionView(each.kind, address(file, each), each.mime, each.width, each.height)
            for each in renditions
            if address is not None
        ],
        created_at=rfc3339(file.created_at_ms),
        expires_at=None if expires_at_ms is None else rfc3339(expires_at_ms),
    )


def gone_view(use: FileUse) -> FileView:
    """A file of which nothing is left."""
    return FileView(
        id=use.file_id,
        thread_id=use.thread_id,
        owner_id="",
        state="expired",
        reason=None,
        media="other",
        name="",
        mime="application/octet-stream",
        bytes=0,
        sha256=None,
        width=None,
        height=None,
        duration_ms=None,
        peaks=None,
        alt=None,
        band=None,
        visibility="hidden",
        can_reveal=False,
        renditions=[],
        created_at=rfc3339(0),
        expires_at=None,
    )


def desk_view(file: File) -> DeskFileView:
    return DeskFileView(
        id=file.id,
        thread_id=file.thread_id,
        owner_id=file.owner,
        state=file.state,
        reason=file.reason,
        media=file.media,
        name=file.name,
        mime=file.content_mime or file.mime,
        bytes=file.bytes,
        sha256=file.sha256,
        band=file.band,
        created_at=rfc3339(file.created_at_ms),
    )
