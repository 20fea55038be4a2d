"""The presence store on PostgreSQL beyond its guarantees."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import open_pool
from greenroom.presence.postgres.store import PostgresPresence
from greenroom.presence.store import LOOK_BATCH, SEEN_BATCH, TypingEnded
from tests.support.api import Api
from tests.support.clock import FakeClock

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"
SCANS = """
select relname, seq_scan from pg_stat_xact_user_tables
where seq_scan > 0 and relname in
    ('inbox_index', 'thread_participant', 'user_block', 'msg_typing', 'user_presence')
order by relname
"""


async def test_what_has_ended_is_forgotten_a_part_at_a_time(
    api: Api, pool: asyncpg.Pool, limits: Limits, clock: FakeClock
) -> None:
    await pool.execute("truncate msg_typing, user_presence")
    store = PostgresPresence(pool, limits=limits)
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    now = clock.now_ms
    for number in range(5):
        await store.set_typing(bob.id, thread_id, f"d{number}", now + 10_000, now)
    await store.set_typing(ann.id, thread_id, "late", now + 19_000, now)
    await store.set_typing(ann.id, thread_id, "from a clock ahead", now + 3_600_000, now)
    await store.seen([bob.id], now + 9000, now)
    await store.seen([ann.id], now + 60_000, now)
    assert await store.prune(now, 10) == {"typing": 1, "presence": 0}
    assert await store.prune(now + 10_000, 3) == {"typing": 3, "presence": 1}
    assert await store.prune(now + 10_000, 3) == {"typing": 2, "presence": 0}
    seen = (await store.look([(bob.id, thread_id)], now + 10_000))[bob.id, thread_id]
    assert dict(seen.typing) == {ann.id: now + 19_000}
    assert dict(seen.online) == {ann.id: now + 60_000}


async def test_a_database_away_is_unavailable(database_url: str) -> None:
    gone = await open_pool(database_url, min_size=1, max_size=1, statement_timeout_ms=1000)
    await gone.close()
    store = PostgresPresence(gone, limits=Limits())
    for call in (
        store.look([("ann", NOWHERE)], 0),
        store.seen(["ann"], 1, 0),
        store.set_typing("ann", NOWHERE, "", 1, 0),
        store.end_typing([TypingEnded("ann", NOWHERE, 1)]),
        store.forget_devices(["phone"]),
        store.prune(0, 1),
    ):
        with pytest.raises(Unavailable):
            await call


async def test_looks_go_by_index_however_the_tables_grow_after_the_plan_was_made(
    api: Api, pool: asyncpg.Pool, limits: Limits, clock: FakeClock
) -> None:
    await pool.execute("truncate msg_typing, user_presence")
    ann, *others = await api.people("ann", *(f"p{number}" for number in range(5)))
    threads = [await ann.thread_with(other) for other in others]
    pairs = [(each.id, threads[n]) for n, each in enumerate(others)]
    pairs = (pairs * LOOK_BATCH)[:LOOK_BATCH]
    now = clock.now_ms
    async with pool.acquire() as connection, connection.transaction():
        # A connection answers as its pool does, and counts what its transaction has done.
        store: Any = PostgresPresence(connection, limits=limits)  # type: ignore[arg-type]
        people = [f"crowd.{number}" for number in range(SEEN_BATCH)]
        for size in (0, 20_000):
            await connection.execute(
                "insert into msg_typing select 't' || n, 'u' || n, '', now()"
                " from generate_series(1, $1::int) n", size,
            )  # fmt: skip
            await connection.execute(
                "insert into user_presence select 'u' || n, now()"
                " from generate_series(1, $1::int) n", size,
            )  # fmt: skip
            before = await connection.fetch(SCANS)
            assert len(await store.look(pairs, now)) == len(set(pairs))
            await store.seen(people, now + 60_000, now)
            assert await connection.fetch(SCANS) == before
