"""Reads an object. After a lost connection it goes on where it broke, if the object is the same."""

import hashlib
import re
from collections.abc import AsyncIterator

import aiohttp

from greenroom.platform.blobs.keys import check_key
from greenroom.platform.blobs.port import BlobDamagedError, BlobNotFoundError, Chunks
from greenroom.platform.blobs.s3.client import ATTEMPTS, Request, S3Client, unavailable

CHUNK_BYTES = 128 * 1024

_MD5 = re.compile(r'"([0-9a-f]{32})"')


async def read_object(
    client: S3Client, prefix: str, key: str, start: int, stop: int | None
) -> Chunks:
    """The bytes from `start` to before `stop`. Raises BlobNotFoundError, BlobDamagedError and
    Unavailable."""
    check_key(key)
    if stop is not None and stop <= start:
        # An empty range cannot be asked for.
        await client.call(Request("HEAD", prefix + key))
        return
    reading = _Reading(client, prefix + key, start, stop)
    md5 = hashlib.md5(usedforsecurity=False)
    held = b""
    async for chunk in reading.chunks(key):
        # The last chunk is given when the digest of all is right.
        if held:
            yield held
        held = chunk
        md5.update(chunk)
    if start == 0 and stop is None and md5.hexdigest() != (reading.md5 or md5.hexdigest()):
        raise BlobDamagedError(key)
    if held:
        yield held


class _Reading:
    def __init__(self, client: S3Client, name: str, start: int, stop: int | None) -> None:
        self._client = client
        self._name = name
        self._at = start
        self._stop = stop
        self._etag = ""
        self.md5: str | None = None
        """Of the whole object, if S3 tells it: not of those that were made of parts."""

    async def chunks(self, key: str) -> AsyncIterator[bytes]:
        failures = 0
        while True:
            before = self._at
            try:
                async for chunk in self._connection(key):
                    self._at += len(chunk)
                    yield chunk
                return
            except OSError as error:
                failures = failures + 1 if self._at == before else 1
                if failures >= ATTEMPTS:
                    raise unavailable() from error
                await self._client.pause(failures)

    async def _connection(self, key: str) -> AsyncIterator[bytes]:
        async with self._client.open(self._request(), allowed=(404, 412, 416)) as answer:
            if answer.status == 404:
                raise BlobNotFoundError(key)
            if answer.status == 416:
                return
            if answer.status == 412:
                # Replaced meanwhile: the rest is not the rest of what was read.
                raise unavailable()
            self._remember(answer)
            async for chunk in answer.content.iter_chunked(CHUNK_BYTES):
                yield chunk

    def _request(self) -> Request:
        headers = {"if-match": self._etag} if self._etag else {}
        if self._at or self._stop is not None:
            last = "" if self._stop is None else str(self._stop - 1)
            headers["range"] = f"bytes={self._at}-{last}"
        return Request("GET", self._name, headers=headers)

    def _remember(self, answer: aiohttp.ClientResponse) -> None:
        self._etag = answer.headers.get("ETag", "")
        found = _MD5.fullmatch(self._etag)
        is_digest = answer.headers.get("x-amz-server-side-encryption", "AES256") == "AES256"
        self.md5 = found[1] if found and is_digest else None
