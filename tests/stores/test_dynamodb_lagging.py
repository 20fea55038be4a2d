"""Indexes and copies lag; what people are shown does not. Nothing that a cursor covers is missing
beside it: not a thread in the inbox, nor its count, nor a message of a page."""

import random
from collections.abc import Callable

import pytest

from greenroom.conversations.inbox import Folder, InboxChanges, InboxFilter
from greenroom.conversations.model import Role, Thread
from greenroom.conversations.store import ConversationStore
from greenroom.platform.dynamodb.credentials import Access

from .faults import FaultRig, Process
from .lagging import COPIES, Lagging, make_copies
from .world import (
    IS_FULL,
    Seed,
    WildClock,
    say,
    start,
    whole_thread,
)

STEPS = 400 if IS_FULL else 40
THREADS = 7

Person = Callable[[], str]
Shown = list[tuple[str, int, bool, str]]


@pytest.fixture(scope="module")
async def copied_table(dynamodb_access: Access, dynamodb_table: str) -> str:
    await make_copies(dynamodb_access, dynamodb_table)
    return dynamodb_table


@pytest.fixture
def lagging(copied_table: str, clock: WildClock, seed: Seed) -> Lagging:
    return Lagging(copied_table, clock, random.Random(seed.random.getrandbits(32)))


@pytest.fixture
def pair(rig: FaultRig, lagging: Lagging) -> list[Process]:
    opened = [rig.process() for _ in range(2)]
    for process in opened:
        process.line.meet = lagging
    return opened


async def test_a_thread_that_the_copy_does_not_have_is_shown_whole(
    pair: list[Process], lagging: Lagging, person: Person
) -> None:
    ada, ben = person(), person()
    lagging.still = set(COPIES)
    thread_id = (await start(pair[0].store, ada, ben)).thread.id
    assert [message.seq for message in await whole_thread(pair[1].store, ben, thread_id)] == [1]
    await say(pair[0].store, thread_id, ada, "more")
    assert [message.seq for message in await whole_thread(pair[1].store, ben, thread_id)] == [1, 2]


@pytest.mark.parametrize("slow", ["GSI1", "GSI2"])
async def test_an_index_that_is_behind_the_other_changes_no_count(
    pair: list[Process], lagging: Lagging, person: Person, slow: str
) -> None:
    store, ada, ben = pair[0].store, person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    assert await unread_threads(store, ben) == 1
    lagging.still, lagging.prompt = {slow}, set(COPIES) - {slow}
    await store.mark_read(ben, thread_id, (await say(store, thread_id, ada, "more")).id)
    for folder in Folder:
        page = await store.inbox(ben, InboxFilter(folder), after=None, limit=10)
        assert set(page.counts.values()) == {0}, folder
    await say(store, thread_id, ada, "and more")
    assert await unread_threads(store, ben) == 1


async def unread_threads(store: ConversationStore, viewer: str) -> int:
    page = await store.inbox(viewer, InboxFilter(), after=None, limit=10)
    return page.counts[Folder.ALL]


async def test_pages_of_the_inbox_show_what_is_there(
    rig: FaultRig, pair: list[Process], person: Person, seed: Seed
) -> None:
    """Whatever was done a moment before, and however the list is cut into pages."""
    choose, ada = seed.random, person()
    others = [person() for _ in range(THREADS)]
    threads = [(await start(pair[0].store, ada, other)).thread.id for other in others]
    for step in range(STEPS):
        place = choose.randrange(THREADS)
        store = choose.choice(pair).store
        done = await act(store, ada, others[place], threads[place], choose)
        if choose.random() < 0.1:
            rig.clock.jump(choose.choice([1000, 20_000, 40_000, 100_000]))
        for folder in (Folder.ALL, Folder.ARCHIVED):
            expected = await true_rows(store, ada, threads, folder)
            limit = choose.choice([1, 2, 3, 100])
            found, count = await all_pages(choose.choice(pair).store, ada, folder, limit)
            assert found == expected, (step, done, folder, limit)
            assert count == sum(unread > 0 for _, unread, _, _ in expected), (step, done, folder)


async def act(
    store: ConversationStore, ada: str, other: str, thread_id: str, choose: random.Random
) -> str:
    what = choose.choice(["hear", "hear", "say", "read", "pin", "archive", "add", "leave"])
    if what == "hear":
        await say(store, thread_id, other, "hello")
    elif what == "say" and await store.thread(ada, thread_id):
        await say(store, thread_id, ada, "hello")
    elif what == "read" and await store.thread(ada, thread_id):
        last = (await whole_thread(store, ada, thread_id))[-1:]
        if last:
            await store.mark_read(ada, thread_id, last[0].id)
    elif what in ("pin", "archive") and await store.thread(ada, thread_id):
        is_so = choose.random() < 0.5
        is_pin = what == "pin"
        changes = InboxChanges(pinned=is_so) if is_pin else InboxChanges(archived=is_so)
        await store.set_inbox_row(ada, thread_id, changes)
    elif what == "add":
        await store.add_participant(None, thread_id, ada, Role.BUYER)
    elif what == "leave" and choose.random() < 0.3 and await store.thread(ada, thread_id):
        await store.remove_participant(None, thread_id, ada)
    return what


async def true_rows(
    store: ConversationStore, viewer: str, threads: list[str], folder: Folder
) -> Shown:
    """As the threads themselves say, which are read without an index."""
    found = [await store.thread(viewer, thread_id) for thread_id in threads]
    placement = "inbox" if folder == Folder.ALL else str(folder)
    rows = [each[0] for each in found if each is not None]
    here = [each for each in rows if each.inbox and each.inbox.placement == placement]
    return [shown(each) for each in sorted(here, key=in_order, reverse=True)]


def in_order(thread: Thread) -> tuple[bool, int, str]:
    assert thread.inbox is not None
    return thread.inbox.pinned, thread.inbox.last_activity_ms, thread.id


def shown(thread: Thread) -> tuple[str, int, bool, str]:
    row = thread.inbox
    assert row is not None
    last = row.last_message.id if row.last_message else ""
    return thread.id, row.unread_count, row.pinned, last


async def all_pages(
    store: ConversationStore, viewer: str, folder: Folder, limit: int
) -> tuple[Shown, int]:
    items: list[Thread] = []
    after = None
    while True:
        page = await store.inbox(viewer, InboxFilter(folder), after=after, limit=limit)
        items += page.items
        after = page.next_key
        if after is None:
            return [shown(each) for each in items], page.counts[folder]
