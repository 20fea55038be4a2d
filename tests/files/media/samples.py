"""Files of every kind, made here. `CANARY` is in every place where a format keeps text."""

import base64
import functools
import gzip
import io
import struct
import subprocess
import tempfile
import zipfile
import zlib
from pathlib import Path

from PIL import Image, ImageCms, ImageDraw, PngImagePlugin

from greenroom.files.media.ffmpeg import find_ffmpeg

CANARY = "CANARYWORD"
# In two parts, so that no scanner takes this file for the test virus.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$" + b"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


def drawing(width: int = 400, height: int = 300) -> Image.Image:
    """Red on the left, blue on the right, with a circle."""
    image = Image.new("RGB", (width, height), (200, 30, 30))
    draw = ImageDraw.Draw(image)
    draw.rectangle((width // 2, 0, width, height), fill=(30, 30, 200))
    draw.ellipse((width // 4, height // 4, width // 2, height // 2), fill=(240, 240, 120))
    return image


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **options)
    return stream.getvalue()


@functools.cache
def jpeg(width: int = 400, height: int = 300) -> bytes:
    return encoded(drawing(width, height), "JPEG", quality=85)


@functools.cache
def png() -> bytes:
    return encoded(drawing(), "PNG")


@functools.cache
def transparent_png() -> bytes:
    image = drawing().convert("RGBA")
    image.putalpha(Image.linear_gradient("L").resize(image.size))
    return encoded(image, "PNG")


@functools.cache
def webp() -> bytes:
    return encoded(drawing(), "WEBP")


@functools.cache
def avif() -> bytes:
    return encoded(drawing(), "AVIF")


@functools.cache
def gif(frames: int = 1, size: int = 64) -> bytes:
    images = [drawing(size, size).rotate(9 * n).convert("P") for n in range(frames)]
    return encoded(images[0], "GIF", save_all=True, append_images=images[1:], duration=50)


def exif(orientation: int = 1, padding: int = 0) -> bytes:
    tags = Image.Exif()
    tags[0x010E] = CANARY + "x" * padding
    tags[0x013B] = CANARY
    tags[0x0112] = orientation
    tags.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0" + CANARY.encode()
    tags.get_ifd(0x8825).update({1: "N", 2: (52.0, 31.0, 12.34), 29: CANARY})
    return tags.tobytes()


def xmp() -> bytes:
    return f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><d>{CANARY}</d></x:xmpmeta>'.encode()


def colour_profile() -> bytes:
    """A profile whose description is the canary."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    name = CANARY.ljust(len("sRGB built-in"))[: len("sRGB built-in")]
    changed = profile.replace("sRGB built-in".encode("utf-16-be"), name.encode("utf-16-be"))
    assert changed != profile
    return changed


def jpeg_with_metadata(orientation: int = 1, padding: int = 0) -> bytes:
    iptc = b"Photoshop 3.0\0" + CANARY.encode()
    whole = encoded(
        drawing(),
        "JPEG",
        exif=exif(orientation, padding),
        icc_profile=colour_profile(),
        comment=CANARY.encode(),
        xmp=xmp(),
    )
    segment = b"\xff\xed" + (len(iptc) + 2).to_bytes(2, "big") + iptc
    return whole[:2] + segment + whole[2:] + CANARY.encode()


def png_with_metadata() -> bytes:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", CANARY)
    texts.add_text("Packed", CANARY * 20, zip=True)
    texts.add_itxt("XML:com.adobe.xmp", xmp().decode())
    options = {"pnginfo": texts, "exif": exif(), "icc_profile": colour_profile()}
    return encoded(drawing(), "PNG", **options) + CANARY.encode()


def webp_with_metadata() -> bytes:
    return encoded(drawing(), "WEBP", exif=exif(), xmp=xmp(), icc_profile=colour_profile())


def avif_with_metadata() -> bytes:
    return encoded(drawing(), "AVIF", exif=exif(), xmp=xmp(), icc_profile=colour_profile())


def gif_with_metadata(frames: int = 1) -> bytes:
    images = [drawing(64, 64).rotate(9 * n).convert("P") for n in range(frames)]
    options = {"save_all": True, "append_images": images[1:], "comment": CANARY.encode()}
    return encoded(images[0], "GIF", **options)


def pdf(*, catalogue: bytes = b"", stream: bytes | None = None, more: bytes = b"") -> bytes:
    """One page with a rectangle. `stream` is an object that nothing refers to."""
    drawn = b"0.8 0.2 0.2 rg 50 50 100 100 re f"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R" + catalogue + b">>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 300]/Contents 4 0 R/Resources<<>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
    ]
    if stream is not None:
        objects.append(stream)
    body = b"%PDF-1.7\n"
    offsets = []
    for number, each in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    body += more
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return (
        body
        + b"xref\n0 %d\n0000000000 65535 f \n" % size
        + table
        + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(body))
    )


def pdf_stream(content: bytes, name: bytes = b"FlateDecode") -> bytes:
    packed = {
        b"FlateDecode": zlib.compress(content),
        b"ASCIIHexDecode": content.hex().encode() + b">",
        b"ASCII85Decode": base64.a85encode(content) + b"~>" if len(content) < 10_000 else b"",
    }[name]
    return b"<</Filter/%s/Length %d>>stream\n%s\nendstream" % (name, len(packed), packed)


def zipped(content: bytes, name: str = "file.bin", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr(name, content)
    return stream.getvalue()


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def svg(inner: str = "<script>alert(1)</script>") -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{inner}</svg>'.encode()


def png_chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content).to_bytes(4, "big")
    return len(content).to_bytes(4, "big") + name + content + checksum


def png_of(width: int, height: int, *chunks: bytes) -> bytes:
    """A header with this size, some chunks and almost no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [png_chunk(b"IHDR", header), *chunks, png_chunk(b"IDAT", zlib.compress(bytes(99)))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + png_chunk(b"IEND", b"")


@functools.cache
def recording(form: str, seconds: float, *options: str, size: str = "320x180") -> bytes:
    """By FFmpeg: a test picture and a tone, with the canary in its metadata."""
    program = find_ffmpeg()
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / f"made.{form}"
        picture = ["-f", "lavfi", "-i", f"testsrc2=s={size}:d={seconds}:r=10"]
        tone = ["-f", "lavfi", "-i", f"sine=d={seconds}"]
        names = ("title", "comment", "artist", "location", "copyright", "description")
        metadata = [part for name in names for part in ("-metadata", f"{name}={CANARY}")]
        metadata += ["-metadata:s:v", f"handler_name={CANARY}"] if form == "mp4" else []
        inputs = [*picture, *tone] if form in ("mp4", "webm", "mov", "avi") else tone
        command = [str(program), "-v", "error", *inputs, *options, *metadata, "-y", str(output)]
        subprocess.run(command, check=True, capture_output=True)
        return output.read_bytes()


def mp4(seconds: float = 2.0) -> bytes:
    return recording("mp4", seconds, "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac")


def webm(seconds: float = 2.0) -> bytes:
    return recording("webm", seconds, "-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus")


def voice(seconds: float = 3.0) -> bytes:
    """As the recorder of a browser makes it."""
    return recording("weba", seconds, "-c:a", "libopus", "-f", "webm")


def mp3(seconds: float = 2.0) -> bytes:
    return recording("mp3", seconds)


@functools.cache
def heic() -> bytes:
    """A HEIF file around one frame of HEVC, with the canary in an Exif item."""
    movie = recording("mp4", 0.1, "-frames:v", "1", "-an", "-c:v", "libx265", "-x265-params",
                      "log-level=none")  # fmt: skip
    at = movie.index(b"hvcC") - 4
    configuration = movie[at : at + int.from_bytes(movie[at : at + 4], "big")]
    at = movie.index(b"mdat")
    frame = movie[at + 4 : at - 4 + int.from_bytes(movie[at - 4 : at], "big")]
    return _heif(configuration, frame, 320, 180)


def _heif(configuration: bytes, frame: bytes, width: int, height: int) -> bytes:
    text = b"\0\0\0\0MM\0*" + CANARY.encode()
    size = _full_box(b"ispe", struct.pack(">II", width, height))
    items = _full_box(b"infe", b"\0\1\0\0hvc1\0", 2) + _full_box(b"infe", b"\0\2\0\0Exif\0", 2)
    associations = struct.pack(">IHBBB", 1, 1, 2, 0x81, 2)

    def meta(offset: int) -> bytes:
        places = struct.pack(">BBH", 0x44, 0, 2)
        for number, start, length in ((1, offset, len(frame)), (2, offset + len(frame), len(text))):
            places += struct.pack(">HHHII", number, 0, 1, start, length)
        return _full_box(
            b"meta",
            _full_box(b"hdlr", b"\0\0\0\0pict" + bytes(13))
            + _full_box(b"pitm", b"\0\1")
            + _full_box(b"iloc", places)
            + _full_box(b"iinf", b"\0\2" + items)
            + _box(
                b"iprp",
                _box(b"ipco", configuration + size) + _full_box(b"ipma", associations),
            ),
        )

    start = _box(b"ftyp", b"heic\0\0\0\0mif1heic")
    offset = len(start) + len(meta(0)) + 8
    return start + meta(offset) + _box(b"mdat", frame + text)


def _box(name: bytes, content: bytes) -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + name + content


def _full_box(name: bytes, content: bytes, version: int = 0) -> bytes:
    return _box(name, bytes([version, 0, 0, 0]) + content)
