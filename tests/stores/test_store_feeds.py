"""Feeds as open connections use them: read by many at once, acknowledged, and woken for."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from greenroom.conversations.model import Cursor, EventType, Receipt, Role
from greenroom.conversations.store import Changes, ConversationStore, FeedPosition
from greenroom.kernel.limits import Limits

from .world import OpenStore, Seed, WildClock, say, seeded_randomness, send_of, start, whole_feed

Person = Callable[[], str]


async def head(store: ConversationStore, viewer: str) -> Cursor:
    return (await store.heads([viewer]))[viewer]


async def receipts(store: ConversationStore, viewer: str) -> list[Receipt]:
    return [each.receipt for each in (await whole_feed(store, viewer)).events if each.receipt]


async def delivered_to(store: ConversationStore, viewer: str, thread_id: str, who: str) -> str:
    found = await store.thread(viewer, thread_id)
    assert found is not None
    [mark] = [each.last_delivered for each in found[0].participants if each.user_id == who]
    return mark.message_id if mark is not None else ""


def untimed(changes: Changes) -> Changes:
    """A reset is of the moment in which it is asked for."""
    events = tuple(
        replace(each, at_ms=0) if each.type == EventType.RESET else each for each in changes.events
    )
    return replace(changes, events=events)


class TestManyAtOnce:
    async def test_each_gets_what_they_would_get_alone(
        self, store: ConversationStore, person: Person, seed: Seed
    ) -> None:
        ada, ben, cleo, dan = (person() for _ in range(4))
        threads = [
            (await start(store, ada, ben)).thread.id,
            (await start(store, ben, cleo)).thread.id,
        ]
        for number in range(12):
            thread_id = seed.random.choice(threads)
            await say(store, thread_id, ben, f"message {number}")
        await store.add_participant(None, threads[0], cleo, Role.HOST)
        top = await head(store, ben)
        places = [None, Cursor(top.epoch, 3), Cursor("other", 3), Cursor(top.epoch, 900), top]
        positions = [FeedPosition(who, at) for who in (ada, ben, cleo, dan, ben) for at in places]
        seed.random.shuffle(positions)
        for limit in (1, 4, 50):
            together = await store.changes_of_many(positions, limit)
            alone = [await store.changes(each.viewer, each.since, limit) for each in positions]
            assert [untimed(each) for each in together] == [untimed(each) for each in alone]

    async def test_heads_are_of_those_who_have_a_feed(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, nobody = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        before = await store.heads([ada, ben, nobody])
        assert set(before) == {ada, ben}
        await say(store, thread_id, ada, "more")
        after = await store.heads([ben])
        assert after[ben].n == before[ben].n + 1


class TestAcknowledging:
    async def test_the_author_learns_that_their_messages_have_arrived(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        last = await say(store, thread_id, ada, "second")
        await store.acknowledge(ben, await head(store, ben))
        [receipt] = await receipts(store, ada)
        assert (receipt.user_id, receipt.kind) == (ben, "delivered")
        assert (receipt.message_id, receipt.seq) == (last.id, 2)
        assert await delivered_to(store, ada, thread_id, ben) == last.id
        changes = await store.changes(ben, None, 50)
        assert changes.acked == await head(store, ben)

    async def test_it_only_moves_forward_whatever_the_order(
        self, store: ConversationStore, person: Person, seed: Seed
    ) -> None:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        for number in range(10):
            await say(store, thread_id, ada, f"message {number}")
        top = await head(store, ben)
        places = [Cursor(top.epoch, n) for n in range(1, top.n + 1)]
        seed.random.shuffle(places)
        await asyncio.gather(*(store.acknowledge(ben, each) for each in places))
        seqs = [each.seq for each in await receipts(store, ada)]
        assert seqs == sorted(set(seqs))
        assert seqs[-1] == 11
        assert (await store.changes(ben, None, 1)).acked == top

    async def test_what_is_no_place_in_the_feed_counts_for_nothing(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, stranger = person(), person(), person()
        await start(store, ada, ben)
        top = await head(store, ben)
        await store.acknowledge(ben, Cursor("other", top.n))
        await store.acknowledge(stranger, top)
        await store.acknowledge(ben, Cursor(top.epoch, top.n + 1))
        assert await receipts(store, ada) == []
        assert (await store.changes(ben, None, 1)).acked.n == 0

    async def test_acknowledging_a_receipt_or_ones_own_message_tells_nobody(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben = person(), person()
        await start(store, ada, ben)
        await store.acknowledge(ada, await head(store, ada))
        assert await receipts(store, ben) == []
        await store.acknowledge(ben, await head(store, ben))
        await store.acknowledge(ada, await head(store, ada))
        assert await receipts(store, ben) == []

    async def test_a_block_looks_like_a_client_that_is_away(
        self, store: ConversationStore, person: Person
    ) -> None:
        for blocker_is_author in (True, False):
            ada, ben = person(), person()
            thread_id = (await start(store, ada, ben)).thread.id
            await store.block(*((ada, ben) if blocker_is_author else (ben, ada)))
            await store.acknowledge(ben, await head(store, ben))
            assert await receipts(store, ada) == []
            assert await delivered_to(store, ada, thread_id, ben) == ""

    async def test_a_message_that_only_some_see_is_in_no_receipt(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        started = await start(store, ada, ben, cleo)
        secret = send_of(started.thread.id, ada)
        await store.append(replace(secret, visible_to=frozenset({ada, ben})))
        await store.acknowledge(ben, await head(store, ben))
        for viewer in (ada, cleo):
            assert [each.message_id for each in await receipts(store, viewer)] == [
                started.message.id
            ]

    async def test_whoever_was_removed_says_nothing_and_hears_nothing(
        self, store: ConversationStore, person: Person
    ) -> None:
        ada, ben, cleo = person(), person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        await store.add_participant(None, thread_id, cleo, Role.HOST)
        await say(store, thread_id, ada, "for all three")
        await store.remove_participant(None, thread_id, cleo)
        await store.acknowledge(cleo, await head(store, cleo))
        assert await receipts(store, ada) == []
        await store.acknowledge(ben, await head(store, ben))
        assert await receipts(store, cleo) == []

    async def test_a_large_thread_shows_no_delivery(
        self, open_store: OpenStore, clock: WildClock, person: Person
    ) -> None:
        limits = Limits(delivery_shown_participants=3)
        async with open_store(clock=clock, randomness=seeded_randomness(7), limits=limits) as store:
            ada, *others = (person() for _ in range(4))
            await start(store, ada, *others)
            await store.acknowledge(others[0], await head(store, others[0]))
            assert await receipts(store, ada) == []

    async def test_a_long_way_is_gone_in_steps(
        self, open_store: OpenStore, clock: WildClock, person: Person
    ) -> None:
        limits = Limits(ack_span=4)
        async with open_store(clock=clock, randomness=seeded_randomness(8), limits=limits) as store:
            ada, ben = person(), person()
            thread_id = (await start(store, ada, ben)).thread.id
            for number in range(10):
                await say(store, thread_id, ada, f"message {number}")
            await store.acknowledge(ben, await head(store, ben))
            assert (await receipts(store, ada))[-1].seq == 11


async def test_everybody_whose_feed_grows_is_woken_and_not_before(
    open_store: OpenStore, clock: WildClock, person: Person
) -> None:
    woken: list[str] = []

    def wake(users: Iterable[str]) -> None:
        woken.extend(users)

    async with open_store(clock=clock, randomness=seeded_randomness(9), wake=wake) as store:
        ada, ben = person(), person()
        thread_id = (await start(store, ada, ben)).thread.id
        assert set(woken) == {ada, ben}
        woken.clear()
        await say(store, thread_id, ada, "more")
        assert sorted(woken) == sorted([ada, ben])
        woken.clear()
        await store.acknowledge(ben, await head(store, ben))
        assert woken == [ada]
        woken.clear()
        await store.acknowledge(ben, await head(store, ben))
        assert woken == []
