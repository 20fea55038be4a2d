"""What every blob store promises."""

import asyncio
import os
import tracemalloc
from pathlib import Path

import pytest

from greenroom.platform.blobs.port import BlobNotFoundError, BlobStore, Chunks, Part

from .chunks import MEGABYTE, PART_BYTES, chunks, endless, joined

KEY = "threads/thr_1/attachments/fil_1/original"
MIME = "image/webp"


async def put(blobs: BlobStore, data: bytes, key: str = KEY) -> None:
    await blobs.put(key, chunks(data), mime=MIME, byte_count=len(data))


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 3 * MEGABYTE + 1])
async def test_what_was_put_is_read(blobs: BlobStore, size: int, tmp_path: Path) -> None:
    data = os.urandom(size)
    await put(blobs, data)
    assert await joined(blobs.read(KEY)) == data
    found = await blobs.find(KEY)
    assert found is not None
    assert (found.key, found.bytes) == (KEY, size)
    await blobs.fetch(KEY, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data


async def test_a_file_is_put_as_its_bytes(blobs: BlobStore, tmp_path: Path) -> None:
    for size in (0, 2 * MEGABYTE + 3):
        (tmp_path / "source").write_bytes(data := os.urandom(size))
        await blobs.put_file(KEY, tmp_path / "source", mime=MIME)
        assert await joined(blobs.read(KEY)) == data


@pytest.mark.parametrize(
    ("start", "stop"),
    [(0, 1), (10, 20), (65_530, 65_540), (0, None), (199_999, None), (150_000, 900_000), (5, 5)],
)
async def test_a_range_is_read_exactly(blobs: BlobStore, start: int, stop: int | None) -> None:
    data = os.urandom(200_000)
    await put(blobs, data)
    assert await joined(blobs.read(KEY, start=start, stop=stop)) == data[start:stop]


async def test_a_second_put_replaces_the_first(blobs: BlobStore) -> None:
    await put(blobs, b"first and longer")
    await put(blobs, b"second")
    assert await joined(blobs.read(KEY)) == b"second"
    assert [each.bytes async for each in blobs.list("")] == [6]


@pytest.mark.parametrize("announced", [99, 101, 0])
async def test_another_length_than_announced_stores_nothing(
    blobs: BlobStore, announced: int
) -> None:
    await put(blobs, b"before")
    with pytest.raises(ValueError, match="bytes than announced"):
        await blobs.put(KEY, chunks(bytes(100)), mime=MIME, byte_count=announced)
    assert await joined(blobs.read(KEY)) == b"before"


async def test_bytes_without_end_are_not_taken(blobs: BlobStore) -> None:
    with pytest.raises(ValueError, match="more bytes than announced"):
        await blobs.put(KEY, endless(), mime=MIME, byte_count=100)
    assert await blobs.find(KEY) is None


async def test_bytes_that_break_off_store_nothing(blobs: BlobStore) -> None:
    async def broken() -> Chunks:
        yield bytes(100_000)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await blobs.put(KEY, broken(), mime=MIME, byte_count=200_000)
    assert await blobs.find(KEY) is None
    assert [each async for each in blobs.list("")] == []


async def test_a_cancelled_put_stores_nothing(blobs: BlobStore) -> None:
    begun = asyncio.Event()

    async def slow() -> Chunks:
        yield bytes(300_000)
        begun.set()
        await asyncio.Event().wait()

    putting = asyncio.create_task(blobs.put(KEY, slow(), mime=MIME, byte_count=400_000))
    await begun.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    assert await blobs.find(KEY) is None


async def test_what_is_not_there_is_not_found(blobs: BlobStore, tmp_path: Path) -> None:
    assert await blobs.find(KEY) is None
    with pytest.raises(BlobNotFoundError):
        await anext(aiter(blobs.read(KEY)))
    with pytest.raises(BlobNotFoundError):
        await blobs.fetch(KEY, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    # A folder of keys is not a blob.
    await put(blobs, b"x")
    assert await blobs.find("threads/thr_1") is None
    with pytest.raises(BlobNotFoundError):
        await joined(blobs.read("threads/thr_1"))


async def test_deleting_takes_what_is_there(blobs: BlobStore) -> None:
    keys = [f"a/{number}" for number in range(5)]
    for key in keys:
        await put(blobs, b"x", key)
    await blobs.delete([keys[0], "a/none", keys[3], "none/at/all"])
    await blobs.delete([keys[0]])
    await blobs.delete([])
    assert [each.key async for each in blobs.list("")] == [keys[1], keys[2], keys[4]]


async def test_keys_are_listed_in_order_by_prefix(blobs: BlobStore) -> None:
    keys = ["a/b", "a/b.c", "a/b-d", "a/bc/d", "a/c/1", "a/c/2", "ab", "b/a"]
    for key in keys:
        await put(blobs, key.encode(), key)
    assert [each.key async for each in blobs.list("")] == sorted(keys)
    for prefix in ("a", "a/", "a/b", "a/c/", "a/c/1", "b", "none", "a/none/"):
        found = [each.key async for each in blobs.list(prefix)]
        assert found == sorted(each for each in keys if each.startswith(prefix)), prefix
    assert [each.bytes async for each in blobs.list("a/c/")] == [5, 5]


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", "a/./b", "a//b", "a/"),
        *(".incoming/x", "a/.b", "a\\b", "a b", "a\0b", "a\n", "ä", "a?b", "a#b", "a%2e", "~/a"),
        *("a" * 600, "a:b", "C:/x", "*"),
    ],
)
async def test_a_key_that_is_none_is_refused_everywhere(
    blobs: BlobStore, key: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for call in (
        lambda: put(blobs, b"x", key),
        lambda: blobs.put_file(key, tmp_path / "file", mime=MIME),
        lambda: joined(blobs.read(key)),
        lambda: blobs.fetch(key, tmp_path / "copy"),
        lambda: blobs.find(key),
        lambda: blobs.delete([key]),
        lambda: blobs.begin_parts(key, mime=MIME),
        lambda: blobs.put_part(key, "0" * 32, 1, chunks(b"x"), byte_count=1),
        lambda: blobs.parts(key, "0" * 32),
        lambda: blobs.finish_parts(key, "0" * 32, []),
        lambda: blobs.abort_parts(key, "0" * 32),
    ):
        with pytest.raises(ValueError, match="not a key"):
            await call()


async def test_two_writers_of_a_key_leave_the_whole_of_one(blobs: BlobStore) -> None:
    versions = [bytes([number]) * (300_000 + number) for number in range(6)]
    await asyncio.gather(*(put(blobs, each) for each in versions))
    assert await joined(blobs.read(KEY)) in versions


async def test_a_reader_gets_one_version_while_it_is_replaced(blobs: BlobStore) -> None:
    versions = [bytes([number]) * 400_000 for number in range(5)]
    await put(blobs, versions[0])

    async def replace() -> None:
        for version in versions:
            await put(blobs, version)

    replacing = asyncio.create_task(replace())
    while not replacing.done():
        assert await joined(blobs.read(KEY)) in versions
    await replacing


async def test_many_at_once(blobs: BlobStore) -> None:
    data = {f"many/{number}": os.urandom(1000 + number) for number in range(40)}
    await asyncio.gather(*(put(blobs, each, key) for key, each in data.items()))
    read = await asyncio.gather(*(joined(blobs.read(key)) for key in data))
    assert read == list(data.values())


async def test_a_large_blob_takes_little_memory(blobs: BlobStore) -> None:
    async def zeros() -> Chunks:
        for _ in range(20):
            yield bytes(MEGABYTE)

    tracemalloc.start()
    try:
        await blobs.put(KEY, zeros(), mime=MIME, byte_count=20 * MEGABYTE)
        read_bytes = 0
        async for chunk in blobs.read(KEY):
            read_bytes += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read_bytes == 20 * MEGABYTE
    assert peak < 6 * MEGABYTE


async def put_part(blobs: BlobStore, handle: str, number: int, data: bytes) -> Part:
    return await blobs.put_part(KEY, handle, number, chunks(data), byte_count=len(data))


async def test_parts_become_one_blob(blobs: BlobStore) -> None:
    first, second, last = os.urandom(PART_BYTES), os.urandom(PART_BYTES), os.urandom(77)
    handle = await blobs.begin_parts(KEY, mime=MIME)
    # They arrive in any order.
    third_part = await put_part(blobs, handle, 3, last)
    first_part = await put_part(blobs, handle, 1, first)
    assert await blobs.parts(KEY, handle) == [first_part, third_part]
    assert (third_part.number, third_part.bytes) == (3, 77)
    second_part = await put_part(blobs, handle, 2, second)
    assert await blobs.find(KEY) is None
    parts = [first_part, second_part, third_part]
    await blobs.finish_parts(KEY, handle, parts)
    assert await joined(blobs.read(KEY)) == first + second + last
    await blobs.finish_parts(KEY, handle, parts)
    assert await blobs.parts(KEY, handle) == []


async def test_a_part_that_is_put_again_replaces_the_first(blobs: BlobStore, kind: str) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    old = await put_part(blobs, handle, 1, b"old")
    if kind == "s3":
        # SeaweedFS lists both, and tells their age in whole seconds only.
        await asyncio.sleep(1.1)
    new = await put_part(blobs, handle, 1, b"new!")
    assert old.etag != new.etag
    assert await blobs.parts(KEY, handle) == [new]
    with pytest.raises(ValueError, match="part"):
        await blobs.finish_parts(KEY, handle, [old])
    assert await blobs.find(KEY) is None
    await blobs.finish_parts(KEY, handle, [new])
    assert await joined(blobs.read(KEY)) == b"new!"


async def test_a_missing_part_makes_no_blob(blobs: BlobStore) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    part = await put_part(blobs, handle, 1, bytes(PART_BYTES))
    with pytest.raises(ValueError, match="part"):
        await blobs.finish_parts(KEY, handle, [part, Part(2, 5, part.etag)])
    assert await blobs.find(KEY) is None
    assert await blobs.parts(KEY, handle) == [part]


async def test_a_part_of_another_length_is_refused(blobs: BlobStore) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    for announced in (9, 11):
        with pytest.raises(ValueError, match="bytes than announced"):
            await blobs.put_part(KEY, handle, 1, chunks(bytes(10)), byte_count=announced)
    assert await blobs.parts(KEY, handle) == []


async def test_a_part_has_a_number(blobs: BlobStore) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    for number in (0, -1, 10_001):
        with pytest.raises(ValueError, match="no part"):
            await put_part(blobs, handle, number, b"x")


async def test_forgotten_parts_are_gone(blobs: BlobStore) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    part = await put_part(blobs, handle, 1, b"x")
    await blobs.abort_parts(KEY, handle)
    await blobs.abort_parts(KEY, handle)
    assert await blobs.parts(KEY, handle) == []
    with pytest.raises(BlobNotFoundError):
        await put_part(blobs, handle, 1, b"x")
    with pytest.raises(BlobNotFoundError):
        await blobs.finish_parts(KEY, handle, [part])


@pytest.mark.parametrize("handle", ["0" * 32, "../../etc", "", "a/b", "unknown"])
async def test_an_unknown_handle_has_no_parts(blobs: BlobStore, handle: str) -> None:
    await blobs.abort_parts(KEY, handle)
    assert await blobs.parts(KEY, handle) == []
    with pytest.raises(BlobNotFoundError):
        await put_part(blobs, handle, 1, b"x")
    with pytest.raises(BlobNotFoundError):
        await blobs.finish_parts(KEY, handle, [Part(1, 1, "0" * 32)])


async def test_a_handle_is_of_one_key(blobs: BlobStore) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    part = await put_part(blobs, handle, 1, b"x")
    other = "threads/thr_2/attachments/fil_2/original"
    assert await blobs.parts(other, handle) == []
    with pytest.raises(BlobNotFoundError):
        await blobs.put_part(other, handle, 1, chunks(b"x"), byte_count=1)
    with pytest.raises(BlobNotFoundError):
        await blobs.finish_parts(other, handle, [part])
    await blobs.abort_parts(other, handle)
    assert await blobs.parts(KEY, handle) == [part]


async def test_parts_do_not_show_in_the_list(blobs: BlobStore) -> None:
    handle = await blobs.begin_parts(KEY, mime=MIME)
    await put_part(blobs, handle, 1, b"x")
    assert [each async for each in blobs.list("")] == []


async def test_a_store_that_works_says_so(blobs: BlobStore) -> None:
    await blobs.ping()
    await blobs.ping()
    assert [each async for each in blobs.list("")] == []
