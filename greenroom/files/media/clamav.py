"""Asks a ClamAV daemon about a file, over its socket.

Only an answer that says so is a verdict. Everything else, such as a closed connection, an error or
silence, raises `NotScannedError`.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from greenroom.files.media.job import NotScannedError

CHUNK_BYTES = 64 * 1024
ANSWER_BYTES = 4096
CONNECT_S = 5.0
SCAN_S = 120.0
DEFAULT_PORT = 3310


class ClamAv:
    def __init__(self, url: str, *, scan_s: float = SCAN_S) -> None:
        """`tcp://host:port` or `unix:/path/of/clamd.ctl`. Raises ValueError."""
        self._address = parse_url(url)
        self._scan_s = scan_s

    async def scan(self, path: Path) -> str | None:
        """The name of what was found; None: clean. Raises `NotScannedError`."""
        answer = await self._ask(b"zINSTREAM\0", path)
        if answer == "stream: OK":
            return None
        name = answer.removeprefix("stream: ").removesuffix(" FOUND")
        if answer == f"stream: {name} FOUND" and name:
            return name[:200]
        raise NotScannedError(f"ClamAV answered {answer[:200]!r}")

    async def version(self) -> str:
        """What the daemon says about itself and its signatures. Raises `NotScannedError`."""
        return await self._ask(b"zVERSION\0", None)

    async def _ask(self, command: bytes, path: Path | None) -> str:
        try:
            async with asyncio.timeout(self._scan_s):
                reader, writer = await self._connect()
                try:
                    return await _converse(reader, writer, command, path)
                finally:
                    writer.close()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            raise NotScannedError(f"ClamAV: {type(error).__name__} {error}".strip()) from error

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(CONNECT_S):
            if isinstance(self._address, str):
                return await asyncio.open_unix_connection(self._address, limit=ANSWER_BYTES)
            host, port = self._address
            return await asyncio.open_connection(host, port, limit=ANSWER_BYTES)


async def _converse(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: bytes, path: Path | None
) -> str:
    answer = asyncio.ensure_future(reader.readuntil(b"\0"))
    try:
        writer.write(command)
        if path is not None:
            await _send(writer, path, answer)
        await writer.drain()
        return (await answer)[:-1].decode("utf-8", "replace").strip()
    except ConnectionError:
        # It may have said why before it closed, such as "size limit exceeded".
        return (await answer)[:-1].decode("utf-8", "replace").strip()
    finally:
        answer.cancel()


async def _send(writer: asyncio.StreamWriter, path: Path, answer: asyncio.Future[bytes]) -> None:
    """Each chunk with its length before it; a length of zero ends the stream."""
    chunks = _chunks(path)
    while (chunk := await asyncio.to_thread(next, chunks, b"")) and not answer.done():
        writer.write(len(chunk).to_bytes(4, "big") + chunk)
        await writer.drain()
    writer.write(bytes(4))


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def parse_url(url: str) -> str | tuple[str, int]:
    """The path of a socket, or host and port."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path.startswith("/"):
        return unquote(parts.path)
    if parts.scheme == "tcp" and parts.hostname:
        return parts.hostname, parts.port or DEFAULT_PORT
    raise ValueError("takes tcp://host:3310 or unix:///run/clamav/clamd.ctl")
