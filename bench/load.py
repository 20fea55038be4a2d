"""A load generator on keep-alive connections, light enough not to limit the measured rates.

Each connection sends its next request when the last one is answered. Requests are built before the
clock starts.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

import uvloop


@dataclass(slots=True)
class Result:
    seconds: float
    latencies_ms: list[float] = field(repr=False)
    statuses: dict[int, int]

    @property
    def per_second(self) -> float:
        return len(self.latencies_ms) / self.seconds

    def percentile_ms(self, percent: float) -> float:
        return percentile(self.latencies_ms, percent)

    def require(self, status: int) -> "Result":
        """Raises unless all answers have this status: fast errors must not count as results."""
        if set(self.statuses) != {status}:
            raise RuntimeError(f"expected only {status}, got {self.statuses}")
        return self


def percentile(values: Iterable[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def run(port: int, requests: list[bytes], connections: int, warm_up: int = 0) -> Result:
    """Send all requests over `connections` connections; the first `warm_up` are not counted."""
    return uvloop.run(_run(port, requests, connections, warm_up))


async def _run(port: int, requests: list[bytes], connections: int, warm_up: int) -> Result:
    loop = asyncio.get_running_loop()
    if warm_up:
        await _phase(loop, port, requests[:warm_up], connections)
    return await _phase(loop, port, requests[warm_up:], connections)


async def _phase(
    loop: asyncio.AbstractEventLoop, port: int, requests: list[bytes], connections: int
) -> Result:
    pending = iter(requests)
    latencies: list[float] = []
    statuses: dict[int, int] = {}
    clients = []
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        client = _Client(pending, latencies, statuses, done)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)  # type: ignore[misc]
        clients.append(client)
    started = time.perf_counter()
    for client in clients:
        client.send_next()
    await asyncio.gather(*(client.done for client in clients))
    return Result(time.perf_counter() - started, latencies, statuses)


class _Client(asyncio.Protocol):
    def __init__(
        self,
        pending: Iterator[bytes],
        latencies: list[float],
        statuses: dict[int, int],
        done: "asyncio.Future[None]",
    ) -> None:
        self.done = done
        self._pending = pending
        self._latencies = latencies
        self._statuses = statuses
        self._buffer = b""
        self._sent_at = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send_next(self) -> None:
        assert self._transport is not None
        request = next(self._pending, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        _, _, length = head.partition(b"content-length: ")
        if len(body) < int(length.partition(b"\r\n")[0]):
            return
        self._latencies.append((time.perf_counter() - self._sent_at) * 1000)
        status = int(head[9:12])
        self._statuses[status] = self._statuses.get(status, 0) + 1
        self._buffer = b""
        self.send_next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))


def request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    """The bytes of one HTTP/1.1 request."""
    lines = [f"{method} {path} HTTP/1.1", "host: bench", f"authorization: Bearer {token}"]
    if body:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body
