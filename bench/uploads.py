"""Uploads through the server's own `/blobs`, compared with a bare asynchronous copy of a file.

The copy reads and writes in threads, 128 KiB at a time, and syncs the new file: no HTTP, no
signature, no row, no checksum. Both write to the same disk.
"""

import asyncio
import json
import os
import secrets
import socket
import statistics
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import fill, load
from bench.product import Product, product
from bench.report import Row, at_least, at_most, say

FULL, QUICK = 20, 5
FILE_BYTES = 10 * 1024 * 1024
CHUNK_BYTES = 128 * 1024
PEOPLE = 50
LIMITS = {
    "GREENROOM_LIMIT_UPLOADS_PER_HOUR": "100000",
    "GREENROOM_LIMIT_OPEN_UPLOADS": "100000",
    "GREENROOM_LIMIT_PERSON_FILE_BYTES_PER_DAY": str(10**12),
}

Json = Mapping[str, Any]


def measure(rounds: int) -> Iterator[Row]:
    with product(more=LIMITS) as server:
        asyncio.run(fill.fill_threads(server.database_url, 0, 1))
        yield _speed(server, rounds)
        yield _memory(server)


def _speed(server: Product, rounds: int) -> Row:
    """Medians, in turns, because a machine's speed changes within seconds."""
    say(f"{rounds} uploads of 10 MB, and as many copies")
    folder = server.settings.home / "bench"
    folder.mkdir()
    source = folder / "source"
    source.write_bytes(data := secrets.token_bytes(FILE_BYTES))
    uploads = [_begin(server) for _ in range(rounds + 1)]
    _put(server.port, uploads.pop(), data)
    ours, bare = [], []
    for turn, upload in enumerate(uploads):
        started = time.perf_counter()
        _put(server.port, upload, data)
        ours.append(time.perf_counter() - started)
        bare.append(asyncio.run(_copy(source, folder / str(turn))))
    ours_s, bare_s = statistics.median(ours), statistics.median(bare)
    megabytes = FILE_BYTES / 1e6
    shown = f"{megabytes / ours_s:,.0f} MB/s of {megabytes / bare_s:,.0f} MB/s"
    return at_least("upload through /blobs / bare copy with fsync", shown, bare_s / ours_s, 0.5)


def _memory(server: Product) -> Row:
    say(f"{PEOPLE} people upload 10 MB each at once")
    data = secrets.token_bytes(FILE_BYTES)
    uploads = [_begin(server) for _ in range(PEOPLE)]
    before = _peak_mb(server, forget=True)
    with ThreadPoolExecutor(PEOPLE) as pool:
        list(pool.map(lambda upload: _put(server.port, upload, data), uploads))
    grown = _peak_mb(server) - before
    name = f"memory for {PEOPLE} uploads of 10 MB at once"
    return at_most(name, f"{grown:.1f} MB", grown / 20, 1.0, "20 MB")


def _begin(server: Product) -> Json:
    """A new upload: the signed request for its bytes."""
    author, _ = fill.people(0)
    wanted = {
        "thread_id": fill.thread_id(0),
        "name": "photo.jpg",
        "mime": "image/jpeg",
        "bytes": FILE_BYTES,
        "purpose": "attachment",
    }
    body = json.dumps(wanted).encode()
    request = load.request("POST", "/v1/uploads", server.token(author), body)
    status, answer = _exchange(server.port, [request])
    if status != 201:
        raise RuntimeError(f"an upload could not begin: {answer!r}")
    begun: Json = json.loads(answer)["upload"]
    return begun


def _put(port: int, upload: Json, data: bytes) -> None:
    parts = urlsplit(upload["url"])
    lines = [
        f"{upload['method']} {parts.path}?{parts.query} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Content-Length: {len(data)}",
        *(f"{name}: {value}" for name, value in upload["headers"].items()),
    ]
    status, answer = _exchange(port, ["\r\n".join([*lines, "", ""]).encode(), data])
    if status != 204:
        raise RuntimeError(f"an upload failed: {answer!r}")


def _exchange(port: int, sent: list[bytes]) -> tuple[int, bytes]:
    """The status and the body of the answer."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for data in sent:
            connection.sendall(data)
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += connection.recv(65536)
        head, _, body = heard.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if b"content-length:" in line]
        wanted = int(lengths[0].partition(b":")[2]) if lengths else 0
        while len(body) < wanted:
            body += connection.recv(65536)
    return int(head.split()[1]), body


async def _copy(source: Path, target: Path) -> float:
    """Seconds."""
    started = time.perf_counter()
    file = await asyncio.to_thread(source.open, "rb", buffering=0)
    made = await asyncio.to_thread(target.open, "xb", buffering=0)
    with file, made:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            await asyncio.to_thread(made.write, chunk)
        await asyncio.to_thread(os.fsync, made.fileno())
    return time.perf_counter() - started


def _peak_mb(server: Product, *, forget: bool = False) -> float:
    if forget:
        Path(f"/proc/{server.pid}/clear_refs").write_text("5")
    status = Path(f"/proc/{server.pid}/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
