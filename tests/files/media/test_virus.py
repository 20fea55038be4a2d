"""The test virus is found in every wrapping, and what cannot be scanned is never called clean."""

import bz2
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable

import pytest

from . import samples
from .samples import EICAR
from .stand import Stand, outcome


def _tar(content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("../../a")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def _nested(times: int) -> bytes:
    data = EICAR
    for _ in range(times):
        data = samples.zipped(data)
    return data


def _without_end(data: bytes) -> bytes:
    """The table of contents at the end is missing; unpackers read such a file all the same."""
    return data[: data.index(b"PK\x01\x02")]


WRAPPINGS: dict[str, tuple[Callable[[], bytes], str]] = {
    "plain": (lambda: EICAR, "text/plain"),
    "in text": (lambda: b"see: " + EICAR + b" !", "text/plain"),
    "UTF-16": (lambda: EICAR.decode().encode("utf-16"), "text/plain"),
    "ZIP": (lambda: samples.zipped(EICAR), "application/zip"),
    "stored in ZIP": (lambda: samples.zipped(EICAR, method=0), "application/zip"),
    "ZIP with bzip2": (
        lambda: samples.zipped(EICAR * 3, method=zipfile.ZIP_BZIP2),
        "application/zip",
    ),
    "ZIP with LZMA": (
        lambda: samples.zipped(EICAR * 3, method=zipfile.ZIP_LZMA),
        "application/zip",
    ),
    "ZIP in ZIP in ZIP": (lambda: _nested(3), "application/zip"),
    "ZIP without its end": (lambda: _without_end(samples.zipped(EICAR)), "application/zip"),
    "document": (
        lambda: samples.zipped(EICAR, "word/document.xml"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    "gzip": (lambda: samples.gzipped(EICAR), "application/gzip"),
    "bzip2": (lambda: bz2.compress(EICAR), "application/x-bzip2"),
    "xz": (lambda: lzma.compress(EICAR), "application/x-xz"),
    "tar": (lambda: _tar(EICAR), "application/x-tar"),
    "tar.gz": (lambda: samples.gzipped(_tar(EICAR)), "application/gzip"),
    "ZIP in tar in gzip": (
        lambda: samples.gzipped(_tar(samples.zipped(EICAR))),
        "application/gzip",
    ),
    "PDF stream": (
        lambda: samples.pdf(stream=samples.pdf_stream(EICAR)),
        "application/pdf",
    ),
    "PDF stream in hexadecimal": (
        lambda: samples.pdf(stream=samples.pdf_stream(EICAR, b"ASCIIHexDecode")),
        "application/pdf",
    ),
    "PDF stream in ASCII85": (
        lambda: samples.pdf(stream=samples.pdf_stream(EICAR, b"ASCII85Decode")),
        "application/pdf",
    ),
    "ZIP in a PDF stream": (
        lambda: samples.pdf(stream=samples.pdf_stream(samples.zipped(EICAR))),
        "application/pdf",
    ),
    "behind a JPEG": (lambda: samples.jpeg() + EICAR, "image/jpeg"),
    "in a ZIP behind a JPEG": (lambda: samples.jpeg() + samples.zipped(EICAR), "image/jpeg"),
    "in a JPEG's comment": (
        lambda: samples.encoded(samples.drawing(), "JPEG", comment=EICAR),
        "image/jpeg",
    ),
    "behind an MP4": (lambda: samples.mp4() + samples.gzipped(EICAR), "video/mp4"),
    "behind a voice note": (lambda: samples.voice() + EICAR, "audio/webm"),
}


@pytest.mark.parametrize("name", WRAPPINGS)
async def test_the_test_virus_is_quarantined(stand: Stand, name: str) -> None:
    sample, mime = WRAPPINGS[name]
    made = await stand.run(sample(), mime)
    assert outcome(made) == ("quarantined", "virus"), made.steps
    assert made.renditions == []
    assert made.steps[-1].detail == "virus: eicar"


async def test_what_an_operator_released_is_processed(stand: Stand) -> None:
    made = await stand.run(samples.jpeg() + EICAR, "image/jpeg", is_released=True)
    assert outcome(made) == ("ready", None)
    assert "released in spite of eicar" in made.steps[1].detail


async def test_a_release_does_not_make_a_program_acceptable(stand: Stand) -> None:
    made = await stand.run(b"\x7fELF" + EICAR, "application/octet-stream", is_released=True)
    assert outcome(made) == ("refused", "unsupported")
