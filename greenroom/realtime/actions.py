"""What all transports share: reading feeds, acknowledgements, token renewal, and periodic work.

`Realtime.tick` runs once a second: it closes expired connections and starts the periodic jobs.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from greenroom.conversations.actions import Conversations
from greenroom.conversations.attachments import FileView
from greenroom.conversations.model import Cursor
from greenroom.conversations.store import Changes, ConversationStore
from greenroom.conversations.wire import Views
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unauthenticated, Unavailable
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.bus.port import Bus
from greenroom.platform.http.endpoint import Caller
from greenroom.platform.metrics import BACKGROUND_FAILURES
from greenroom.presence.actions import Presence
from greenroom.realtime.feeds import Feeds
from greenroom.realtime.streams import Streams

log = logging.getLogger("greenroom.realtime")

T = TypeVar("T")

TICK_S = 1
GONE_CHECK_S = 30
SPREAD_SIZE = 20
SPREAD_PAUSE_S = 0.03


class Authenticator(Protocol):
    """What this package needs from accounts."""

    async def authenticate(self, authorization: str | None) -> Caller: ...

    async def gone(self, user_ids: Sequence[str]) -> list[str]: ...


class Realtime:
    def __init__(
        self,
        store: ConversationStore,
        conversations: Conversations,
        presence: Presence,
        authenticator: Authenticator,
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
        self.feeds = Feeds(store, conversations.with_files, limits=limits)
        self.streams = Streams(clock=clock, limits=limits)
        self._authenticator = authenticator
        self._randomness = randomness
        self._bus = bus
        self._seen_now: set[str] = set()
        self._acks_waiting: dict[str, Cursor] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._ticks = 0
        self._running: set[Callable[[], Awaitable[None]]] = set()
        bus.subscribe("feed", self.feeds.wake)
        bus.subscribe("renew", self._renew_here)
        bus.on_gap(lambda: self.spawn(self._try(self._recheck)))

    def views(self, viewer: str, files: Mapping[str, FileView] | None = None) -> Views:
        return Views(viewer, self.clock(), self.limits, self.conversations.show_card, files)

    def new_stream_id(self) -> str:
        return make_id("str", self.clock(), self._randomness())

    # Messages of clients, over any transport.

    async def acknowledge(self, user_id: str, since: Cursor | None, changes: Changes) -> None:
        """A client that asks with a cursor has received everything up to it."""
        acked = changes.acked
        if since is not None and since.epoch == acked.epoch and since.n > acked.n:
            # This may fail: the next request of the client acknowledges it as well.
            try:
                await self.conversations.acknowledge(user_id, since)
            except Unavailable:
                log.warning("an acknowledgement could not be stored; the client repeats it")

    def acknowledge_soon(self, user_id: str, since: Cursor | None, changes: Changes) -> None:
        """Store it with the next tick, together with others. When many clients reconnect at once,
        senders should not wait for their acknowledgements."""
        if since is not None and since.epoch == changes.acked.epoch and since.n > changes.acked.n:
            before = self._acks_waiting.get(user_id)
            if before is None or before.n < since.n:
                self._acks_waiting[user_id] = since

    async def _write_acks(self) -> None:
        waiting = list(self._acks_waiting.items())
        self._acks_waiting.clear()
        async for some in _spread(waiting):
            acks = (self.conversations.acknowledge(*each) for each in some)
            for failure in await asyncio.gather(*acks, return_exceptions=True):
                if isinstance(failure, Unavailable):
                    log.warning("an acknowledgement could not be stored; the client repeats it")
                elif isinstance(failure, Exception):
                    log.error("an acknowledgement could not be stored", exc_info=failure)

    async def authenticate_again(self, user_id: str, token: str) -> float:
        """The expiry of a new token. Raises Unauthenticated, also for another person's token."""
        caller = await self._authenticator.authenticate(f"Bearer {token}")
        if caller.user_id != user_id or caller.expires_at is None:
            raise Unauthenticated("This token is another person's.")
        return caller.expires_at

    def renew(self, stream_id: str, user_id: str, expires_at_ms: float) -> None:
        """Renew a stream in whichever process it is; the bus delivers to this process as well."""
        self._bus.publish("renew", [f"{stream_id}:{int(expires_at_ms)}:{user_id}"])

    def _renew_here(self, items: Sequence[str]) -> None:
        for item in items:
            stream_id, expires_at_ms, user_id = item.split(":", 2)
            self.streams.renew(stream_id, user_id, int(expires_at_ms))

    def note_seen(self, user_id: str) -> None:
        """A person is online; stored with the next tick."""
        if len(self._seen_now) < self.limits.known_users:
            self._seen_now.add(user_id)

    def spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Wait for running background work."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    # Periodic work.

    async def start(self) -> None:
        await self._bus.start()
        self._ticking = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self.streams.end_all()
        if self._ticking is not None:
            self._ticking.cancel()
            await asyncio.wait([self._ticking])
        await self.feeds.close()
        await self.settled()
        await self.presence.close()
        await self._bus.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            try:
                self.tick()
            except Exception:
                BACKGROUND_FAILURES.labels("beat").inc()
                log.exception("periodic work failed; it runs again in a second")

    def tick(self) -> None:
        """Runs once a second. Longer work runs in tasks, each job at most once at a time."""
        self._ticks += 1
        limits = self.limits
        _try_now(self.streams.end_expired)
        _try_now(self.presence.tick)
        # Without a connection to the bus there are no wake-ups, so feeds are polled every second.
        recheck_s = limits.feed_recheck_s if self._bus.is_connected else TICK_S
        for every_s, work in (
            (TICK_S, self._write_seen),
            (TICK_S, self._write_acks),
            (recheck_s, self._recheck),
            (limits.presence_refresh_s, self._refresh_presence),
            (GONE_CHECK_S, self._end_gone),
        ):
            if self._ticks % every_s == 0 and work not in self._running:
                self.spawn(self._try(work))

    async def _try(self, work: Callable[[], Awaitable[None]]) -> None:
        self._running.add(work)
        try:
            await work()
        except Unavailable:
            log.warning("the store cannot be reached; retrying", extra={"job": work.__name__})
        except Exception:
            BACKGROUND_FAILURES.labels(work.__name__.removeprefix("_")).inc()
            log.exception("a background job failed", extra={"job": work.__name__})
        finally:
            self._running.discard(work)

    async def _recheck(self) -> None:
        await self.feeds.recheck()

    async def _write_seen(self) -> None:
        users = list(self._seen_now)
        self._seen_now.clear()
        async for some in _spread(users):
            await self.presence.seen(some)

    async def _refresh_presence(self) -> None:
        """Everybody with a connection is online."""
        self._seen_now.update(self.streams.users())
        await self.presence.refresh()

    async def _end_gone(self) -> None:
        users = self.streams.users()
        for start in range(0, len(users), self.limits.feed_recheck_batch):
            some = users[start : start + self.limits.feed_recheck_batch]
            self.streams.end_users(await self._authenticator.gone(some))


def _try_now(work: Callable[[], None]) -> None:
    """A failure must not stop the other work of the same tick."""
    try:
        work()
    except Exception:
        BACKGROUND_FAILURES.labels(work.__name__).inc()
        log.exception("periodic work failed", extra={"job": work.__name__})


async def _spread(items: list[T]) -> AsyncIterator[list[T]]:
    """Small batches with a pause between them, so that senders can use the database meanwhile."""
    for start in range(0, len(items), SPREAD_SIZE):
        if start:
            await asyncio.sleep(SPREAD_PAUSE_S)
        yield items[start : start + SPREAD_SIZE]
