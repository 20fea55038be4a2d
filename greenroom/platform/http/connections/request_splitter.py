"""Splits the bytes of a connection into pieces, none of which contains parts of two requests.

llhttp continues into the next request if its bytes are there, and does not say where one ended.
With these pieces the next request waits as bytes until the one before is answered. Splitting also
allows a strict check of the request line, of which llhttp accepts more forms than HTTP has.
"""

import enum
import re

from greenroom.kernel.errors import InvalidRequest

# Nearly every head fits in one piece. Also bounds how much of a too long head is parsed.
PIECE_BYTES = 16 * 1024
# A little more than uvicorn holds of a body before it waits for the app, so that a long body gets
# there piece by piece.
BODY_PIECE_BYTES = 80 * 1024

_REQUEST_LINE = re.compile(rb"[A-Z-]+ [!\"$-~]+ HTTP/1\.[01]\r\n")
_BLANK_LINE = b"\r\n\r\n"


class _Section(enum.Enum):
    LINE = enum.auto()
    FIELDS = enum.auto()
    COUNTED_BODY = enum.auto()
    CHUNKS = enum.auto()


# Module constants, because enum attribute access is slow and this runs for every request.
_LINE, _FIELDS, _COUNTED_BODY, _CHUNKS = _Section


class RequestSplitter:
    """The parser's callbacks tell it what comes next: a request, or a body of some kind."""

    __slots__ = ("_at", "_data", "_rest_bytes", "_section", "_start", "has_more")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._rest_bytes = 0
        self.has_more = False
        self.expect_request()

    def put(self, data: bytes) -> None:
        self._data = self._data[self._at :] + data if self.has_more else data
        self._at = 0
        self.has_more = bool(self._data)

    def rest(self) -> bytes:
        return self._data[self._at :]

    def expect_request(self) -> None:
        self._section = _LINE
        self._start = b""

    def expect_body(self, length: int) -> None:
        self._section = _COUNTED_BODY
        self._rest_bytes = length

    def expect_chunks(self) -> None:
        self._section = _CHUNKS
        self._start = b""

    def take(self) -> bytes:
        """The next piece; empty when there is none. Raises InvalidRequest (request line)."""
        section = self._section
        if section is _COUNTED_BODY:
            piece = self._cut(self._at + self._rest_bytes, BODY_PIECE_BYTES)
            self._rest_bytes -= len(piece)
            return piece
        if section is not _LINE:
            return self._take_to_blank_line()
        return self._take_head() or self._take_line()

    def _take_head(self) -> bytes:
        """Fast path for the usual case: the whole head has arrived, without blank lines first."""
        data, at = self._data, self._at
        found = data.find(_BLANK_LINE, at, at + PIECE_BYTES)
        if self._start or found < 0 or data[at] in b"\r\n":
            return b""
        _check_line(data, at, data.find(b"\n", at) + 1)
        self._section = _FIELDS
        return self._cut(found + len(_BLANK_LINE))

    def _take_line(self) -> bytes:
        if not self._start:
            self._skip_blank_lines()
        end = self._data.find(b"\n", self._at) + 1
        piece = self._cut(end or len(self._data))
        self._start += piece
        if piece.endswith(b"\n"):
            _check_line(self._start, 0, len(self._start))
            self._section = _FIELDS
            self._start = b"\r\n"
        return piece

    def _skip_blank_lines(self) -> None:
        """Some clients send a blank line after a body."""
        if self._data[self._at : self._at + 1] in (b"\r", b"\n"):
            self._data = self._data[self._at :].lstrip(b"\r\n")
            self._at = 0
            self.has_more = bool(self._data)

    def _take_to_blank_line(self) -> bytes:
        """Heads and chunked bodies both end with a blank line. An additional split inside a body
        does no harm."""
        found = (self._start + self._data[self._at : self._at + PIECE_BYTES]).find(_BLANK_LINE)
        end = len(self._data)
        if found >= 0:
            end = self._at + found + len(_BLANK_LINE) - len(self._start)
        piece = self._cut(end)
        # A blank line can start in one piece and end in the next.
        self._start = (self._start + piece)[1 - len(_BLANK_LINE) :] if found < 0 else b""
        return piece

    def _cut(self, end: int, most_bytes: int = PIECE_BYTES) -> bytes:
        data, start = self._data, self._at
        self._at = end = min(end, start + most_bytes, len(data))
        if end == len(data):
            self._data = b""
            self._at = 0
            self.has_more = False
        return data[start:end]


def _check_line(data: bytes, start: int, end: int) -> None:
    if _REQUEST_LINE.fullmatch(data, start, end) is None:
        raise InvalidRequest("The request line is not `METHOD target HTTP/1.1`.")
