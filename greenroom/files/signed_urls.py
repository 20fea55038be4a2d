"""Signed requests to this server's own `/blobs`, for blob stores that clients cannot reach.

A signature covers everything that the request may do: its method and path, the length and type of
an upload, the viewer of a download, and when it ends.
"""

import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import quote, urlencode

from greenroom.kernel.errors import Forbidden
from greenroom.platform.blobs.port import SignedRequest

PART_TYPE = "application/octet-stream"


class AddressRefused(Forbidden):
    """This address has expired or is not valid"""

    hint = "Ask for the upload or the file again: it comes with a new address."


DownloadUrl = Callable[[str, str], str]
"""The address of a file's rendition: (file id, name of the rendition)."""


class BlobSigner:
    def __init__(self, secret: bytes, public_url: str) -> None:
        # Another key than that of tokens, also where it is made of the same secret.
        key = hmac.digest(secret, b"greenroom blobs", hashlib.sha256)
        # BLAKE2b with a key, which a copy does not have to take in again: a tenth of the time of
        # an HMAC, and a page has dozens of addresses.
        self._keyed = hashlib.blake2b(key=key, digest_size=32)
        self._public_url = public_url.rstrip("/")

    def upload(
        self, file_id: str, part: int | None, *, mime: str, byte_count: int, expires_ms: int
    ) -> SignedRequest:
        path, expires = upload_path(file_id, part), expires_ms // 1000
        signature = self._sign("PUT", path, byte_count, mime, expires)
        query = urlencode({"expires": expires, "signature": signature})
        return SignedRequest("PUT", f"{self._public_url}{path}?{query}", {"Content-Type": mime})

    def check_upload(
        self,
        file_id: str,
        part: int | None,
        *,
        mime: str,
        byte_count: int | None,
        expires: int,
        signature: str,
        now_ms: int,
    ) -> None:
        """Raises AddressRefused unless it is the request that was signed, and in time."""
        right = self._sign("PUT", upload_path(file_id, part), byte_count, mime, expires)
        _check(right, signature, expires, now_ms)

    def downloads(self, viewer: str, expires_ms: int) -> DownloadUrl:
        """Makes addresses for one viewer. A page has dozens of them, so what they have in common is
        made once."""
        expires = expires_ms // 1000
        query = f"?viewer={quote(viewer, safe='')}&expires={expires}&signature="
        start, end = self._public_url, f"\n{viewer}\n{expires}"

        def url(file_id: str, rendition: str) -> str:
            path = download_path(file_id, rendition)
            signature = self._signature(f"GET\n{path}{end}")
            return f"{start}{path}{query}{signature}"

        return url

    def check_download(
        self,
        file_id: str,
        rendition: str,
        *,
        viewer: str,
        expires: int,
        signature: str,
        now_ms: int,
    ) -> None:
        """Raises AddressRefused unless it was signed for this viewer, and in time."""
        right = self._sign("GET", download_path(file_id, rendition), viewer, expires)
        _check(right, signature, expires, now_ms)

    def _sign(self, *parts: object) -> str:
        # What we sign has no line break in it, so that no two requests have the same text.
        return self._signature("\n".join(map(str, parts)))

    def _signature(self, text: str) -> str:
        signing = self._keyed.copy()
        signing.update(text.encode())
        return signing.hexdigest()


def upload_path(file_id: str, part: int | None) -> str:
    path = f"/blobs/uploads/{file_id}"
    return path if part is None else f"{path}/parts/{part}"


def download_path(file_id: str, rendition: str) -> str:
    """Ids of files and names of renditions have no character that would have to be escaped."""
    return f"/blobs/files/{file_id}/{rendition}"


def _check(right: str, given: str, expires: int, now_ms: int) -> None:
    if not hmac.compare_digest(right.encode(), given.encode()):
        raise AddressRefused("This is not the request that was signed.")
    if now_ms >= expires * 1000:
        raise AddressRefused("The time of this address is over.")
