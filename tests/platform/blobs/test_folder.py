"""Blobs in a folder: damage, kill -9, a full disk, and what is left behind."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.blobs import sealed_file
from greenroom.platform.blobs.folder import LEFT_OVER_MS, SWEEP_EVERY_MS, FolderBlobs
from greenroom.platform.blobs.port import BlobDamagedError
from tests.support import REPOSITORY
from tests.support.clock import FakeClock

from .chunks import MEGABYTE, chunks, joined

KEY = "threads/t/a"

WRITER = """
import asyncio, sys
from pathlib import Path
from greenroom.platform.blobs.folder import FolderBlobs

async def main():
    blobs = FolderBlobs(Path(sys.argv[1]))
    print("ready", flush=True)
    number = 0
    while True:
        async def data():
            for _ in range(8):
                yield bytes([number % 256]) * 100_000
        await blobs.put(f"threads/t/{number % 5}", data(), mime="", byte_count=800_000)
        handle = await blobs.begin_parts("threads/t/parts", mime="")
        parts = [
            await blobs.put_part("threads/t/parts", handle, each, data(), byte_count=800_000)
            for each in (1, 2)
        ]
        await blobs.finish_parts("threads/t/parts", handle, parts)
        number += 1

asyncio.run(main())
"""


async def put(blobs: FolderBlobs, data: bytes, key: str = KEY) -> None:
    await blobs.put(key, chunks(data), mime="", byte_count=len(data))


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("size", [1, 65_536, 200_000])
async def test_any_flipped_bit_is_noticed(folder: Path, size: int) -> None:
    blobs = FolderBlobs(folder)
    data = os.urandom(size)
    await put(blobs, data)
    path = folder / KEY
    whole = path.read_bytes()
    for at in {0, size // 2, size - 1, size, len(whole) - 21, len(whole) - 1}:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << (at % 8)
        path.write_bytes(damaged)
        with pytest.raises(BlobDamagedError):
            await joined(blobs.read(KEY))
        with pytest.raises(BlobDamagedError):
            await blobs.fetch(KEY, folder / "copy")
        assert not (folder / "copy").exists()
    path.write_bytes(whole)
    assert await joined(blobs.read(KEY)) == data
    await blobs.close()


async def test_a_range_is_read_although_another_block_is_damaged(folder: Path) -> None:
    blobs = FolderBlobs(folder)
    data = os.urandom(5 * sealed_file.BLOCK_BYTES)
    await put(blobs, data)
    damaged = bytearray((folder / KEY).read_bytes())
    damaged[4 * sealed_file.BLOCK_BYTES + 5] ^= 1
    (folder / KEY).write_bytes(damaged)
    assert await joined(blobs.read(KEY, stop=100)) == data[:100]
    with pytest.raises(BlobDamagedError):
        await joined(blobs.read(KEY, start=len(data) - 1))
    await blobs.close()


@pytest.mark.parametrize("left", [0, 1, 19, 20, 65_536, 199_999])
async def test_a_file_that_was_cut_off_is_noticed_and_listed(folder: Path, left: int) -> None:
    blobs = FolderBlobs(folder)
    await put(blobs, os.urandom(200_000))
    os.truncate(folder / KEY, left)
    with pytest.raises(BlobDamagedError):
        await joined(blobs.read(KEY))
    assert [each.key async for each in blobs.list("")] == [KEY]
    await blobs.delete([KEY])
    assert [each.key async for each in blobs.list("")] == []
    await blobs.close()


async def test_damaged_parts_make_no_blob(folder: Path) -> None:
    blobs = FolderBlobs(folder)
    handle = await blobs.begin_parts(KEY, mime="")
    part = await blobs.put_part(KEY, handle, 1, chunks(bytes(1000)), byte_count=1000)
    stored = folder / ".parts" / handle / "00001"
    damaged = bytearray(stored.read_bytes())
    damaged[7] ^= 1
    stored.write_bytes(damaged)
    with pytest.raises(BlobDamagedError):
        await blobs.finish_parts(KEY, handle, [part])
    assert await blobs.find(KEY) is None
    await blobs.close()


def rounds() -> int:
    return 100 if os.environ.get("GREENROOM_TORTURE") == "full" else 6


def write_and_be_killed(folder: Path, *, after_s: float) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])},
        stdout=subprocess.PIPE,
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        writer.wait(after_s)
    writer.kill()
    writer.communicate()


async def test_a_killed_writer_leaves_whole_blobs_or_none(folder: Path) -> None:
    blobs = FolderBlobs(folder)
    for number in range(rounds()):
        write_and_be_killed(folder, after_s=0.02 + 0.013 * (number % 10))
        async for each in blobs.list(""):
            content = await joined(blobs.read(each.key))
            assert len(content) == each.bytes in (800_000, 1_600_000)
            assert len(set(content)) == 1
    await blobs.close()


async def test_what_killed_writers_left_is_swept(folder: Path) -> None:
    clock = FakeClock()
    blobs = FolderBlobs(folder, clock=clock)
    await put(blobs, b"x")
    (folder / ".incoming" / "left").write_bytes(b"half")
    handle = await blobs.begin_parts("threads/t/b", mime="")
    (folder / ".incoming" / "recent").write_bytes(b"half")
    clock.advance(seconds=SWEEP_EVERY_MS / 1000)
    old_s, recent_s = (clock() - LEFT_OVER_MS) / 1000 - 1, clock() / 1000
    os.utime(folder / ".incoming" / "left", (old_s, old_s))
    os.utime(folder / ".parts" / handle, (old_s, old_s))
    os.utime(folder / ".incoming" / "recent", (recent_s, recent_s))
    await put(blobs, b"y")
    assert files_in(folder / ".incoming") == [folder / ".incoming" / "recent"]
    assert await blobs.parts("threads/t/b", handle) == []
    assert await joined(blobs.read(KEY)) == b"y"
    await blobs.close()


async def test_deleting_leaves_no_empty_folders(folder: Path) -> None:
    blobs = FolderBlobs(folder)
    await put(blobs, b"x", "threads/t/attachments/f/original")
    await put(blobs, b"x", "threads/t/attachments/g/original")
    await blobs.delete(["threads/t/attachments/f/original"])
    assert not (folder / "threads/t/attachments/f").exists()
    await blobs.delete(["threads/t/attachments/g/original"])
    assert [each async for each in blobs.list("")] == []
    assert not (folder / "threads").exists()
    await blobs.close()


async def test_others_may_not_look_into_the_folder(folder: Path) -> None:
    blobs = FolderBlobs(folder)
    await put(blobs, b"x")
    for path in (folder, folder / "threads", folder / "threads/t"):
        assert path.stat().st_mode & 0o077 == 0
    await blobs.close()


async def test_a_link_is_not_followed_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    blobs = FolderBlobs(folder)
    await put(blobs, b"x")
    (tmp_path / "secret").write_bytes((folder / KEY).read_bytes())
    (folder / "threads/t/link").symlink_to(tmp_path / "secret")
    with pytest.raises(Unavailable):
        await joined(blobs.read("threads/t/link"))
    await blobs.close()


async def test_a_full_disk_is_unavailable_and_leaves_nothing(folder: Path) -> None:
    """A limit on the size of files gives the same errors as a disk without room."""
    blobs = FolderBlobs(folder)
    await put(blobs, b"before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTE, before[1]))
    try:
        with pytest.raises(Unavailable) as caught:
            await put(blobs, bytes(2 * MEGABYTE))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.detail == "There is no room left for files."
    assert "make room" in caught.value.hint
    assert caught.value.retry_after_s == 60
    assert await joined(blobs.read(KEY)) == b"before"
    assert files_in(folder / ".incoming") == []
    await put(blobs, bytes(2 * MEGABYTE))
    await blobs.close()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
async def test_a_disk_that_is_full_at_the_sync_stores_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    blobs = FolderBlobs(folder)

    def fail(_file: int) -> None:
        raise OSError(error, os.strerror(error))

    await blobs.ping()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Unavailable, match="no room left"):
        await put(blobs, b"x")
    with pytest.raises(Unavailable):
        await blobs.ping()
    monkeypatch.undo()
    assert files_in(folder) == []
    await blobs.close()


async def test_a_folder_that_is_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    blobs = FolderBlobs(tmp_path / "file" / "blobs")
    with pytest.raises(Unavailable):
        await blobs.ping()
    await blobs.close()


async def test_a_key_cannot_be_the_folder_of_another(folder: Path) -> None:
    blobs = FolderBlobs(folder)
    await put(blobs, b"x", "a/b")
    for key in ("a", "a/b/c"):
        with pytest.raises(ValueError, match="folder of another"):
            await put(blobs, b"y", key)
    assert files_in(folder) == [folder / "a/b"]
    await blobs.close()


class Held:
    """Holds the threads that call `wait` until the test lets them go on."""

    def __init__(self) -> None:
        self._entered, self._leave = threading.Event(), threading.Event()

    def wait(self) -> None:
        self._entered.set()
        assert self._leave.wait(60)

    async def cancel_meanwhile(self, task: asyncio.Task[object]) -> None:
        """Cancels the task while a thread works for it, and waits for its end."""
        await asyncio.to_thread(self._entered.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        self._leave.set()
        with pytest.raises(asyncio.CancelledError):
            await task


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_cancelled_upload_closes_its_file_when_no_thread_writes_to_it_any_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs, held, failures = FolderBlobs(folder), Held(), []
    write = sealed_file.SealedWriter.write

    def slow_write(self: sealed_file.SealedWriter, data: bytes) -> None:
        held.wait()
        try:
            write(self, data)
        except (OSError, ValueError) as error:
            failures.append(error)

    monkeypatch.setattr(sealed_file.SealedWriter, "write", slow_write)
    # The bytes never end: the upload is cancelled while it writes behind and waits for more.
    more = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield bytes(MEGABYTE)
        await more.wait()

    task = asyncio.ensure_future(blobs.put(KEY, endless(), mime="", byte_count=2 * MEGABYTE))
    await held.cancel_meanwhile(task)
    assert failures == []
    assert files_in(folder) == []


async def test_a_write_that_fails_behind_the_upload_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_self: sealed_file.SealedWriter, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(sealed_file.SealedWriter, "write", full)
    with pytest.raises(Unavailable, match="no room left"):
        await put(FolderBlobs(folder), bytes(3 * MEGABYTE))
    assert files_in(folder) == []


async def test_a_call_that_is_cancelled_while_it_opens_a_file_leaves_none_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FolderBlobs(folder)
    await put(blobs, b"abc")
    before = open_files()
    for kind, begin in (
        (sealed_file.SealedReader, lambda: anext(blobs.read(KEY))),
        (sealed_file.SealedWriter, lambda: put(blobs, b"def")),
    ):
        held, opening = Held(), kind.__init__

        def slow_open(self: Any, path: Path, held: Held = held, opening: Any = opening) -> None:
            opening(self, path)
            held.wait()

        with monkeypatch.context() as patched:
            patched.setattr(kind, "__init__", slow_open)
            await held.cancel_meanwhile(asyncio.ensure_future(begin()))
    assert open_files() == before
    assert files_in(folder) == [folder / KEY]
