"""Who sees whose presence is decided by the state at that moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.errors import ThreadNotFound

from .servers import TwoServers, two_talking

if TYPE_CHECKING:
    from .stage import Stage


@pytest.mark.parametrize("is_viewers_own", [True, False])
async def test_a_block_looks_like_silence_to_both(
    stage: Stage, servers: TwoServers, is_viewers_own: bool
) -> None:
    ann, bob, thread_id = await two_talking(stage)
    anns = await servers.watch(servers.here, ann.id, thread_id)
    bobs = await servers.watch(servers.there, bob.id, thread_id)
    await servers.here.presence.seen([ann.id, bob.id])
    for person in (ann, bob):
        await servers.here.presence.set_typing(person.id, thread_id, True)
    await servers.settled()
    on = [("presence", True), ("typing", True)]
    for connection in (anns, bobs):
        assert sorted((kind, is_on) for kind, _, is_on in connection.heard()) == on
    blocker, blocked = (ann, bob) if is_viewers_own else (bob, ann)
    await blocker.block(blocked)
    servers.here.presence.look_again_at([ann.id, bob.id])
    await servers.settled()
    for connection, other in ((anns, bob), (bobs, ann)):
        assert connection.heard() == [
            ("typing", other.id, False), ("presence", other.id, False),
        ]  # fmt: skip
    for person in (ann, bob):
        await servers.here.presence.set_typing(person.id, thread_id, True, "phone")
    await servers.settled()
    await servers.here.presence.refresh()
    await servers.there.presence.refresh()
    assert anns.heard() == bobs.heard() == []


async def test_someone_removed_shows_nothing_and_sees_nothing_any_more(
    stage: Stage, servers: TwoServers
) -> None:
    ann, bob, carl = await stage.people("ann", "bob", "carl")
    thread_id = await ann.thread_with(bob, carl)
    anns = await servers.watch(servers.here, ann.id, thread_id)
    carls = await servers.watch(servers.there, carl.id, thread_id)
    await servers.here.presence.seen([bob.id, carl.id])
    await servers.settled()
    assert carls.heard() == [("presence", bob.id, True)]
    assert len(anns.heard()) == 2
    await carl.leave(thread_id)
    for person in (bob, carl):
        try:
            await servers.here.presence.set_typing(person.id, thread_id, True)
        except ThreadNotFound:
            assert person is carl
    await servers.settled()
    assert carls.heard() == [("presence", bob.id, False)]
    assert anns.heard() == [("typing", bob.id, True), ("presence", carl.id, False)]
    looks = len(servers.there.store.looks)
    await servers.here.presence.set_typing(bob.id, thread_id, False)
    await servers.settled()
    await servers.there.presence.refresh()
    assert carls.events == []
    assert len(servers.there.store.looks) == looks


async def test_whoever_joins_later_is_seen_with_the_next_sign(
    stage: Stage, servers: TwoServers
) -> None:
    ann, _, thread_id = await two_talking(stage)
    [carl] = await stage.people("carl")
    connection = await servers.watch(servers.here, ann.id, thread_id)
    await stage.add(thread_id, carl.id)
    await servers.there.presence.seen([carl.id])
    await servers.there.presence.set_typing(carl.id, thread_id, True)
    await servers.settled()
    assert connection.heard() == [("typing", carl.id, True), ("presence", carl.id, True)]


async def test_fifty_people_hear_of_the_forty_nine_others(
    stage: Stage, servers: TwoServers
) -> None:
    crowd = await stage.people(*(f"p{number}" for number in range(50)))
    thread_id = await crowd[0].thread_with(*crowd[1:])
    connections = [
        await servers.watch((servers.here, servers.there)[n % 2], person.id, thread_id)
        for n, person in enumerate(crowd)
    ]
    await servers.here.presence.seen([person.id for person in crowd])
    await servers.there.presence.set_typing(crowd[7].id, thread_id, True)
    await servers.settled()
    for person, connection in zip(crowd, connections, strict=True):
        others = {each.id for each in crowd if each is not person}
        heard = connection.heard()
        assert {user for kind, user, _ in heard if kind == "presence"} == others
        assert [user for kind, user, _ in heard if kind == "typing"] == [
            each.id for each in crowd[7:8] if each is not person
        ]
        assert len(heard) == len(set(heard))
