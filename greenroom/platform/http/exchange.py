"""One HTTP/1.1 request to another server, over a connection of its own.

For the few calls that this product makes itself. There are no redirects, no cookies and no proxies:
whoever is called was named in the configuration.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import SplitResult, urlsplit

import httptools

READ_BYTES = 64 * 1024


class ExchangeError(Exception):
    """There is no answer, or none that can be read; whether anything was done is unknown."""


@dataclass(slots=True)
class Reply:
    status: int = 0
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


async def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes = b"",
    timeout_s: float,
    limit_bytes: int,
) -> Reply:
    """The answer's status and body. Raises ExchangeError when there is none within the time, or
    more of it than the limit."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _send(method, urlsplit(url), headers, body, limit_bytes)
    except TimeoutError as error:
        raise ExchangeError(f"there was no answer within {timeout_s} s") from error
    except (OSError, EOFError) as error:
        # The address can hold a password, so it is not repeated; ssl's errors are OSErrors.
        raise ExchangeError(f"the connection failed ({type(error).__name__})") from error
    except httptools.HttpParserError as error:
        raise ExchangeError("the answer is not HTTP") from error


async def _send(
    method: str, url: SplitResult, headers: Mapping[str, str], body: bytes, limit_bytes: int
) -> Reply:
    secure = url.scheme == "https"
    reader, writer = await asyncio.open_connection(
        url.hostname, url.port or (443 if secure else 80), ssl=_trusted() if secure else None
    )
    try:
        writer.write(_head(method, url, headers, len(body)) + body)
        await writer.drain()
        return await _receive(reader, limit_bytes)
    finally:
        writer.close()


@cache
def _trusted() -> ssl.SSLContext:
    """Made once, because reading the certificates of all authorities takes its time."""
    return ssl.create_default_context()


def _head(method: str, url: SplitResult, headers: Mapping[str, str], length: int) -> bytes:
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    lines = {
        "host": url.netloc.rpartition("@")[2],
        "connection": "close",
        "content-length": str(length),
        **headers,
    }
    if any(set(value) & set("\r\n") for value in lines.values()):
        raise ValueError("a header's value is one line")
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
    return (head + "\r\n").encode("latin-1")


async def _receive(reader: asyncio.StreamReader, limit_bytes: int) -> Reply:
    reading = _Reading()
    parser = httptools.HttpResponseParser(reading)
    size = 0
    while not reading.is_complete:
        data = await reader.read(READ_BYTES)
        if not data:
            # Without a length the end of the connection is the end of the answer.
            if reading.is_until_end:
                break
            raise EOFError
        size += len(data)
        if size > limit_bytes:
            raise ExchangeError(f"the answer is longer than {limit_bytes} bytes")
        parser.feed_data(data)
        reading.reply.status = parser.get_status_code()
    reading.reply.body = b"".join(reading.chunks)
    return reading.reply


class _Reading:
    """What the parser calls."""

    def __init__(self) -> None:
        self.reply = Reply()
        self.chunks: list[bytes] = []
        self.is_complete = False
        self._has_head = False

    @property
    def is_until_end(self) -> bool:
        framed = "content-length" in self.reply.headers or "transfer-encoding" in self.reply.headers
        return self._has_head and not framed

    def on_header(self, name: bytes, value: bytes) -> None:
        self.reply.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        self.chunks.append(body)

    def on_message_complete(self) -> None:
        self.is_complete = True
