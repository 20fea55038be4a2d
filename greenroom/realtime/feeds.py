"""Who follows which feed here, and how news reaches them.

A wake-up says that a feed may have grown. All followers that were woken since the last look are
read in one go, each from its own place: the log decides what they get, never the wake-up. A
follower gets its next page when it has dealt with the last one, so that one who is slow holds one
page in memory and nobody up.
"""

import asyncio
import enum
import logging
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable

from greenroom.conversations.model import Cursor
from greenroom.conversations.store import Changes, ConversationStore, FeedPosition
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits

log = logging.getLogger("greenroom.realtime")

RETRY_MOST_S = 1.0
# Writing to many is work for the event loop, and others are waiting for theirs.
TAKEN_PER_TURN = 8

Deliver = Callable[[Changes], None]
Fail = Callable[[Exception], None]


class _State(enum.Enum):
    IDLE = enum.auto()
    QUEUED = enum.auto()
    BUSY = enum.auto()
    CLOSED = enum.auto()


class Follower:
    """One connection's place in its person's feed.

    `deliver` is called with the first look's outcome whatever it is, and after that with news
    only. It is not called again until `done`. A look that fails is made again; with `fail`, the
    follower hears of it first and may close.
    """

    __slots__ = (
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
        fail: Fail | None,
    ) -> None:
        self._feeds = feeds
        self._deliver = deliver
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
        """Where to read from; None when there is nobody to read for any more."""
        if self._state is _State.CLOSED:
            return None
        self._state, self._is_behind = _State.BUSY, False
        return FeedPosition(self.user_id, self.cursor)

    def take(self, changes: Changes) -> None:
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
        """What was delivered is dealt with."""
        if self._state is _State.BUSY:
            self._state = _State.IDLE
            if self._is_behind:
                self.wake()

    def hear_of(self, failure: Exception) -> None:
        if self._fail is not None and self._state is _State.BUSY:
            self._fail(failure)

    def retry(self) -> None:
        if self._state is _State.BUSY:
            self._is_behind = True
            self.done()

    def is_at(self, head: Cursor) -> bool:
        # Whoever is being served may have been looked up before the head was there.
        return self.cursor == head

    def close(self) -> None:
        if self._state is not _State.CLOSED:
            self._state = _State.CLOSED
            self._feeds.forget(self)
            # They refer to the connection that refers to this.
            self._deliver, self._fail = _ignore, None


def _ignore(_changes: Changes) -> None:
    pass


class Feeds:
    """The feeds that somebody here follows."""

    def __init__(
        self,
        store: ConversationStore,
        *,
        limits: Limits,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._limits = limits
        self._chance = chance
        self._followers: defaultdict[str, set[Follower]] = defaultdict(set)
        self._queue: deque[Follower] = deque()
        self._idle_readers = limits.feed_readers
        self._readers: set[asyncio.Task[None]] = set()
        self._is_failing = False

    def follow(
        self, user_id: str, since: Cursor | None, deliver: Deliver, fail: Fail | None = None
    ) -> Follower:
        follower = Follower(self, user_id, since, deliver, fail)
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
        if self._idle_readers:
            self._idle_readers -= 1
            task = asyncio.create_task(self._read())
            self._readers.add(task)
            task.add_done_callback(self._readers.discard)

    async def _read(self) -> None:
        while self._queue:
            followers, positions = self._take_batch()
            if not positions:
                continue
            try:
                pages = await self._store.changes_of_many(positions, self._limits.feed_page)
            except Exception as failure:  # noqa: BLE001 - whatever it is, the followers wait for it
                for follower in followers:
                    follower.hear_of(failure)
                await self._wait_out(failure)
                for follower in followers:
                    follower.retry()
                continue
            self._is_failing = False
            for place, (follower, changes) in enumerate(zip(followers, pages, strict=True)):
                if place % TAKEN_PER_TURN == TAKEN_PER_TURN - 1:
                    await asyncio.sleep(0)
                follower.take(changes)
        # In the same step as the last look at the queue: whoever queues after it finds us idle.
        self._idle_readers += 1

    def _take_batch(self) -> tuple[list[Follower], list[FeedPosition]]:
        followers: list[Follower] = []
        positions: list[FeedPosition] = []
        while self._queue and len(positions) < self._limits.feed_batch:
            follower = self._queue.popleft()
            position = follower.begin()
            if position is not None:
                followers.append(follower)
                positions.append(position)
        return followers, positions

    async def _wait_out(self, failure: Exception) -> None:
        """The store is away. Nothing is lost, it is only later."""
        if not self._is_failing:
            self._is_failing = True
            if isinstance(failure, Unavailable):
                log.warning("the feed cannot be read just now; trying again")
            else:
                log.error("reading the feed failed; trying again", exc_info=failure)
        await asyncio.sleep(RETRY_MOST_S * (0.1 + 0.9 * self._chance()))

    async def recheck(self) -> None:
        """Wake whoever's feed has grown without a wake-up having come through."""
        users = list(self._followers)
        size = self._limits.feed_recheck_batch
        for start in range(0, len(users), size):
            heads = await self._store.heads(users[start : start + size])
            for user_id, head in heads.items():
                for follower in self._followers.get(user_id, ()):
                    if not follower.is_at(head):
                        follower.wake()

    async def close(self) -> None:
        for followers in list(self._followers.values()):
            for follower in list(followers):
                follower.close()
        if self._readers:
            await asyncio.wait(self._readers)
