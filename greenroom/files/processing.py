"""Turns completed uploads into files that people can see: a task of the worker for each.

Nobody can fetch anything before the last step, which is one transaction. Every step can be
repeated: a worker that dies leaves the task to another, which begins anew and writes the same keys.
"""

import asyncio
import hashlib
import logging
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from greenroom.files.media.job import Made, MadeRendition, MediaJob, MediaLimits, NotScannedError
from greenroom.files.media.process import MediaRunner
from greenroom.files.model import ENDED, File, Rendition, rendition_key
from greenroom.files.removal import Removal
from greenroom.files.screening import NoScreening, Screening
from greenroom.files.store import FileStore, Processed, Step
from greenroom.files.watermark_text import writable
from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.port import BlobNotFoundError, BlobStore
from greenroom.platform.tasks.table import Task

SCAN_ATTEMPTS = 6
"""Attempts after which a file that no scanner has looked at is quarantined."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fetched:
    """An upload in a folder of its own, in which renditions are made too."""

    path: Path
    out: Path
    sha256: str


class Processing:
    def __init__(
        self,
        store: FileStore,
        blobs: BlobStore,
        removal: Removal,
        media: MediaRunner,
        *,
        work: Path,
        limits: Limits,
        screening: Screening | None = None,
    ) -> None:
        """`work` is a folder for files that are being processed."""
        self._store = store
        self._blobs = blobs
        self._removal = removal
        self._media = media
        self._work = work
        self._limits = limits
        self._screening = screening or NoScreening()

    async def close(self) -> None:
        await self._media.close()

    async def run(self, task: Task) -> None:
        """Do the task of a file. Safe to repeat, by several workers at the same time too."""
        file = await self._store.find(task.key)
        if file is not None and file.state == "processing":
            await self._process(file, task)
            file = await self._store.find(task.key)
        if file is not None and file.state in ENDED and file.told_at_ms is None:
            await self._removal.tell(file)

    async def _process(self, file: File, task: Task) -> None:
        folder = await asyncio.to_thread(self._make_folder)
        try:
            await self._process_in(folder, file, task)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _make_folder(self) -> Path:
        self._work.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(prefix="file-", dir=self._work))
        (folder / "out").mkdir()
        return folder

    async def _process_in(self, folder: Path, file: File, task: Task) -> None:
        fetched = await self._fetch(folder, file)
        if fetched is None:
            await self._end(file, Processed("refused", "damaged", file.media), [])
            return
        try:
            made = await self._make(file, fetched, is_released=_is_released(task))
        except NotScannedError as failure:
            if task.failures + 1 < SCAN_ATTEMPTS:
                raise
            steps = [Step("virus", "failed", str(failure))]
            held = Processed("quarantined", "not_scanned", file.media, fetched.sha256)
            await self._end(file, held, steps)
            return
        steps = [Step(each.step, each.outcome, each.detail) for each in made.steps]
        await self._store.note_steps(file.id, steps)
        await self._screening.screen(file, [file.name, *made.qr_texts])
        renditions = await self._keep(file, made.renditions)
        await self._end(file, _processed(made, fetched.sha256, renditions), steps)

    async def _fetch(self, folder: Path, file: File) -> Fetched | None:
        """None: the bytes are gone."""
        path = folder / "upload"
        try:
            await self._blobs.fetch(file.upload_key, path)
        except BlobNotFoundError:
            return None
        sha256 = await asyncio.to_thread(_hash, path)
        return Fetched(path, folder / "out", sha256)

    async def _make(self, file: File, fetched: Fetched, *, is_released: bool) -> Made:
        limits = self._limits
        return await self._media.run(
            MediaJob(
                path=fetched.path,
                out=fetched.out,
                declared_mime=file.mime,
                purpose=file.purpose,
                watermark=None if file.watermark is None else writable(file.watermark),
                limits=MediaLimits(
                    image_side=limits.image_side,
                    image_pixels=limits.image_pixels,
                    video_s=limits.video_s,
                    voice_s=limits.voice_s,
                ),
                is_released=is_released,
            )
        )

    async def _keep(self, file: File, made: Sequence[MadeRendition]) -> tuple[Rendition, ...]:
        kept = []
        for each in made:
            key = rendition_key(file.thread_id or "", file.id, each.kind, each.path.suffix)
            await self._blobs.put_file(key, each.path, mime=each.mime)
            size = (await asyncio.to_thread(each.path.stat)).st_size
            kept.append(Rendition(each.kind, key, each.mime, size, each.width, each.height))
        return tuple(kept)

    async def _end(self, file: File, processed: Processed, steps: Sequence[Step]) -> None:
        if not await self._store.finish(file.id, processed, steps):
            # Somebody else was faster, or it was cancelled. Blobs that no row names are swept.
            log.info("a file was finished elsewhere", extra={"subject": file.id})
            return
        if processed.state != "quarantined":
            await self._blobs.delete([file.upload_key])


def _processed(made: Made, sha256: str, renditions: tuple[Rendition, ...]) -> Processed:
    return Processed(
        state=made.state,
        reason=made.reason,
        media=made.media,
        sha256=sha256,
        content_mime=made.mime,
        width=made.width,
        height=made.height,
        duration_ms=made.duration_ms,
        peaks=None if made.peaks is None else tuple(made.peaks),
        band=made.band,
        band_source=made.band_source,
        renditions=renditions,
    )


def _is_released(task: Task) -> bool:
    return bool(task.payload and task.payload.get("released"))


def _hash(path: Path) -> str:
    with path.open("rb") as upload:
        return hashlib.file_digest(upload, "sha256").hexdigest()
