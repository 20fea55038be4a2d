"""Looks into archives, wherever in a file they lie, with bounds against bombs.

Compressed pieces are found by their signatures at any offset instead of by an archive's table of
contents. So an archive behind a picture, one without its end, and one whose table says something
else than its pieces are all read, and one bound holds for everything. Stored pieces need nothing:
they are in the outer bytes.
"""

import base64
import bz2
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

PIECE_BYTES = 128 * 1024**2
# Scanned pages that a PDF keeps without loss are some 30 MB each.
TOTAL_BYTES = 1024**3
PIECES = 20_000
# Signatures that turn out to be nothing take time too.
ATTEMPTS = 50_000
DEPTH = 6
STEP_BYTES = 64 * 1024

_ZIP, _GZIP, _BZ2, _XZ, _STREAM = b"PK\x03\x04", b"\x1f\x8b\x08", b"BZh", b"\xfd7zXZ\0", b"stream"
_SIGNATURES = (_ZIP, _GZIP, _BZ2, _XZ, _STREAM)
_LOCAL_HEADER_BYTES = 30
_PDF_DICTIONARY_BYTES = 2048
_PDF_FILTER = re.compile(rb"/(ASCIIHexDecode|AHx|ASCII85Decode|A85|FlateDecode|Fl)\b")
_PDF_NAME_ESCAPE = re.compile(rb"#([0-9A-Fa-f]{2})")
_DEFLATED, _STORED, _BZIP2, _LZMA = 8, 0, 12, 14


class BombError(Exception):
    """The pieces of an archive are larger or more than anybody would send."""


@dataclass(slots=True)
class Budget:
    """What is left for one upload, at all depths together."""

    byte_count: int = TOTAL_BYTES
    pieces: int = PIECES
    attempts: int = ATTEMPTS

    def attempt(self) -> None:
        self.attempts -= 1
        if self.attempts < 0:
            raise BombError("too many beginnings of archives inside")

    def take(self, piece: bytes) -> None:
        self.byte_count -= len(piece)
        self.pieces -= 1
        if self.byte_count < 0 or len(piece) > PIECE_BYTES:
            raise BombError("too much inside")
        if self.pieces < 0:
            raise BombError("too many pieces inside")


@dataclass(slots=True)
class Contents:
    """What looking into one file tells besides its pieces."""

    is_encrypted: bool = False
    unread_methods: set[int] = field(default_factory=set)


def unpack(data: bytes, contents: Contents, budget: Budget, depth: int = 1) -> Iterator[bytes]:
    """Every compressed piece in `data`, and every piece in those. Raises `BombError`."""
    for start, signature in _signatures(data):
        budget.attempt()
        piece = _piece(data, start, signature, contents)
        if not piece:
            continue
        if depth > DEPTH:
            raise BombError("nested too deep")
        budget.take(piece)
        yield piece
        yield from unpack(piece, contents, budget, depth + 1)


def _signatures(data: bytes) -> Iterator[tuple[int, bytes]]:
    """A search per signature is many times as fast as one regular expression for all."""
    for signature in _SIGNATURES:
        start = data.find(signature)
        while start >= 0:
            if signature != _STREAM or data[start - 3 : start] != b"end":
                yield start, signature
            start = data.find(signature, start + 1)


def _piece(data: bytes, start: int, signature: bytes, contents: Contents) -> bytes | None:
    if signature == _ZIP:
        return _zip_member(data, start, contents)
    if signature == _GZIP:
        return _inflated(data, start, wbits=31)
    if signature == _BZ2:
        return _decompressed(bz2.BZ2Decompressor(), data, start)
    if signature == _XZ:
        return _decompressed(lzma.LZMADecompressor(memlimit=PIECE_BYTES), data, start)
    return _pdf_stream(data, start)


def _zip_member(data: bytes, start: int, contents: Contents) -> bytes | None:
    header = data[start : start + _LOCAL_HEADER_BYTES]
    if len(header) < _LOCAL_HEADER_BYTES:
        return None
    flags = int.from_bytes(header[6:8], "little")
    method = int.from_bytes(header[8:10], "little")
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    body = start + _LOCAL_HEADER_BYTES + names
    if flags & 1:
        contents.is_encrypted = True
        return None
    if method == _DEFLATED:
        return _inflated(data, body, wbits=-15)
    if method == _BZIP2:
        return _decompressed(bz2.BZ2Decompressor(), data, body)
    if method == _LZMA:
        return _zip_lzma(data, body)
    if method != _STORED:
        contents.unread_methods.add(method)
    return None


def _zip_lzma(data: bytes, start: int) -> bytes | None:
    """A ZIP puts a version and a length before the properties of LZMA, and no size after them."""
    properties = data[start + 4 : start + 9]
    if len(properties) < 5 or properties[0] >= 9 * 5 * 5:
        return None
    rest, lc = divmod(properties[0], 9)
    pb, lp = divmod(rest, 5)
    size = min(int.from_bytes(properties[1:5], "little"), PIECE_BYTES)
    filters = [{"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb, "dict_size": size}]
    try:
        decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
    except (lzma.LZMAError, ValueError):
        return None
    return _decompressed(decoder, data, start + 9)


def _inflated(data: bytes, start: int, *, wbits: int) -> bytes | None:
    return _decompressed(zlib.decompressobj(wbits), data, start)


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _decompressed(decoder: _Decoder, data: bytes, start: int) -> bytes | None:
    """As far as it can be read: a damaged piece is looked at up to the damage."""
    whole = bytearray()
    try:
        for at in range(start, len(data), STEP_BYTES):
            whole += decoder.decompress(data[at : at + STEP_BYTES], PIECE_BYTES + 1 - len(whole))
            if decoder.eof or len(whole) > PIECE_BYTES:
                break
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError):
        pass
    return bytes(whole)


def _pdf_stream(data: bytes, start: int) -> bytes | None:
    """The bytes of a PDF's stream behind the filters that hide them from a scanner."""
    before = data[max(0, start - _PDF_DICTIONARY_BYTES) : start]
    dictionary = unescape_pdf_names(before.rpartition(b"obj")[2])
    filters = [each[1] for each in _PDF_FILTER.finditer(dictionary)]
    if not filters:
        return None
    end = data.find(b"endstream", start)
    whole = data[start + len(_STREAM) : end if end >= 0 else len(data)]
    body: bytes | None = whole.removeprefix(b"\r").removeprefix(b"\n")
    for each in filters:
        if body:
            body = _pdf_filtered(body, each)
    return body


def _pdf_filtered(body: bytes, name: bytes) -> bytes | None:
    if name in (b"FlateDecode", b"Fl"):
        return _inflated(body, 0, wbits=15)
    try:
        if name in (b"ASCII85Decode", b"A85"):
            return base64.a85decode(body.partition(b"~>")[0].strip().removeprefix(b"<~"))
        digits = re.sub(rb"\s", b"", body.partition(b">")[0])
        return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode("ascii"))
    except ValueError:
        return None


def unescape_pdf_names(text: bytes) -> bytes:
    """`/J#61vaScript` is a way to write `/JavaScript`."""
    return _PDF_NAME_ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text)
