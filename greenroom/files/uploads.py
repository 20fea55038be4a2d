"""Uploads: begin, take the bytes, complete, cancel."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from greenroom.files.model import (
    NO_HINTS,
    File,
    Hints,
    NewFile,
    Purpose,
    check_new_file,
    is_file_id,
    part_sizes,
    upload_key,
)
from greenroom.files.removal import Removal
from greenroom.files.signed_urls import PART_TYPE, BlobSigner
from greenroom.files.store import FileStore, Quotas
from greenroom.files.views import PartView, UploadView
from greenroom.kernel.clock import Clock, rfc3339
from greenroom.kernel.errors import ActionInvalidState, NotFound
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.kernel.text import as_whole
from greenroom.platform.blobs.port import BlobStore, SignedRequest
from greenroom.platform.idempotency import KeepsAnswers, Kept, Once

MOST_PARTS = 10_000


class Mismatch(ActionInvalidState):
    """What has arrived is not what was announced"""

    status = 422
    hint = "The bytes were thrown away. Begin a new upload."


@dataclass(frozen=True, slots=True)
class UploadRequest:
    """What somebody asks to upload."""

    thread_id: str | None
    name: str
    mime: str
    byte_count: int
    purpose: Purpose = "attachment"
    sha256: str | None = None
    watermark: str | None = None
    in_parts: bool = False
    hints: Hints = NO_HINTS


class Uploads:
    def __init__(
        self,
        store: FileStore,
        blobs: BlobStore,
        signer: BlobSigner,
        removal: Removal,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._signer = signer
        self._removal = removal
        self._clock = clock
        self._randomness = randomness
        self._limits = limits

    @property
    def keeper(self) -> KeepsAnswers:
        """Stores answers by Idempotency-Key."""
        return self._store

    async def begin(
        self, owner: str, asked: UploadRequest, once: Once | None = None
    ) -> File | Kept:
        """Raises what `FileStore.add` raises, AttachmentTooLarge and UnsupportedType."""
        new = check_new_file(
            name=asked.name,
            mime=asked.mime,
            byte_count=asked.byte_count,
            sha256=asked.sha256,
            purpose=asked.purpose,
            watermark=asked.watermark,
            limits=self._limits,
            hints=asked.hints,
        )
        file_id = make_id("fil", self._clock(), self._randomness())
        key = upload_key(file_id)
        handle = await self._blobs.begin_parts(key, mime=new.mime) if asked.in_parts else None
        try:
            added = await self._store.add(
                self._file(file_id, owner, asked.thread_id, new, handle), self._quotas, once
            )
        except BaseException:
            if handle is not None:
                await self._blobs.abort_parts(key, handle)
            raise
        if isinstance(added, Kept) and handle is not None:
            await self._blobs.abort_parts(key, handle)
        return added

    def _file(
        self, file_id: str, owner: str, thread_id: str | None, new: NewFile, handle: str | None
    ) -> File:
        return File(
            id=file_id,
            thread_id=thread_id,
            owner=owner,
            purpose=new.purpose,
            name=new.name,
            mime=new.mime,
            bytes=new.bytes,
            sha256=new.sha256,
            state="uploading",
            media=new.media,
            created_at_ms=self._clock(),
            parts_handle=handle,
            watermark=new.watermark,
            width=new.hints.width,
            height=new.hints.height,
            duration_ms=new.hints.duration_ms,
            peaks=new.hints.peaks,
        )

    @property
    def _quotas(self) -> Quotas:
        limits = self._limits
        return Quotas(
            limits.uploads_per_hour,
            limits.open_uploads,
            limits.person_file_bytes_per_day,
            limits.thread_file_bytes,
        )

    async def access(self, owner: str, file_id: str) -> File:
        """An upload of one's own, in any state but `expired`. Raises NotFound."""
        file = await self._store.find(file_id) if is_file_id(file_id) else None
        if file is None or file.owner != owner or file.deleted_at_ms is not None:
            raise NotFound
        if file.thread_id is not None and not await self._store.sees_thread(owner, file.thread_id):
            raise NotFound
        return file

    async def access_open(self, owner: str, file_id: str) -> File:
        """One that still takes bytes."""
        file = await self.access(owner, file_id)
        if file.state != "uploading":
            raise ActionInvalidState("This upload is complete: GET /v1/files/{id} has the file.")
        return file

    async def show(self, file: File) -> UploadView:
        """The requests to make, with fresh signatures, and what has arrived."""
        whole, expires_ms = self.sign(file)
        handle = file.parts_handle
        parts = None if handle is None else await self._parts(file, handle, expires_ms)
        if parts is None:
            received = await self._blobs.find(file.upload_key) is not None
        else:
            whole = SignedRequest(parts[0].method, parts[0].url, parts[0].headers)
            received = all(part.received for part in parts)
        return UploadView(
            id=file.id,
            method=whole.method,
            url=whole.url,
            headers=dict(whole.headers),
            expires_at=rfc3339(expires_ms),
            received=received,
            part_bytes=None if parts is None else self._limits.part_bytes,
            parts=parts,
        )

    def sign(self, file: File) -> tuple[SignedRequest, int]:
        """The request with all bytes of a file, and until when it can be made."""
        expires_ms = self._clock() + self._limits.upload_s * 1000
        signed = self._blobs.sign_upload(
            file.upload_key,
            mime=file.mime,
            byte_count=file.bytes,
            seconds=self._limits.upload_s,
        )
        own = signed or self._signer.upload(
            file.id, None, mime=file.mime, byte_count=file.bytes, expires_ms=expires_ms
        )
        return own, expires_ms

    async def _parts(self, file: File, handle: str, expires_ms: int) -> list[PartView]:
        arrived = await self._blobs.parts(file.upload_key, handle)
        received = {part.number: part.bytes for part in arrived}
        views = []
        for number, byte_count in enumerate(part_sizes(file.bytes, self._limits.part_bytes), 1):
            signed = self._sign_part(file, handle, number, byte_count, expires_ms)
            views.append(
                PartView(
                    number,
                    byte_count,
                    signed.method,
                    signed.url,
                    dict(signed.headers),
                    received=received.get(number) == byte_count,
                )
            )
        return views

    def _sign_part(
        self, file: File, handle: str, number: int, byte_count: int, expires_ms: int
    ) -> SignedRequest:
        signed = self._blobs.sign_part(
            file.upload_key,
            handle,
            number,
            byte_count=byte_count,
            seconds=self._limits.upload_s,
        )
        return signed or self._signer.upload(
            file.id, number, mime=PART_TYPE, byte_count=byte_count, expires_ms=expires_ms
        )

    async def receive(self, file_id: str, data: AsyncIterator[bytes], byte_count: int) -> None:
        """Take the bytes of an upload, for a request whose signature is right. Once they have
        arrived, the same request again is refused."""
        file = await self._find_open(file_id)
        if file.parts_handle is not None or byte_count != file.bytes:
            raise NotFound
        if await self._blobs.find(file.upload_key) is not None:
            raise ActionInvalidState("The bytes of this upload have arrived; complete it.")
        await self._blobs.put(file.upload_key, data, mime=file.mime, byte_count=byte_count)

    async def receive_part(
        self, file_id: str, number: int, data: AsyncIterator[bytes], byte_count: int
    ) -> None:
        """As `receive`, for one part."""
        file = await self._find_open(file_id)
        sizes = part_sizes(file.bytes, self._limits.part_bytes)
        if file.parts_handle is None or not 1 <= number <= len(sizes):
            raise NotFound
        if byte_count != sizes[number - 1]:
            raise NotFound
        key, handle = file.upload_key, file.parts_handle
        if number in {part.number for part in await self._blobs.parts(key, handle)}:
            raise ActionInvalidState("This part has arrived.")
        await self._blobs.put_part(key, handle, number, data, byte_count=byte_count)

    async def _find_open(self, file_id: str) -> File:
        file = await self._store.find(file_id) if is_file_id(file_id) else None
        if file is None or file.deleted_at_ms is not None:
            raise NotFound
        if file.state != "uploading":
            raise ActionInvalidState("This upload is complete.")
        return file

    async def complete(self, owner: str, file_id: str) -> File:
        """Let the file be processed; a repeat returns it as it is now. Raises NotFound,
        ActionInvalidState when bytes are missing, and Mismatch when they are others."""
        file = await self.access(owner, file_id)
        if file.state != "uploading":
            return file
        if file.parts_handle is not None:
            await self._finish_parts(file, file.parts_handle)
        await self._check_arrived(file)
        completed = await self._store.complete(file.id, None)
        if completed is None:
            raise NotFound
        return completed

    async def _finish_parts(self, file: File, handle: str) -> None:
        key = file.upload_key
        if await self._blobs.find(key) is not None:
            return
        sizes = dict(enumerate(part_sizes(file.bytes, self._limits.part_bytes), 1))
        arrived = await self._blobs.parts(key, handle)
        parts = [part for part in arrived if part.bytes == sizes.get(part.number)]
        missing = sorted(set(sizes) - {part.number for part in parts})
        if missing:
            raise ActionInvalidState(
                f"{len(missing)} of {len(sizes)} parts have not arrived.",
                hint="Send the parts in `missing`; GET /v1/uploads/{id} has their requests.",
                extra={"missing": missing},
            )
        await self._blobs.finish_parts(key, handle, parts)

    async def _check_arrived(self, file: File) -> None:
        info = await self._blobs.find(file.upload_key)
        if info is None:
            raise ActionInvalidState(
                "The bytes have not arrived.",
                hint="Make the upload's request with the bytes, then complete it.",
            )
        mismatch = None
        if info.bytes != file.bytes:
            mismatch = f"{info.bytes} bytes have arrived instead of {file.bytes}."
        elif file.sha256 is not None and await self._hash(file) != file.sha256:
            mismatch = "The bytes that have arrived have another SHA-256."
        if mismatch is not None:
            await self._removal.remove(file)
            raise Mismatch(mismatch)

    async def _hash(self, file: File) -> str:
        digest = hashlib.sha256()
        async for chunk in self._blobs.read(file.upload_key):
            digest.update(chunk)
        return digest.hexdigest()

    async def cancel(self, owner: str, file_id: str) -> None:
        """Forget an upload that no message shows, complete or not. Cancelling again changes
        nothing."""
        file = await self._store.find(file_id) if is_file_id(file_id) else None
        if file is None or file.owner != owner:
            raise NotFound
        if await self._store.places(file.id):
            raise ActionInvalidState("This file has been sent.", hint="Delete the message instead.")
        await self._removal.remove(file)


def check_part_number(text: str) -> int:
    number = as_whole(text, least=1, most=MOST_PARTS)
    if number is None or str(number) != text:
        raise NotFound
    return number
