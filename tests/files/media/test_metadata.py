"""Nothing that a camera or a program wrote beside the picture reaches another person."""

import io
from collections.abc import Callable

import pytest
from PIL import Image

from greenroom.files.media.job import Made

from . import samples
from .samples import CANARY
from .stand import Stand, outcome

PICTURES: list[tuple[str, Callable[[], bytes]]] = [
    ("image/jpeg", samples.jpeg_with_metadata),
    ("image/png", samples.png_with_metadata),
    ("image/webp", samples.webp_with_metadata),
    ("image/avif", samples.avif_with_metadata),
    ("image/gif", samples.gif_with_metadata),
    ("image/gif", lambda: samples.gif_with_metadata(4)),
    ("image/heic", samples.heic),
]
RECORDINGS: list[tuple[str, Callable[[], bytes]]] = [
    ("video/mp4", samples.mp4),
    ("video/webm", samples.webm),
    ("audio/webm", samples.voice),
    ("audio/mpeg", samples.mp3),
]
PNG_CHUNKS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"pHYs", b"bKGD", b"sBIT"}
WEBP_CHUNKS = {b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF"}


def _assert_no_canary(made: Made, upload: bytes) -> None:
    words = [CANARY.encode(code) for code in ("ascii", "utf-16-le", "utf-16-be")]
    assert any(word in upload for word in words), "the sample has no canary"
    for each in made.renditions:
        written = each.path.read_bytes()
        assert not any(word in written for word in words), each


@pytest.mark.parametrize(("mime", "sample"), PICTURES)
async def test_pictures_keep_no_metadata(
    stand: Stand, mime: str, sample: Callable[[], bytes]
) -> None:
    upload = sample()
    made = await stand.run(upload, mime)
    assert outcome(made) == ("ready", None), made.steps
    _assert_no_canary(made, upload)
    for each in made.renditions:
        written = each.path.read_bytes()
        image = Image.open(io.BytesIO(written))
        image.load()
        assert not image.getexif()
        assert not {"exif", "icc_profile", "xmp", "comment", "XML:com.adobe.xmp"} & set(image.info)
        if each.mime == "image/png":
            assert _png_chunks(written) <= PNG_CHUNKS
        elif each.mime == "image/webp":
            assert _webp_chunks(written) <= WEBP_CHUNKS
        else:
            assert b"Exif" not in written[:200]
            assert _jpeg_segments(written) <= {0xE0, 0xDB, 0xC0, 0xC2, 0xC4, 0xDA, 0xDD}


@pytest.mark.parametrize(("mime", "sample"), RECORDINGS)
async def test_recordings_keep_no_metadata(
    stand: Stand, mime: str, sample: Callable[[], bytes]
) -> None:
    upload = sample()
    made = await stand.run(upload, mime)
    assert outcome(made) == ("ready", None), made.steps
    _assert_no_canary(made, upload)


async def test_thirty_kilobytes_of_exif_are_gone(stand: Stand) -> None:
    upload = samples.jpeg_with_metadata(padding=30_000)
    made = await stand.run(upload, "image/jpeg")
    assert outcome(made) == ("ready", None)
    _assert_no_canary(made, upload)


def _png_chunks(data: bytes) -> set[bytes]:
    names, at = set(), 8
    while at < len(data):
        names.add(data[at + 4 : at + 8])
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return names


def _webp_chunks(data: bytes) -> set[bytes]:
    names, at = set(), 12
    while at < len(data):
        names.add(data[at : at + 4])
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + length + length % 2
    return names


def _jpeg_segments(data: bytes) -> set[int]:
    """Up to the first scan."""
    names, at = set(), 2
    while data[at + 1] != 0xDA:
        names.add(data[at + 1])
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return names
