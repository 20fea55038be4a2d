"""Reads feeds for the open connections of this process.

A wake-up says that a feed may have grown. All followers that were woken since the last query are
read in one query, each from its own cursor: what they get depends on the feed alone, never on the
wake-up. A follower gets its next page when it has handled the last one, so a slow client keeps one
page in memory and delays nobody. If a feed cannot be read or delivered, only its own follower ends.
"""

import asyncio
import enum
import logging
import random
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

from greenroom.conversations.model import Cursor
from greenroom.conversations.store import Changes, ConversationStore, FeedPosition
from greenroom.kernel.errors import Unavailable, Unreadable
from greenroom.kernel.limits import Limits
from greenroom.platform.backoff import Backoff
from greenroom.platform.metrics import FEED_BROKEN, FEED_READERS_LOST

log = logging.getLogger("greenroom.realtime")

BACKOFF = Backoff(base_ms=1000, cap_ms=1000, floor_ms=100)
# Delivery is synchronous; after so many, other tasks get the event loop.
DELIVERIES_PER_YIELD = 8

WithFiles = Callable[[str, Changes], Awaitable[Changes]]
"""Adds what a viewer may see of the files in their events."""
Deliver = Callable[[Changes], None]
Fail = Callable[[Exception], None]


class _State(enum.Enum):
    IDLE = enum.auto()
    QUEUED = enum.auto()
    BUSY = enum.auto()
    CLOSED = enum.auto()


class Follower:
    """One connection's position in its person's feed.

    `deliver` is called with the first page, even if it is empty, and after that only with pages
    that have something new. It is not called again until `done`. If the store cannot be reached,
    the query is repeated; `fail`, if given, is called first and may close the follower. `broken` is
    called once and last, when this feed cannot be read or delivered at all.
    """

    __slots__ = (
        "_broken",
        "_deliver",
        "_fail",
        "_feeds",
        "_is_behind",
        "_is_new",
        "_state",
        "cursor",
        "user_id",
    )

    def __init__(
        self,
        feeds: "Feeds",
        user_id: str,
        since: Cursor | None,
        deliver: Deliver,
        broken: Fail,
        fail: Fail | None,
    ) -> None:
        self._feeds = feeds
        self._deliver = deliver
        self._broken = broken
        self._fail = fail
        self._state = _State.IDLE
        self._is_behind = False
        self._is_new = True
        self.user_id = user_id
        self.cursor = since

    def wake(self) -> None:
        if self._state is _State.IDLE:
            self._state = _State.QUEUED
            self._feeds.enqueue(self)
        elif self._state is _State.BUSY:
            self._is_behind = True

    def begin(self) -> FeedPosition | None:
        """The position to read from; None if the follower is closed."""
        if self._state is _State.CLOSED:
            return None
        self._state, self._is_behind = _State.BUSY, False
        return FeedPosition(self.user_id, self.cursor)

    def receive(self, changes: Changes) -> None:
        if self._state is _State.CLOSED:
            return
        is_news = self._is_new or bool(changes.events) or changes.cursor != self.cursor
        self._is_behind |= changes.has_more
        self._is_new, self.cursor = False, changes.cursor
        if is_news:
            self._deliver(changes)
        else:
            self.done()

    def done(self) -> None:
        """The connection has handled the delivered page."""
        if self._state is _State.BUSY:
            self._state = _State.IDLE
            if self._is_behind:
                self.wake()

    def report_failure(self, failure: Exception) -> None:
        if self._fail is not None and self._state is _State.BUSY:
            self._fail(failure)

    def end_broken(self, failure: Exception) -> None:
        """The feed cannot be read or delivered: close, and tell the connection."""
        if self._state is _State.CLOSED:
            return
        FEED_BROKEN.inc()
        broken = self._broken
        self.close()
        broken(failure)

    def retry(self) -> None:
        if self._state is _State.BUSY:
            self._is_behind = True
            self.done()

    def is_at(self, head: Cursor) -> bool:
        # A follower that is being read may have been read before the head moved.
        return self.cursor == head

    def close(self) -> None:
        if self._state is not _State.CLOSED:
            self._state = _State.CLOSED
            self._feeds.forget(self)
            # Break the reference cycle with the connection.
            self._deliver, self._broken, self._fail = _ignore, _ignore, None


def _ignore(_what: object) -> None:
    pass


class _Reader:
    """The followers that one reader task has taken and not served yet."""

    __slots__ = ("unserved",)

    def __init__(self) -> None:
        self.unserved: deque[Follower] = deque()


