"""The guarantees of the presence store, on every adapter."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from greenroom.kernel.errors import ThreadNotFound
from greenroom.presence.model import Snapshot
from greenroom.presence.store import SEEN_BATCH, PresenceStore, TypingEnded
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from .stage import Someone, Stage

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"


async def look(store: PresenceStore, viewer: Someone, thread_id: str, now_ms: int) -> Snapshot:
    found = await store.look([(viewer.id, thread_id)], now_ms)
    return found[viewer.id, thread_id]


async def typing(
    store: PresenceStore, viewer: Someone, thread_id: str, now_ms: int
) -> dict[str, int]:
    return dict((await look(store, viewer, thread_id, now_ms)).typing)


async def online(
    store: PresenceStore, viewer: Someone, thread_id: str, now_ms: int
) -> dict[str, int]:
    return dict((await look(store, viewer, thread_id, now_ms)).online)


class TestTyping:
    async def test_is_seen_by_the_others_until_its_end(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        assert await store.set_typing(bob.id, thread_id, "phone", end, now)
        assert await typing(store, ann, thread_id, now) == {bob.id: end}
        assert await typing(store, ann, thread_id, end - 1) == {bob.id: end}
        assert await typing(store, ann, thread_id, end) == {}
        assert await typing(store, bob, thread_id, now) == {}

    async def test_stopping_tells_whether_there_was_something_to_stop(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        assert not await store.set_typing(bob.id, thread_id, "phone", None, now)
        await store.set_typing(bob.id, thread_id, "phone", end, now)
        assert await store.set_typing(bob.id, thread_id, "phone", None, now)
        assert await typing(store, ann, thread_id, now) == {}
        await store.set_typing(bob.id, thread_id, "phone", end, now)
        assert not await store.set_typing(bob.id, thread_id, "phone", None, end)

    async def test_several_devices_show_as_one_with_the_latest_end(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        await store.set_typing(bob.id, thread_id, "phone", end + 500, now)
        await store.set_typing(bob.id, thread_id, "laptop", end, now)
        assert await typing(store, ann, thread_id, now) == {bob.id: end + 500}
        await store.set_typing(bob.id, thread_id, "phone", None, now)
        assert await typing(store, ann, thread_id, now) == {bob.id: end}

    async def test_repeating_within_a_second_writes_nothing(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        assert await store.set_typing(bob.id, thread_id, "", end, now)
        assert not await store.set_typing(bob.id, thread_id, "", end + 999, now + 999)
        assert await typing(store, ann, thread_id, now) == {bob.id: end}
        assert await store.set_typing(bob.id, thread_id, "phone", end + 999, now + 999)
        assert await store.set_typing(bob.id, thread_id, "", end + 1000, now + 1000)
        assert await typing(store, ann, thread_id, now) == {bob.id: end + 1000}

    async def test_a_message_ends_what_was_typed_before_it_on_every_device(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        other_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        for user, thread, device in [
            (bob, thread_id, "phone"),
            (bob, thread_id, "laptop"),
            (bob, other_id, "phone"),
            (carl, thread_id, "phone"),
        ]:
            await store.set_typing(user.id, thread, device, end, now)
        ended = [TypingEnded(bob.id, thread_id, end), TypingEnded(ann.id, other_id, end)]
        assert await store.end_typing(ended) == [thread_id]
        assert await typing(store, ann, thread_id, now) == {carl.id: end}
        assert await typing(store, ann, other_id, now) == {bob.id: end}
        assert await store.end_typing([TypingEnded(bob.id, other_id, end - 1)]) == []
        assert await typing(store, ann, other_id, now) == {bob.id: end}
        assert await store.end_typing([]) == []

    async def test_connections_that_end_take_their_typing_with_them(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        first, second = await ann.thread_with(bob), await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 10_000
        for thread_id in (first, second):
            await store.set_typing(bob.id, thread_id, "con-1", end, now)
        for device in ("con-2", ""):
            await store.set_typing(bob.id, first, device, end, now)
        assert await store.forget_devices(["con-1", "con-9"]) == sorted([first, second])
        assert await typing(store, ann, first, now) == {bob.id: end}
        assert await typing(store, ann, second, now) == {}
        assert await store.forget_devices([""]) == []

    async def test_a_connection_that_ends_takes_what_it_typed_again(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now = clock.now_ms
        for number in range(3):
            at = now + number * 4000
            assert await store.set_typing(bob.id, thread_id, "con-1", at + 10_000, at)
        assert await store.end_typing([TypingEnded(bob.id, thread_id, now + 18_000)]) == [thread_id]
        assert await store.forget_devices(["con-1"]) == []
        await store.set_typing(bob.id, thread_id, "con-1", now + 20_000, now + 10_000)
        await store.set_typing(bob.id, thread_id, "con-1", now + 24_000, now + 14_000)
        assert await store.forget_devices(["con-1"]) == [thread_id]
        assert await typing(store, ann, thread_id, now + 14_000) == {}

    @pytest.mark.parametrize("until_ms", [1, None])
    async def test_a_thread_of_others_is_as_one_that_is_not_there(
        self, stage: Stage, store: PresenceStore, clock: FakeClock, until_ms: int | None
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob)
        for somewhere in (thread_id, NOWHERE):
            with pytest.raises(ThreadNotFound):
                await store.set_typing(carl.id, somewhere, "", until_ms, clock.now_ms)


class TestPresence:
    async def test_moves_forward_only(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now, end = clock.now_ms, clock.now_ms + 60_000
        assert await store.seen([bob.id], end, now) == [bob.id]
        assert await store.seen([bob.id], end - 5000, now) == []
        assert await online(store, ann, thread_id, now) == {bob.id: end}
        assert await store.seen([bob.id], end + 5000, now) == []
        assert await online(store, ann, thread_id, now) == {bob.id: end + 5000}
        assert await online(store, ann, thread_id, end + 5000) == {}
        assert await store.seen([bob.id], end + 90_000, end + 30_000) == [bob.id]

    async def test_those_who_come_online_are_told_from_those_who_were(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        now, end = clock.now_ms, clock.now_ms + 60_000
        await store.seen([bob.id], end, now)
        came = await store.seen([ann.id, bob.id, carl.id, ann.id], end, now)
        assert sorted(came) == [ann.id, carl.id]

    async def test_servers_that_note_the_same_people_do_not_stand_in_each_others_way(
        self, store: PresenceStore, clock: FakeClock
    ) -> None:
        people = [f"crowd.{number}" for number in range(SEEN_BATCH)]
        rounds = [people if number % 2 else people[::-1] for number in range(8)]
        now = clock.now_ms
        came = await asyncio.gather(
            *(store.seen(each, now + 60_000 + n, now) for n, each in enumerate(rounds))
        )
        assert {user for each in came for user in each} == set(people)


class TestLooking:
    async def test_a_lone_viewer_of_a_quiet_thread_sees_who_is_in_it(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        assert await look(store, ann, thread_id, clock.now_ms) == Snapshot(
            frozenset({bob.id}), {}, {}
        )
        await bob.leave(thread_id)
        assert await look(store, ann, thread_id, clock.now_ms) == Snapshot(frozenset(), {}, {})

    async def test_what_is_not_the_viewers_is_absent(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob, carl, dora = await stage.people("ann", "bob", "carl", "dora")
        thread_id = await ann.thread_with(bob, dora)
        await dora.leave(thread_id)
        pairs = [
            (bob.id, thread_id),
            (carl.id, thread_id),
            (dora.id, thread_id),
            (bob.id, NOWHERE),
            ("nobody", thread_id),
        ]
        assert list(await store.look(pairs, clock.now_ms)) == [(bob.id, thread_id)]
        assert await store.look([], clock.now_ms) == {}

    async def test_a_thread_that_is_still_hidden_from_a_member_is_absent_for_them(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await stage.hide(thread_id, bob.id)
        now = clock.now_ms
        await store.seen([ann.id, bob.id], now + 60_000, now)
        assert await store.look([(bob.id, thread_id)], now) == {}
        with pytest.raises(ThreadNotFound):
            await store.set_typing(bob.id, thread_id, "", now + 10_000, now)
        seen = await look(store, ann, thread_id, now)
        assert seen == Snapshot(frozenset({bob.id}), {}, {bob.id: now + 60_000})

    async def test_someone_who_left_shows_nothing(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        now = clock.now_ms
        await store.set_typing(carl.id, thread_id, "", now + 10_000, now)
        await store.seen([carl.id], now + 60_000, now)
        await carl.leave(thread_id)
        assert await look(store, ann, thread_id, now) == Snapshot(frozenset({bob.id}), {}, {})

    @pytest.mark.parametrize("is_viewers_own", [True, False])
    async def test_a_block_looks_like_someone_away_to_both(
        self, stage: Stage, store: PresenceStore, clock: FakeClock, is_viewers_own: bool
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        now = clock.now_ms
        for person in (ann, bob):
            await store.set_typing(person.id, thread_id, "", now + 10_000, now)
            await store.seen([person.id], now + 60_000, now)
        before = [await look(store, each, thread_id, now) for each in (ann, bob, carl)]
        blocker, blocked = (ann, bob) if is_viewers_own else (bob, ann)
        await blocker.block(blocked)
        for viewer, other in ((ann, bob), (bob, ann)):
            seen = await look(store, viewer, thread_id, now)
            assert seen == Snapshot(frozenset({other.id, carl.id}), {}, {})
        assert await look(store, carl, thread_id, now) == before[2]
        assert set(before[2].typing) == set(before[2].online) == {ann.id, bob.id}
        await blocker.unblock(blocked)
        assert [await look(store, each, thread_id, now) for each in (ann, bob, carl)] == before

    async def test_fifty_people_each_see_the_other_forty_nine(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        crowd = await stage.people(*(f"p{number}" for number in range(50)))
        thread_id = await crowd[0].thread_with(*crowd[1:])
        now = clock.now_ms
        ids = [person.id for person in crowd]
        await store.seen(ids, now + 60_000, now)
        for user in ids:
            await store.set_typing(user, thread_id, "", now + 10_000, now)
        found = await store.look([(user, thread_id) for user in ids], now)
        for user in ids:
            seen = found[user, thread_id]
            assert set(seen.typing) == set(seen.online) == seen.others == {*ids} - {user}

    @pytest.mark.parametrize("hours", [-1, 1])
    async def test_a_clock_set_back_does_not_freeze_anything(
        self, stage: Stage, store: PresenceStore, clock: FakeClock, hours: int
    ) -> None:
        ann, bob = await stage.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        now = clock.now_ms
        await store.set_typing(bob.id, thread_id, "", now + 10_000, now)
        await store.seen([bob.id], now + 60_000, now)
        now += hours * 3_600_000
        assert await look(store, ann, thread_id, now) == Snapshot(frozenset({bob.id}), {}, {})
        assert await store.set_typing(bob.id, thread_id, "", now + 10_000, now)
        assert await store.seen([bob.id], now + 60_000, now) == [bob.id]
        seen = await look(store, ann, thread_id, now)
        assert (seen.typing, seen.online) == ({bob.id: now + 10_000}, {bob.id: now + 60_000})


class TestPruning:
    async def test_takes_nothing_that_somebody_sees(
        self, stage: Stage, store: PresenceStore, clock: FakeClock
    ) -> None:
        ann, bob, carl = await stage.people("ann", "bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        now = clock.now_ms
        for person, end in ((bob, now + 1000), (carl, now + 1001)):
            await store.set_typing(person.id, thread_id, "", end, now)
            await store.seen([person.id], end, now)
        await store.prune(now + 1000, 10)
        seen = await look(store, ann, thread_id, now + 1000)
        ends = {carl.id: now + 1001}
        assert seen == Snapshot(frozenset({bob.id, carl.id}), ends, ends)
