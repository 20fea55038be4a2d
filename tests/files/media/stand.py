"""Puts uploads before a media process and looks at what comes out."""

from dataclasses import replace
from pathlib import Path

from greenroom.files.media.job import Made, MadeRendition, MediaJob, MediaLimits, RenditionKind
from greenroom.files.media.process import MediaRunner


class Stand:
    def __init__(self, runner: MediaRunner, folder: Path) -> None:
        self._runner = runner
        self._folder = folder
        self._count = 0

    async def run(
        self,
        data: bytes,
        mime: str,
        *,
        purpose: str = "attachment",
        watermark: str | None = None,
        is_released: bool = False,
        limits: MediaLimits | None = None,
        **changes: int,
    ) -> Made:
        self._count += 1
        folder = self._folder / str(self._count)
        (folder / "out").mkdir(parents=True)
        upload = folder / "upload"
        upload.write_bytes(data)
        limits = replace(limits or MediaLimits(), **changes)
        job = MediaJob(
            *(upload, folder / "out", mime, purpose, watermark, limits), is_released=is_released
        )
        made = await self._runner.run(job)
        assert upload.read_bytes() == data, "the upload was changed"
        return made


def rendition(made: Made, kind: RenditionKind, mime: str = "image/webp") -> MadeRendition:
    found = [each for each in made.renditions if (each.kind, each.mime) == (kind, mime)]
    assert len(found) == 1, made
    return found[0]


def outcome(made: Made) -> tuple[str, str | None]:
    return made.state, made.reason
