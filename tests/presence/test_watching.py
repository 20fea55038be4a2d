"""Watching threads: from the present state on, until the connection closes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.errors import InvalidRequest, ThreadNotFound, Unavailable

from .servers import Connection, TwoServers, two_talking

if TYPE_CHECKING:
    from .stage import Stage

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"


class TestStarting:
    async def test_late_watcher_is_told_the_present_state(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        first, second = await ann.thread_with(bob, carl), await ann.thread_with(carl)
        await servers.here.presence.seen([bob.id])
        await servers.here.presence.set_typing(carl.id, second, True)
        connection = await servers.watch(servers.there, ann.id, first, second)
        assert connection.heard() == [("presence", bob.id, True), ("typing", carl.id, True)]

    async def test_other_peoples_threads_cannot_be_watched(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        _, bob, thread_id = await two_talking(stage)
        carl, dora = await stage.people("carl", "dora")
        own = await carl.thread_with(dora)
        for somewhere in (thread_id, NOWHERE, "a\0b"):
            connection = Connection()
            watch = servers.here.presence.watch(carl.id, [own, somewhere], connection)
            with pytest.raises(ThreadNotFound):
                await watch.start()
            for person, thread in ((dora, own), (bob, thread_id)):
                await servers.here.presence.set_typing(person.id, thread, True)
            await servers.settled()
            assert connection.events == []

    async def test_fifty_threads_can_be_watched_at_once_and_no_more(
        self, servers: TwoServers
    ) -> None:
        threads = [f"thr_{number}" for number in range(51)]
        servers.here.presence.watch("ann", threads[:50] * 2, Connection())
        with pytest.raises(InvalidRequest):
            servers.here.presence.watch("ann", threads, Connection())

    async def test_what_happens_during_the_first_look_is_not_missed(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = Connection()
        servers.here.store.gate.clear()
        watch = servers.here.presence.watch(ann.id, [thread_id], connection)
        starting = asyncio.ensure_future(watch.start())
        await servers.here.store.is_looking.wait()
        await servers.there.presence.set_typing(bob.id, thread_id, True)
        servers.here.store.gate.set()
        await starting
        await servers.settled()
        assert connection.heard() == [("typing", bob.id, True)]

    async def test_a_store_away_is_told_to_whoever_starts(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, _, thread_id = await two_talking(stage)
        servers.here.store.is_away = True
        with pytest.raises(Unavailable):
            await servers.watch(servers.here, ann.id, thread_id)

    async def test_watching_other_threads_tells_what_ended_in_those_that_stay(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        stays, goes = await ann.thread_with(bob, carl), await ann.thread_with(bob)
        for person in (bob, carl):
            await servers.here.presence.set_typing(person.id, stays, True)
        connection = Connection()
        old = servers.here.presence.watch(ann.id, [stays, goes], connection)
        await old.start()
        connection.events.clear()
        servers.here.bus.is_cut = True
        await servers.there.presence.set_typing(bob.id, stays, False)
        new = servers.here.presence.watch(ann.id, [stays], connection)
        await new.start(instead_of=old)
        assert connection.heard() == [("typing", bob.id, False), ("typing", carl.id, True)]
        assert not old.is_open

    async def test_a_watch_goes_on_if_another_cannot_take_its_place(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = Connection()
        old = servers.here.presence.watch(ann.id, [thread_id], connection)
        await old.start()
        with pytest.raises(ThreadNotFound):
            await servers.here.presence.watch(ann.id, [NOWHERE], connection).start(instead_of=old)
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.settled()
        assert connection.heard() == [("typing", bob.id, True)]


class TestEnding:
    async def test_a_closed_watch_hears_nothing_and_costs_nothing(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = Connection()
        watch = servers.here.presence.watch(ann.id, [thread_id], connection)
        await watch.start()
        looks = len(servers.here.store.looks)
        watch.close()
        watch.close()
        await servers.here.presence.set_typing(bob.id, thread_id, True)
        await servers.here.presence.seen([bob.id])
        await servers.here.presence.refresh()
        await servers.settled()
        assert connection.events == []
        assert len(servers.here.store.looks) == looks

    async def test_closing_while_a_look_is_on_its_way_is_final(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        ann, bob, thread_id = await two_talking(stage)
        connection = Connection()
        watch = servers.here.presence.watch(ann.id, [thread_id], connection)
        await watch.start()
        servers.here.store.is_looking.clear()
        servers.here.store.gate.clear()
        await servers.there.presence.set_typing(bob.id, thread_id, True)
        await servers.here.store.is_looking.wait()
        watch.close()
        servers.here.store.gate.set()
        await servers.settled()
        assert connection.events == []

    async def test_a_connection_may_close_its_watch_while_it_is_told(
        self, stage: Stage, servers: TwoServers
    ) -> None:
        crowd = await stage.people("ann", "bob", "carl")
        thread_id = await crowd[0].thread_with(*crowd[1:])
        heard = []

        def deliver(event: object) -> None:
            heard.append(event)
            watch.close()

        watch = servers.here.presence.watch(crowd[0].id, [thread_id], deliver)
        await servers.here.presence.seen([person.id for person in crowd])
        await watch.start()
        assert len(heard) == 1

    async def test_closing_ends_every_task(self, stage: Stage, servers: TwoServers) -> None:
        ann, bob, thread_id = await two_talking(stage)
        await servers.watch(servers.here, ann.id, thread_id)
        servers.here.store.is_looking.clear()
        servers.here.store.gate.clear()
        before = asyncio.all_tasks()
        await servers.there.presence.set_typing(bob.id, thread_id, True)
        await servers.here.store.is_looking.wait()
        assert asyncio.all_tasks() > before
        await servers.here.presence.close()
        await servers.there.presence.close()
        assert asyncio.all_tasks() == before
