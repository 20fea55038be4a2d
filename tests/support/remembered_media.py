"""The media process for tests that load the sample again and again: each file is made once."""

import hashlib
from dataclasses import replace
from functools import cache

import pytest

from greenroom.demo.media.album import FILES
from greenroom.files.media.job import Made, MediaJob
from greenroom.files.media.process import MediaProcess, MediaRunner

_MADE: dict[str, tuple[Made, list[bytes | None]]] = {}
"""By the hash of the upload; for each rendition its bytes, or None if it is the upload itself."""


class RememberedMedia:
    def __init__(self, *, at_once: int = 2) -> None:
        self._media: MediaRunner = MediaProcess(at_once=at_once)

    async def run(self, job: MediaJob) -> Made:
        digest = hashlib.sha256(job.path.read_bytes()).hexdigest()
        if digest not in _MADE:
            made = await self._media.run(job)
            renditions = [
                None if each.path == job.path else each.path.read_bytes()
                for each in made.renditions
            ]
            _MADE[digest] = made, renditions
            return made
        made, renditions = _MADE[digest]
        written = []
        for each, data in zip(made.renditions, renditions, strict=True):
            path = job.path if data is None else job.out / each.path.name
            if data is not None:
                path.write_bytes(data)
            written.append(replace(each, path=path))
        return replace(made, renditions=written)

    async def close(self) -> None:
        await self._media.close()


def remember(patch: pytest.MonkeyPatch) -> None:
    """Loads of the sample in this process draw and make each file once."""
    patch.setattr("greenroom.demo.sample.MediaProcess", RememberedMedia)
    for name, file in list(FILES.items()):
        patch.setitem(FILES, name, replace(file, make=cache(file.make)))
