"""Processes with a bus each around one server, and a gate before it that can be shut.

Time is in the tests' hands: waits before reconnecting are over at once, all others last until a
test ends them.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import nats

from greenroom.platform.bus.nats import NatsBus
from greenroom.platform.bus.port import Bus
from greenroom.platform.bus.postgres import PostgresBus
from greenroom.platform.bus.rounds import BACKOFF, PING_INTERVAL_S, RoundsBus
from tests.support.waiting import PATIENCE_S

SECRET = "not-for-the-log"


class Pace:
    def __init__(self) -> None:
        self.is_away = asyncio.Event()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []
        self._asked = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == BACKOFF.delay_ms(0, 0) / 1000:
            self.is_away.set()
            await asyncio.sleep(0)
            return
        if seconds == PING_INTERVAL_S:
            self.is_away.clear()
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((seconds, sleeper))
        self._asked.set()
        await sleeper

    async def elapse(self, seconds: float) -> None:
        """Ends a wait of that length, as soon as there is one."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for length, sleeper in self._sleepers:
                    if length == seconds and not sleeper.done():
                        sleeper.set_result(None)
                        return
                self._asked.clear()
                await self._asked.wait()


class Ear:
    """A process: its bus, what it heard, and how often it was told of a gap."""

    def __init__(self, bus: Bus, pace: Pace) -> None:
        self.bus = bus
        self.pace = pace
        self.calls: list[list[str]] = []
        self.gaps = 0
        self._news = asyncio.Event()
        bus.subscribe("feed", self._hear)
        bus.on_gap(self._note_gap)

    @property
    def items(self) -> list[str]:
        return [item for call in self.calls for item in call]

    def _hear(self, items: Sequence[str]) -> None:
        self.calls.append(list(items))
        self._news.set()

    def _note_gap(self) -> None:
        self.gaps += 1
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def until_items(self, count: int) -> list[str]:
        await self.until(lambda: len(self.items) >= count)
        return self.items

    async def until_gaps(self, count: int) -> None:
        await self.until(lambda: self.gaps >= count)

    async def until_away(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.pace.is_away.wait()
        assert not self.bus.is_connected


class Gate:
    """Between a bus and its server: open, shut, or mute as when a cable is pulled."""

    def __init__(self, server_url: str) -> None:
        address = urlsplit(server_url)
        self._server = address.hostname, address.port
        self._door: asyncio.Server | None = None
        self._passing: set[asyncio.StreamWriter] = set()
        self.is_mute = False
        self.swallowed = asyncio.Event()
        self.port = 0

    async def open(self) -> None:
        self._door = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        self.port = self._door.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        if self._door is not None:
            self._door.close()
            self.part()
            await self._door.wait_closed()

    def part(self) -> None:
        """Ends the connections that there are."""
        for writer in self._passing:
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(*self._server)
        except OSError:
            writer.transport.abort()
            return
        self._passing |= {writer, back}
        await asyncio.gather(self._pump(reader, back), self._pump(there, writer))
        self._passing -= {writer, back}

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                if self.is_mute:
                    self.swallowed.set()
                else:
                    target.write(data)
                    await target.drain()
        target.transport.abort()


class BusRig:
    def __init__(self, kind: str, url: str) -> None:
        self.kind = kind
        self.url = url
        self.gate = Gate(url)
        self._buses: list[RoundsBus] = []

    def ear(self, **options: Any) -> Ear:
        """Not started. The address of its bus has a password, which nobody may see."""
        address, pace = urlsplit(self.url), Pace()
        options = {"sleep": pace.sleep, "random": lambda: 0.0, **options}
        here = f"127.0.0.1:{self.gate.port}"
        bus: RoundsBus
        if self.kind == "postgres":
            user = f"{address.username}:{address.password}"
            bus = PostgresBus(address._replace(netloc=f"{user}@{here}").geturl(), **options)
        else:
            bus = NatsBus(f"nats://greenroom:{SECRET}@{here}", **options)
        self._buses.append(bus)
        return Ear(bus, pace)

    async def connected(self, **options: Any) -> Ear:
        ear = self.ear(**options)
        await ear.bus.start()
        await ear.until_gaps(1)
        return ear

    async def two(self, **options: Any) -> tuple[Ear, Ear]:
        return await self.connected(**options), await self.connected(**options)

    async def say(self, topic: str, text: str) -> None:
        """What anybody may say who reaches the server."""
        if self.kind == "postgres":
            connection = await asyncpg.connect(self.url)
            await connection.execute("select pg_notify('greenroom', $1)", f"{topic} {text}")
            await connection.close()
        else:
            client = await nats.connect(self.url)
            await client.publish(f"greenroom.{topic}", text.encode())
            await client.drain()

    async def close(self) -> None:
        for bus in self._buses:
            await bus.stop()
        await self.gate.shut()
