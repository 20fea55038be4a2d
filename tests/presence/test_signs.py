"""Typing and presence: the beginning and the end are sent once, on every server."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import ThreadNotFound
from tests.support.clock import FakeClock

from .servers import TwoServers, two_talking

if TYPE_CHECKING:
    from .stage import Stage

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"


class TestTyping:
    async def test_is_told_once_and_its_end_too_on_whichever_server(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        near = await servers.watch(servers.here, ann.id, thread_id)
        far = await servers.watch(servers.there, ann.id, thread_id)
        own = await servers.watch(servers.here, bob.id, thread_id)
        for on in (True, True, False, False):
            await servers.here.presence.set_typing(bob.id, thread_id, on)
            await servers.settled()
        for connection in (near, far):
            assert connection.heard() == [("typing", bob.id, True), ("typing", bob.id, False)]
        assert own.heard() == []

    async def test_looks_as_the_reference_says(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        common = {"thread_id": thread_id, "user_id": bob.id, "at": rfc3339(clock.now_ms)}
        assert connection.frames() == [
            {"type": "typing", "on": True, **common},
            {"type": "presence", "online": True, **common},
        ]

    async def test_ends_ten_seconds_after_the_last_sign_without_a_look(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.there, ann.id, thread_id)
        await servers.here.presence.set_typing(bob.id, thread_id, True, "phone")
        clock.advance(seconds=6)
        await servers.here.presence.set_typing(bob.id, thread_id, True, "phone")
        await servers.settled()
        looks = len(servers.there.store.looks)
        clock.advance(seconds=9.999)
        servers.tick()
        assert connection.heard() == [("typing", bob.id, True)]
        clock.advance(seconds=0.001)
        servers.tick()
        servers.tick()
        assert connection.heard() == [("typing", bob.id, False)]
        assert len(servers.there.store.looks) == looks

    async def test_several_devices_show_as_one_until_the_last_is_done(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.set_typing(bob.id, thread_id, True, "phone")
        clock.advance(seconds=5)
        await servers.there.presence.set_typing(bob.id, thread_id, True, "laptop")
        await servers.settled()
        assert connection.heard() == [("typing", bob.id, True)]
        await servers.there.presence.set_typing(bob.id, thread_id, False, "laptop")
        await servers.settled()
        servers.tick()
        assert connection.heard() == []
        # The phone's own ten seconds.
        clock.advance(seconds=5)
        servers.tick()
        assert connection.heard() == [("typing", bob.id, False)]

    async def test_ends_with_the_message_on_every_device_and_server(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.set_typing(bob.id, thread_id, True, "phone")
        await servers.there.presence.set_typing(bob.id, thread_id, True, "")
        await servers.settled()
        servers.there.presence.message_sent(bob.id, thread_id)
        await servers.settled()
        assert connection.heard() == [("typing", bob.id, True), ("typing", bob.id, False)]

    async def test_of_someone_else_does_not_end_with_the_message(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        servers.here.presence.message_sent(ann.id, thread_id)
        await servers.settled()
        assert connection.heard() == [("typing", bob.id, True)]

    async def test_begun_after_the_message_goes_on(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.settled()
        clock.advance(seconds=2)
        servers.here.presence.message_sent(bob.id, thread_id)
        clock.advance(seconds=1)
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.settled()
        seen = await servers.here.presence.access_presence(ann.id, thread_id)
        assert list(seen.typing) == [bob.id]

    async def test_nobody_asks_the_store_about_messages_where_nobody_was_typing(
        self, stage: Stage, servers: TwoServers, clock: FakeClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        _, bob, thread_id = await two_talking(stage)
        servers.here.store.is_away = True
        servers.here.presence.message_sent(bob.id, thread_id)
        servers.here.presence.connection_ended("phone")
        servers.here.store.is_away = False
        await servers.here.presence.set_typing(bob.id, thread_id, True, "phone")
        clock.advance(seconds=10)
        servers.here.store.is_away = True
        servers.here.presence.message_sent(bob.id, thread_id)
        servers.here.presence.connection_ended("phone")
        await servers.settled()
        assert caplog.records == []

    async def test_ends_with_its_connection(self, stage: Stage, servers: TwoServers) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.there, ann.id, thread_id)
        await servers.here.presence.set_typing(bob.id, thread_id, True, "con-1")
        await servers.settled()
        servers.here.presence.connection_ended("con-1")
        await servers.settled()
        assert connection.heard() == [("typing", bob.id, True), ("typing", bob.id, False)]

    @pytest.mark.parametrize("thread_id", [NOWHERE, "", "a\0b"])
    async def test_in_what_is_not_there_is_refused(
        self, stage: Stage, servers: TwoServers, thread_id: str
    ) -> None:
        [ann] = await stage.people("ann")
        with pytest.raises(ThreadNotFound):
            await servers.here.presence.set_typing(ann.id, thread_id, True)
        with pytest.raises(ThreadNotFound):
            await servers.here.presence.access_presence(ann.id, thread_id)

    async def test_a_clock_set_back_does_not_freeze_it(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.settled()
        servers.tick()
        clock.advance(hours=-1)
        servers.tick()
        await servers.settled()
        assert connection.heard() == [
            ("presence", bob.id, True),
            ("typing", bob.id, True),
            ("typing", bob.id, False),
            ("presence", bob.id, False),
        ]
        # And the next sign counts again.
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.settled()
        servers.tick()
        assert connection.heard() == [("presence", bob.id, True), ("typing", bob.id, True)]
        clock.advance(hours=1)


class TestPresence:
    async def test_begins_with_a_sign_and_ends_a_minute_after_the_last(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.there, ann.id, thread_id)
        for _ in range(4):
            await servers.here.presence.seen([bob.id])
            await servers.there.presence.refresh()
            clock.advance(seconds=20)
            servers.tick()
        assert connection.heard() == [("presence", bob.id, True)]
        clock.advance(seconds=39.999)
        servers.tick()
        await servers.settled()
        assert connection.heard() == []
        clock.advance(seconds=0.001)
        servers.tick()
        await servers.settled()
        assert connection.heard() == [("presence", bob.id, False)]

    async def test_of_someone_who_comes_back_just_before_its_end_does_not_end(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        """Nobody is told that it goes on, because it has not ended yet."""
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.there, ann.id, thread_id)
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        clock.advance(seconds=59)
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        clock.advance(seconds=2)
        servers.tick()
        await servers.settled()
        assert connection.heard() == [("presence", bob.id, True)]

    async def test_ends_when_the_store_is_back_if_it_is_away_at_its_end(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        clock.advance(seconds=61)
        servers.here.store.is_away = True
        servers.tick()
        await servers.settled()
        servers.here.store.is_away = False
        servers.tick()
        await servers.settled()
        assert connection.heard() == [("presence", bob.id, True), ("presence", bob.id, False)]

    async def test_of_someone_on_two_servers_ends_with_the_later(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await servers.watch(servers.here, ann.id, thread_id)
        await servers.here.presence.seen([bob.id])
        clock.advance(seconds=30)
        await servers.there.presence.seen([bob.id])
        await servers.here.presence.refresh()
        clock.advance(seconds=59)
        servers.tick()
        assert connection.heard() == [("presence", bob.id, True)]

    async def test_signs_that_follow_each_other_closely_are_written_once(
        self, stage: Stage, servers: TwoServers, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        await servers.here.presence.seen([bob.id])
        first = (await servers.here.presence.access_presence(ann.id, thread_id)).online[bob.id]
        for seconds, moved_s in ((9, 0), (1, 10), (20, 30)):
            clock.advance(seconds=seconds)
            await asyncio.gather(*(servers.here.presence.seen([bob.id]) for _ in range(5)))
            seen = await servers.here.presence.access_presence(ann.id, thread_id)
            assert seen.online[bob.id] == first + moved_s * 1000

    async def test_a_store_away_fails_nobodys_sign_and_the_next_one_counts(
        self, stage: Stage, servers: TwoServers, caplog: pytest.LogCaptureFixture
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        servers.here.store.is_away = True
        with caplog.at_level(logging.WARNING, "greenroom.presence"):
            for _ in range(3):
                await servers.here.presence.seen([bob.id])
        assert len(caplog.records) == 1
        servers.here.store.is_away = False
        await servers.here.presence.seen([bob.id])
        seen = await servers.here.presence.access_presence(ann.id, thread_id)
        assert list(seen.online) == [bob.id]

    async def test_only_those_who_share_a_watched_thread_are_looked_up(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        [carl] = await stage.people("carl")
        await servers.watch(servers.here, ann.id, thread_id)
        looks = len(servers.here.store.looks)
        await servers.here.presence.seen([carl.id])
        await servers.settled()
        assert len(servers.here.store.looks) == looks
        await servers.here.presence.seen([bob.id])
        await servers.settled()
        assert servers.here.store.looks[looks:] == [[(ann.id, thread_id)]]
