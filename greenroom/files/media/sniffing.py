"""Finds out what a file is from its bytes. Its name and declared type are claims only.

Pure Python over a bounded beginning, without decoding anything. A successful decode is the proof.
"""

import re
from dataclasses import dataclass
from typing import Literal

from greenroom.files.media.job import Media

HEAD_BYTES = 4096

Family = Literal["image", "video", "audio", "recording", "pdf", "archive", "other", "active"]
"""`recording` is a container for sound and moving pictures alike. `active` can run: programs, and
documents that browsers run, such as HTML and SVG."""


@dataclass(frozen=True, slots=True)
class Sniffed:
    mime: str
    family: Family
    is_decoded: bool = False
    """We decode it and store what we encode, not what came."""

    def media(self, declared_mime: str) -> Media:
        if self.family == "recording":
            return "audio" if declared_mime.startswith("audio/") else "video"
        if self.family == "archive" or self.family == "other" or self.family == "active":
            return "other"
        if self.family == "image" and not self.is_decoded:
            return "other"
        return self.family


def _image(mime: str) -> Sniffed:
    return Sniffed(mime, "image", is_decoded=True)


UNKNOWN = Sniffed("application/octet-stream", "other")
TEXT = Sniffed("text/plain", "other")
MARKUP = Sniffed("text/html", "active")
SVG = Sniffed("image/svg+xml", "active")
SCRIPT = Sniffed("text/x-script", "active")
PROGRAM = Sniffed("application/x-executable", "active")
AVIF = _image("image/avif")
HEIC = _image("image/heic")
MP4 = Sniffed("video/mp4", "recording")
WEBM = Sniffed("video/webm", "recording")

_SIGNATURES: tuple[tuple[int, bytes, Sniffed], ...] = (
    (0, b"\xff\xd8\xff", _image("image/jpeg")),
    (0, b"\x89PNG\r\n\x1a\n", _image("image/png")),
    (0, b"GIF87a", _image("image/gif")),
    (0, b"GIF89a", _image("image/gif")),
    (0, b"%PDF-", Sniffed("application/pdf", "pdf")),
    (0, b"\x1aE\xdf\xa3", WEBM),
    (0, b"OggS", Sniffed("audio/ogg", "recording")),
    (0, b"fLaC", Sniffed("audio/flac", "audio")),
    (0, b"ID3", Sniffed("audio/mpeg", "audio")),
    (0, b"#!AMR", Sniffed("audio/amr", "audio")),
    (0, b"II*\x00", Sniffed("image/tiff", "image")),
    (0, b"MM\x00*", Sniffed("image/tiff", "image")),
    (0, b"8BPS", Sniffed("image/vnd.adobe.photoshop", "image")),
    (0, b"\xff\x0a", Sniffed("image/jxl", "image")),
    (0, b"\x00\x00\x00\x0cJXL ", Sniffed("image/jxl", "image")),
    (0, b"PK\x03\x04", Sniffed("application/zip", "archive")),
    (0, b"PK\x05\x06", Sniffed("application/zip", "archive")),
    (0, b"\x1f\x8b", Sniffed("application/gzip", "archive")),
    (0, b"BZh", Sniffed("application/x-bzip2", "archive")),
    (0, b"\xfd7zXZ\x00", Sniffed("application/x-xz", "archive")),
    (0, b"7z\xbc\xaf\x27\x1c", Sniffed("application/x-7z-compressed", "archive")),
    (0, b"Rar!\x1a\x07", Sniffed("application/vnd.rar", "archive")),
    (0, b"\x28\xb5\x2f\xfd", Sniffed("application/zstd", "archive")),
    (257, b"ustar", Sniffed("application/x-tar", "archive")),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Sniffed("application/x-ole-storage", "other")),
    (0, b"{\\rtf", Sniffed("application/rtf", "other")),
    (0, b"MZ", PROGRAM),
    (0, b"\x7fELF", PROGRAM),
    (0, b"\xfe\xed\xfa\xce", PROGRAM),
    (0, b"\xfe\xed\xfa\xcf", PROGRAM),
    (0, b"\xce\xfa\xed\xfe", PROGRAM),
    (0, b"\xcf\xfa\xed\xfe", PROGRAM),
    (0, b"\xca\xfe\xba\xbe", PROGRAM),
    (0, b"dex\n", PROGRAM),
    (0, b"\x00asm", PROGRAM),
    (0, b"L\x00\x00\x00\x01\x14\x02\x00", PROGRAM),
    (0, b"#!", SCRIPT),
)

