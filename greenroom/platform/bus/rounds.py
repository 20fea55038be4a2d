"""What the buses between processes have in common: sending in rounds, and connecting again.

While a round is being sent, the next one gathers. So an idle bus sends at once, and a busy one
sends much at a time.
"""

import asyncio
import contextlib
import logging
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from random import random as system_random
from typing import Any, Protocol

from greenroom.platform.backoff import Backoff
from greenroom.platform.bus.port import ITEM, TOPIC, LocalBus
from greenroom.platform.metrics import BUS_CONNECTED, HINTS

QUEUE_LIMIT = 10_000
PING_INTERVAL_S = 5.0
PING_TIMEOUT_S = 5.0
STOP_TIMEOUT_S = 1.0
CANCEL_AGAIN_S = 2.0
BACKOFF = Backoff(base_ms=200, cap_ms=5000, floor_ms=100)

# No topics: those begin with a letter.
GAP = "_gap"
PING = "_ping"

_ORIGIN = re.compile(r"[0-9a-f]{16}")
_ITEMS = re.compile(f"{ITEM.pattern}(?:,{ITEM.pattern})*")
_NOTHING = "-"

Chunk = tuple[str, str]
"""A topic, and the text to be sent under it: the sender's origin and items with commas between."""

log = logging.getLogger(__name__)


class Link(Protocol):
    """One connection. When it is lost, `lost` is set and the link is not used again."""

    lost: asyncio.Event

    async def send(self, chunks: Sequence[Chunk]) -> None:
        """Return when the server has all of them; raise when that is not certain."""
        ...

    async def close(self) -> None:
        """Must be quick and must not raise, whatever state the connection is in."""
        ...


