"""Blobs in a folder. A key is a path below it; a blob is a file with checksums."""

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import Unavailable
from greenroom.platform.blobs.blob_folder import BlobFolder
from greenroom.platform.blobs.keys import check_key, check_prefix
from greenroom.platform.blobs.port import (
    BlobDamagedError,
    BlobInfo,
    BlobNotFoundError,
    Chunks,
    Part,
)
from greenroom.platform.blobs.sealed_file import DamagedFileError, SealedReader, SealedWriter
from greenroom.platform.blobs.write_behind import WriteBehind, finished

log = logging.getLogger(__name__)

T = TypeVar("T")

THREADS = 8
GATHERED_BYTES = 256 * 1024
ALL_GATHERED_BYTES = 2 * 1024 * 1024
WRITING_BEHIND = 4
"""While more than so many upload, each waits for its writes, which takes less memory."""

LISTED_AT_ONCE = 256
LEFT_OVER_MS = 2 * 24 * 60 * 60 * 1000
SWEEP_EVERY_MS = 60 * 60 * 1000
RETRY_AFTER_S = 60

_MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class FolderBlobs:
    """A `BlobStore`. Nothing on disk is touched before the first call."""

    def __init__(self, folder: Path, *, clock: Clock = system_clock) -> None:
        self._files = BlobFolder(folder.absolute())
        self._clock = clock
        self._swept_ms = 0
        self._receiving = 0
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="blobs")

    @property
    def origin(self) -> None:
        return None

    async def put(self, key: str, data: Chunks, *, mime: str, byte_count: int) -> None:  # noqa: ARG002
        check_key(key)
        await self._sweep_now_and_then()
        async with self._received(data, byte_count) as (path, _):
            await self._do(key, lambda: self._files.place(path, key))

    async def put_file(self, key: str, path: Path, *, mime: str) -> None:  # noqa: ARG002
        check_key(key)
        await self._sweep_now_and_then()
        await self._do(key, lambda: self._files.copy_in(path, key))

    async def read(self, key: str, *, start: int = 0, stop: int | None = None) -> Chunks:
        check_key(key)
        path = self._files.path(key)
        reader = await self._do(key, lambda: SealedReader(path), SealedReader.close)
        try:
            chunks = reader.chunks(start, stop)
            while chunk := await self._do(key, lambda: next(chunks, b"")):
                yield chunk
        finally:
            reader.close()

    async def fetch(self, key: str, path: Path) -> None:
        check_key(key)
        await self._do(key, lambda: self._files.copy_out(key, path))

    async def find(self, key: str) -> BlobInfo | None:
        check_key(key)
        try:
            return await self._do(key, lambda: self._files.info(key))
        except BlobNotFoundError:
            return None

    async def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            check_key(key)
        await self._do(None, lambda: self._files.remove(keys))

    async def list(self, prefix: str) -> AsyncIterator[BlobInfo]:
        check_prefix(prefix)
        found = self._files.walk(prefix)
        while batch := await self._do(None, lambda: tuple(islice(found, LISTED_AT_ONCE))):
            for each in batch:
                yield each

    def sign_upload(self, key: str, *, mime: str, byte_count: int, seconds: int) -> None:
        """The server takes the bytes itself."""

    def sign_download(self, key: str, *, mime: str, disposition: str, seconds: int) -> None:
        """The server gives the bytes itself."""

    async def begin_parts(self, key: str, *, mime: str) -> str:  # noqa: ARG002
        check_key(key)
        await self._sweep_now_and_then()
        return await self._do(key, lambda: self._files.begin_parts(key))

    async def put_part(
        self, key: str, handle: str, number: int, data: Chunks, *, byte_count: int
    ) -> Part:
        check_key(key)
        await self._do(key, lambda: self._files.parts_of(key, handle))
        async with self._received(data, byte_count) as (path, etag):
            await self._do(key, lambda: self._files.place_part(path, key, handle, number))
        return Part(number, byte_count, etag)

    def sign_part(
        self, key: str, handle: str, number: int, *, byte_count: int, seconds: int
    ) -> None:
        """The server takes the bytes itself."""

    async def parts(self, key: str, handle: str) -> Sequence[Part]:
        check_key(key)
        try:
            return await self._do(key, lambda: self._files.parts(key, handle))
        except BlobNotFoundError:
            return []

    async def finish_parts(self, key: str, handle: str, parts: Sequence[Part]) -> None:
        check_key(key)
        try:
            await self._do(key, lambda: self._files.join(key, handle, parts))
        except BlobNotFoundError:
            # The parts are gone. If this is a repeat, the blob is there.
            found = await self.find(key)
            if found is None or found.bytes != sum(part.bytes for part in parts):
                raise

    async def abort_parts(self, key: str, handle: str) -> None:
        check_key(key)
        await self._do(key, lambda: self._files.drop_parts(key, handle))

    async def ping(self) -> None:
        await self._do(None, self._files.try_to_write)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)

    @asynccontextmanager
    async def _received(self, data: Chunks, byte_count: int) -> AsyncIterator[tuple[Path, str]]:
        """A new, whole and synced file of these bytes, and its ETag. Raises ValueError. The caller
        moves it to its place."""
        writer, path = await self._do(None, self._files.new_file, _discard)
        try:
            await self._write_all(writer, data, byte_count)
            yield path, await self._do(None, writer.seal)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            writer.close()

    async def _write_all(self, writer: SealedWriter, data: Chunks, byte_count: int) -> None:
        gathered: list[bytes] = []
        received_bytes = gathered_bytes = 0
        behind = WriteBehind(writer, self._start)
        self._receiving += 1
        try:
            async for chunk in data:
                gathered.append(chunk)
                received_bytes += len(chunk)
                gathered_bytes += len(chunk)
                if received_bytes > byte_count:
                    raise ValueError("there are more bytes than announced")
                if gathered_bytes >= self._gathered_bytes():
                    await self._write(behind, gathered)
                    gathered, gathered_bytes = [], 0
            with _explained(None):
                await behind.write(gathered)
                await behind.wait()
        finally:
            self._receiving -= 1
            await behind.settle()
        if received_bytes != byte_count:
            raise ValueError("there are fewer bytes than announced")

    async def _write(self, behind: WriteBehind, chunks: Sequence[bytes]) -> None:
        with _explained(None):
            await behind.write(chunks)
            if self._receiving > WRITING_BEHIND:
                await behind.wait()

    def _gathered_bytes(self) -> int:
        """Chunks are written together, because each write takes a thread. Many who upload at once
        share the memory for that."""
        return min(GATHERED_BYTES, ALL_GATHERED_BYTES // self._receiving)

    async def _sweep_now_and_then(self) -> None:
        now = self._clock()
        if now - self._swept_ms >= SWEEP_EVERY_MS:
            self._swept_ms = now
            await self._do(None, lambda: self._files.sweep(now - LEFT_OVER_MS))

    async def _do(
        self, key: str | None, work: Callable[[], T], undo: Callable[[T], None] | None = None
    ) -> T:
        """Run it in a thread of this store, and translate what the file system says. Without a key,
        nothing that is looked for can be missing. `undo` gets the result of a cancelled caller."""
        running = self._start(work)
        with _explained(key):
            try:
                return await finished(running)
            except asyncio.CancelledError:
                if undo is not None and running.exception() is None:
                    undo(running.result())
                raise

    def _start(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._threads, work)


@contextmanager
def _explained(key: str | None) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except DamagedFileError as error:
        raise BlobDamagedError(key or "") from error
    except OSError as error:
        if key is not None and isinstance(error, _MISSING):
            raise BlobNotFoundError(key) from error
        raise _unavailable(error) from error


def _discard(made: tuple[SealedWriter, Path]) -> None:
    writer, path = made
    writer.close()
    path.unlink(missing_ok=True)


def _unavailable(error: OSError) -> Unavailable:
    log.error("the folder for files failed: %s", error)
    if error.errno in _FULL:
        return Unavailable(
            "There is no room left for files.",
            hint="Nothing was lost. Try again later; whoever runs this server has to make room.",
            retry_after_s=RETRY_AFTER_S,
        )
    return Unavailable("Files cannot be stored or read just now.")
