"""Blobs in a bucket of S3."""

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from email.utils import parsedate_to_datetime
from pathlib import Path

from greenroom.platform.blobs.keys import check_key, check_prefix
from greenroom.platform.blobs.port import BlobInfo, BlobNotFoundError, Chunks, Part, SignedRequest
from greenroom.platform.blobs.s3 import documents
from greenroom.platform.blobs.s3.client import Body, Reply, Request, S3Client, unavailable
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.blobs.s3.reading import read_object
from greenroom.platform.blobs.s3.spool import Spooled, opened, received

DELETED_AT_ONCE = 1000
PARTS = 10_000
PING = ".ping"
"""Not a key, because it begins with a dot."""

_HANDLE = re.compile(r"[!-~]{1,1024}")
_UNKNOWN_UPLOAD = frozenset({"NoSuchUpload", "NoSuchKey", "InvalidArgument", "InvalidRequest"})


class S3Blobs:
    """A `BlobStore`. Clients get addresses of S3 itself, so their bytes do not pass this server."""

    def __init__(self, client: S3Client, prefix: str = "") -> None:
        """`prefix` stands before every key: empty, or with a slash at its end."""
        self._client = client
        self._prefix = prefix

    @property
    def origin(self) -> str:
        return self._client.signer.origin

    async def put(self, key: str, data: Chunks, *, mime: str, byte_count: int) -> None:
        check_key(key)
        async with received(data, byte_count) as spooled:
            await self._put(key, spooled, mime)

    async def put_file(self, key: str, path: Path, *, mime: str) -> None:
        check_key(key)
        async with opened(path) as spooled:
            await self._put(key, spooled, mime)

    async def _put(self, key: str, spooled: Spooled, mime: str) -> None:
        headers = {"content-md5": spooled.content_md5, "content-type": mime}
        request = Request("PUT", self._prefix + key, headers=headers, body=spooled.body)
        await self._client.call(request)

    def read(self, key: str, *, start: int = 0, stop: int | None = None) -> Chunks:
        return read_object(self._client, self._prefix, key, start, stop)

    async def fetch(self, key: str, path: Path) -> None:
        chunks = self.read(key)
        first = await anext(chunks, b"")
        file = await asyncio.to_thread(path.open, "xb", buffering=0)
        try:
            await asyncio.to_thread(file.write, first)
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
        except BaseException:
            await asyncio.to_thread(path.unlink)
            raise
        finally:
            file.close()

    async def find(self, key: str) -> BlobInfo | None:
        check_key(key)
        request = Request("HEAD", self._prefix + key)
        reply = await self._client.call(request, allowed=(404,))
        if reply.status == 404:
            return None
        modified = parsedate_to_datetime(reply.headers["Last-Modified"])
        byte_count = int(reply.headers["Content-Length"])
        return BlobInfo(key, byte_count, int(modified.timestamp() * 1000))

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            check_key(key)
        for at in range(0, len(keys), DELETED_AT_ONCE):
            await self._delete(keys[at : at + DELETED_AT_ONCE])

    async def _delete(self, keys: Sequence[str]) -> None:
        document = documents.delete(self._prefix + key for key in keys)
        md5 = hashlib.md5(document, usedforsecurity=False).digest()
        headers = {"content-md5": base64.b64encode(md5).decode(), "content-type": "text/xml"}
        request = Request("POST", "", {"delete": ""}, headers, Body.of(document))
        reply = await self._client.call(request)
        if reply.body and (codes := documents.undeleted(documents.parse(reply.body))):
            if "AccessDenied" in codes:
                raise S3Error("S3 refused to delete objects. Allow s3:DeleteObject to this role.")
            raise unavailable()

    async def list(self, prefix: str) -> AsyncIterator[BlobInfo]:
        check_prefix(prefix)
        query = {"list-type": "2", "prefix": self._prefix + prefix}
        while True:
            reply = await self._client.call(Request("GET", "", query))
            page = documents.parse(reply.body)
            for each in documents.listed(page):
                key = each.key.removeprefix(self._prefix)
                if _is_key(key):
                    yield BlobInfo(key, each.bytes, each.modified_ms)
            following = page.findtext("NextContinuationToken")
            if not following:
                return
            query["continuation-token"] = following

    def sign_upload(self, key: str, *, mime: str, byte_count: int, seconds: int) -> SignedRequest:
        check_key(key)
        url = self._client.signer.presign(
            "PUT",
            self._prefix + key,
            {},
            {"content-length": str(byte_count), "content-type": mime},
            keys=self._client.keys.now(),
            at_ms=self._client.clock(),
            seconds=seconds,
        )
        # Every client sends the length by itself, and browsers do not let a page set it.
        return SignedRequest("PUT", url, {"content-type": mime})

    def sign_download(self, key: str, *, mime: str, disposition: str, seconds: int) -> str:
        check_key(key)
        now_ms, same_for_ms = self._client.clock(), seconds * 500
        return self._client.signer.presign(
            "GET",
            self._prefix + key,
            {"response-content-type": mime, "response-content-disposition": disposition},
            {},
            keys=self._client.keys.now(),
            at_ms=now_ms - now_ms % same_for_ms,
            seconds=seconds,
        )

    async def begin_parts(self, key: str, *, mime: str) -> str:
        check_key(key)
        headers = {"content-type": mime}
        reply = await self._client.call(
            Request("POST", self._prefix + key, {"uploads": ""}, headers)
        )
        handle = documents.parse(reply.body).findtext("UploadId")
        if not handle:
            raise unavailable()
        return handle

    async def put_part(
        self, key: str, handle: str, number: int, data: Chunks, *, byte_count: int
    ) -> Part:
        check_key(key)
        query = _part_query(handle, number)
        async with received(data, byte_count) as spooled:
            headers = {"content-md5": spooled.content_md5}
            request = Request("PUT", self._prefix + key, query, headers, spooled.body)
            reply = await self._call_parts(key, handle, request)
        return Part(number, byte_count, reply.headers["ETag"].strip('"'))

    def sign_part(
        self, key: str, handle: str, number: int, *, byte_count: int, seconds: int
    ) -> SignedRequest:
        check_key(key)
        url = self._client.signer.presign(
            "PUT",
            self._prefix + key,
            _part_query(handle, number),
            {"content-length": str(byte_count)},
            keys=self._client.keys.now(),
            at_ms=self._client.clock(),
            seconds=seconds,
        )
        return SignedRequest("PUT", url)

    async def parts(self, key: str, handle: str) -> Sequence[Part]:
        check_key(key)
        try:
            arrived = await self._arrived(key, handle)
        except BlobNotFoundError:
            return []
        return [arrived[number] for number in sorted(arrived)]

    async def _arrived(self, key: str, handle: str) -> dict[int, Part]:
        """By number. Some engines also list parts that were replaced."""
        latest: dict[int, tuple[str, Part]] = {}
        query = {"uploadId": handle}
        while True:
            reply = await self._call_parts(key, handle, Request("GET", self._prefix + key, query))
            page = documents.parse(reply.body)
            for modified, part in documents.parts(page):
                known = latest.get(part.number)
                if known is None or modified >= known[0]:
                    latest[part.number] = (modified, part)
            marker = page.findtext("NextPartNumberMarker")
            if page.findtext("IsTruncated") != "true" or not marker:
                return {number: part for number, (_, part) in latest.items()}
            query["part-number-marker"] = marker

    async def finish_parts(self, key: str, handle: str, parts: Sequence[Part]) -> None:
        check_key(key)
        try:
            await self._finish(key, handle, parts)
        except BlobNotFoundError:
            # The parts are gone. If this is a repeat, the blob is there.
            found = await self.find(key)
            if found is None or found.bytes != sum(part.bytes for part in parts):
                raise

    async def _finish(self, key: str, handle: str, parts: Sequence[Part]) -> None:
        arrived = await self._arrived(key, handle)
        for part in parts:
            if arrived.get(part.number) != part:
                raise ValueError(f"part {part.number} has not arrived or is another one")
        body = Body.of(documents.complete(parts))
        request = Request("POST", self._prefix + key, {"uploadId": handle}, body=body)
        await self._call_parts(key, handle, request)

    async def abort_parts(self, key: str, handle: str) -> None:
        check_key(key)
        request = Request("DELETE", self._prefix + key, {"uploadId": handle})
        try:
            await self._call_parts(key, handle, request)
        except BlobNotFoundError:
            return

    async def _call_parts(self, key: str, handle: str, request: Request) -> Reply:
        """Raises BlobNotFoundError when the handle is unknown, or of another key."""
        if _HANDLE.fullmatch(handle) is None:
            raise BlobNotFoundError(key)
        try:
            return await self._client.call(request)
        except S3Error as error:
            if error.code in _UNKNOWN_UPLOAD:
                raise BlobNotFoundError(key) from error
            raise

    async def ping(self) -> None:
        """Stores an empty object, because a role may be allowed to read only. Raises S3Error too,
        when the bucket or the credentials are wrong."""
        await self._client.call(Request("PUT", self._prefix + PING, body=Body.of(b"")))

    async def close(self) -> None:
        await self._client.close()


def _is_key(key: str) -> bool:
    try:
        check_key(key)
    except ValueError:
        return False
    return True


def _part_query(handle: str, number: int) -> dict[str, str]:
    if not 1 <= number <= PARTS:
        raise ValueError(f"there is no part {number}")
    return {"partNumber": str(number), "uploadId": handle}
