"""Makes the sample's files and their renditions in the background, while its scenes are played."""

import asyncio
import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Self

from greenroom.demo.media.album import FILES, SampleFile
from greenroom.files.media.job import Made, MediaJob
from greenroom.files.media.process import MediaRunner
from greenroom.files.model import Purpose


class DarkRoom:
    """A `MediaRunner` that has the answers for the sample's files ready: it begins with all of them
    when it is opened, several at a time. The answers are given in the order of the scenes, so that
    the sample is the same every time."""

    def __init__(self, media: MediaRunner) -> None:
        self._media = media
        self._folder = Path()
        self._drawing = asyncio.Semaphore(1)
        self._drawn: dict[str, asyncio.Task[bytes]] = {}
        self._made: dict[str, asyncio.Task[Made]] = {}
        self._names: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        self._folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="greenroom-sample-"))
        for name, file in FILES.items():
            self._drawn[name] = asyncio.create_task(self._draw(name, file))
            self._made[name] = asyncio.create_task(self._make(name, file))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        tasks = [*self._drawn.values(), *self._made.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._media.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _draw(self, name: str, file: SampleFile) -> bytes:
        async with self._drawing:
            data = await asyncio.to_thread(file.make)
        await asyncio.to_thread((self._folder / name).write_bytes, data)
        self._names[hashlib.sha256(data).hexdigest()] = name
        return data

    async def _make(self, name: str, file: SampleFile) -> Made:
        await self.bytes_of(name)
        out = self._folder / f"{name}.made"
        await asyncio.to_thread(out.mkdir)
        made = await self._media.run(
            MediaJob(self._folder / name, out, file.mime, purpose_of(file))
        )
        # The sample shows what Safe-Mode does, whatever a classifier thinks of drawn pictures.
        return replace(made, band=file.band)

    async def bytes_of(self, name: str) -> bytes:
        return await asyncio.shield(self._drawn[name])

    async def run(self, job: MediaJob) -> Made:
        """See `MediaRunner`."""
        data = await asyncio.to_thread(job.path.read_bytes)
        name = self._names.get(hashlib.sha256(data).hexdigest())
        if name is None:
            return await self._media.run(job)
        made = await asyncio.shield(self._made[name])
        renditions = []
        for each in made.renditions:
            # What is stored as it came has no file of its own.
            path = job.path if each.path.parent == self._folder else job.out / each.path.name
            if path != job.path:
                await asyncio.to_thread(shutil.copyfile, each.path, path)
            renditions.append(replace(each, path=path))
        return replace(made, renditions=renditions)


def purpose_of(file: SampleFile) -> Purpose:
    """Of a file that is sent with a message."""
    return "voice" if file.mime.startswith("audio/") else "attachment"