_RIFF = {
    b"WEBP": _image("image/webp"),
    b"WAVE": Sniffed("audio/wav", "audio"),
    b"AVI ": Sniffed("video/x-msvideo", "video"),
}
_AVIF_BRANDS = {b"avif", b"avis"}
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx"}
_STILL_BRANDS = {b"mif1", b"msf1", b"miaf"}
_AUDIO_BRANDS = {b"M4A ", b"M4B ", b"M4P "}

# As a browser that sniffs would read the beginning of a document.
_MARKUP = re.compile(
    rb"<(!doctype|!--|\?xml|\?php|html|head|script|iframe|svg|body|style|title|table|div|form|img"
    rb"|object|embed|meta|link|a|b|p|br|h1|font)[\s>/-]",
    re.IGNORECASE,
)
# Anywhere in the beginning, whatever comes before.
_ACTIVE_MARKUP = re.compile(
    rb"<(script|svg|html|iframe|object|embed|!doctype\s+html)\b", re.IGNORECASE
)
_BOMS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_DANGEROUS_CLAIM = re.compile(
    r"html|svg|javascript|ecmascript|x-msdownload|x-msdos|x-executable|x-sh|java-archive"
    r"|vnd\.android|x-httpd|hta|x-bat|x-csh|x-python"
)


def sniff(head: bytes) -> Sniffed:
    """From the first `HEAD_BYTES` of a file."""
    for offset, signature, sniffed in _SIGNATURES:
        if head.startswith(signature, offset):
            return sniffed
    if head[:4] == b"RIFF" and head[8:12] in _RIFF:
        return _RIFF[head[8:12]]
    if head[4:8] == b"ftyp":
        return _sniff_ftyp(head)
    if _is_mpeg_audio(head):
        return Sniffed("audio/mpeg" if head[1] & 0x06 else "audio/aac", "audio")
    return _sniff_text(head)


def _sniff_ftyp(head: bytes) -> Sniffed:
    """ISO base media: pictures, sound and video differ by their brands."""
    length = min(int.from_bytes(head[:4], "big"), 256)
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, length, 4))]
    major = brands[0]
    if major in _AVIF_BRANDS:
        return AVIF
    if major in _HEIC_BRANDS:
        return HEIC
    if major in _STILL_BRANDS:
        return AVIF if _AVIF_BRANDS & set(brands) else HEIC
    if major in _AUDIO_BRANDS:
        return Sniffed("audio/mp4", "recording")
    if major == b"qt  ":
        return Sniffed("video/quicktime", "recording")
    return MP4


def _is_mpeg_audio(head: bytes) -> bool:
    """The frame header of MP3 or of AAC in ADTS."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return False
    is_adts = head[1] & 0xF6 == 0xF0
    is_layer_3 = head[1] & 0x06 == 0x02 and head[1] & 0x18 != 0x08
    return is_adts or (is_layer_3 and head[2] & 0xF0 != 0xF0 and head[2] & 0x0C != 0x0C)


def _sniff_text(head: bytes) -> Sniffed:
    text = head
    for bom, encoding in _BOMS.items():
        if head.startswith(bom):
            # Look at it as a browser would, with the characters that matter as single bytes.
            text = head[len(bom) :].decode(encoding, "ignore").encode("utf-8", "ignore")
            break
    start = text.lstrip(b"\t\n\x0c\r ")
    if _MARKUP.match(start) or _ACTIVE_MARKUP.search(text):
        return SVG if re.search(rb"<svg\b", text, re.IGNORECASE) else MARKUP
    if b"\x00" in text or not _is_utf8(text):
        return UNKNOWN
    return TEXT


def _is_utf8(text: bytes) -> bool:
    """The last character may have been cut off."""
    for cut in range(4):
        try:
            text[: len(text) - cut].decode()
        except UnicodeDecodeError:
            continue
        return True
    return False


def agrees(declared_mime: str, sniffed: Sniffed) -> bool:
    """Whether the declared type is of the family that the content is."""
    declared = declared_mime.partition(";")[0].strip().lower()
    if declared in ("", "application/octet-stream", "binary/octet-stream"):
        return True
    if declared == "application/pdf":
        return sniffed.family == "pdf"
    family = declared.partition("/")[0]
    if family in ("audio", "video"):
        return sniffed.family in (family, "recording")
    if family == "image":
        return sniffed.family == "image"
    return sniffed.family in ("archive", "other", "active")


def claims_to_run(declared_mime: str) -> bool:
    """The declared type itself is one that runs, whatever the content looks like."""
    return _DANGEROUS_CLAIM.search(declared_mime.lower()) is not None
