"""A small proxy before the S3 engine that treats chosen requests badly."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from greenroom.platform.blobs.s3.signing import Bucket
from tests.support.s3 import BUCKET

Forward = Callable[[bytes], Awaitable[bytes]]


@dataclass
class Exchange:
    """One request and how it is answered: as the engine does, unless a fault says otherwise."""

    request: bytes
    forward: Forward

    @property
    def line(self) -> str:
        return self.request.partition(b"\r\n")[0].decode()


Fault = Callable[[Exchange], Awaitable[bytes]]
"""Returns what is sent back; then the connection is closed."""


def answering(status: int, code: str = "") -> Fault:
    body = f"<Error><Code>{code}</Code></Error>".encode() if code else b"<h1>Bad gateway</h1>"

    async def answer(_: Exchange) -> bytes:
        lines = b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d" % (status, len(body))
        return lines + b"\r\n\r\n" + body

    return answer


async def silence(_: Exchange) -> bytes:
    await asyncio.Event().wait()
    return b""


async def hang_up(_: Exchange) -> bytes:
    return b""


async def lose_answer(exchange: Exchange) -> bytes:
    """The engine did it, and nobody learns of it."""
    await exchange.forward(exchange.request)
    return b""


def cutting(kept_bytes: int) -> Fault:
    """The head and so many bytes of the body."""

    async def answer(exchange: Exchange) -> bytes:
        whole = await exchange.forward(exchange.request)
        return whole[: whole.index(b"\r\n\r\n") + 4 + kept_bytes]

    return answer


async def damage_request(exchange: Exchange) -> bytes:
    damaged = bytearray(exchange.request)
    damaged[-1] ^= 1
    return await exchange.forward(bytes(damaged))


async def damage_answer(exchange: Exchange) -> bytes:
    damaged = bytearray(await exchange.forward(exchange.request))
    damaged[-1] ^= 1
    return bytes(damaged)


@dataclass
class FaultyS3:
    """`faults` are met by the next requests, one each; `always` by all others."""

    engine_port: int
    faults: list[Fault] = field(default_factory=list)
    always: Fault | None = None
    lines: list[str] = field(default_factory=list)
    """The first line of each request that came."""
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self) -> Bucket:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return Bucket(f"http://127.0.0.1:{port}/{BUCKET}", "us-east-1")

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                exchange = Exchange(await _read_request(reader), self._forward)
                self.lines.append(exchange.line)
                fault = self.faults.pop(0) if self.faults else self.always
                writer.write(await (fault or as_it_is)(exchange))
                await writer.drain()
        finally:
            self._open.discard(task)
            writer.close()

    async def _forward(self, request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.engine_port)
        writer.write(head + b"\r\nConnection: close\r\n\r\n" + body)
        await writer.drain()
        answer = await reader.read()
        writer.close()
        return answer


async def as_it_is(exchange: Exchange) -> bytes:
    return await exchange.forward(exchange.request)


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [
        int(line.partition(b":")[2])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    return head + await reader.readexactly(lengths[0] if lengths else 0)
