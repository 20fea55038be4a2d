"""Endpoints of uploads and files. Each calls one action and turns its result into JSON."""

from collections.abc import Awaitable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from greenroom.conversations.attachments import FileView
from greenroom.conversations.rest.base import person_of
from greenroom.files.actions import Files, check_operator
from greenroom.files.model import File, Hints, is_file_id
from greenroom.files.store import Act
from greenroom.files.uploads import Mismatch, UploadRequest
from greenroom.files.viewing import USUAL_PAGE
from greenroom.files.views import DeskFileView, UploadView, desk_view
from greenroom.kernel.errors import (
    ActionInvalidState,
    AttachmentTooLarge,
    IdempotencyMismatch,
    InvalidRequest,
    MsgBlockedByUser,
    NotFound,
    RateLimited,
    SafeModeBlocked,
    ThreadLocked,
    ThreadNotFound,
    ThreadReadOnly,
    UnsupportedType,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import Kept, Once, answer_once

TAG = "Files"
DESK = "Desk"


class NewUpload(Struct, frozen=True, forbid_unknown_fields=True):
    """The file that will be uploaded. `parts` splits it into parts of `part_bytes`, which can be
    sent and repeated one by one. `watermark` is a text across the previews of a proof.

    `width` and `height` of a picture or video, `duration_ms` and `peaks` of a voice note are what
    your device knows of it. Viewers get them until the server has measured the content, and
    afterwards where it could not."""

    thread_id: str
    name: str
    mime: Annotated[str, Meta(description="A type such as image/jpeg.")]
    bytes: Annotated[int, Meta(description="At most `file_bytes` of `GET /v1/limits`.")]
    sha256: Annotated[
        str | None, Meta(description="In hexadecimal; checked when the upload is completed.")
    ] = None
    purpose: Literal["attachment", "voice", "proof", "receipt", "moodboard"] = "attachment"
    parts: bool = False
    watermark: str | None = None
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    peaks: Annotated[
        tuple[int, ...] | None, Meta(description="The wave form: up to 64 numbers, 0 to 100.")
    ] = None


class UploadOnly(Struct, frozen=True):
    upload: UploadView


class UploadRef(Struct, frozen=True):
    """What is kept under an Idempotency-Key: no signed addresses."""

    id: str


class FileOnly(Struct, frozen=True):
    file: FileView


class FileEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """`alt` describes the picture for people who do not see it; null or empty removes it."""

    alt: str | None


class FilesQuery(Struct, frozen=True):
    kind: Literal["image", "video", "audio", "pdf", "other"] | None = None
    cursor: str | None = None
    limit: int = USUAL_PAGE


class FilesAnswer(Struct, frozen=True):
    items: list[FileView]
    next_cursor: str | None


class DeskQuery(Struct, frozen=True):
    state: Literal["quarantined"] = "quarantined"
    cursor: str | None = None


class DeskFilesAnswer(Struct, frozen=True):
    items: list[DeskFileView]
    next_cursor: str | None


class DeskReason(Struct, frozen=True, forbid_unknown_fields=True):
    """Why; it is recorded with your id."""

    reason: str


class DeskFileOnly(Struct, frozen=True):
    file: DeskFileView


class FilesRest:
    def __init__(self, files: Files) -> None:
        self._files = files

    def endpoints(self) -> list[Endpoint]:
        return [*self._upload_endpoints(), *self._file_endpoints(), *self._desk_endpoints()]

    def _upload_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/uploads",
                self.begin_upload,
                "Begin an upload",
                Who.PERSON,
                {201: UploadOnly},
                TAG,
                description=(
                    "Make the request in the answer with the bytes, then complete the upload. It "
                    "is bound to its method, length, type and object, and ends at `expires_at`. "
                    "Under the same Idempotency-Key: the same upload with fresh signatures."
                ),
                body=NewUpload,
                errors=(
                    ThreadNotFound,
                    ThreadLocked,
                    ThreadReadOnly,
                    MsgBlockedByUser,
                    AttachmentTooLarge,
                    UnsupportedType,
                    RateLimited,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/uploads/{upload_id}",
                self.get_upload,
                "An upload of yours that is not complete",
                Who.PERSON,
                {200: UploadOnly},
                TAG,
                description="With fresh signatures, and what has arrived: go on with the rest.",
                errors=(NotFound, ActionInvalidState),
            ),
            Endpoint(
                "POST",
                "/v1/uploads/{upload_id}/complete",
                self.complete_upload,
                "Complete an upload whose bytes have arrived",
                Who.PERSON,
                {200: FileOnly},
                TAG,
                description=(
                    "The file is `processing` from then on; `file.changed` tells of its end. It "
                    "can be sent at once. A repeat: the file as it is now."
                ),
                errors=(NotFound, ActionInvalidState, Mismatch),
            ),
            Endpoint(
                "DELETE",
                "/v1/uploads/{upload_id}",
                self.cancel_upload,
                "Cancel an upload, or delete a file that was not sent",
                Who.PERSON,
                {204: None},
                TAG,
                errors=(NotFound, ActionInvalidState),
            ),
        ]

    def _file_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/files/{file_id}",
                self.get_file,
                "A file as you may see it now",
                Who.PERSON,
                {200: FileOnly},
                TAG,
                description=(
                    "The addresses of its renditions live for 5 to 10 minutes and are yours alone."
                ),
                errors=(NotFound,),
            ),
            Endpoint(
                "PATCH",
                "/v1/files/{file_id}",
                self.edit_file,
                "Describe a file of yours",
                Who.PERSON,
                {200: FileOnly},
                TAG,
                body=FileEdit,
                errors=(NotFound, InvalidRequest),
            ),
            Endpoint(
                "POST",
                "/v1/files/{file_id}/reveal",
                self.reveal_file,
                "Show a file that Safe-Mode has blurred",
                Who.PERSON,
                {200: FileOnly},
                TAG,
                description="For you alone, from now on; it is recorded.",
                errors=(NotFound, ActionInvalidState, SafeModeBlocked),
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}/files",
                self.list_files,
                "The files of a thread that you may see, newest first",
                Who.PERSON,
                {200: FilesAnswer},
                TAG,
                query=FilesQuery,
                errors=(ThreadNotFound,),
            ),
        ]

    def _desk_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/desk/files",
                self.list_quarantined,
                "Files in quarantine, oldest first",
                Who.PERSON,
                {200: DeskFilesAnswer},
                DESK,
                description="For operators: the token's claim `desk` is `trust` or `admin`.",
                query=DeskQuery,
                errors=(NotFound,),
            ),
            *(self._desk_endpoint(act) for act in ("release", "delete")),
        ]

    def _desk_endpoint(self, act: Act) -> Endpoint:
        release = act == "release"
        return Endpoint(
            "POST",
            f"/v1/desk/files/{{file_id}}/{act}",
            self.release_file if release else self.delete_file,
            "Release a file from quarantine" if release else "Delete a file for good",
            Who.PERSON,
            {200: DeskFileOnly},
            DESK,
            description="For operators, as above. The reason is recorded.",
            body=DeskReason,
            errors=(NotFound, ActionInvalidState, IdempotencyMismatch),
            once=True,
        )

    async def begin_upload(self, call: Call) -> Answer:
        owner, new = person_of(call), call.body
        asked = UploadRequest(
            new.thread_id,
            new.name,
            new.mime,
            new.bytes,
            new.purpose,
            new.sha256,
            new.watermark,
            in_parts=new.parts,
            hints=Hints(new.width, new.height, new.duration_ms, new.peaks),
        )

        def reference(file: File) -> Answer:
            return Answer(201, UploadRef(file.id))

        def work(once: Once | None) -> Awaitable[File | Kept]:
            return self._files.uploads.begin(owner, asked, once)

        kept = await answer_once(call, self._files.uploads.keeper, reference, work)
        if kept.status != 201:
            return kept
        # Signatures are made anew: those of the first answer may be over.
        file = await self._files.uploads.access(owner, _upload_of(kept))
        return Answer(201, UploadOnly(await self._files.uploads.show(file)))

    async def get_upload(self, call: Call) -> Answer:
        file = await self._files.uploads.access_open(person_of(call), call.params["upload_id"])
        return Answer(200, UploadOnly(await self._files.uploads.show(file)))

    async def complete_upload(self, call: Call) -> Answer:
        owner = person_of(call)
        file = await self._files.uploads.complete(owner, call.params["upload_id"])
        return Answer(200, FileOnly(await self._files.viewing.show_own(owner, file.id)))

    async def cancel_upload(self, call: Call) -> Answer:
        await self._files.uploads.cancel(person_of(call), call.params["upload_id"])
        return Answer(204)

    async def get_file(self, call: Call) -> Answer:
        viewer = person_of(call)
        sighting = await self._files.viewing.access(viewer, call.params["file_id"])
        return Answer(200, FileOnly(await self._files.viewing.show(viewer, sighting)))

    async def edit_file(self, call: Call) -> Answer:
        owner, file_id = person_of(call), call.params["file_id"]
        return Answer(200, FileOnly(await self._files.set_alt(owner, file_id, call.body.alt)))

    async def reveal_file(self, call: Call) -> Answer:
        viewer, file_id = person_of(call), call.params["file_id"]
        return Answer(200, FileOnly(await self._files.viewing.reveal(viewer, file_id)))

    async def list_files(self, call: Call) -> Answer:
        query = call.query
        items, next_cursor = await self._files.viewing.list_thread(
            person_of(call),
            call.params["thread_id"],
            query.kind,
            before=_checked_cursor(query.cursor),
            limit=query.limit,
        )
        return Answer(200, FilesAnswer(items, next_cursor))

    async def list_quarantined(self, call: Call) -> Answer:
        after = _checked_cursor(call.query.cursor)
        files, next_cursor = await self._files.list_quarantined(call.caller, after=after)
        return Answer(200, DeskFilesAnswer(list(map(desk_view, files)), next_cursor))

    async def release_file(self, call: Call) -> Answer:
        return await self._operate(call, "release")

    async def delete_file(self, call: Call) -> Answer:
        return await self._operate(call, "delete")

    async def _operate(self, call: Call, act: Act) -> Answer:
        file_id, reason = call.params["file_id"], call.body.reason

        def answer(file: File) -> Answer:
            return Answer(200, DeskFileOnly(desk_view(file)))

        def work(once: Once | None) -> Awaitable[File | Kept]:
            return self._files.operate(call.caller, file_id, act, reason, once)

        check_operator(call.caller)
        return await answer_once(call, self._files.uploads.keeper, answer, work)


def _upload_of(answer: Answer) -> str:
    """The id of the upload that was begun now, or under the same key before."""
    body = answer.body
    if isinstance(body, bytes):
        body = msgspec.json.decode(body, type=UploadRef)
    return msgspec.convert(body, UploadRef, from_attributes=True).id


def _checked_cursor(text: str | None) -> str | None:
    if text is not None and not is_file_id(text):
        raise InvalidRequest("cursor is not one of ours; leave it out to start over")
    return text
