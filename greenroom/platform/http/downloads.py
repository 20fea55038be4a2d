"""Answers with bytes of known length: all, a range, or none if the client has them already."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from greenroom.platform.http.asgi import Receive, Send
from greenroom.platform.http.endpoint import Answer, Download
from greenroom.platform.http.problems import RangeNotSatisfiable
from greenroom.platform.http.streaming import until_disconnect

# A header with several ranges is answered with the whole, as RFC 9110 allows.
_RANGE = re.compile(rb"bytes=(?:\d{1,18}-(?:\d{1,18})?|-\d{1,18})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Opened:
    head: Answer
    chunks: AsyncIterator[bytes] | None = None


async def open_download(download: Download, method: str, headers: Mapping[bytes, bytes]) -> Opened:
    """Reads the first chunk, so that what cannot be read becomes a problem and not half an answer.
    Raises RangeNotSatisfiable."""
    etag = f'"{download.etag}"'
    ours = {**(download.headers or {}), "etag": etag, "accept-ranges": "bytes"}
    if _is_known(headers, etag):
        return Opened(Answer(304, None, ours))
    status, start, stop = 200, 0, download.byte_count
    if method == "GET" and _wants_range(headers, etag):
        status = 206
        start, stop = _range(headers[b"range"], download.byte_count)
        ours["content-range"] = f"bytes {start}-{stop - 1}/{download.byte_count}"
    ours["content-length"] = str(stop - start)
    head = Answer(status, b"", ours, download.content_type)
    if method == "HEAD" or start == stop:
        return Opened(head)
    chunks = download.read(start, stop)
    return Opened(head, _resume(await anext(chunks, b""), chunks))


def _is_known(headers: Mapping[bytes, bytes], etag: str) -> bool:
    given = headers.get(b"if-none-match")
    if given is None:
        return False
    known = (each.strip().removeprefix("W/") for each in given.decode("latin-1").split(","))
    return any(each in ("*", etag) for each in known)


def _wants_range(headers: Mapping[bytes, bytes], etag: str) -> bool:
    """If-Range with another ETag, or with a date: the client gets the whole."""
    if _RANGE.fullmatch(headers.get(b"range", b"")) is None:
        return False
    return headers.get(b"if-range", etag.encode("latin-1")) == etag.encode("latin-1")


def _range(header: bytes, byte_count: int) -> tuple[int, int]:
    """The first byte and the one after the last. Raises RangeNotSatisfiable."""
    first, _, last = header.partition(b"=")[2].partition(b"-")
    if first:
        start = int(first)
        stop = min(int(last) + 1, byte_count) if last else byte_count
    else:
        start, stop = max(0, byte_count - int(last)), byte_count
    if start >= stop:
        raise RangeNotSatisfiable(extra={"bytes": byte_count})
    return start, stop


async def _resume(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def send_chunks(chunks: AsyncIterator[bytes] | None, receive: Receive, send: Send) -> None:
    """Sends the body and ends the answer. The connection's own watch aborts a client that reads
    nothing; one that reads slowly is waited for."""
    if chunks is not None:
        await until_disconnect(_send_all(chunks, send), receive)
    await send({"type": "http.response.body", "body": b""})


async def _send_all(chunks: AsyncIterator[bytes], send: Send) -> None:
    async for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        # Writes reach the socket at the end of the loop's iteration. Only then does the connection
        # know that its buffer is full.
        await asyncio.sleep(0)
