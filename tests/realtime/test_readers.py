"""Readers of the feed survive errors, and report when they are stuck."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from greenroom.conversations.model import Cursor, Event, EventType
from greenroom.conversations.store import Changes, FeedPosition
from greenroom.kernel.errors import Unavailable, Unreadable
from greenroom.kernel.limits import Limits
from greenroom.platform.metrics import FEED_BROKEN, FEED_READERS_LOST
from greenroom.realtime.feeds import Feeds
from tests.support.api import Api
from tests.support.waiting import PATIENCE_S

from .listeners import until
from .server import Server

HEAD = Cursor("e", 1)


class Store:
    """Every feed has one event; a test says whose cannot be read, and how the next look fails."""

    def __init__(self) -> None:
        self.unreadable: set[str] = set()
        self.failures: list[BaseException] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def changes_of_many(
        self, positions: Sequence[FeedPosition], _limit: int
    ) -> list[Changes]:
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop()
        if self.unreadable.intersection(each.viewer for each in positions):
            raise Unreadable
        event = Event(EventType.INBOX_CHANGED, HEAD, 0)
        return [Changes((event,), HEAD, False, HEAD) for _ in positions]


class Ear:
    """A connection that notes what it is told."""

    def __init__(self, feeds: Feeds, user_id: str, failure: Exception | None = None) -> None:
        self.heard: list[Changes] = []
        self.broken: list[Exception] = []
        self._failure = failure
        self._follower = feeds.follow(user_id, None, self._take, broken=self.broken.append)

    def _take(self, changes: Changes) -> None:
        if self._failure is not None:
            raise self._failure
        self.heard.append(changes)
        self._follower.done()


def feeds_of(store: Any, now_s: Callable[[], float] = lambda: 0.0, **limits: int) -> Feeds:
    return Feeds(store, _without_files, limits=Limits(**limits), chance=lambda: 0.0, now_s=now_s)


async def _without_files(_viewer: str, changes: Changes) -> Changes:
    return changes


@pytest.mark.parametrize("failure", [ValueError("poison"), Unreadable()])
async def test_a_follower_that_cannot_be_served_costs_the_others_nothing(
    failure: Exception,
) -> None:
    feeds, broken = feeds_of(Store(), feed_readers=1), FEED_BROKEN._value.get()
    before, odd, after = Ear(feeds, "ann"), Ear(feeds, "odd", failure), Ear(feeds, "bob")
    await until(lambda: bool(before.heard and after.heard))
    assert odd.broken == [failure]
    assert FEED_BROKEN._value.get() == broken + 1
    later = Ear(feeds, "cam")
    await until(lambda: bool(later.heard))
    await feeds.close()


async def test_a_feed_that_cannot_be_read_is_told_to_its_followers_alone() -> None:
    store = Store()
    store.unreadable.add("odd")
    feeds = feeds_of(store, feed_readers=1)
    ears = [Ear(feeds, user) for user in ("ann", "odd", "bob", "odd")]
    await until(lambda: all(ear.heard or ear.broken for ear in ears))
    assert [len(ear.broken) for ear in ears] == [0, 1, 0, 1]
    await feeds.close()


async def test_a_reader_that_dies_is_counted_and_replaced_and_its_work_is_done() -> None:
    """A cancellation inside a driver ends the task that waits for it, like no other failure."""
    store, lost = Store(), FEED_READERS_LOST._value.get()
    store.failures = [asyncio.CancelledError(), asyncio.CancelledError()]
    feeds = feeds_of(store, feed_readers=1)
    ears = [Ear(feeds, user) for user in ("ann", "bob")]
    await until(lambda: all(ear.heard for ear in ears))
    assert FEED_READERS_LOST._value.get() == lost + 2
    await feeds.close()


async def test_a_store_that_is_away_ends_nobody() -> None:
    store = Store()
    store.failures = [Unavailable(), RuntimeError("a mistake of ours")]
    feeds = feeds_of(store)
    ear = Ear(feeds, "ann")
    await until(lambda: bool(ear.heard))
    assert ear.broken == []
    await feeds.close()


async def test_a_feed_that_does_not_move_is_noticed_and_so_is_its_recovery() -> None:
    store, now = Store(), [0.0]
    store.gate.clear()
    feeds = feeds_of(store, lambda: now[0], feed_stalled_s=60)
    feeds.check_progress()
    ear = Ear(feeds, "ann")
    now[0] = 60
    feeds.check_progress()
    now[0] = 61
    with pytest.raises(Unavailable, match="not being read"):
        feeds.check_progress()
    store.gate.set()
    await until(lambda: bool(ear.heard))
    feeds.check_progress()
    await feeds.close()


async def test_readyz_says_when_the_feed_stands_still(
    api: Api, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ann] = await api.people("ann")
    feeds, gate = server.rooms.realtime.feeds, asyncio.Event()
    read = server.rooms.store.changes_of_many

    async def stuck(positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        await gate.wait()
        return await read(positions, limit)

    assert (await server.call(None, "GET", "/readyz")).status_code == 200
    monkeypatch.setattr(server.rooms.store, "changes_of_many", stuck)
    start_s = feeds._now_s()
    async with server.websocket(ann), asyncio.timeout(PATIENCE_S):
        await until(lambda: feeds._waiting_since_s is not None)
        monkeypatch.setattr(feeds, "_now_s", lambda: start_s + 3600)
        answer = await server.call(None, "GET", "/readyz")
        assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
        monkeypatch.undo()
        gate.set()
        await until(lambda: feeds._waiting_since_s is None)
        assert (await server.call(None, "GET", "/readyz")).status_code == 200
