"""Many idle WebSocket clients in a process of their own, so that their reconnecting does not slow
down the senders that are being timed."""

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import uvloop

from bench.load import percentile
from bench.receivers import Seat, event_in
from bench.wire import RefusedError, Socket, upgrade

OPENING = 50
PATIENCE_S = 180
BROKEN_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Return:
    """How the crowd reconnected: until the last client had received what it missed."""

    seconds: float
    median_s: float
    refused: int
    broken: int


class Crowd:
    """The parent's side. One command at a time; each returns when the crowd has done it."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe

    async def gather(self, count: int) -> None:
        """Connect slowly until `count` clients are connected."""
        await self._command("gather", count)

    async def cut(self) -> None:
        """Cut all connections at once."""
        await self._command("cut")

    async def come_back(self) -> Return:
        """Reconnect all at once, without the random pause of real clients: the worst case."""
        result: Return = await self._command("come_back")
        return result

    async def _command(self, name: str, *arguments: object) -> Any:
        self._pipe.send((name, arguments))
        result = await asyncio.to_thread(self._pipe.recv)
        if isinstance(result, Exception):
            raise result
        return result


@contextmanager
def crowd(seats: Sequence[Seat]) -> Iterator[Crowd]:
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_live, args=(list(seats), far), daemon=True)
    process.start()
    far.close()
    try:
        yield Crowd(near)
    finally:
        near.close()
        process.join(timeout=10)
        process.kill()
        process.join()


def _live(seats: list[Seat], pipe: "Connection[Any, Any]") -> None:
    # Real clients have processors of their own; here they at least get a lower priority.
    os.nice(10)
    uvloop.run(_obey([_Member(seat) for seat in seats], pipe))


async def _obey(members: list["_Member"], pipe: "Connection[Any, Any]") -> None:
    while True:
        try:
            name, arguments = await asyncio.to_thread(pipe.recv)
        except EOFError:
            return
        try:
            pipe.send(await _COMMANDS[name](members, *arguments))
        except (OSError, RuntimeError) as error:
            pipe.send(error)


async def _gather(members: list["_Member"], count: int) -> None:
    away = [each for each in members[:count] if not each.is_connected]
    for start in range(0, len(away), OPENING):
        await asyncio.gather(*(each.connect() for each in away[start : start + OPENING]))


async def _cut(members: list["_Member"]) -> None:
    away = sum(not each.is_connected for each in members)
    if away:
        raise RuntimeError(f"{away} had lost their connection before it was cut")
    for each in members:
        each.cut()


async def _come_back(members: list["_Member"]) -> Return:
    started_s = time.perf_counter()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(each.come_back() for each in members))
    took_s = [each.caught_up_s - started_s for each in members]
    return Return(
        max(took_s),
        percentile(took_s, 50),
        sum(each.refused for each in members),
        sum(each.broken for each in members),
    )


_COMMANDS: dict[str, Any] = {"gather": _gather, "cut": _cut, "come_back": _come_back}


class _Member:
    def __init__(self, seat: Seat) -> None:
        self.refused = 0
        self.broken = 0
        self.caught_up_s = 0.0
        self._port = seat.port
        self._token = seat.token
        self._cursor = seat.cursor
        self._socket: Socket | None = None
        self._news: asyncio.Future[None] | None = None
        self._trying_again: asyncio.Task[None] | None = None

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    async def connect(self) -> None:
        """If refused, wait as long as the server says and try again."""
        loop = asyncio.get_running_loop()
        while not self.is_connected:
            request = upgrade(f"/v1/ws?since={self._cursor}", self._token)
            socket = Socket(request, self._hear, self._lose)
            self._socket = socket
            try:
                await loop.create_connection(lambda socket=socket: socket, "127.0.0.1", self._port)  # type: ignore[misc]
                await socket.opened
            except RefusedError as refusal:
                self._socket = None
                self.refused += 1
                await asyncio.sleep(refusal.retry_after_s or 0)
            except OSError:
                self._socket = None
                self.broken += 1
                await asyncio.sleep(BROKEN_PAUSE_S)

    def cut(self) -> None:
        if self._socket is not None:
            self._socket.cut()
            self._socket = None

    async def come_back(self) -> None:
        self._news = asyncio.get_running_loop().create_future()
        await self.connect()
        await self._news

    def _hear(self, text: bytes) -> None:
        self._cursor = event_in(text).cursor
        if self._socket is not None:
            self._socket.tell(msgspec.json.encode({"type": "ack", "cursor": self._cursor}))
        if self._news is not None and not self._news.done():
            self.caught_up_s = time.perf_counter()
            self._news.set_result(None)

    def _lose(self, _: Exception) -> None:
        """The connection was lost unexpectedly. A client that is reconnecting tries again."""
        self._socket = None
        if self._news is not None and not self._news.done():
            self.broken += 1
            self._trying_again = asyncio.create_task(self.connect())