class RoundsBus(LocalBus, ABC):
    """A bus over one connection, which is made again as often as it is lost.

    The bus sends pings to itself. When one does not come back, the connection counts as lost: this
    also finds a peer that vanished without closing, and a server that lets us send but not listen.
    A round that may not have arrived is not repeated; the other side is told of a gap instead.
    """

    def __init__(
        self,
        *,
        message_size: int,
        queue_limit: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = system_random,
    ) -> None:
        super().__init__()
        self._message_size = message_size
        self._sleep = sleep
        self._random = random
        self._origin = secrets.token_hex(8)
        self._waiting = _Waiting(queue_limit)
        self._wake, self._echo = asyncio.Event(), asyncio.Event()
        # Nothing waits, or the server is away and nothing will go soon.
        self._settled = asyncio.Event()
        self._settled.set()
        self._is_ping_due = False
        self._is_connected = False
        self._is_away = False
        self._is_stopped = False
        self._attempts = 0
        self._running: asyncio.Task[None] | None = None

    @abstractmethod
    async def _connect(self) -> Link:
        """Open a connection that passes what it receives to `_receive`."""

    @property
    def is_connected(self) -> bool:
        return self._is_connected

    def publish(self, topic: str, items: Iterable[str]) -> None:
        given = list(items)
        self._hear(topic, given)
        if given and not self._is_stopped and TOPIC.fullmatch(topic):
            self._waiting.add(topic, given)
            self._wake.set()
            if not self._is_away:
                self._settled.clear()

    async def start(self) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._running is not None and not self._is_stopped:
            with contextlib.suppress(TimeoutError):
                await self._within(STOP_TIMEOUT_S, self._settled.wait())
        self._is_stopped = True
        if self._running is not None:
            await _end([self._running])

    async def _run(self) -> None:
        while not self._is_stopped:
            try:
                await self._live()
            except asyncio.CancelledError:
                # Ours ends us; one from inside a client is a lost connection like any other.
                if _is_being_cancelled():
                    raise
                self._note_outage(ConnectionResetError())
            except Exception as failure:  # noqa: BLE001 (whatever it was, the answer is to reconnect)
                self._note_outage(failure)
            await BACKOFF.pause(self._attempts, sleep=self._sleep, chance=self._random)
            self._attempts += 1

    async def _live(self) -> None:
        """Use one connection until it is lost, which raises, or until the bus is stopped."""
        link = await self._connect()
        work = (self._send_rounds(link), self._ping(), _until_lost(link))
        tasks = [asyncio.create_task(each) for each in work]
        try:
            await _first_of(tasks)
        finally:
            if self._is_connected:
                self._is_connected = False
                BUS_CONNECTED.dec()
            try:
                # Before a round is cancelled: a server that may be gone need not hear of that.
                await link.close()
            finally:
                await _end(tasks)

    async def _send_rounds(self, link: Link) -> None:
        while True:
            chunks = self._next_round()
            if not chunks:
                self._settled.set()
                self._wake.clear()
                await self._wake.wait()
                continue
            self._settled.clear()
            try:
                await link.send(chunks)
            except BaseException:
                self._waiting.has_gap |= any(topic != PING for topic, _ in chunks)
                raise

    def _next_round(self) -> list[Chunk]:
        origin, size = self._origin, self._message_size
        chunks: list[Chunk] = []
        for topic, items in self._waiting.take().items():
            HINTS.labels(topic, "sent").inc(len(items))
            room = size - len(f"{topic} {origin} ")
            chunks += [(topic, f"{origin} {text}") for text in _pack(items, room)]
        if self._waiting.has_gap:
            self._waiting.has_gap = False
            chunks.append((GAP, f"{origin} {_NOTHING}"))
        if self._is_ping_due:
            self._is_ping_due = False
            chunks.append((PING, f"{origin} {_NOTHING}"))
        return chunks

    async def _ping(self) -> None:
        while True:
            self._echo.clear()
            self._is_ping_due = True
            self._wake.set()
            await self._within(PING_TIMEOUT_S, self._echo.wait())
            if self._is_connected:
                # Not at the first ping, so that a server that soon ends every connection is asked
                # less and less often too.
                self._attempts = 0
            else:
                self._note_connection()
            await self._sleep(PING_INTERVAL_S)

    def _note_connection(self) -> None:
        self._is_connected = True
        BUS_CONNECTED.inc()
        if self._is_away:
            self._is_away = False
            log.info("the bus is back")
        self._tell_of_gap()

    def _note_outage(self, failure: Exception) -> None:
        # Only the failure's type: its text may quote the address, and that a password.
        self._settled.set()
        if not self._is_away:
            self._is_away = True
            log.warning(
                "the bus is away: others learn of changes late", extra={"code": _name(failure)}
            )

    def _receive(self, topic: str, text: str) -> None:
        """Take a message as it came: from another process, from ourselves, or from a stranger."""
        origin, _, joined = text.partition(" ")
        if origin == self._origin:
            if topic == PING:
                self._echo.set()
        elif len(text) > self._message_size or _ORIGIN.fullmatch(origin) is None:
            return
        elif topic == GAP:
            self._tell_of_gap()
        elif topic in self._handlers and _ITEMS.fullmatch(joined):
            items = joined.split(",")
            HINTS.labels(topic, "heard").inc(len(items))
            self._hear(topic, items)

    async def _within(self, timeout_s: float, work: Coroutine[Any, Any, Any]) -> None:
        """As asyncio.timeout, but by the injected `sleep`."""
        tasks = [asyncio.create_task(work), asyncio.create_task(self._expire(timeout_s))]
        try:
            await _first_of(tasks)
        finally:
            await _end(tasks)

    async def _expire(self, timeout_s: float) -> None:
        await self._sleep(timeout_s)
        raise TimeoutError


class _Waiting:
    """What is to be sent: by topic, in order, each item once, and no more than `limit`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self._topics: dict[str, dict[str, None]] = {}
        self.has_gap = False

    def add(self, topic: str, items: Iterable[str]) -> None:
        waiting = self._topics.setdefault(topic, {})
        for item in items:
            if item in waiting:
                continue
            if self._count < self._limit and ITEM.fullmatch(item):
                waiting[item] = None
                self._count += 1
            else:
                self.has_gap = True

    def take(self) -> dict[str, dict[str, None]]:
        taken, self._topics, self._count = self._topics, {}, 0
        return taken


def _pack(items: Iterable[str], size: int) -> Iterator[str]:
    """Join the items with commas into as few texts of at most `size` characters as possible."""
    packed: list[str] = []
    room = size
    for item in items:
        if len(item) > room:
            yield ",".join(packed)
            packed, room = [], size
        packed.append(item)
        room -= len(item) + 1
    if packed:
        yield ",".join(packed)


async def _until_lost(link: Link) -> None:
    await link.lost.wait()
    raise ConnectionResetError


async def _first_of(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Waits until one of them ends, and fails if that one did."""
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    next(task for task in tasks if task.done()).result()


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    while pending := [task for task in tasks if not task.done()]:
        # More than once, because Python 3.11's wait_for, which NATS' client uses, forgets a
        # cancellation that comes just when it is done.
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _name(failure: Exception) -> str:
    return type(failure).__name__
