"""Files that want to be something else than they say: none becomes something that runs."""

import io
import zlib
from collections.abc import Callable

import pytest
from PIL import Image

from greenroom.files.media.job import Made
from greenroom.files.media.process import MediaProcess
from greenroom.files.media.unpacking import BombError, Budget, Contents, unpack

from . import samples
from .stand import Stand, outcome

JAVASCRIPT = b"<</S/JavaScript/JS(app.alert\\(1\\))>>"
PE = b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0" + bytes(200)
HTML = b"<!doctype html><script>alert(1)</script>"


def _object_stream() -> bytes:
    packed = zlib.compress(b"9 0 " + JAVASCRIPT)
    return b"<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (
        len(packed),
        packed,
    )


REFUSED: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "HTML as JPEG": (lambda: HTML, "image/jpeg", "type_mismatch"),
    "HTML as text": (lambda: HTML, "text/plain", "unsupported"),
    "HTML as HTML": (lambda: HTML, "text/html", "unsupported"),
    "HTML in UTF-16": (
        lambda: b"\xff\xfe" + HTML.decode().encode("utf-16-le"),
        "text/plain",
        "unsupported",
    ),
    "HTML behind text": (lambda: b"hello " * 20 + HTML, "text/plain", "unsupported"),
    "HTML behind a PDF header": (lambda: b"%PDF-1.4\n" + HTML, "application/pdf", "damaged"),
    "PHP": (lambda: b"<?php system($_GET[1]); ?>", "text/plain", "unsupported"),
    "SVG with a script": (samples.svg, "image/svg+xml", "unsupported"),
    "SVG as PNG": (samples.svg, "image/png", "type_mismatch"),
    "SVG without a claim": (samples.svg, "application/octet-stream", "unsupported"),
    "plain SVG": (lambda: samples.svg("<path/>"), "image/svg+xml", "unsupported"),
    "program": (lambda: PE, "application/octet-stream", "unsupported"),
    "program as JPEG": (lambda: PE, "image/jpeg", "type_mismatch"),
    "ELF": (lambda: b"\x7fELF" + bytes(100), "application/octet-stream", "unsupported"),
    "shell script": (lambda: b"#!/bin/sh\nrm -rf ~\n", "text/plain", "unsupported"),
    "program in a ZIP": (lambda: samples.zipped(PE, "photo.exe"), "application/zip", "unsupported"),
    "stored program in a ZIP": (
        lambda: samples.zipped(PE + b"This program cannot be run in DOS mode", method=0),
        "application/zip",
        "unsupported",
    ),
    "JAR": (
        lambda: samples.zipped(b"Main-Class: A", "META-INF/MANIFEST.MF"),
        "application/zip",
        "unsupported",
    ),
    "macro": (
        lambda: samples.zipped(b"Attribute", "word/vbaProject.bin"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "unsupported",
    ),
    "encrypted ZIP": (
        lambda: samples.zipped(b"secret")[:6] + b"\x01\x00" + samples.zipped(b"secret")[8:],
        "application/zip",
        "unsupported",
    ),
    "RAR": (lambda: b"Rar!\x1a\x07\x01\x00" + bytes(50), "application/vnd.rar", "unsupported"),
    "PDF with JavaScript": (
        lambda: samples.pdf(catalogue=b"/OpenAction" + JAVASCRIPT),
        "application/pdf",
        "unsupported",
    ),
    "PDF with escaped JavaScript": (
        lambda: samples.pdf(catalogue=b"/OpenAction<</S/J#61vaScript/JS(1)>>"),
        "application/pdf",
        "unsupported",
    ),
    "PDF with packed JavaScript": (
        lambda: samples.pdf(stream=_object_stream()),
        "application/pdf",
        "unsupported",
    ),
    "PDF that launches": (
        lambda: samples.pdf(catalogue=b"/OpenAction<</S/Launch/F(cmd.exe)>>"),
        "application/pdf",
        "unsupported",
    ),
    "encrypted PDF": (
        lambda: samples.pdf(more=b"9 0 obj<</Encrypt 8 0 R>>endobj\n"),
        "application/pdf",
        "unsupported",
    ),
    "PDF behind a JAR": (
        lambda: samples.pdf() + samples.zipped(b"x", "META-INF/MANIFEST.MF"),
        "application/pdf",
        "unsupported",
    ),
    "JPEG as PDF": (samples.jpeg, "application/pdf", "type_mismatch"),
    "JPEG as text": (samples.jpeg, "text/plain", "type_mismatch"),
    "MP4 as JPEG": (samples.mp4, "image/jpeg", "type_mismatch"),
    "text as JPEG": (lambda: b"hello", "image/jpeg", "type_mismatch"),
    "zero bytes": (lambda: b"", "image/jpeg", "empty"),
    "only a JPEG's beginning": (lambda: b"\xff\xd8\xff\xe0", "image/jpeg", "damaged"),
    "truncated JPEG": (lambda: samples.jpeg()[:2000], "image/jpeg", "damaged"),
    "truncated PNG": (lambda: samples.png()[:-200], "image/png", "damaged"),
    "truncated WebP": (lambda: samples.webp()[:300], "image/webp", "damaged"),
    "truncated AVIF": (lambda: samples.avif()[:400], "image/avif", "damaged"),
    "truncated HEIC": (lambda: samples.heic()[:600], "image/heic", "damaged"),
    "truncated PDF": (lambda: samples.pdf()[:150], "application/pdf", "damaged"),
    "truncated MP4": (lambda: samples.mp4()[:2000], "video/mp4", "damaged"),
    "playlist as MP4": (
        lambda: b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        "video/mp4",
        "type_mismatch",
    ),
}

POLYGLOTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "GIFAR": (
        lambda: samples.gif() + samples.zipped(b"class", "META-INF/MANIFEST.MF"),
        "image/gif",
    ),
    "JPEG with a ZIP behind": (lambda: samples.jpeg() + samples.zipped(PE), "image/jpeg"),
    "JPEG with HTML behind": (lambda: samples.jpeg() + HTML, "image/jpeg"),
    "JPEG with HTML in its comment": (
        lambda: samples.encoded(samples.drawing(), "JPEG", comment=HTML),
        "image/jpeg",
    ),
    "GIF with a script in its comment": (
        lambda: samples.encoded(samples.drawing(), "GIF", comment=b"=1;alert(1)//" + HTML),
        "image/gif",
    ),
    "PNG with a program behind": (lambda: samples.png() + PE, "image/png"),
    "JPEG with a PDF behind": (lambda: samples.jpeg() + samples.pdf(), "image/jpeg"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_refused(stand: Stand, name: str) -> None:
    sample, mime, reason = REFUSED[name]
    made = await stand.run(sample(), mime)
    assert outcome(made) == ("refused", reason), made.steps
    assert made.renditions == []
    assert made.steps[-1].outcome == "failed"


@pytest.mark.parametrize("name", POLYGLOTS)
async def test_of_a_polyglot_only_the_picture_is_left(stand: Stand, name: str) -> None:
    sample, mime = POLYGLOTS[name]
    made = await stand.run(sample(), mime)
    assert outcome(made) == ("ready", None), made.steps
    for each in made.renditions:
        written = each.path.read_bytes()
        assert not any(
            trace in written for trace in (b"<script", b"PK\x03\x04", b"PE\0\0", b"%PDF")
        )
        assert Image.open(io.BytesIO(written)).size == (each.width, each.height)


async def test_names_inside_a_video_are_not_followed(stand: Stand) -> None:
    """A reference to another file, as QuickTime allows it, with a path that climbs out."""
    video = samples.mp4()
    place = video.index(b"url ")
    reference = b"url \0\0\0\0" + b"../../../../etc/passwd\0"
    grown = (len(reference) + 4).to_bytes(4, "big") + reference
    changed = video[: place - 4] + grown + video[place + 8 :]
    made = await stand.run(changed, "video/mp4")
    for each in made.renditions:
        assert b"root:" not in each.path.read_bytes()
    assert outcome(made) in (("refused", "damaged"), ("ready", None))


async def test_a_plain_file_is_a_download_and_nothing_else(stand: Stand) -> None:
    for data, mime in (
        (b"name,price\nchair,12\n", "text/csv"),
        (samples.zipped(b"a plain text " * 50, "notes.txt"), "application/zip"),
        (bytes(range(256)), "application/octet-stream"),
        (b"II*\0" + bytes(64), "image/tiff"),
    ):
        made = await stand.run(data, mime)
        assert outcome(made) == ("ready", None), made.steps
        assert (made.media, made.mime) == ("other", "application/octet-stream")
        assert [(each.kind, each.mime) for each in made.renditions] == [
            ("original", "application/octet-stream")
        ]


BOMBS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "900 megapixels": (lambda: samples.png_of(30_000, 30_000), "image/png", "too_many_pixels"),
    "one long line": (lambda: samples.png_of(20_000, 1), "image/png", "too_many_pixels"),
    "200 MB of text in a PNG": (
        lambda: samples.png_of(
            *(400, 300),
            samples.png_chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(200_000_000), 9)),
        ),
        "image/png",
        "damaged",
    ),
    "ten thousand chunks": (
        lambda: samples.png_of(400, 300, *[samples.png_chunk(b"tEXt", b"a\0b")] * 10_000),
        "image/png",
        "damaged",
    ),
    "GIF of 1000 frames": (lambda: samples.gif(1000, 8), "image/gif", "too_many_pixels"),
    "ZIP of zeros": (
        lambda: samples.zipped(bytes(150_000_000)),
        "application/zip",
        "too_large",
    ),
    "ZIP in ZIP in ZIP": (
        lambda: _nested(samples.zipped(bytes(20_000_000)), 9),
        "application/zip",
        "too_large",
    ),
    "gzip of zeros": (lambda: samples.gzipped(bytes(150_000_000)), "application/gzip", "too_large"),
    "PDF stream of zeros": (
        lambda: samples.pdf(stream=samples.pdf_stream(bytes(150_000_000))),
        "application/pdf",
        "too_large",
    ),
    "SVG with entities": (
        lambda: (
            b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">'
            + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
            + b"]><svg>&m;</svg>"
        ),
        "image/svg+xml",
        "unsupported",
    ),
}


