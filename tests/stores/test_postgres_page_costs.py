"""What a page costs does not grow with what there is: a fixed number of statements per call."""

from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from greenroom.conversations.inbox import InboxFilter
from greenroom.conversations.model import Role
from greenroom.conversations.postgres.store import PostgresConversations
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import open_pool

from .world import WildClock, say, seeded_randomness, start

Person = Callable[[], str]


class Counted:
    """A store with one connection for each purpose, whose statements are counted."""

    def __init__(self, store: PostgresConversations) -> None:
        self.store = store
        self.statements: list[str] = []

    async def listen(self, pool: asyncpg.Pool) -> None:
        async with pool.acquire() as connection:
            connection.add_query_logger(lambda record: self.statements.append(record.query))

    async def cost(self, call: Any) -> int:
        self.statements.clear()
        await call
        return len(self.statements)


@pytest.fixture
async def counted(database_url: str) -> Any:
    pools = [
        await open_pool(database_url, min_size=1, max_size=1, statement_timeout_ms=15_000)
        for _ in range(4)
    ]
    store = PostgresConversations(
        *pools,
        clock=WildClock(),
        randomness=seeded_randomness(5),
        limits=Limits(),
        wake=lambda _user_ids: None,
    )
    counted = Counted(store)
    for pool in pools:
        await counted.listen(pool)
    yield counted
    await store.close()


async def costs(counted: Counted, viewer: str, thread_id: str) -> dict[str, int]:
    store = counted.store
    [message] = (await store.messages(viewer, thread_id, before=None, after=None, limit=1)).items  # type: ignore[union-attr]
    return {
        "thread": await counted.cost(store.thread(viewer, thread_id)),
        "newest": await counted.cost(
            store.messages(viewer, thread_id, before=None, after=None, limit=50)
        ),
        "after": await counted.cost(
            store.messages(viewer, thread_id, before=None, after="", limit=50)
        ),
        "message": await counted.cost(store.message(viewer, thread_id, message.id)),
        "inbox": await counted.cost(store.inbox(viewer, InboxFilter(), after=None, limit=100)),
        "sync": await counted.cost(store.changes(viewer, None, 100)),
    }


async def test_pages_cost_the_same_with_one_thread_and_with_many(
    counted: Counted, person: Person
) -> None:
    store, ada = counted.store, person()
    first = (await start(store, ada, person())).thread.id
    # Once for nothing: the driver asks what the types are that it has not met before.
    await costs(counted, ada, first)
    with_one = await costs(counted, ada, first)
    for number in range(30):
        others = [person() for _ in range(1 + number % 4)]
        thread_id = (await start(store, ada, *others)).thread.id
        await say(store, thread_id, others[0], "hello")
        await store.add_participant(ada, thread_id, person(), Role.HOST)
    for number in range(60):
        await say(store, first, ada, str(number))
    with_many = await costs(counted, ada, first)
    assert with_many == with_one
    assert with_one == {
        "thread": 1,
        "newest": 1,
        "after": 1,
        "message": 1,
        "inbox": 1,
        "sync": 2,
    }


async def test_a_send_is_one_statement_whoever_reads_it(counted: Counted, person: Person) -> None:
    store, ada = counted.store, person()
    thread_id = (await start(store, ada, *(person() for _ in range(20)))).thread.id
    # A connection asks for types when it meets them first.
    await say(store, thread_id, ada, "hello")
    assert await counted.cost(say(store, thread_id, ada, "hello")) == 1


async def test_changes_cost_the_same_for_two_and_for_many(counted: Counted, person: Person) -> None:
    of_two, of_many = [await changes_of(counted, person, people) for people in (2, 12)]
    assert of_two == of_many
    assert max(of_two.values()) <= 20


async def changes_of(counted: Counted, person: Person, people: int) -> dict[str, int]:
    store, ada = counted.store, person()
    thread_id = (await start(store, ada, *(person() for _ in range(people - 1)))).thread.id
    message = await say(store, thread_id, ada, "hello")
    return {
        "edit": await counted.cost(store.edit_message(ada, thread_id, message.id, "hi", None)),
        "read": await counted.cost(store.mark_read(ada, thread_id, message.id)),
        "delete": await counted.cost(store.delete_message(ada, thread_id, message.id)),
        "add": await counted.cost(store.add_participant(ada, thread_id, person(), Role.HOST)),
        "promote": await counted.cost(store.promote(thread_id, group_id="g", leg_id=None)),
        "leave": await counted.cost(store.remove_participant(ada, thread_id, ada)),
    }
