"""Many write and read at the same moment, through two stores on one database: one order for all."""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from greenroom.conversations.inbox import Folder, InboxFilter
from greenroom.conversations.model import Cursor, EventType
from greenroom.conversations.store import ConversationStore, Send, Started
from greenroom.kernel.errors import IdempotencyMismatch, RateLimited
from greenroom.kernel.limits import Limits

from .world import (
    IS_FULL,
    START_MS,
    Disturb,
    OpenStore,
    Seed,
    WildClock,
    draft,
    seeded_randomness,
    send_of,
    start,
    thread_draft,
    whole_feed,
    whole_thread,
)

WRITERS = 64
SENDS_EACH = 150 if IS_FULL else 10
THREADS = 5
READERS = 8
PATIENCE_S = 600 if IS_FULL else 120

Person = Callable[[], str]


@pytest.fixture
async def stores(open_store: OpenStore, seed: Seed) -> AsyncIterator[list[ConversationStore]]:
    """Two, each with queues and connections of its own, and clocks an hour apart."""
    async with AsyncExitStack() as stack:
        opened = []
        for drift_ms in (0, 3_600_000):
            randomness = seeded_randomness(seed.random.randrange(1 << 40))
            store = open_store(clock=WildClock(START_MS + drift_ms), randomness=randomness)
            opened.append(await stack.enter_async_context(store))
        yield opened


async def test_each_reader_sees_each_message_once_and_all_in_one_order(
    stores: list[ConversationStore], seed: Seed, person: Person, disturb: Disturb
) -> None:
    people = [person() for _ in range(READERS)]
    members = [seed.random.sample(people, 4) for _ in range(THREADS)]
    threads = [(await start(stores[0], *each)).thread.id for each in members]
    expected: dict[str, dict[str, int]] = {user: {} for user in people}
    for thread_id, each in zip(threads, members, strict=True):
        for user in each:
            expected[user][thread_id] = 1

    jobs = []
    for number in range(WRITERS):
        place = seed.random.randrange(THREADS)
        author = seed.random.choice(members[place])
        store = seed.random.choice(stores)
        jobs.append(write(store, threads[place], author, number))
        for user in members[place]:
            expected[user][threads[place]] += SENDS_EACH
    order = seed.random.getrandbits(32)
    async with asyncio.timeout(PATIENCE_S), disturb(threads, people, order):
        readers = [read(stores, user, expected[user], order + n) for n, user in enumerate(people)]
        seen = await asyncio.gather(*readers, *jobs)

    for user, sequences in zip(people, seen[:READERS], strict=True):
        assert sequences == {
            thread_id: list(range(1, count + 1)) for thread_id, count in expected[user].items()
        }
    for thread_id, each in zip(threads, members, strict=True):
        await check_order(stores[0], thread_id, each[0])


async def write(store: ConversationStore, thread_id: str, author: str, number: int) -> None:
    """One client: the next message leaves when the last is acknowledged, so its order is known."""
    last = 0
    for each in range(SENDS_EACH):
        sent = await store.append(send_of(thread_id, author, f"{number} {each}"))
        assert not sent.is_repeat
        assert sent.message.seq > last
        last = sent.message.seq


async def read(
    stores: Sequence[ConversationStore], viewer: str, expected: dict[str, int], order: int
) -> dict[str, list[int]]:
    """Poll until everything expected has come, then once more, for what should not."""
    choose = Seed(order).random
    seen: dict[str, list[int]] = defaultdict(list)
    cursor, missing = None, sum(expected.values())
    while True:
        is_last = missing <= 0
        changes = await choose.choice(stores).changes(viewer, cursor, choose.randint(1, 40))
        places = [event.cursor.n for event in changes.events]
        assert places == sorted(set(places))
        assert not places or places[0] > (cursor or Cursor("", 0)).n
        assert cursor is None or changes.cursor.n >= cursor.n
        for event in changes.events:
            assert event.type != EventType.RESET
            if event.message is not None and event.thread_id is not None:
                seen[event.thread_id].append(event.message.seq)
                missing -= 1
        cursor = changes.cursor
        if is_last:
            return dict(seen)


async def check_order(store: ConversationStore, thread_id: str, viewer: str) -> None:
    page = await store.messages(viewer, thread_id, before=None, after="", limit=100_000)
    assert page is not None
    assert [message.seq for message in page.items] == list(range(1, len(page.items) + 1))
    times = [message.created_at_ms for message in page.items]
    assert all(before < after for before, after in itertools.pairwise(times))
    assert [message.id for message in page.items] == sorted(message.id for message in page.items)


async def test_the_same_client_id_a_hundred_times_at_once_is_one_message(
    stores: list[ConversationStore], seed: Seed, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(stores[0], ada, ben)).thread.id
    bodies = ["this"] * 100 + ["that"] * 20
    seed.random.shuffle(bodies)
    answers = await asyncio.gather(
        *(
            stores[number % 2].append(send_of(thread_id, ada, body, client_id=f"{ada}-same"))
            for number, body in enumerate(bodies)
        ),
        return_exceptions=True,
    )
    [_, message] = await whole_thread(stores[0], ada, thread_id)
    for body, answer in zip(bodies, answers, strict=True):
        if body == message.body:
            assert not isinstance(answer, BaseException)
            assert answer.message == message
        else:
            assert isinstance(answer, IdempotencyMismatch)
    done = [answer for answer in answers if not isinstance(answer, BaseException)]
    assert [answer.is_repeat for answer in done].count(False) == 1
    events = [each for each in (await whole_feed(stores[1], ben)).events if each.message]
    assert [each.message.seq for each in events if each.message] == [1, 2]