class Feeds:
    """All followers of this process, and the tasks that read for them."""

    def __init__(
        self,
        store: ConversationStore,
        with_files: WithFiles,
        *,
        limits: Limits,
        chance: Callable[[], float] = random.random,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._with_files = with_files
        self._limits = limits
        self._chance = chance
        self._now_s = now_s
        self._followers: defaultdict[str, set[Follower]] = defaultdict(set)
        self._queue: deque[Follower] = deque()
        self._readers: set[_Reader] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting_since_s: float | None = None
        """Since when a follower waits and no query has succeeded."""
        self._is_failing = False
        self._is_closed = False

    def follow(
        self,
        user_id: str,
        since: Cursor | None,
        deliver: Deliver,
        *,
        broken: Fail,
        fail: Fail | None = None,
    ) -> Follower:
        follower = Follower(self, user_id, since, deliver, broken, fail)
        self._followers[user_id].add(follower)
        follower.wake()
        return follower

    def forget(self, follower: Follower) -> None:
        followers = self._followers[follower.user_id]
        followers.discard(follower)
        if not followers:
            del self._followers[follower.user_id]

    def wake(self, user_ids: Iterable[str]) -> None:
        for user_id in user_ids:
            for follower in self._followers.get(user_id, ()):
                follower.wake()

    def enqueue(self, follower: Follower) -> None:
        self._queue.append(follower)
        if self._waiting_since_s is None:
            self._waiting_since_s = self._now_s()
        self._ensure_reader()

    def check_progress(self) -> None:
        """For the health check: raises Unavailable when followers have waited too long."""
        since_s = self._waiting_since_s
        if since_s is not None and self._now_s() - since_s > self._limits.feed_stalled_s:
            raise Unavailable("Feeds are not being read: open connections get no events.")

    def _ensure_reader(self) -> None:
        if self._queue and len(self._readers) < self._limits.feed_readers:
            reader = _Reader()
            task = asyncio.create_task(self._read(reader))
            self._readers.add(reader)
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._end_reader(reader, done))

    def _end_reader(self, reader: _Reader, task: asyncio.Task[None]) -> None:
        """A reader that has died leaves its followers to the next one."""
        self._tasks.discard(task)
        if reader not in self._readers:
            return
        self._readers.discard(reader)
        failure = None if task.cancelled() else task.exception()
        FEED_READERS_LOST.inc()
        log.error("a feed reader task has died; another one takes over", exc_info=failure)
        if not self._is_closed:
            _retry(reader)
            self._ensure_reader()

    async def _read(self, reader: _Reader) -> None:
        while self._queue:
            positions = self._take_batch(reader)
            if not positions:
                continue
            try:
                pages = await self._fetch(positions)
            except Exception as failure:  # noqa: BLE001 - the followers must be told of any failure
                for follower in reader.unserved:
                    follower.report_failure(failure)
                await self._back_off(failure)
                _retry(reader)
                continue
            self._is_failing = False
            self._waiting_since_s = self._now_s() if self._queue else None
            await self._deliver_pages(reader, pages)
        # No await between the last check of the queue and this line, so that whoever is queued
        # later starts another reader.
        self._readers.discard(reader)
        if not self._readers:
            self._waiting_since_s = None

    def _take_batch(self, reader: _Reader) -> list[FeedPosition]:
        positions: list[FeedPosition] = []
        while self._queue and len(positions) < self._limits.feed_batch:
            follower = self._queue.popleft()
            position = follower.begin()
            if position is not None:
                reader.unserved.append(follower)
                positions.append(position)
        return positions

    async def _fetch(self, positions: Sequence[FeedPosition]) -> list[Changes | Exception]:
        """The page of each position, or the error if its feed cannot be read. Raises when the store
        cannot be reached or fails for all of them."""
        try:
            return list(await self._pages(positions, self._limits.feed_page))
        except Unavailable:
            raise
        except Exception:
            log.exception("a feed cannot be read; reading each one alone")
        pages = [await self._fetch_alone(each) for each in positions]
        failures = [page for page in pages if isinstance(page, Exception)]
        of_store = [each for each in failures if not isinstance(each, Unreadable)]
        if of_store and len(failures) == len(pages):
            raise of_store[0]
        return pages

    async def _fetch_alone(self, position: FeedPosition) -> Changes | Exception:
        """A page as long as can be read; the rest comes with the next query."""
        limit = self._limits.feed_page
        while True:
            try:
                [page] = await self._pages([position], limit)
            except Unavailable:
                raise
            except Exception as failure:  # noqa: BLE001 - returned for this follower
                if limit == 1:
                    return failure
                limit //= 2
            else:
                return page

    async def _pages(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        try:
            async with asyncio.timeout(self._limits.feed_look_s):
                pages = await self._store.changes_of_many(positions, limit)
                together = zip(positions, pages, strict=True)
                return [await self._with_files(each.viewer, page) for each, page in together]
        except TimeoutError as late:
            raise Unavailable("The feed could not be read in time.") from late

    async def _deliver_pages(self, reader: _Reader, pages: Sequence[Changes | Exception]) -> None:
        for place, page in enumerate(pages):
            if place % DELIVERIES_PER_YIELD == DELIVERIES_PER_YIELD - 1:
                await asyncio.sleep(0)
            follower = reader.unserved.popleft()
            try:
                if isinstance(page, Exception):
                    follower.end_broken(page)
                else:
                    follower.receive(page)
            except Exception as failure:
                log.exception("a page of a feed could not be delivered")
                _end_broken(follower, failure)

    async def _back_off(self, failure: Exception) -> None:
        """Wait a random time before the next query. Nothing is lost: cursors have not moved."""
        if not self._is_failing:
            self._is_failing = True
            if isinstance(failure, Unavailable):
                log.warning("feeds cannot be read because the store is unavailable; retrying")
            else:
                log.error("reading feeds failed; retrying", exc_info=failure)
        await BACKOFF.pause(0, chance=self._chance)

    async def recheck(self) -> None:
        """Wake the followers whose feed has grown although no wake-up arrived."""
        users = list(self._followers)
        size = self._limits.feed_recheck_batch
        for start in range(0, len(users), size):
            heads = await self._store.heads(users[start : start + size])
            for user_id, head in heads.items():
                for follower in self._followers.get(user_id, ()):
                    if not follower.is_at(head):
                        follower.wake()

    async def close(self) -> None:
        self._is_closed = True
        for followers in list(self._followers.values()):
            for follower in list(followers):
                follower.close()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _retry(reader: _Reader) -> None:
    while reader.unserved:
        reader.unserved.popleft().retry()


def _end_broken(follower: Follower, failure: Exception) -> None:
    try:
        follower.end_broken(failure)
    except Exception:
        log.exception("a connection could not be closed after its feed failed")
