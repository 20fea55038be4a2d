"""Events per second that reach a thousand people, compared with a bare WebSocket server."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop

from bench import fill
from bench.broadcast import broadcast
from bench.product import Product
from bench.receivers import Seat, WebSocketReceiver
from bench.report import Row, noted, say
from bench.senders import BODY, send_request
from bench.wire import HttpClient, Socket, upgrade

NEW_MESSAGE = b'{"type":"message.new"'
WARM_UP_S = 1
PATIENCE_S = 60
OPENING = 50


@dataclass(frozen=True, slots=True)
class Groups:
    first: int
    count: int
    size: int

    @property
    def members(self) -> list[str]:
        return [user for number in self.numbers for user in fill.members(number, self.size)]

    @property
    def people(self) -> int:
        return self.count * self.size

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)


class Tally:
    """Counts all received events, and keeps one as an example."""

    def __init__(self) -> None:
        self.count = 0
        self.last_s = 0.0
        self.event = b""
        self._expected = -1
        self._all_here = asyncio.Event()
        self._error: Exception | None = None

    def heard(self, event: bytes) -> None:
        if event.startswith(NEW_MESSAGE):
            self.count += 1
            self.last_s = time.perf_counter()
            self.event = event
            if self.count == self._expected:
                self._all_here.set()

    def broke(self, error: Exception) -> None:
        self._error = self._error or error
        self._all_here.set()

    async def settle(self, expected: int) -> None:
        """Wait until `expected` events have arrived, and reset the count."""
        self._expected = expected
        if self.count < expected:
            async with asyncio.timeout(PATIENCE_S):
                await self._all_here.wait()
        if self._error is not None:
            raise self._error
        if self.count > expected:
            raise RuntimeError(f"{self.count - expected} events came twice")
        self.count, self._expected = 0, -1
        self._all_here.clear()


@dataclass(frozen=True, slots=True)
class Rate:
    per_s: float
    event: bytes


def measure(server: Product, groups: Groups, seconds: float) -> Rate:
    last = groups.numbers[-1]
    asyncio.run(fill.fill_groups(server.database_url, groups.first, last, groups.size))
    say(f"{groups.count} threads of {groups.size} on {groups.people:,} WebSockets")
    return uvloop.run(_measure(server, groups, seconds))


def against_bare(rate: Rate, groups: Groups, seconds: float) -> Row:
    say(f"the same bytes from a bare server to {groups.people:,} WebSockets")
    with broadcast(rate.event) as port:
        bare_per_s = uvloop.run(_measure_bare(port, groups.people, seconds))
    return noted(
        f"events to {groups.people:,} WebSockets in threads of {groups.size} / bare writes",
        f"{rate.per_s:,.0f}/s of {bare_per_s:,.0f}/s, {len(rate.event)} bytes each",
        rate.per_s / bare_per_s,
    )


async def _measure(server: Product, groups: Groups, seconds: float) -> Rate:
    """One person in each thread sends as fast as sends are acknowledged; measured until the last
    event has arrived."""
    tally = Tally()
    cursors = await fill.cursors(server.database_url, groups.members)
    receivers = [
        WebSocketReceiver(Seat(server.port, server.token(user), at), tally.heard, tally.broke)
        for user, at in cursors.items()
    ]
    await _open(receivers)
    try:
        await tally.settle(await _talk(server, groups, WARM_UP_S, "w"))
        started_s = time.perf_counter()
        events = await _talk(server, groups, seconds, "m")
        await tally.settle(events)
        return Rate(events / (tally.last_s - started_s), tally.event)
    finally:
        for receiver in receivers:
            receiver.close()


async def _open(receivers: Sequence[WebSocketReceiver]) -> None:
    for start in range(0, len(receivers), OPENING):
        await asyncio.gather(*(each.open() for each in receivers[start : start + OPENING]))


async def _talk(server: Product, groups: Groups, seconds: float, name: str) -> int:
    """Send for `seconds`; returns the number of events."""
    ends_s = time.perf_counter() + seconds
    sent = await asyncio.gather(
        *(_write(server, number, groups.size, ends_s, name) for number in groups.numbers)
    )
    return sum(sent) * groups.size


async def _write(server: Product, number: int, size: int, ends_s: float, name: str) -> int:
    token = server.token(fill.members(number, size)[0])
    connection = await HttpClient.open(server.port)
    count = 0
    while time.perf_counter() < ends_s:
        sending = send_request(token, fill.thread_id(number), f"{name}-{number}-{count}", BODY)
        answer = await connection.ask(sending)
        if answer.status != 201:
            raise RuntimeError(f"a send was answered with {answer.status}: {answer.body!r}")
        count += 1
    connection.close()
    return count


async def _measure_bare(port: int, people: int, seconds: float) -> float:
    tally = Tally()
    sockets = [Socket(upgrade("/", ""), tally.heard, tally.broke) for _ in range(people)]
    loop = asyncio.get_running_loop()
    for each in sockets:
        await loop.create_connection(lambda each=each: each, "127.0.0.1", port)  # type: ignore[misc]
        await each.opened
    sockets[0].tell(b"go")
    await asyncio.sleep(WARM_UP_S)
    tally.count, started_s = 0, time.perf_counter()
    await asyncio.sleep(seconds)
    rate = tally.count / (time.perf_counter() - started_s)
    for each in sockets:
        each.cut()
    return rate
