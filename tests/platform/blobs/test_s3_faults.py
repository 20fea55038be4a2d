"""S3 that is down, slow, throttling, cut off or damaged: repeated, then `Unavailable`."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.aws.signing import FixedKeys, Keys
from greenroom.platform.blobs.port import BlobDamagedError, BlobStore
from greenroom.platform.blobs.s3.client import ATTEMPTS, S3Client
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.blobs.s3.signing import Bucket
from greenroom.platform.blobs.s3.store import S3Blobs
from tests.support.ports import free_port
from tests.support.s3 import S3Engine

from .chunks import MEGABYTE, chunks, joined
from .faulty_s3 import (
    Fault,
    FaultyS3,
    answering,
    as_it_is,
    cutting,
    damage_answer,
    damage_request,
    hang_up,
    lose_answer,
    silence,
)

KEY = "threads/thr_1/attachments/fil_1/original"
DATA = os.urandom(MEGABYTE)


class Stand:
    """A store behind the proxy. It sleeps as long as it takes to say so."""

    def __init__(self, faulty: FaultyS3, bucket: Bucket, keys: Keys, prefix: str) -> None:
        self.faulty = faulty
        self.slept: list[float] = []
        self._client = S3Client(bucket, FixedKeys(keys), sleep=self._sleep, answer_timeout_s=0.5)
        self.blobs = S3Blobs(self._client, prefix)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def meets(self, *faults: Fault) -> None:
        self.faulty.faults = list(faults)
        self.faulty.lines.clear()


@pytest.fixture
async def stand(s3_engine: S3Engine, prefix: str) -> AsyncIterator[Stand]:
    faulty = FaultyS3(int(s3_engine.url.rpartition(":")[2]))
    made = Stand(faulty, await faulty.start(), s3_engine.keys, prefix)
    yield made
    await made.blobs.close()
    await faulty.stop()


async def put(blobs: BlobStore, data: bytes = DATA) -> None:
    await blobs.put(KEY, chunks(data), mime="image/png", byte_count=len(data))


async def every_call(blobs: BlobStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for call in (
        lambda: put(blobs),
        lambda: blobs.put_file(KEY, tmp_path / "file", mime=""),
        lambda: joined(blobs.read(KEY)),
        lambda: joined(blobs.read(KEY, start=1, stop=5)),
        lambda: blobs.fetch(KEY, tmp_path / "copy"),
        lambda: blobs.find(KEY),
        lambda: blobs.delete([KEY]),
        lambda: anext(aiter(blobs.list("")), None),
        lambda: blobs.begin_parts(KEY, mime=""),
        lambda: blobs.put_part(KEY, "upload", 1, chunks(b"x"), byte_count=1),
        lambda: blobs.parts(KEY, "upload"),
        lambda: blobs.finish_parts(KEY, "upload", []),
        lambda: blobs.abort_parts(KEY, "upload"),
        blobs.ping,
    ):
        with pytest.raises(Unavailable):
            await call()
    assert not (tmp_path / "copy").exists()


async def test_every_call_to_a_store_that_is_down_is_unavailable(tmp_path: Path) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    bucket = Bucket(f"http://127.0.0.1:{free_port()}/b", "us-east-1")
    client = S3Client(bucket, FixedKeys(Keys("a", "b")), sleep=sleep)
    await every_call(S3Blobs(client), tmp_path)
    assert len(slept) == 14 * (ATTEMPTS - 1)
    await client.close()


@pytest.mark.parametrize(
    "fault", [answering(503, "SlowDown"), answering(502), hang_up], ids=["slow", "proxy", "hang up"]
)
async def test_every_call_to_a_store_that_always_fails_is_unavailable(
    stand: Stand, tmp_path: Path, fault: Fault
) -> None:
    stand.faulty.always = fault
    await every_call(stand.blobs, tmp_path)


async def test_a_store_that_does_not_answer_is_unavailable(stand: Stand) -> None:
    stand.faulty.always = silence
    with pytest.raises(Unavailable) as caught:
        await stand.blobs.find(KEY)
    assert caught.value.retry_after_s == 2
    assert len(stand.faulty.lines) == ATTEMPTS


async def test_throttling_that_ends_is_not_noticed(stand: Stand) -> None:
    stand.meets(*[answering(503, "SlowDown")] * 3, answering(500, "InternalError"))
    await put(stand.blobs)
    assert len(stand.slept) == 4
    stand.meets(answering(429), silence, hang_up, answering(504), answering(400, "RequestTimeout"))
    assert await joined(stand.blobs.read(KEY)) == DATA


async def test_a_put_whose_answer_was_lost_is_repeated(stand: Stand) -> None:
    stand.meets(lose_answer, cutting(0))
    await put(stand.blobs)
    assert await joined(stand.blobs.read(KEY)) == DATA


async def test_bytes_that_were_damaged_on_their_way_are_sent_again(stand: Stand) -> None:
    stand.meets(damage_request, damage_request)
    await put(stand.blobs)
    assert await joined(stand.blobs.read(KEY)) == DATA


async def test_bytes_that_stay_damaged_are_not_stored(stand: Stand) -> None:
    stand.faulty.always = damage_request
    with pytest.raises(Unavailable):
        await put(stand.blobs)
    stand.faulty.always = None
    assert await stand.blobs.find(KEY) is None


async def test_bytes_that_were_damaged_on_their_way_back_are_an_error(
    stand: Stand, tmp_path: Path
) -> None:
    await put(stand.blobs)
    stand.meets(damage_answer, damage_answer)
    with pytest.raises(BlobDamagedError):
        await joined(stand.blobs.read(KEY))
    with pytest.raises(BlobDamagedError):
        await stand.blobs.fetch(KEY, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(("start", "stop"), [(0, None), (10, None), (0, 900_000), (10, 900_000)])
async def test_a_read_that_breaks_off_goes_on_where_it_was(
    stand: Stand, start: int, stop: int | None
) -> None:
    await put(stand.blobs)
    stand.meets(cutting(300_000), hang_up, cutting(1), cutting(100_000))
    assert await joined(stand.blobs.read(KEY, start=start, stop=stop)) == DATA[start:stop]
    assert len(stand.faulty.lines) == 5


async def test_a_read_that_never_gets_on_is_unavailable(stand: Stand) -> None:
    await put(stand.blobs)
    stand.faulty.always = cutting(0)
    with pytest.raises(Unavailable):
        await joined(stand.blobs.read(KEY))


async def test_a_read_does_not_go_on_in_another_version(stand: Stand) -> None:
    await put(stand.blobs)
    stand.meets(cutting(300_000))
    reading = aiter(stand.blobs.read(KEY))
    await anext(reading)
    await put(stand.blobs, DATA[::-1])
    with pytest.raises(Unavailable):
        await joined(reading)


async def test_finished_parts_whose_answer_was_lost_are_a_blob(stand: Stand) -> None:
    handle = await stand.blobs.begin_parts(KEY, mime="image/png")
    part = await stand.blobs.put_part(KEY, handle, 1, chunks(DATA), byte_count=len(DATA))
    stand.meets(as_it_is, lose_answer)
    await stand.blobs.finish_parts(KEY, handle, [part])
    assert await joined(stand.blobs.read(KEY)) == DATA


async def test_an_error_after_a_good_status_is_an_error(stand: Stand) -> None:
    handle = await stand.blobs.begin_parts(KEY, mime="image/png")
    stand.meets(answering(200, "InternalError"), answering(200, "InternalError"))
    assert await stand.blobs.begin_parts(KEY, mime="image/png") != handle
    assert len(stand.faulty.lines) == 3


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (404, "NoSuchBucket", "Check the bucket in GREENROOM_BLOBS"),
        (403, "AccessDenied", "deploy/blobs.yaml"),
        (403, "SignatureDoesNotMatch", "credentials and this machine's clock"),
        (403, "ExpiredToken", "credentials"),
        (301, "PermanentRedirect", "set GREENROOM_S3_REGION"),
        (405, "", "GREENROOM_S3_ENDPOINT"),
    ],
)
async def test_what_no_repeat_mends_is_said(
    stand: Stand, status: int, code: str, advice: str
) -> None:
    stand.faulty.always = answering(status, code)
    with pytest.raises(S3Error, match=advice):
        await stand.blobs.ping()
    assert stand.slept == []


async def test_a_client_that_dies_in_the_middle_of_an_upload_leaves_nothing(
    stand: Stand, s3_engine: S3Engine, s3_blobs: S3Blobs
) -> None:
    signed = s3_blobs.sign_upload(KEY, mime="image/png", byte_count=len(DATA), seconds=600)
    target = signed.url.removeprefix(s3_engine.url)
    host = s3_engine.url.removeprefix("http://")
    lines = [
        *(f"PUT {target} HTTP/1.1", f"Host: {host}", "Content-Type: image/png"),
        f"Content-Length: {len(DATA)}",
    ]
    for kept in (0, 1000, len(DATA) - 1):
        with socket.create_connection(("127.0.0.1", int(host.rpartition(":")[2]))) as half:
            half.sendall("\r\n".join([*lines, "", ""]).encode() + DATA[:kept])
        await asyncio.sleep(0.1)
        assert await stand.blobs.find(KEY) is None
