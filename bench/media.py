"""A 12-megapixel photograph through the media process, compared with libvips alone.

libvips makes the same renditions, in a process that has it loaded: no scan, no limits, no
classifier, no QR codes, no fork.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyvips

from bench.report import Row, at_most, say
from greenroom.files.media.job import MediaJob
from greenroom.files.media.process import MediaProcess

FULL, QUICK = 15, 3
WIDTH, HEIGHT = 4000, 3000


def measure(rounds: int) -> Iterator[Row]:
    say(f"a 12-megapixel JPEG, {rounds} times by the media process and by libvips alone")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        photograph = folder / "photograph.jpg"
        _draw(photograph)
        ours_s, bare_s, peak_mb = asyncio.run(_measure(folder, photograph, rounds))
    shown = f"{ours_s * 1000:.0f} ms of {bare_s * 1000:.0f} ms"
    yield at_most("12-megapixel JPEG / bare libvips", shown, ours_s / bare_s, 1.5)
    yield at_most("memory of that job", f"{peak_mb:.0f} MB", peak_mb / 256, 1.0, "256 MB")


def _draw(path: Path) -> None:
    """Large shapes, small ones and noise, so that it is as hard to encode as a photograph."""
    large = pyvips.Image.perlin(WIDTH, HEIGHT, cell_size=400, seed=1)
    small = pyvips.Image.perlin(WIDTH, HEIGHT, cell_size=150, seed=2)
    noise = pyvips.Image.gaussnoise(WIDTH, HEIGHT, sigma=6, mean=0)
    image = large.bandjoin([small, (large + small) / 2]) * 100 + 128 + noise
    image.cast("uchar").copy(interpretation="srgb").jpegsave(str(path), Q=92)


async def _measure(folder: Path, photograph: Path, rounds: int) -> tuple[float, float, float]:
    """Medians, in turns, because a machine's speed changes within seconds."""
    media = MediaProcess()
    ours, bare = [], []
    try:
        await _run(media, folder / "first", photograph)
        _make_bare(folder, photograph)
        for turn in range(rounds):
            ours.append(await _run(media, folder / str(turn), photograph))
            started = time.perf_counter()
            _make_bare(folder, photograph)
            bare.append(time.perf_counter() - started)
    finally:
        await media.close()
    return statistics.median(ours), statistics.median(bare), media.peak_rss_kb / 1024


async def _run(media: MediaProcess, out: Path, photograph: Path) -> float:
    await asyncio.to_thread(out.mkdir)
    started = time.perf_counter()
    made = await media.run(MediaJob(photograph, out, "image/jpeg", "attachment"))
    taken_s = time.perf_counter() - started
    assert made.state == "ready", made.steps
    assert made.band_source == "classifier", made.steps
    return taken_s


def _make_bare(folder: Path, photograph: Path) -> None:
    preview = pyvips.Image.thumbnail(str(photograph), 1600, height=1600, size="down").copy_memory()
    thumb = preview.thumbnail_image(320, height=320, size="down").copy_memory()
    points = thumb.thumbnail_image(12, height=12, size="down")
    blurred = points.thumbnail_image(thumb.width, height=thumb.height, size="force").gaussblur(13)
    made = (("preview", preview, 82), ("thumb", thumb, 76), ("blurred", blurred.cast("uchar"), 50))
    for name, image, quality in made:
        image.webpsave(str(folder / f"{name}.webp"), Q=quality, effort=2, keep="none")
        image.jpegsave(str(folder / f"{name}.jpg"), Q=quality, keep="none")
    original = pyvips.Image.new_from_file(str(photograph), access="sequential").autorot()
    original.jpegsave(str(folder / "original.jpg"), Q=90, keep="none")
