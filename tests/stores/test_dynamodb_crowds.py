"""Many write at once through two processes that know nothing of each other: every feed has one
order without holes, and so has every thread."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from greenroom.conversations.inbox import Folder, InboxFilter
from greenroom.platform.dynamodb.client import Send

from .audit import differences, number_of, open_books
from .faults import Answer, FaultRig, Process
from .world import (
    IS_FULL,
    Seed,
    draft,
    say,
    send_of,
    start,
    thread_draft,
    unread,
    whole_thread,
)

THREADS = 60 if IS_FULL else 20
SENDS = 10 if IS_FULL else 3
WRITERS = 64
CROWD = 50
PATIENCE_S = 300 if IS_FULL else 60

Person = Callable[[], str]


@pytest.fixture
def pair(rig: FaultRig) -> list[Process]:
    return [rig.process(is_orderly=False) for _ in range(2)]


async def test_a_feed_that_many_threads_write_to_has_neither_holes_nor_repeats(
    rig: FaultRig, pair: list[Process], person: Person, seed: Seed
) -> None:
    ada, others = person(), [person() for _ in range(THREADS)]
    threads = [(await start(pair[0].store, ada, other)).thread.id for other in others]

    async def write(thread_id: str, author: str, process: Process) -> list[str]:
        return [(await say(process.store, thread_id, author, str(n))).id for n in range(SENDS)]

    jobs = [
        write(thread_id, author, seed.random.choice(pair))
        for thread_id, other in zip(threads, others, strict=True)
        for author in (ada, other)
    ]
    async with asyncio.timeout(PATIENCE_S):
        sent = await asyncio.gather(*jobs)

    for process in pair:
        await process.rest()
    books = await open_books(pair[0].table, [ada, *others])
    assert differences(books) == []
    feed = books.feeds[ada]
    assert [number_of(item) for item in feed] == [*range(1, len(feed) + 1)]
    told = [item["m"] for item in feed if item["t"] == "message.new"]
    assert len(told) == len(set(told)) == THREADS + 2 * THREADS * SENDS
    assert {message_id for each in sent for message_id in each} < set(told)


async def test_many_writers_in_one_thread_get_one_order(
    pair: list[Process], person: Person
) -> None:
    people = [person() for _ in range(4)]
    thread_id = (await start(pair[0].store, *people)).thread.id

    async def write(number: int) -> list[int]:
        store, author = pair[number % 2].store, people[number % 4]
        return [(await say(store, thread_id, author, f"{number} {n}")).seq for n in range(SENDS)]

    async with asyncio.timeout(PATIENCE_S):
        seqs = await asyncio.gather(*(write(number) for number in range(WRITERS)))

    assert all(each == sorted(each) for each in seqs)
    everything = [1, *(seq for each in seqs for seq in each)]
    assert sorted(everything) == [*range(1, WRITERS * SENDS + 2)]
    for process in pair:
        await process.rest()
    books = await open_books(pair[0].table, people)
    assert differences(books) == []
    page = await whole_thread(pair[1].store, people[1], thread_id)
    assert [message.seq for message in page] == sorted(everything)


async def test_a_thread_may_have_as_many_people_as_the_limit_allows(
    rig: FaultRig, pair: list[Process], person: Person
) -> None:
    """All of them are in the one transaction that begins it."""
    assert rig.limits.participants == CROWD
    process = rig.process()
    transactions: list[int] = []

    async def count(send: Send, action: str, body: bytes) -> Answer:
        if action == "TransactWriteItems":
            transactions.append(len(msgspec.json.decode(body)["TransactItems"]))
        return await send(action, body)

    people = [person() for _ in range(CROWD)]
    process.line.meet = count
    first = draft("first")
    await process.store.start_thread(thread_draft(*people), first, ())
    assert CROWD < transactions[0] <= 100
    assert all(entries == 2 for entries in transactions[1:])

    [thread] = (await pair[0].store.inbox(people[0], InboxFilter(), after=None, limit=10)).items
    sent = await asyncio.gather(
        *(pair[n % 2].store.append(send_of(thread.id, people[n], str(n))) for n in range(8))
    )
    last = max((each.message for each in sent), key=lambda message: message.seq)
    await pair[1].store.mark_read(people[40], thread.id, last.id)

    for each in (process, *pair):
        await each.rest()
    books = await open_books(pair[0].table, people)
    assert differences(books) == []
    counts = await asyncio.gather(*(unread(pair[0].store, who, thread.id) for who in people))
    assert counts == [7, *[8] * 7] + [9] * 32 + [0] + [9] * 9
    page = await pair[1].store.inbox(people[49], InboxFilter(), after=None, limit=10)
    assert page.counts[Folder.ALL] == 1
