"""Who is told of whom is decided by what holds at that moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.errors import ThreadNotFound

from .site import Site, two_talking

if TYPE_CHECKING:
    from .stage import Stage


@pytest.mark.parametrize("is_viewers_own", [True, False])
async def test_a_block_looks_like_silence_to_both(
    stage: Stage, site: Site, is_viewers_own: bool
) -> None:
    ann, bob, thread_id = await two_talking(stage)
    anns = await site.watch(site.here, ann.id, thread_id)
    bobs = await site.watch(site.there, bob.id, thread_id)
    await site.here.presence.seen([ann.id, bob.id])
    for person in (ann, bob):
        await site.here.presence.set_typing(person.id, thread_id, True)
    await site.settled()
    on = [("presence", True), ("typing", True)]
    for connection in (anns, bobs):
        assert sorted((kind, is_on) for kind, _, is_on in connection.heard()) == on
    blocker, blocked = (ann, bob) if is_viewers_own else (bob, ann)
    await blocker.block(blocked)
    site.here.presence.look_again_at([ann.id, bob.id])
    await site.settled()
    for connection, other in ((anns, bob), (bobs, ann)):
        assert connection.heard() == [
            ("typing", other.id, False), ("presence", other.id, False),
        ]  # fmt: skip
    for person in (ann, bob):
        await site.here.presence.set_typing(person.id, thread_id, True, "phone")
    await site.settled()
    await site.here.presence.refresh()
    await site.there.presence.refresh()
    assert anns.heard() == bobs.heard() == []


async def test_someone_removed_shows_nothing_and_sees_nothing_any_more(
    stage: Stage, site: Site
) -> None:
    ann, bob, carl = await stage.people("ann", "bob", "carl")
    thread_id = await ann.thread_with(bob, carl)
    anns = await site.watch(site.here, ann.id, thread_id)
    carls = await site.watch(site.there, carl.id, thread_id)
    await site.here.presence.seen([bob.id, carl.id])
    await site.settled()
    assert carls.heard() == [("presence", bob.id, True)]
    assert len(anns.heard()) == 2
    await carl.leave(thread_id)
    for person in (bob, carl):
        try:
            await site.here.presence.set_typing(person.id, thread_id, True)
        except ThreadNotFound:
            assert person is carl
    await site.settled()
    assert carls.heard() == [("presence", bob.id, False)]
    assert anns.heard() == [("typing", bob.id, True), ("presence", carl.id, False)]
    looks = len(site.there.store.looks)
    await site.here.presence.set_typing(bob.id, thread_id, False)
    await site.settled()
    await site.there.presence.refresh()
    assert carls.events == []
    assert len(site.there.store.looks) == looks


async def test_whoever_joins_later_is_seen_with_the_next_sign(stage: Stage, site: Site) -> None:
    ann, _, thread_id = await two_talking(stage)
    [carl] = await stage.people("carl")
    connection = await site.watch(site.here, ann.id, thread_id)
    await stage.add(thread_id, carl.id)
    await site.there.presence.seen([carl.id])
    await site.there.presence.set_typing(carl.id, thread_id, True)
    await site.settled()
    assert connection.heard() == [("typing", carl.id, True), ("presence", carl.id, True)]


async def test_fifty_people_hear_of_the_forty_nine_others(stage: Stage, site: Site) -> None:
    crowd = await stage.people(*(f"p{number}" for number in range(50)))
    thread_id = await crowd[0].thread_with(*crowd[1:])
    connections = [
        await site.watch((site.here, site.there)[n % 2], person.id, thread_id)
        for n, person in enumerate(crowd)
    ]
    await site.here.presence.seen([person.id for person in crowd])
    await site.there.presence.set_typing(crowd[7].id, thread_id, True)
    await site.settled()
    for person, connection in zip(crowd, connections, strict=True):
        others = {each.id for each in crowd if each is not person}
        heard = connection.heard()
        assert {user for kind, user, _ in heard if kind == "presence"} == others
        assert [user for kind, user, _ in heard if kind == "typing"] == [
            each.id for each in crowd[7:8] if each is not person
        ]
        assert len(heard) == len(set(heard))
