"""The server's own `/blobs`: takes uploads and serves renditions where clients cannot reach the
blob store. Requests carry a signature instead of a token."""

from collections.abc import AsyncIterator

from msgspec import Struct

from greenroom.files.actions import Files
from greenroom.files.model import disposition_of
from greenroom.files.signed_urls import AddressRefused, BlobSigner
from greenroom.files.uploads import check_part_number
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import ActionInvalidState, NotFound
from greenroom.kernel.limits import Limits
from greenroom.platform.blobs.port import BlobNotFoundError, BlobStore
from greenroom.platform.http.endpoint import Answer, Call, Download, Endpoint, Who

TAG = "Files"
ANY_TYPE = "*/*"

# A rendition that somebody opens as a page can run nothing, load nothing and belongs to no origin.
# Pages of other origins may show it: who has the address may see it.
_HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
}


class UploadSignature(Struct, frozen=True):
    expires: int
    signature: str


class DownloadSignature(Struct, frozen=True):
    viewer: str
    expires: int
    signature: str


class BlobRest:
    def __init__(
        self, files: Files, blobs: BlobStore, signer: BlobSigner, *, clock: Clock, limits: Limits
    ) -> None:
        self._files = files
        self._blobs = blobs
        self._signer = signer
        self._clock = clock
        self._limits = limits

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "PUT",
                "/blobs/uploads/{upload_id}",
                self.put_blob,
                "The bytes of an upload",
                Who.ANYONE,
                {204: None},
                TAG,
                description="Only the request that `POST /v1/uploads` has signed, and only once.",
                query=UploadSignature,
                errors=(AddressRefused, NotFound, ActionInvalidState),
                streamed_bytes=self._limits.file_bytes,
            ),
            Endpoint(
                "PUT",
                "/blobs/uploads/{upload_id}/parts/{number}",
                self.put_blob_part,
                "The bytes of a part of an upload",
                Who.ANYONE,
                {204: None},
                TAG,
                description="As for a whole upload.",
                query=UploadSignature,
                errors=(AddressRefused, NotFound, ActionInvalidState),
                streamed_bytes=self._limits.part_bytes,
            ),
            Endpoint(
                "GET",
                "/blobs/files/{file_id}/{rendition}",
                self.get_blob,
                "A rendition of a file",
                Who.ANYONE,
                {200: bytes},
                TAG,
                description=(
                    "Only addresses out of a file's `renditions`, for minutes, and only while the "
                    "viewer whom they were given to may see it. Takes `Range`."
                ),
                query=DownloadSignature,
                errors=(AddressRefused, NotFound),
                media=ANY_TYPE,
            ),
        ]

    async def put_blob(self, call: Call) -> Answer:
        upload_id = call.params["upload_id"]
        byte_count = self._check(call, upload_id, None)
        await self._files.uploads.receive(upload_id, aiter(call.stream), byte_count)
        return Answer(204)

    async def put_blob_part(self, call: Call) -> Answer:
        upload_id = call.params["upload_id"]
        number = check_part_number(call.params["number"])
        byte_count = self._check(call, upload_id, number)
        await self._files.uploads.receive_part(upload_id, number, aiter(call.stream), byte_count)
        return Answer(204)

    def _check(self, call: Call, upload_id: str, part: int | None) -> int:
        """The length that was signed for. Raises AddressRefused."""
        byte_count = call.stream.announced_bytes
        self._signer.check_upload(
            upload_id,
            part,
            mime=call.header("content-type") or "",
            byte_count=byte_count,
            expires=call.query.expires,
            signature=call.query.signature,
            now_ms=self._clock(),
        )
        if byte_count is None:
            raise AddressRefused("An upload has a Content-Length.")
        return byte_count

    async def get_blob(self, call: Call) -> Answer | Download:
        file_id, name, query = call.params["file_id"], call.params["rendition"], call.query
        self._signer.check_download(
            file_id,
            name,
            viewer=query.viewer,
            expires=query.expires,
            signature=query.signature,
            now_ms=self._clock(),
        )
        file, rendition = await self._files.viewing.access_rendition(query.viewer, file_id, name)
        left_s = max(0, query.expires - self._clock() // 1000)
        return Download(
            rendition.bytes,
            lambda start, stop: self._read(rendition.key, start, stop),
            etag=f"{file.id}-{name}",
            content_type=rendition.mime,
            headers={
                **_HEADERS,
                "content-disposition": disposition_of(file, rendition),
                # Browsers may keep it for themselves while its address works.
                "cache-control": f"private, max-age={left_s}",
            },
        )

    async def _read(self, key: str, start: int, stop: int) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._blobs.read(key, start=start, stop=stop):
                yield chunk
        except BlobNotFoundError:
            raise NotFound from None
