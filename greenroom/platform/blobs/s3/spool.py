"""Bytes to be sent, in a file: they can be sent again, and their digests are known beforehand."""

import asyncio
import base64
import hashlib
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from greenroom.platform.blobs.port import Chunks
from greenroom.platform.blobs.s3.client import Body

CHUNK_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class Spooled:
    body: Body
    content_md5: str


@asynccontextmanager
async def received(data: Chunks, byte_count: int) -> AsyncIterator[Spooled]:
    """Raises ValueError unless `data` is exactly this long."""
    with tempfile.TemporaryFile(prefix="greenroom-", buffering=0) as file:
        received_bytes = 0
        gathered = bytearray()
        async for chunk in data:
            received_bytes += len(chunk)
            if received_bytes > byte_count:
                raise ValueError("there are more bytes than announced")
            gathered += chunk
            if len(gathered) >= CHUNK_BYTES:
                await asyncio.to_thread(_write, file, gathered)
                gathered = bytearray()
        await asyncio.to_thread(_write, file, gathered)
        if received_bytes != byte_count:
            raise ValueError("there are fewer bytes than announced")
        yield await asyncio.to_thread(_digest, file)


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Spooled]:
    file = await asyncio.to_thread(path.open, "rb", buffering=0)
    try:
        yield await asyncio.to_thread(_digest, file)
    finally:
        file.close()


def _write(file: IO[bytes], data: bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _digest(file: IO[bytes]) -> Spooled:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    byte_count = 0
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        sha256.update(chunk)
        md5.update(chunk)
        byte_count += len(chunk)

    async def from_start() -> AsyncIterator[bytes]:
        await asyncio.to_thread(file.seek, 0)
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk

    body = Body(byte_count, sha256.hexdigest(), from_start)
    return Spooled(body, base64.b64encode(md5.digest()).decode())
