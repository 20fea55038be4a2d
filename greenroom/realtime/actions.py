"""What all transports share: following a feed, acknowledging it, staying welcome; and the beat
that keeps open connections honest."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from greenroom.conversations.actions import Conversations
from greenroom.conversations.model import Cursor
from greenroom.conversations.store import Changes, ConversationStore
from greenroom.conversations.wire import Views
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unauthenticated, Unavailable
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.bus import Bus
from greenroom.platform.http.endpoint import Caller
from greenroom.presence.actions import Presence
from greenroom.realtime.feeds import Feeds
from greenroom.realtime.streams import Streams

log = logging.getLogger("greenroom.realtime")

T = TypeVar("T")

BEAT_S = 1
GONE_CHECK_S = 30
SPREAD_SIZE = 20
SPREAD_PAUSE_S = 0.03


class Doorkeeper(Protocol):
    """What this room needs to know about accounts."""

    async def authenticate(self, authorization: str | None) -> Caller: ...

    async def gone(self, user_ids: Sequence[str]) -> list[str]: ...


class Realtime:
    def __init__(
        self,
        store: ConversationStore,
        conversations: Conversations,
        presence: Presence,
        doorkeeper: Doorkeeper,
        bus: Bus,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
    ) -> None:
        self.conversations = conversations
        self.presence = presence
        self.clock = clock
        self.limits = limits
        self.feeds = Feeds(store, limits=limits)
        self.streams = Streams(clock=clock, limits=limits)
        self._doorkeeper = doorkeeper
        self._randomness = randomness
        self._bus = bus
        self._seen_now: set[str] = set()
        self._acks_waiting: dict[str, Cursor] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._beating: asyncio.Task[None] | None = None
        self._beats = 0
        self._under_way: set[Callable[[], Awaitable[None]]] = set()
        bus.subscribe("feed", self.feeds.wake)
        bus.subscribe("renew", self._renew_here)
        bus.on_gap(lambda: self.spawn(self._try(self._recheck)))

    def views(self, viewer: str) -> Views:
        return Views(viewer, self.clock(), self.limits, self.conversations.show_card)

    def new_stream_id(self) -> str:
        return make_id("str", self.clock(), self._randomness())

    # What a person's client says, over whichever transport.

    async def acknowledge(self, user_id: str, since: Cursor | None, changes: Changes) -> None:
        """Coming with a cursor says that everything up to it has arrived."""
        acked = changes.acked
        if since is not None and since.epoch == acked.epoch and since.n > acked.n:
            # The client says it again with its next cursor, so this may fail.
            try:
                await self.conversations.acknowledge(user_id, since)
            except Unavailable:
                log.warning("an acknowledgement could not be kept just now")

    def acknowledge_soon(self, user_id: str, since: Cursor | None, changes: Changes) -> None:
        """With the next beat, together with others: whoever connects can wait for a second to be
        known to have what they have, and senders need the disk now."""
        if since is not None and since.epoch == changes.acked.epoch and since.n > changes.acked.n:
            before = self._acks_waiting.get(user_id)
            if before is None or before.n < since.n:
                self._acks_waiting[user_id] = since

    async def _write_acks(self) -> None:
        waiting = list(self._acks_waiting.items())
        self._acks_waiting.clear()
        async for some in _spread(waiting):
            await asyncio.gather(*(self.conversations.acknowledge(*each) for each in some))

    async def authenticate_again(self, user_id: str, token: str) -> float:
        """When the fresh token ends. Raises Unauthenticated, also for another person's."""
        caller = await self._doorkeeper.authenticate(f"Bearer {token}")
        if caller.user_id != user_id or caller.expires_at is None:
            raise Unauthenticated("This token is another person's.")
        return caller.expires_at

    def renew(self, stream_id: str, user_id: str, expires_at_ms: float) -> None:
        """Wherever the stream is: this process hears it too."""
        self._bus.publish("renew", [f"{stream_id}:{int(expires_at_ms)}:{user_id}"])

    def _renew_here(self, items: Sequence[str]) -> None:
        for item in items:
            stream_id, expires_at_ms, user_id = item.split(":", 2)
            self.streams.renew(stream_id, user_id, int(expires_at_ms))

    def note_seen(self, user_id: str) -> None:
        """Somebody is there; written down with the next beat."""
        if len(self._seen_now) < self.limits.known_users:
            self._seen_now.add(user_id)

    def spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Wait for what is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    # The beat.

    async def start(self) -> None:
        await self._bus.start()
        self._beating = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self.streams.end_all()
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
        await self.feeds.close()
        await self.settled()
        await self.presence.close()
        await self._bus.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            self.beat()

    def beat(self) -> None:
        """Once a second. What takes longer runs beside it, each part for itself."""
        self._beats += 1
        limits = self.limits
        self.streams.end_expired()
        self.presence.tick()
        # Without a connection to the others, their hints are missing and a look must do.
        recheck_s = limits.feed_recheck_s if self._bus.is_connected else BEAT_S
        for every_s, work in (
            (BEAT_S, self._write_seen),
            (BEAT_S, self._write_acks),
            (recheck_s, self._recheck),
            (limits.presence_refresh_s, self._refresh_presence),
            (GONE_CHECK_S, self._end_gone),
        ):
            if self._beats % every_s == 0 and work not in self._under_way:
                self.spawn(self._try(work))

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        self._under_way.add(work)
        try:
            await work()
        except Unavailable:
            log.warning("the store is away; trying again", extra={"job": work.__name__})
        except Exception:
            log.exception("a background job failed", extra={"job": work.__name__})
        finally:
            self._under_way.discard(work)

    async def _recheck(self) -> None:
        await self.feeds.recheck()

    async def _write_seen(self) -> None:
        users = list(self._seen_now)
        self._seen_now.clear()
        async for some in _spread(users):
            await self.presence.seen(some)

    async def _refresh_presence(self) -> None:
        """Whoever has a connection is there."""
        self._seen_now.update(self.streams.users())
        await self.presence.refresh()

    async def _end_gone(self) -> None:
        users = self.streams.users()
        for start in range(0, len(users), self.limits.feed_recheck_batch):
            some = users[start : start + self.limits.feed_recheck_batch]
            self.streams.end_users(await self._doorkeeper.gone(some))


async def _spread(items: list[T]) -> AsyncIterator[list[T]]:
    """A few at a time with a pause between them: what a crowd brings along need not be written at
    once, and senders wait for the same database."""
    for start in range(0, len(items), SPREAD_SIZE):
        if start:
            await asyncio.sleep(SPREAD_PAUSE_S)
        yield items[start : start + SPREAD_SIZE]
