"""The media process for tests that load the sample again and again: each file is drawn and made
once in a run, whichever process of the run needs it first."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path

from greenroom.demo.media.album import FILES, SampleFile
from greenroom.files.media.job import Made, MediaJob
from greenroom.files.media.process import MediaProcess, MediaRunner
from tests.support.run_folder import keep, kept


class RememberedMedia:
    def __init__(self, *, at_once: int = 2) -> None:
        self._media: MediaRunner = MediaProcess(at_once=at_once)

    async def run(self, job: MediaJob) -> Made:
        name = f"made-{hashlib.sha256(job.path.read_bytes()).hexdigest()}"
        known: tuple[Made, list[bytes | None]] | None = kept(name)
        if known is None:
            made = await self._media.run(job)
            keep(name, (made, [_bytes_of(each.path, job) for each in made.renditions]))
            return made
        made, renditions = known
        written = []
        for each, data in zip(made.renditions, renditions, strict=True):
            path = job.path if data is None else job.out / each.path.name
            if data is not None:
                path.write_bytes(data)
            written.append(replace(each, path=path))
        return replace(made, renditions=written)

    async def close(self) -> None:
        await self._media.close()


def _bytes_of(path: Path, job: MediaJob) -> bytes | None:
    """Of a rendition; None if it is the upload itself."""
    return None if path == job.path else path.read_bytes()


def remembered_files() -> dict[str, SampleFile]:
    return {name: replace(file, make=_remembered(name, file.make)) for name, file in FILES.items()}


def _remembered(name: str, make: Callable[[], bytes]) -> Callable[[], bytes]:
    @wraps(make)
    def drawn() -> bytes:
        data: bytes | None = kept(f"drawn-{name}")
        if data is None:
            data = make()
            keep(f"drawn-{name}", data)
        return data

    return drawn
