"""The port of the blob store, and the values that it takes and returns.

`folder.py` and `s3.py` implement it. Its docstrings are the contract of both.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from greenroom.kernel.errors import Unreadable

Chunks = AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class BlobInfo:
    key: str
    bytes: int
    modified_ms: int


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """A request that anybody may make once they have it: exactly this method, address and these
    headers, until it expires."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an upload in parts; `number` counts from 1."""

    number: int
    bytes: int
    etag: str


class BlobStore(Protocol):
    """Stores bytes under keys such as `threads/thr_…/attachments/fil_…/preview.webp`.

    Every adapter guarantees:

    - *Atomicity.* A key has all of its bytes or does not exist; a reader never sees half of a blob.
    - *Durability.* When `put` or `finish_parts` returns, the blob survives a power cut.
    - *Integrity.* Bytes that were damaged on disk or on their way are an error, never an answer:
      `BlobDamagedError` when they stay damaged.
    - *Keys* are relative paths of `[A-Za-z0-9._-]` segments that do not begin with a dot. Anything
      else is a ValueError. No key is the folder of another.
    - *Memory.* A call holds a few hundred kilobytes at most, however large the blob is.
    - `Unavailable` when the store cannot be reached or is full; every call can be repeated.
    """

    @property
    def origin(self) -> str | None:
        """The origin of signed addresses, which pages that use them must allow. None: there are
        none, as with `sign_upload`."""
        ...

    async def put(self, key: str, data: Chunks, *, mime: str, byte_count: int) -> None:
        """Replaces what is there. Raises ValueError, and stores nothing, when `data` is not exactly
        `byte_count` long."""
        ...

    async def put_file(self, key: str, path: Path, *, mime: str) -> None: ...

    def read(self, key: str, *, start: int = 0, stop: int | None = None) -> Chunks:
        """The bytes from `start` to before `stop`. Raises `BlobNotFoundError` before the first
        chunk."""
        ...

    async def fetch(self, key: str, path: Path) -> None:
        """Copy the blob into a new file. Raises `BlobNotFoundError`."""
        ...

    async def find(self, key: str) -> BlobInfo | None: ...

    async def delete(self, keys: Sequence[str]) -> None:
        """Those that do not exist are no error."""
        ...

    def list(self, prefix: str) -> AsyncIterator[BlobInfo]:
        """All blobs whose key begins with `prefix`, in the order of their keys."""
        ...

    def sign_upload(
        self, key: str, *, mime: str, byte_count: int, seconds: int
    ) -> SignedRequest | None:
        """A request that puts exactly these many bytes of this type under this key. None: clients
        cannot reach this store, so the server takes the bytes itself."""
        ...

    def sign_download(self, key: str, *, mime: str, disposition: str, seconds: int) -> str | None:
        """An address that anybody may get until it expires, after at most `seconds` and at least
        half of them. It stays the same for a while, so that browsers can keep what they got. None:
        as with `sign_upload`."""
        ...

    async def begin_parts(self, key: str, *, mime: str) -> str:
        """Begin an upload in parts. Returns its handle."""
        ...

    async def put_part(
        self, key: str, handle: str, number: int, data: Chunks, *, byte_count: int
    ) -> Part:
        """A part that is put again replaces the first. Every part but the last has at least 5 MiB.
        Raises ValueError as `put` does, and BlobNotFoundError when the handle is unknown."""
        ...

    def sign_part(
        self, key: str, handle: str, number: int, *, byte_count: int, seconds: int
    ) -> SignedRequest | None:
        """As `sign_upload`, for one part."""
        ...

    async def parts(self, key: str, handle: str) -> Sequence[Part]:
        """Those that have arrived, by number. None of an unknown handle."""
        ...

    async def finish_parts(self, key: str, handle: str, parts: Sequence[Part]) -> None:
        """Make the blob of these parts. Repeating it after it has succeeded is no error. Raises
        ValueError, and makes nothing, when a part is missing or is another one, and
        BlobNotFoundError when the handle is unknown."""
        ...

    async def abort_parts(self, key: str, handle: str) -> None:
        """Forget the parts. An unknown handle is no error."""
        ...

    async def ping(self) -> None:
        """Raises `Unavailable` when nothing can be stored."""
        ...

    async def close(self) -> None: ...


class BlobNotFoundError(Exception):
    """There is no blob under this key."""


class BlobDamagedError(Unreadable):
    """A file that is kept for you is damaged"""

    def __init__(self, key: str) -> None:
        super().__init__()
        # For the log; a client does not learn the key.
        self.add_note(f"the blob {key} is not as it was written")
