"""Checks that files and blobs agree, exports the files of a person, and erases them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from greenroom.conversations.upkeep import Fault, HeldError
from greenroom.files.model import PREFIXES, File, Rendition, extension_of
from greenroom.files.removal import Removal
from greenroom.files.store import FileStore
from greenroom.files.sweeping import UPLOAD_STATES, Holds, Sweeping
from greenroom.kernel.clock import Clock, rfc3339, system_clock
from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.port import BlobInfo, BlobStore

BATCH = 200
AT_ONCE = 16


class FilesUpkeep:
    def __init__(
        self,
        store: FileStore,
        blobs: BlobStore,
        removal: Removal,
        sweeping: Sweeping,
        holds: Holds,
        *,
        clock: Clock,
        limits: Limits,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._removal = removal
        self._sweeping = sweeping
        self._holds = holds
        self._clock = clock
        self._limits = limits

    async def check(self, *, repair: bool) -> AsyncGenerator[Fault, None]:
        """Files whose blobs are missing or have another length, and blobs without a file. With
        `repair`, the latter are deleted; nothing here knows what the former contained."""
        async for fault in self._check_files():
            yield fault
        async for fault in self._check_blobs(repair=repair):
            yield fault

    async def _check_files(self) -> AsyncGenerator[Fault, None]:
        after, until_ms = "", self._clock() + 1
        while files := await self._store.between(after, until_ms, BATCH):
            expected = [each for file in files for each in _expected(file)]
            for start in range(0, len(expected), AT_ONCE):
                some = expected[start : start + AT_ONCE]
                found = await asyncio.gather(*(self._blobs.find(key) for _, key, _ in some))
                for (file, key, size), info in zip(some, found, strict=True):
                    if _is_wrong(info, size) and await self._is_still(file, key):
                        yield _fault(file, key, info, size)
            after = files[-1].id

    async def _is_still(self, file: File, key: str) -> bool:
        """Whether the file still names the blob: it may have changed since it was read."""
        now = await self._store.find(file.id)
        return now is not None and key in {each for _, each, _ in _expected(now)}

    async def _check_blobs(self, *, repair: bool) -> AsyncGenerator[Fault, None]:
        before_ms = system_clock() - self._limits.orphan_grace_s * 1000
        for prefix in PREFIXES:
            batch: list[BlobInfo] = []
            async for info in self._blobs.list(prefix):
                # Younger ones may just be written.
                if info.modified_ms <= before_ms:
                    batch.append(info)
                if len(batch) == BATCH:
                    for fault in await self._faults_of(batch, repair=repair):
                        yield fault
                    batch.clear()
            for fault in await self._faults_of(batch, repair=repair):
                yield fault

    async def _faults_of(self, batch: Sequence[BlobInfo], *, repair: bool) -> list[Fault]:
        orphans = await self._sweeping.orphans_of(batch)
        if repair:
            await self._blobs.delete([each.key for each in orphans])
        return [
            Fault("blob_without_file", None, None, each.key, "no blob", is_mended=repair)
            for each in orphans
        ]

    async def export(
        self, user_id: str, folder: Path | None = None
    ) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        """The files that the person has uploaded. With `folder`, their bytes are written there,
        under the name in `exported_as`."""
        after = ""
        while files := await self._store.of_owner(user_id, after=after, limit=BATCH):
            for file in files:
                name = None if folder is None else await self._write(file, folder)
                yield "files", _exported(file, name)
            after = files[-1].id

    async def _write(self, file: File, folder: Path) -> str | None:
        best = _best(file)
        if best is None:
            return None
        name = f"{file.id}.{extension_of(best.mime)}"
        await self._blobs.fetch(best.key, folder / name)
        return name

    async def erase(self, user_id: str) -> int:
        """Remove the files of a person, their names and their descriptions. Returns how many.
        Raises HeldError at a thread on hold. Safe to repeat."""
        after, count = "", 0
        while files := await self._store.of_owner(user_id, after=after, limit=BATCH):
            threads = sorted({each.thread_id for each in files if each.thread_id is not None})
            for thread_id in await self._holds.held(threads):
                raise HeldError(thread_id, None)
            for file in files:
                if file.deleted_at_ms is None:
                    await self._removal.remove(file)
                    count += 1
            after = files[-1].id
        await self._store.erase_texts(user_id)
        return count


def _expected(file: File) -> list[tuple[File, str, int | None]]:
    """The blobs that a file must have, with their lengths. None: any length."""
    expected: list[tuple[File, str, int | None]] = [
        (file, each.key, each.bytes) for each in file.renditions
    ]
    if file.state in UPLOAD_STATES - {"uploading"}:
        expected.append((file, file.upload_key, file.bytes))
    return expected


def _is_wrong(info: BlobInfo | None, size: int | None) -> bool:
    return info is None or info.bytes != size


def _fault(file: File, key: str, info: BlobInfo | None, size: int | None) -> Fault:
    found = "no blob" if info is None else f"{info.bytes} bytes"
    return Fault("file_blob", file.thread_id, file.owner, f"{key}: {found}", f"{size} bytes")


def _best(file: File) -> Rendition | None:
    """The original, or the largest of what there is."""
    originals = [each for each in file.renditions if each.kind == "original"]
    return max(originals or file.renditions, key=lambda each: each.bytes, default=None)


def _exported(file: File, exported_as: str | None) -> dict[str, Any]:
    return {
        "id": file.id,
        "thread_id": file.thread_id,
        "purpose": file.purpose,
        "name": file.name,
        "mime": file.content_mime or file.mime,
        "bytes": file.bytes,
        "sha256": file.sha256,
        "state": file.state,
        "alt": file.alt,
        "created_at": rfc3339(file.created_at_ms),
        "exported_as": exported_as,
    }
