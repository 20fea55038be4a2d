"""Bytes in chunks, and back."""

from collections.abc import AsyncIterator

from greenroom.platform.blobs.port import Chunks

MEGABYTE = 1024 * 1024
PART_BYTES = 5 * MEGABYTE


async def chunks(data: bytes, size: int = 50_000) -> Chunks:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield bytes(50_000)


async def joined(data: Chunks) -> bytes:
    return b"".join([chunk async for chunk in data])