def _nested(data: bytes, times: int) -> bytes:
    for _ in range(times):
        data = samples.zipped(data, method=8)
    return data


@pytest.mark.parametrize("name", BOMBS)
async def test_bombs_do_not_go_off(stand: Stand, name: str) -> None:
    sample, mime, reason = BOMBS[name]
    made = await stand.run(sample(), mime)
    assert outcome(made) == ("refused", reason), made.steps


async def test_many_pieces_that_are_large_together_are_a_bomb() -> None:
    member = samples.zipped(bytes(40_000_000))
    local = member[: member.index(b"PK\x01\x02")]
    with pytest.raises(BombError, match="too much"):
        sum(len(piece) for piece in unpack(local * 40, Contents(), Budget()))


async def test_sizes_that_a_file_claims_are_not_believed(stand: Stand) -> None:
    for data, mime in (
        (samples.gif()[:6] + b"\xff\xff\xff\xff" + samples.gif()[10:], "image/gif"),
        (samples.pdf().replace(b"[0 0 200 300]", b"[0 0 14000 9]"), "application/pdf"),
    ):
        made = await stand.run(data, mime)
        assert max(made.width or 0, made.height or 0) <= 1600 or made.state == "refused"


async def test_memory_of_all_this_stayed_within_its_bound(
    media: MediaProcess, stand: Stand
) -> None:
    """And the process goes on."""
    made: Made = await stand.run(samples.jpeg(), "image/jpeg")
    assert outcome(made) == ("ready", None)
    assert 0 < media.peak_rss_kb < 600 * 1024
