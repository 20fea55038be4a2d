"""A send that waits is judged by what holds when its turn comes, not when it was made.

Rows are held by another connection until PostgreSQL itself says who waits for them: no timing.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncpg
import pytest

from greenroom.conversations.model import EventType, Role
from greenroom.conversations.store import ConversationStore
from greenroom.kernel.errors import MsgBlockedByUser, ThreadNotFound
from tests.support.waiting import PATIENCE_S

from .world import (
    OpenStore,
    WildClock,
    say,
    seeded_randomness,
    send_of,
    start,
    whole_feed,
    whole_thread,
)

WAITING = """
select count(*) from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock'
"""

Person = Callable[[], str]

pytestmark = pytest.mark.parametrize("conversations", ["postgres"], indirect=True, scope="module")


class Row:
    """A row that is held; `release` lets those who wait for it go on, in their order."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection
        self._transaction = connection.transaction()

    async def hold(self, statement: str, key: str) -> None:
        await self._transaction.start()
        assert await self._connection.fetchval(statement, key) == 1

    async def release(self) -> None:
        await self._transaction.rollback()

    async def until_waiting(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while await self._connection.fetchval(WAITING) < count:
                pass


@pytest.fixture
async def other(open_store: OpenStore) -> AsyncIterator[ConversationStore]:
    """A second server."""
    async with open_store(clock=WildClock(), randomness=seeded_randomness(7)) as opened:
        yield opened


@asynccontextmanager
async def held(url: str, statement: str, key: str) -> AsyncIterator[Row]:
    connection = await asyncpg.connect(url)
    try:
        row = Row(connection)
        await row.hold(statement, key)
        yield row
    finally:
        await connection.close()


def held_thread(url: str, thread_id: str) -> AbstractAsyncContextManager[Row]:
    return held(url, "select 1 from thread where thread_id = $1 for update", thread_id)


def held_head(url: str, user: str) -> AbstractAsyncContextManager[Row]:
    return held(url, "select 1 from feed_head where user_id = $1 for update", user)


async def done(*tasks: asyncio.Task[object]) -> list[object]:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.gather(*tasks, return_exceptions=True)


async def test_someone_removed_while_their_send_waits_has_sent_nothing(
    store: ConversationStore, other: ConversationStore, database_url: str, person: Person
) -> None:
    ada, ben, cleo = person(), person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    await store.add_participant(ada, thread_id, cleo, Role.HOST)
    await say(store, thread_id, cleo, "before")
    async with held_thread(database_url, thread_id) as row:
        removal = asyncio.create_task(other.remove_participant(ada, thread_id, cleo))
        await row.until_waiting(1)
        send = asyncio.create_task(store.append(send_of(thread_id, cleo, "too late")))
        await row.until_waiting(2)
        await row.release()
        removed, sent = await done(removal, send)
    assert removed is None
    assert isinstance(sent, ThreadNotFound)
    for viewer in (ada, ben, cleo):
        events = (await whole_feed(store, viewer)).events
        assert all(event.message is None or event.message.body != "too late" for event in events)
    bodies = [message.body for message in await whole_thread(store, ben, thread_id)]
    assert bodies == ["first", "", "before", ""]
    last = (await whole_feed(store, cleo)).events[-1]
    assert (last.type, last.thread) == (EventType.THREAD_CHANGED, None)
    assert await store.thread(cleo, thread_id) is None


async def test_someone_who_leaves_while_a_batch_waits_is_not_sent_the_rest(
    store: ConversationStore, other: ConversationStore, database_url: str, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    async with held_thread(database_url, thread_id) as row:
        leaving = asyncio.create_task(other.remove_participant(ben, thread_id, ben))
        await row.until_waiting(1)
        sends = [
            asyncio.create_task(store.append(send_of(thread_id, ada, f"late {number}")))
            for number in range(5)
        ]
        await row.until_waiting(2)
        await row.release()
        await done(leaving, *sends)
    events = (await whole_feed(store, ben)).events
    assert [event.type for event in events] == [EventType.THREAD_CHANGED, EventType.THREAD_CHANGED]
    assert [message.seq for message in await whole_thread(store, ada, thread_id)] == [*range(1, 8)]


@pytest.mark.parametrize("is_held", ["thread", "head"])
async def test_a_block_made_while_a_send_waits_hides_it(
    store: ConversationStore,
    other: ConversationStore,
    database_url: str,
    person: Person,
    is_held: str,
) -> None:
    """The block needs no thread, so it passes a send that waits for one; at a head it is first."""
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    if is_held == "thread":
        async with held_thread(database_url, thread_id) as row:
            send = asyncio.create_task(store.append(send_of(thread_id, ada, "unheard")))
            await row.until_waiting(1)
            await other.block(ben, ada)
            await row.release()
            [sent] = await done(send)
    else:
        async with held_head(database_url, ben) as row:
            block = asyncio.create_task(other.block(ben, ada))
            await row.until_waiting(1)
            send = asyncio.create_task(store.append(send_of(thread_id, ada, "unheard")))
            await row.until_waiting(2)
            await row.release()
            _, sent = await done(block, send)
    assert not isinstance(sent, BaseException)
    assert [message.body for message in await whole_thread(store, ada, thread_id)][1:] == [
        "unheard"
    ]
    assert [message.body for message in await whole_thread(store, ben, thread_id)] == ["first"]
    assert [event.type for event in (await whole_feed(store, ben)).events] == [
        EventType.THREAD_CHANGED,
        EventType.MESSAGE_NEW,
    ]
    thread = await store.thread(ben, thread_id)
    assert thread is not None
    assert thread[0].inbox is not None
    assert thread[0].inbox.unread_count == 1
    assert thread[0].inbox.last_message is not None
    assert thread[0].inbox.last_message.preview == "first"


async def test_ones_own_block_made_while_ones_send_waits_refuses_it(
    store: ConversationStore, other: ConversationStore, database_url: str, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    async with held_thread(database_url, thread_id) as row:
        send = asyncio.create_task(store.append(send_of(thread_id, ada, "never mind")))
        await row.until_waiting(1)
        await other.block(ada, ben)
        await row.release()
        [sent] = await done(send)
    assert isinstance(sent, MsgBlockedByUser)
    assert len(await whole_thread(store, ada, thread_id)) == 1


async def test_a_repeat_of_a_send_that_waits_waits_for_it(
    store: ConversationStore, other: ConversationStore, database_url: str, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    async with held_thread(database_url, thread_id) as row:
        same = [send_of(thread_id, ada, "once", client_id=f"{ada}-1") for _ in range(2)]
        first = asyncio.create_task(store.append(same[0]))
        await row.until_waiting(1)
        second = asyncio.create_task(other.append(same[1]))
        await row.until_waiting(2)
        assert not second.done()
        await row.release()
        one, two = await asyncio.gather(first, second)
    assert one.message == two.message
    assert (one.is_repeat, two.is_repeat) == (False, True)
