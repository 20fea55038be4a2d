"""What only `ThreadUpdates` on PostgreSQL promises: how little it asks, and what it locks."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from greenroom.conversations.model import Role
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.thread_updates import Notice, Standing, ThreadUpdate
from greenroom.kernel.errors import ThreadNotFound

from .updating import Ledger, ledger_of, row_of, shadow, waiting_for
from .world import Seed, WildClock, refusal, seeded_randomness, start

pytestmark = pytest.mark.parametrize("conversations", ["postgres"], indirect=True)

Person = Callable[[], str]


@pytest.fixture
def woken() -> list[str]:
    return []


@pytest.fixture
def ledger(
    store: ConversationStore, pool: asyncpg.Pool, clock: WildClock, seed: Seed, woken: list[str]
) -> Ledger:
    randomness = seeded_randomness(seed.random.randrange(1 << 40))
    return ledger_of(store, pool, clock=clock, randomness=randomness, wake=woken.extend)


async def test_access_and_any_posting_are_one_round_trip_each(
    store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    card, asked = shadow(ada), list[str]()

    async def count(work: Awaitable[object]) -> int:
        asked.clear()
        await work
        # The connection tells of a query a moment after it.
        await asyncio.sleep(0)
        return len(asked)

    async with pool.acquire() as conn, conn.transaction():
        # A connection that is new asks for more: what the types are that it is to send.
        await ledger.thread_updates.apply(conn, ThreadUpdate(thread_id, ada, new_card=shadow(ada)))
        with conn.query_logger(lambda record: asked.append(record.query)):
            assert (
                await count(ledger.thread_updates.access(conn, thread_id, ada, to_write=True)) == 1
            )
            changed = shadow(ada, state="paid", version=2, card_id=card.card_id)
            notices, standing = (Notice("card.paid"),), Standing("confirmed")
            for update in (
                ThreadUpdate(thread_id, ada, new_card=card, standing=waiting_for(ben)),
                ThreadUpdate(thread_id, ada, changed_card=changed),
                ThreadUpdate(thread_id, notices=notices, standing=standing),
            ):
                assert await count(ledger.thread_updates.apply(conn, update)) == 1


async def test_whoever_was_removed_while_it_waited_is_out(
    store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben, cleo = person(), person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    await store.add_participant(None, thread_id, cleo, Role.HOST)
    async with pool.acquire() as first, pool.acquire() as second:
        removing = first.transaction()
        await removing.start()
        await ledger.thread_updates.access(first, thread_id, None)
        await first.execute(
            "update thread_participant set status = 'left' where thread_id = $1 and user_id = $2",
            *(thread_id, cleo),
        )
        waiting = asyncio.create_task(
            refusal(ledger.thread_updates.access(second, thread_id, cleo))
        )
        await wait_for_a_lock(pool)
        await removing.commit()
        assert (await waiting)[0] is ThreadNotFound


async def test_deeds_at_once_see_what_the_one_before_did(
    store: ConversationStore, ledger: Ledger, pool: asyncpg.Pool, person: Person
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id

    async def tx() -> None:
        async with pool.acquire() as conn, conn.transaction():
            await ledger.thread_updates.access(conn, thread_id, ada)
            there = await conn.fetchval(
                "select open_cards from thread where thread_id = $1", thread_id
            )
            standing = Standing(None, there + 1)
            update = ThreadUpdate(thread_id, ada, new_card=shadow(ada), standing=standing)
            await ledger.thread_updates.apply(conn, update)

    await asyncio.gather(*(tx() for _ in range(6)))
    assert (await row_of(store, ben, thread_id)).open_cards == 6


async def test_everyone_told_is_woken_after_the_commit(
    store: ConversationStore, ledger: Ledger, person: Person, woken: list[str]
) -> None:
    ada, ben = person(), person()
    thread_id = (await start(store, ada, ben)).thread.id
    applied = await ledger.post(ThreadUpdate(thread_id, ada, new_card=shadow(ada)), shows=False)
    assert woken == []
    await ledger.thread_updates.show([applied])
    assert sorted(woken) == sorted([ada, ben])


async def wait_for_a_lock(pool: asyncpg.Pool) -> None:
    """Until one stands behind another."""
    while not await pool.fetchval("select exists (select 1 from pg_locks where not granted)"):
        continue
