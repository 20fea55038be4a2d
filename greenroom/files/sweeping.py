"""Rounds of maintenance: removes what nobody needs any more, and blobs that belong to no file."""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from greenroom.files.model import PREFIXES, File, file_of_key
from greenroom.files.removal import Removal
from greenroom.files.store import FileStore
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.port import BlobInfo, BlobStore

HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS
BATCH = 200
ORPHANS_EVERY_S = 6 * 60 * 60
UNTOLD_MS = 60_000
FORGOTTEN_MS = 7 * DAY_MS
"""How long the row of a file that was never sent is kept after its bytes."""

UPLOAD_STATES = frozenset({"uploading", "processing", "quarantined"})
"""States in which the bytes lie as they came."""


Find = Callable[[str, int, int], Awaitable[tuple[File, ...]]]
"""Files from after an id to before a time, at most so many."""


class Holds(Protocol):
    async def held(self, thread_ids: Sequence[str]) -> frozenset[str]:
        """Those of these threads that are on legal hold."""
        ...


class Sweeping:
    def __init__(
        self,
        store: FileStore,
        blobs: BlobStore,
        removal: Removal,
        holds: Holds,
        *,
        work: Path,
        clock: Clock,
        limits: Limits,
        expire_days: int | None = None,
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._removal = removal
        self._holds = holds
        self._work = work
        self._clock = clock
        self._limits = limits
        self._expire_days = expire_days

    async def sweep_files(self) -> dict[str, int]:
        """Everything but blobs without a file: one bounded round."""
        return {
            "abandoned_upload": await self._sweep_abandoned(),
            "unsent_file": await self._sweep_unsent(),
            "file": await self._sweep_old(),
            "file_row": await self._forget(),
            "untold_file": await self._tell_untold(),
            "work_folder": await asyncio.to_thread(self._clean_work),
        }

    async def _sweep_abandoned(self) -> int:
        """Whether their thread is on hold or not: they never became part of it."""
        before_ms = self._clock() - self._limits.upload_kept_hours * HOUR_MS
        found = await self._store.abandoned(before_ms, BATCH)
        for each in found:
            await self._removal.remove(each)
        return len(found)

    async def _sweep_unsent(self) -> int:
        return await self._sweep(self._store.unsent, self._limits.unsent_file_kept_days)

    async def _sweep_old(self) -> int:
        """Files past their time: that of messages, or the shorter one that is configured."""
        days = self._limits.message_kept_days
        if self._expire_days is not None:
            days = min(days, self._expire_days)
        return await self._sweep(self._store.between, days)

    async def _sweep(self, find: Find, days: int) -> int:
        before_ms, after, count = self._clock() - days * DAY_MS, "", 0
        # Those on legal hold stay, so a round goes on behind them.
        while count < BATCH and (found := await find(after, before_ms, BATCH)):
            count += await self._remove_loose(found)
            after = found[-1].id
        return count

    async def _remove_loose(self, files: Sequence[File]) -> int:
        """Remove those that no legal hold keeps."""
        threads = sorted({each.thread_id for each in files if each.thread_id is not None})
        held = await self._holds.held(threads) if threads else frozenset()
        loose = [each for each in files if each.thread_id not in held]
        for each in loose:
            await self._removal.remove(each)
        return len(loose)

    async def _forget(self) -> int:
        now_ms = self._clock()
        created_ms = now_ms - self._limits.message_kept_days * DAY_MS
        return await self._store.forget(
            now_ms - FORGOTTEN_MS, created_ms, self._limits.maintenance_batch
        )

    async def _tell_untold(self) -> int:
        found = await self._store.untold(self._clock() - UNTOLD_MS, BATCH)
        for each in found:
            await self._removal.tell(each)
        return len(found)

    def _clean_work(self) -> int:
        """Folders of workers that died."""
        if not self._work.is_dir():
            return 0
        before_s = time.time() - self._limits.orphan_grace_s
        old = [each for each in self._work.iterdir() if each.stat().st_mtime < before_s]
        for each in old:
            shutil.rmtree(each, ignore_errors=True)
        return len(old)

    async def sweep_orphans(self) -> dict[str, int]:
        """Delete blobs that no file names. Goes through all blobs, so it is rarely done."""
        if not await self._store.is_time("orphans", ORPHANS_EVERY_S):
            return {}
        return {"orphaned_blob": await self.delete_orphans()}

    async def delete_orphans(self, grace_s: int | None = None) -> int:
        # Blobs have times of the machine, not of the clock that is injected.
        grace_ms = 1000 * (self._limits.orphan_grace_s if grace_s is None else grace_s)
        before_ms, count = system_clock() - grace_ms, 0
        for prefix in PREFIXES:
            batch: list[BlobInfo] = []
            async for info in self._blobs.list(prefix):
                if info.modified_ms <= before_ms:
                    batch.append(info)
                if len(batch) == BATCH:
                    count += await self._delete_orphans_of(batch)
                    batch.clear()
            count += await self._delete_orphans_of(batch)
        return count

    async def _delete_orphans_of(self, batch: Sequence[BlobInfo]) -> int:
        orphans = await self.orphans_of(batch)
        await self._blobs.delete([each.key for each in orphans])
        return len(orphans)

    async def orphans_of(self, batch: Sequence[BlobInfo]) -> list[BlobInfo]:
        """Those of these blobs that no file names."""
        owners = {info.key: file_of_key(info.key) for info in batch}
        ids = sorted({each for each in owners.values() if each is not None})
        files = await self._store.find_many(ids) if ids else {}
        return [info for info in batch if not _is_of(files.get(owners[info.key] or ""), info.key)]


def _is_of(file: File | None, key: str) -> bool:
    if file is None:
        return False
    if key == file.upload_key:
        return file.state in UPLOAD_STATES
    # A worker may just be writing them.
    return file.state == "processing" or any(each.key == key for each in file.renditions)
