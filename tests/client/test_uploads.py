"""Uploads of the client: what is sent where, and how it goes on after a failure."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from greenroom_client import Client, ClientLimits, Problem, Timing, UnreachableError

Json = dict[str, Any]
Answer = Callable[[httpx.Request], httpx.Response | Exception | None]

PART = 1000
LIMITS = ClientLimits(upload_part_bytes=PART, upload_attempts=3)


@dataclass
class FakeUploads:
    """Takes uploads as the server does. `disturb` may answer a PUT in its place."""

    disturb: Answer = lambda _: None
    asked: list[Json] = field(default_factory=list)
    stored: dict[int, bytes] = field(default_factory=dict)
    puts: list[httpx.Request] = field(default_factory=list)
    completed: int = 0

    @property
    def data(self) -> bytes:
        return b"".join(self.stored[number] for number in sorted(self.stored))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "PUT":
            return self._put(request)
        if path == "/v1/uploads":
            self.asked.append(httpx.Response(200, content=request.content).json())
            return httpx.Response(201, json={"upload": self._upload()})
        if path == "/v1/uploads/fil_1/complete":
            self.completed += 1
            return httpx.Response(200, json={"file": {"id": "fil_1", "state": "processing"}})
        assert path == "/v1/uploads/fil_1"
        return httpx.Response(200, json={"upload": self._upload()})

    def _put(self, request: httpx.Request) -> httpx.Response:
        self.puts.append(request)
        said = self.disturb(request)
        if isinstance(said, Exception):
            raise said
        if said is not None:
            return said
        self.stored[int(request.url.path.rpartition("/")[2])] = request.content
        return httpx.Response(204)

    def _upload(self) -> Json:
        size: int = self.asked[0]["bytes"]
        if not self.asked[0]["parts"]:
            return {"id": "fil_1", **self._signed(0), "received": 0 in self.stored, "parts": None}
        parts = [
            {
                "number": number,
                "bytes": min(PART, size - start),
                "received": number in self.stored,
                **self._signed(number),
            }
            for number, start in enumerate(range(0, size, PART), start=1)
        ]
        return {"id": "fil_1", **self._signed(1), "part_bytes": PART, "parts": parts}

    @staticmethod
    def _signed(number: int) -> Json:
        url = f"https://blobs.example/{number}"
        return {"method": "PUT", "url": url, "headers": {"content-type": "image/png"}}


def client_of(server: FakeUploads, waits: list[float] | None = None) -> Client:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    return Client(
        "https://greenroom.example",
        "token",
        http=httpx.MockTransport(server),
        limits=LIMITS,
        timing=Timing(sleep=sleep),
    )


@pytest.mark.parametrize("size", [1, PART, PART + 1, 3 * PART])
async def test_all_bytes_arrive_in_one_request_or_in_parts(tmp_path: Path, size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    path = tmp_path / "a picture.png"
    path.write_bytes(data[:size])
    server = FakeUploads()
    async with client_of(server) as client:
        file = await client.upload("thr_1", path)
    assert (file["id"], server.data, server.completed) == ("fil_1", data[:size], 1)
    assert server.asked == [
        {
            "thread_id": "thr_1",
            "name": "a picture.png",
            "mime": "image/png",
            "bytes": size,
            "sha256": hashlib.sha256(data[:size]).hexdigest(),
            "purpose": "attachment",
            "parts": size > PART,
        }
    ]
    for request in server.puts:
        assert request.headers["content-type"] == "image/png"
        assert "authorization" not in request.headers


async def test_bytes_need_a_name() -> None:
    server = FakeUploads()
    async with client_of(server) as client:
        with pytest.raises(ValueError, match="name"):
            await client.upload("thr_1", b"x")
        await client.upload("thr_1", b"x", name="note.weba", mime="audio/webm", purpose="voice")
    [asked] = server.asked
    assert (asked["mime"], asked["purpose"]) == ("audio/webm", "voice")


@pytest.mark.parametrize(
    "trouble",
    [httpx.ReadError("cut"), httpx.Response(503), httpx.Response(403), httpx.Response(409)],
)
async def test_after_a_failure_only_what_is_missing_is_sent(
    trouble: httpx.Response | Exception,
) -> None:
    troubles: list[httpx.Response | Exception] = [trouble, trouble]

    def disturb(request: httpx.Request) -> httpx.Response | Exception | None:
        return troubles.pop() if request.url.path == "/2" and troubles else None

    server, waits = FakeUploads(disturb), list[float]()
    async with client_of(server, waits) as client:
        await client.upload("thr_1", b"z" * (3 * PART), name="z.bin")
    assert [each.url.path for each in server.puts] == ["/1", "/2", "/2", "/2", "/3"]
    assert server.data == b"z" * (3 * PART)
    assert (len(server.asked), server.completed, len(waits)) == (1, 1, 2)


async def test_gives_up_after_some_attempts_without_progress() -> None:
    server = FakeUploads(lambda _: httpx.ConnectError("away"))
    async with client_of(server) as client:
        with pytest.raises(UnreachableError):
            await client.upload("thr_1", b"x", name="x.txt")
    assert (len(server.puts), server.completed) == (LIMITS.upload_attempts + 1, 0)


async def test_a_refusal_is_final() -> None:
    server = FakeUploads(lambda _: httpx.Response(413))
    async with client_of(server) as client:
        with pytest.raises(Problem) as caught:
            await client.upload("thr_1", b"x", name="x.txt")
    assert (caught.value.status, len(server.puts)) == (413, 1)
