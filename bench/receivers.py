"""Clients that follow a feed, one per transport. They acknowledge as real clients do."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from bench.load import request
from bench.wire import Broke, EventSource, Heard, HttpClient, Socket, upgrade

ACK_INTERVAL_S = 1
LONG_POLL_S = 25


class Event(msgspec.Struct):
    """The part of an event that a receiver needs."""

    type: str
    cursor: str = ""
    message: "Message | None" = None


class Message(msgspec.Struct):
    body: str


class Page(msgspec.Struct):
    events: list[msgspec.Raw]
    cursor: str


event_in = msgspec.json.Decoder(Event).decode
_page_in = msgspec.json.Decoder(Page).decode


@dataclass(frozen=True, slots=True)
class Seat:
    """The server to connect to, and the cursor to continue from."""

    port: int
    token: str
    cursor: str


class Receiver(Protocol):
    """Each event's JSON goes to `heard`; an unexpected end goes to `broke`."""

    def __init__(self, seat: Seat, heard: Heard, broke: Broke) -> None: ...

    async def open(self) -> None: ...

    def close(self) -> None: ...


class Acks:
    """Acknowledges the first event at once, and later ones at most once a second."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._latest: bytes | None = None
        self._pause: asyncio.TimerHandle | None = None

    def note(self, event: bytes) -> None:
        self._latest = event
        if self._pause is None:
            self._tell_latest()

    def _tell_latest(self) -> None:
        self._pause = None
        if self._latest is not None:
            self._tell(event_in(self._latest).cursor)
            self._latest = None
            self._pause = asyncio.get_running_loop().call_later(ACK_INTERVAL_S, self._tell_latest)

    def close(self) -> None:
        if self._pause is not None:
            self._pause.cancel()


class WebSocketReceiver:
    def __init__(self, seat: Seat, heard: Heard, broke: Broke) -> None:
        self._seat = seat
        self._heard = heard
        self._acks = Acks(self._acknowledge)
        self._socket = Socket(upgrade(f"/v1/ws?since={seat.cursor}", seat.token), self._hear, broke)

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self._socket, "127.0.0.1", self._seat.port)
        await self._socket.opened

    def close(self) -> None:
        self._acks.close()
        self._socket.cut()

    def _hear(self, event: bytes) -> None:
        self._heard(event)
        self._acks.note(event)

    def _acknowledge(self, cursor: str) -> None:
        self._socket.tell(msgspec.json.encode({"type": "ack", "cursor": cursor}))


class SseReceiver:
    def __init__(self, seat: Seat, heard: Heard, broke: Broke) -> None:
        self._seat = seat
        self._heard = heard
        self._broke = broke
        self._acks = Acks(self._acknowledge)
        stream = request("GET", f"/v1/stream?since={seat.cursor}", seat.token)
        self._source = EventSource(stream, self._hear, broke)
        self._telling: asyncio.Task[None] | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._calls = await HttpClient.open(self._seat.port)
        await loop.create_connection(lambda: self._source, "127.0.0.1", self._seat.port)
        await self._source.opened

    def close(self) -> None:
        self._acks.close()
        self._source.close()
        if self._telling is not None:
            self._telling.cancel()
        self._calls.close()

    def _hear(self, event: bytes) -> None:
        self._heard(event)
        self._acks.note(event)

    def _acknowledge(self, cursor: str) -> None:
        body = msgspec.json.encode({"cursor": cursor})
        ack = request("POST", "/v1/sync/ack", self._seat.token, body)
        self._telling = asyncio.create_task(self._tell(ack))

    async def _tell(self, ack: bytes) -> None:
        answer = await self._calls.ask(ack)
        if answer.status != 204:
            self._broke(RuntimeError(f"an acknowledgement was answered with {answer.status}"))


class LongPollReceiver:
    """Needs no acknowledgements: the cursor of the next request acknowledges."""

    def __init__(self, seat: Seat, heard: Heard, broke: Broke) -> None:
        self._seat = seat
        self._cursor = seat.cursor
        self._heard = heard
        self._broke = broke

    async def open(self) -> None:
        self._calls = await HttpClient.open(self._seat.port)
        await self._poll(wait_s=0)
        self._polling = asyncio.create_task(self._run())

    def close(self) -> None:
        self._polling.cancel()
        self._calls.close()

    async def _run(self) -> None:
        try:
            while True:
                await self._poll(LONG_POLL_S)
        except (OSError, RuntimeError) as error:
            self._broke(error)

    async def _poll(self, wait_s: int) -> None:
        path = f"/v1/sync?since={self._cursor}&wait={wait_s}"
        answer = await self._calls.ask(request("GET", path, self._seat.token))
        if answer.status != 200:
            raise RuntimeError(f"a long-poll was answered with {answer.status}")
        page = _page_in(answer.body)
        for event in page.events:
            self._heard(bytes(event))
        self._cursor = page.cursor