async def test_starts_under_one_listing_key_at_once_over_two_servers_end_in_one_thread(
    stores: list[ConversationStore], person: Person
) -> None:
    ada, ben = person(), person()
    answers = await asyncio.gather(
        *(
            stores[number % 2].start_thread(
                replace(thread_draft(ada, ben), listing_key="studio/7"), draft(f"{number}"), ()
            )
            for number in range(40)
        )
    )
    started = [answer for answer in answers if isinstance(answer, Started)]
    [thread_id] = {each.thread.id for each in started}
    assert [each.is_new for each in started].count(True) == 1
    said = await whole_thread(stores[0], ben, thread_id)
    assert [message.seq for message in said] == list(range(1, 41))
    assert {message.body for message in said} == {f"{number}" for number in range(40)}


async def test_the_same_client_id_in_two_threads_at_once_is_one_message(
    stores: list[ConversationStore], person: Person
) -> None:
    ada, ben, cleo = person(), person(), person()
    threads = [(await start(stores[0], ada, other)).thread.id for other in (ben, cleo)]
    answers = await asyncio.gather(
        *(
            stores[number % 2].append(send_of(threads[number // 2 % 2], ada, client_id=f"{ada}-1"))
            for number in range(40)
        ),
        return_exceptions=True,
    )
    found = [len(await whole_thread(stores[0], ada, thread_id)) for thread_id in threads]
    assert sorted(found) == [1, 2]
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert len(refused) == 20
    assert all(isinstance(each, IdempotencyMismatch) for each in refused)


async def test_a_thread_started_many_times_at_once_begins_once(
    stores: list[ConversationStore], person: Person
) -> None:
    ada, ben = person(), person()
    from_one_place = [start_same(stores[number % 2], ada, ben) for number in range(40)]
    threads = await asyncio.gather(*from_one_place)
    assert len(set(threads)) == 1
    page = await stores[0].inbox(ben, InboxFilter(), after=None, limit=10)
    assert [thread.id for thread in page.items] == [threads[0]]
    assert page.counts[Folder.ALL] == 1


async def start_same(store: ConversationStore, opener: str, other: str) -> str:
    return (await start(store, opener, other, client_id=f"{opener}-start")).thread.id


@pytest.mark.parametrize("per_minute", [60, 7])
async def test_exactly_the_burst_of_a_minute_passes_however_many_try(
    open_store: OpenStore, person: Person, per_minute: int
) -> None:
    now_ms = [START_MS]
    cost_ms = 60_000 // per_minute
    ada, ben = person(), person()

    def new(thread_id: str) -> Send:
        return Send(thread_id, ada, draft(), cost_ms)

    async with (
        open_store(clock=lambda: now_ms[0], randomness=seeded_randomness(1)) as one,
        open_store(clock=lambda: now_ms[0], randomness=seeded_randomness(2)) as two,
    ):
        thread_id = (await start(one, ada, ben)).thread.id

        async def allowed_of(tries: int) -> int:
            answers = await asyncio.gather(
                *((one, two)[number % 2].append(new(thread_id)) for number in range(tries)),
                return_exceptions=True,
            )
            refused = [each for each in answers if isinstance(each, BaseException)]
            assert all(isinstance(each, RateLimited) for each in refused)
            waits = [each.retry_after_s for each in refused if isinstance(each, RateLimited)]
            assert all(wait is not None and 0 < wait <= 60 for wait in waits)
            return tries - len(refused)

        assert await allowed_of(200) == per_minute
        assert await allowed_of(20) == 0
        now_ms[0] += cost_ms
        assert await allowed_of(20) == 1
        now_ms[0] += 10 * 60_000
        assert await allowed_of(200) == per_minute
        # Somebody else, and the same person elsewhere, have a minute of their own.
        await one.append(Send(thread_id, ben, draft(), cost_ms))
        elsewhere = (await start(one, ada, person())).thread.id
        await two.append(Send(elsewhere, ada, draft(), cost_ms))


async def test_a_full_queue_answers_unavailable_and_loses_nothing(
    open_store: OpenStore, person: Person
) -> None:
    ada, ben = person(), person()
    limits = Limits(send_queue=8, send_batch=4, send_connections=1)
    async with open_store(
        clock=WildClock(), randomness=seeded_randomness(3), limits=limits
    ) as store:
        thread_id = (await start(store, ada, ben)).thread.id
        answers = await asyncio.gather(
            *(store.append(send_of(thread_id, ada, str(number))) for number in range(60)),
            return_exceptions=True,
        )
        kept = [each.message for each in answers if not isinstance(each, BaseException)]
        assert 8 <= len(kept) < 60
        found = await whole_thread(store, ben, thread_id)
        assert sorted(message.id for message in found[1:]) == sorted(each.id for each in kept)


@pytest.mark.parametrize("poison", ["\x00", "\ud800"])
async def test_a_send_that_cannot_be_stored_fails_alone(
    store: ConversationStore, person: Person, poison: str
) -> None:
    """Nobody should get this far with such a text; those who wait beside it must not pay."""
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    bodies = [f"{number}" for number in range(20)]
    bodies.insert(11, poison)
    answers = await asyncio.gather(
        *(store.append(send_of(thread_id, ada, body)) for body in bodies), return_exceptions=True
    )
    failed = [number for number, each in enumerate(answers) if isinstance(each, BaseException)]
    found = [message.body for message in await whole_thread(store, ben, thread_id)]
    if poison in found:
        # Not every database minds a zero.
        assert (poison, failed) == ("\x00", [])
        found.remove(poison)
    else:
        assert failed == [11]
    assert found[1:] == [f"{number}" for number in range(20)]
