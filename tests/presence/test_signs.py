"""Typing and presence: told once, and their end too, on whichever server they happen."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import ThreadNotFound

from .site import Site, two_talking

if TYPE_CHECKING:
    from conftest import FakeClock

    from .stage import Stage

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"


class TestTyping:
    async def test_is_told_once_and_its_end_too_on_whichever_server(
        self, stage: Stage, site: Site
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        near = await site.watch(site.here, ann.id, thread_id)
        far = await site.watch(site.there, ann.id, thread_id)
        own = await site.watch(site.here, bob.id, thread_id)
        for on in (True, True, False, False):
            await site.here.presence.set_typing(bob.id, thread_id, on)
            await site.settled()
        for connection in (near, far):
            assert connection.heard() == [("typing", bob.id, True), ("typing", bob.id, False)]
        assert own.heard() == []

    async def test_looks_as_the_reference_says(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.here, ann.id, thread_id)
        await site.here.presence.set_typing(bob.id, thread_id, True)
        await site.here.presence.seen([bob.id])
        await site.settled()
        common = {"thread_id": thread_id, "user_id": bob.id, "at": rfc3339(clock.now_ms)}
        assert connection.frames() == [
            {"type": "typing", "on": True, **common},
            {"type": "presence", "online": True, **common},
        ]

    async def test_ends_ten_seconds_after_the_last_sign_without_a_look(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.there, ann.id, thread_id)
        await site.here.presence.set_typing(bob.id, thread_id, True, "phone")
        clock.advance(seconds=6)
        await site.here.presence.set_typing(bob.id, thread_id, True, "phone")
        await site.settled()
        looks = len(site.there.store.looks)
        clock.advance(seconds=9.999)
        site.tick()
        assert connection.heard() == [("typing", bob.id, True)]
        clock.advance(seconds=0.001)
        site.tick()
        site.tick()
        assert connection.heard() == [("typing", bob.id, False)]
        assert len(site.there.store.looks) == looks

    async def test_several_devices_show_as_one_until_the_last_is_done(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.here, ann.id, thread_id)
        await site.here.presence.set_typing(bob.id, thread_id, True, "phone")
        clock.advance(seconds=5)
        await site.there.presence.set_typing(bob.id, thread_id, True, "laptop")
        await site.settled()
        assert connection.heard() == [("typing", bob.id, True)]
        await site.there.presence.set_typing(bob.id, thread_id, False, "laptop")
        await site.settled()
        site.tick()
        assert connection.heard() == []
        # The phone's own ten seconds.
        clock.advance(seconds=5)
        site.tick()
        assert connection.heard() == [("typing", bob.id, False)]

    async def test_ends_with_the_message_on_every_device_and_server(
        self, stage: Stage, site: Site
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.here, ann.id, thread_id)
        await site.here.presence.set_typing(bob.id, thread_id, True, "phone")
        await site.there.presence.set_typing(bob.id, thread_id, True, "")
        await site.settled()
        site.there.presence.message_sent(bob.id, thread_id)
        await site.settled()
        assert connection.heard() == [("typing", bob.id, True), ("typing", bob.id, False)]

    async def test_of_someone_else_does_not_end_with_the_message(
        self, stage: Stage, site: Site
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.here, ann.id, thread_id)
        await site.here.presence.set_typing(bob.id, thread_id, True)
        site.here.presence.message_sent(ann.id, thread_id)
        await site.settled()
        assert connection.heard() == [("typing", bob.id, True)]

    async def test_begun_after_the_message_goes_on(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        await site.here.presence.set_typing(bob.id, thread_id, True)
        await site.settled()
        clock.advance(seconds=2)
        site.here.presence.message_sent(bob.id, thread_id)
        clock.advance(seconds=1)
        await site.here.presence.set_typing(bob.id, thread_id, True)
        await site.settled()
        seen = await site.here.presence.access_presence(ann.id, thread_id)
        assert list(seen.typing) == [bob.id]

    async def test_nobody_asks_the_store_about_messages_where_nobody_was_typing(
        self, stage: Stage, site: Site, clock: FakeClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        _, bob, thread_id = await two_talking(stage)
        site.here.store.is_away = True
        site.here.presence.message_sent(bob.id, thread_id)
        site.here.presence.connection_ended("phone")
        site.here.store.is_away = False
        await site.here.presence.set_typing(bob.id, thread_id, True, "phone")
        clock.advance(seconds=10)
        site.here.store.is_away = True
        site.here.presence.message_sent(bob.id, thread_id)
        site.here.presence.connection_ended("phone")
        await site.settled()
        assert caplog.records == []

    async def test_ends_with_its_connection(self, stage: Stage, site: Site) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.there, ann.id, thread_id)
        await site.here.presence.set_typing(bob.id, thread_id, True, "con-1")
        await site.settled()
        site.here.presence.connection_ended("con-1")
        await site.settled()
        assert connection.heard() == [("typing", bob.id, True), ("typing", bob.id, False)]

    @pytest.mark.parametrize("thread_id", [NOWHERE, "", "a\0b"])
    async def test_in_what_is_not_there_is_refused(
        self, stage: Stage, site: Site, thread_id: str
    ) -> None:
        [ann] = await stage.people("ann")
        with pytest.raises(ThreadNotFound):
            await site.here.presence.set_typing(ann.id, thread_id, True)
        with pytest.raises(ThreadNotFound):
            await site.here.presence.access_presence(ann.id, thread_id)

    async def test_a_clock_set_back_does_not_freeze_it(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.here, ann.id, thread_id)
        await site.here.presence.seen([bob.id])
        await site.settled()
        await site.here.presence.set_typing(bob.id, thread_id, True)
        await site.settled()
        site.tick()
        clock.advance(hours=-1)
        site.tick()
        assert connection.heard() == [
            ("presence", bob.id, True),
            ("typing", bob.id, True),
            ("typing", bob.id, False),
            ("presence", bob.id, False),
        ]
        # And the next sign counts again.
        await site.here.presence.seen([bob.id])
        await site.settled()
        await site.here.presence.set_typing(bob.id, thread_id, True)
        await site.settled()
        site.tick()
        assert connection.heard() == [("presence", bob.id, True), ("typing", bob.id, True)]
        clock.advance(hours=1)


class TestPresence:
    async def test_begins_with_a_sign_and_ends_a_minute_after_the_last(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.there, ann.id, thread_id)
        for _ in range(4):
            await site.here.presence.seen([bob.id])
            await site.there.presence.refresh()
            clock.advance(seconds=20)
            site.tick()
        assert connection.heard() == [("presence", bob.id, True)]
        clock.advance(seconds=39.999)
        site.tick()
        assert connection.heard() == []
        clock.advance(seconds=0.001)
        site.tick()
        assert connection.heard() == [("presence", bob.id, False)]

    async def test_of_someone_on_two_servers_ends_with_the_later(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = await site.watch(site.here, ann.id, thread_id)
        await site.here.presence.seen([bob.id])
        clock.advance(seconds=30)
        await site.there.presence.seen([bob.id])
        await site.here.presence.refresh()
        clock.advance(seconds=59)
        site.tick()
        assert connection.heard() == [("presence", bob.id, True)]

    async def test_signs_that_follow_each_other_closely_are_written_once(
        self, stage: Stage, site: Site, clock: FakeClock
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        await site.here.presence.seen([bob.id])
        first = (await site.here.presence.access_presence(ann.id, thread_id)).online[bob.id]
        for seconds, moved_s in ((9, 0), (1, 10), (20, 30)):
            clock.advance(seconds=seconds)
            await asyncio.gather(*(site.here.presence.seen([bob.id]) for _ in range(5)))
            seen = await site.here.presence.access_presence(ann.id, thread_id)
            assert seen.online[bob.id] == first + moved_s * 1000

    async def test_a_store_away_fails_nobodys_sign_and_the_next_one_counts(
        self, stage: Stage, site: Site, caplog: pytest.LogCaptureFixture
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        site.here.store.is_away = True
        with caplog.at_level(logging.WARNING, "greenroom.presence"):
            for _ in range(3):
                await site.here.presence.seen([bob.id])
        assert len(caplog.records) == 1
        site.here.store.is_away = False
        await site.here.presence.seen([bob.id])
        seen = await site.here.presence.access_presence(ann.id, thread_id)
        assert list(seen.online) == [bob.id]

    async def test_only_those_who_share_a_watched_thread_are_looked_up(
        self, stage: Stage, site: Site
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        [carl] = await stage.people("carl")
        await site.watch(site.here, ann.id, thread_id)
        looks = len(site.here.store.looks)
        await site.here.presence.seen([carl.id])
        await site.settled()
        assert len(site.here.store.looks) == looks
        await site.here.presence.seen([bob.id])
        await site.settled()
        assert site.here.store.looks[looks:] == [[(ann.id, thread_id)]]
