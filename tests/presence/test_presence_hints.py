"""Hints between servers only say where to look: a lost one delays, a repeated one costs little."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from .servers import TwoServers, two_talking

if TYPE_CHECKING:
    from .stage import Stage


async def test_hints_during_a_look_are_served_by_one_more(
    stage: Stage, servers: TwoServers
) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await servers.watch(servers.here, ann.id, thread_id)
    store = servers.here.store
    store.looks.clear()
    store.is_looking.clear()
    store.gate.clear()
    for number in range(6):
        await servers.there.presence.set_typing(bob.id, thread_id, True, f"device {number}")
        await store.is_looking.wait()
    store.gate.set()
    await servers.settled()
    assert store.looks == [[(ann.id, thread_id)]] * 2
    assert connection.heard() == [("typing", bob.id, True)]


async def test_two_connections_of_a_person_share_a_look(stage: Stage, servers: TwoServers) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connections = [await servers.watch(servers.here, ann.id, thread_id) for _ in range(2)]
    servers.here.store.looks.clear()
    await servers.here.presence.set_typing(bob.id, thread_id, True)
    await servers.settled()
    assert servers.here.store.looks == [[(ann.id, thread_id)]]
    for connection in connections:
        assert connection.heard() == [("typing", bob.id, True)]


async def test_a_lost_hint_is_made_good_by_the_refresh(stage: Stage, servers: TwoServers) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await servers.watch(servers.here, ann.id, thread_id)
    servers.here.bus.is_cut = True
    await servers.there.presence.set_typing(bob.id, thread_id, True)
    await servers.settled()
    assert connection.heard() == []
    await servers.here.presence.refresh()
    assert connection.heard() == [("typing", bob.id, True)]


async def test_a_bus_that_comes_back_brings_what_was_missed(
    stage: Stage, servers: TwoServers
) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await servers.watch(servers.here, ann.id, thread_id)
    servers.here.bus.is_cut = True
    await servers.there.presence.seen([bob.id])
    servers.here.bus.come_back()
    await servers.settled()
    assert connection.heard() == [("presence", bob.id, True)]


async def test_a_store_away_is_logged_once_and_looked_at_again(
    stage: Stage, servers: TwoServers, caplog: pytest.LogCaptureFixture
) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await servers.watch(servers.here, ann.id, thread_id)
    servers.here.store.is_away = True
    with caplog.at_level(logging.WARNING, "greenroom.presence"):
        await servers.there.presence.set_typing(bob.id, thread_id, True)
        await servers.settled()
        for _ in range(3):
            await servers.here.presence.refresh()
    assert [each.message for each in caplog.records] == ["Looking failed and will be tried again"]
    assert connection.heard() == []
    servers.here.store.is_away = False
    await servers.here.presence.refresh()
    assert connection.heard() == [("typing", bob.id, True)]


async def test_hints_do_not_wait_behind_a_long_refresh(
    stage: Stage, servers: TwoServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greenroom.presence.watches.LOOK_BATCH", 1)
    servers.here.presence._watches._looks._batching._batch_limit = 1
    ann, bob = await stage.people("ann", "bob")
    threads = [await ann.thread_with(bob) for _ in range(5)]
    connection = await servers.watch(servers.here, ann.id, *threads)
    store = servers.here.store
    store.looks.clear()
    store.is_looking.clear()
    store.gate.clear()
    refreshing = asyncio.ensure_future(servers.here.presence.refresh())
    await store.is_looking.wait()
    await servers.there.presence.set_typing(bob.id, threads[4], True)
    store.gate.set()
    await refreshing
    await servers.settled()
    assert connection.heard() == [("typing", bob.id, True)]
    assert store.looks[1] == [(ann.id, threads[4])]
