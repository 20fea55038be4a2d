"""Hints between servers only say where to look: a lost one delays, a repeated one costs little."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest

from .site import Site, two_talking

if TYPE_CHECKING:
    from .stage import Stage


async def test_hints_during_a_look_are_served_by_one_more(stage: Stage, site: Site) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await site.watch(site.here, ann.id, thread_id)
    store = site.here.store
    store.looks.clear()
    store.is_looking.clear()
    store.gate.clear()
    for number in range(6):
        await site.there.presence.set_typing(bob.id, thread_id, True, f"device {number}")
        await store.is_looking.wait()
    store.gate.set()
    await site.settled()
    assert store.looks == [[(ann.id, thread_id)]] * 2
    assert connection.heard() == [("typing", bob.id, True)]


async def test_two_connections_of_a_person_share_a_look(stage: Stage, site: Site) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connections = [await site.watch(site.here, ann.id, thread_id) for _ in range(2)]
    site.here.store.looks.clear()
    await site.here.presence.set_typing(bob.id, thread_id, True)
    await site.settled()
    assert site.here.store.looks == [[(ann.id, thread_id)]]
    for connection in connections:
        assert connection.heard() == [("typing", bob.id, True)]


async def test_a_lost_hint_is_made_good_by_the_refresh(stage: Stage, site: Site) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await site.watch(site.here, ann.id, thread_id)
    site.here.bus.is_cut = True
    await site.there.presence.set_typing(bob.id, thread_id, True)
    await site.settled()
    assert connection.heard() == []
    await site.here.presence.refresh()
    assert connection.heard() == [("typing", bob.id, True)]


async def test_a_bus_that_comes_back_brings_what_was_missed(stage: Stage, site: Site) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await site.watch(site.here, ann.id, thread_id)
    site.here.bus.is_cut = True
    await site.there.presence.seen([bob.id])
    site.here.bus.come_back()
    await site.settled()
    assert connection.heard() == [("presence", bob.id, True)]


async def test_a_store_away_is_logged_once_and_looked_at_again(
    stage: Stage, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    ann, bob, thread_id = await two_talking(stage)
    connection = await site.watch(site.here, ann.id, thread_id)
    site.here.store.is_away = True
    with caplog.at_level(logging.WARNING, "greenroom.presence"):
        await site.there.presence.set_typing(bob.id, thread_id, True)
        await site.settled()
        for _ in range(3):
            await site.here.presence.refresh()
    assert [each.message for each in caplog.records] == ["Looking failed and will be tried again"]
    assert connection.heard() == []
    site.here.store.is_away = False
    await site.here.presence.refresh()
    assert connection.heard() == [("typing", bob.id, True)]


async def test_hints_do_not_wait_behind_a_long_refresh(
    stage: Stage, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("greenroom.presence.watches.LOOK_BATCH", 1)
    site.here.presence._watches._looks._batch_limit = 1
    ann, bob = await stage.people("ann", "bob")
    threads = [await ann.thread_with(bob) for _ in range(5)]
    connection = await site.watch(site.here, ann.id, *threads)
    store = site.here.store
    store.looks.clear()
    store.is_looking.clear()
    store.gate.clear()
    refreshing = asyncio.ensure_future(site.here.presence.refresh())
    await store.is_looking.wait()
    await site.there.presence.set_typing(bob.id, threads[4], True)
    store.gate.set()
    await refreshing
    await site.settled()
    assert connection.heard() == [("typing", bob.id, True)]
    assert store.looks[1] == [(ann.id, threads[4])]
