"""A job is part of the transaction that decides on it, and is done at least once."""

import asyncio

import asyncpg
import pytest

from greenroom.platform.backoff import Backoff
from greenroom.platform.dead_letters import dead_jobs, replay_jobs
from greenroom.platform.jobs import (
    Jobs,
    NotYetError,
    enqueue,
    install,
)


class Work:
    """Notes what it was called with, and fails as often as it was told to."""

    def __init__(self, failures: int = 0) -> None:
        self.done: list[str] = []
        self.attempts = 0
        self.failures = failures
        self.happened = asyncio.Event()

    async def __call__(self, payload: str) -> None:
        self.attempts += 1
        if self.failures:
            self.failures -= 1
            raise RuntimeError(f"no luck with {payload}")
        self.done.append(payload)
        self.happened.set()


async def put(pool: asyncpg.Pool, *payloads: str, delay_ms: int = 0) -> None:
    async with pool.acquire() as conn, conn.transaction():
        for payload in payloads:
            await enqueue(conn, "work", payload, delay_ms=delay_ms)


async def count(pool: asyncpg.Pool, status: str) -> int:
    return int(await pool.fetchval("select count(*) from pgqueuer where status::text = $1", status))


async def test_installing_twice_and_at_once_is_installing_once(queue_pool: asyncpg.Pool) -> None:
    async with queue_pool.acquire() as one, queue_pool.acquire() as other:
        await asyncio.gather(install(one), install(other))


async def test_the_queue_is_installed_from_nothing_by_two_at_once(
    database_url: str, queue_pool: asyncpg.Pool
) -> None:
    await queue_pool.execute("create schema elsewhere")
    ours = await asyncio.gather(*(asyncpg.connect(database_url) for _ in range(2)))
    try:
        for each in ours:
            await each.execute("set search_path to elsewhere")
        await asyncio.gather(*(install(each) for each in ours))
        assert await ours[0].fetchval("select count(*) from elsewhere.pgqueuer") == 0
    finally:
        for each in ours:
            await each.close()


async def test_a_job_of_a_transaction_that_is_rolled_back_was_never_there(
    queue_pool: asyncpg.Pool, jobs: Jobs
) -> None:
    work = Work()
    jobs.handle("work", work)
    async with queue_pool.acquire() as conn:
        change = conn.transaction()
        await change.start()
        await enqueue(conn, "work", "a")
        await change.rollback()
    assert await jobs.drain() == 0
    assert work.done == []


async def test_a_job_is_not_done_before_its_transaction_is_committed(
    queue_pool: asyncpg.Pool, jobs: Jobs
) -> None:
    work = Work()
    jobs.handle("work", work)
    async with queue_pool.acquire() as conn, conn.transaction():
        await enqueue(conn, "work", "a")
        assert await jobs.drain() == 0
    assert await jobs.drain() == 1
    assert work.done == ["a"]


async def test_jobs_are_done_in_the_order_in_which_they_came(
    queue_pool: asyncpg.Pool, jobs: Jobs
) -> None:
    work = Work()
    jobs.handle("work", work)
    await put(queue_pool, *"abcdefghijk")
    await jobs.drain()
    assert work.done == list("abcdefghijk")
    assert await queue_pool.fetchval("select count(*) from pgqueuer") == 0


async def test_what_fails_is_tried_again(queue_pool: asyncpg.Pool, jobs: Jobs) -> None:
    work = Work(failures=2)
    jobs.handle("work", work)
    await put(queue_pool, "a")
    assert await jobs.drain() == 3
    assert work.done == ["a"]
    assert await dead_jobs(queue_pool) == []


async def test_after_the_last_attempt_it_is_a_dead_letter_that_can_be_replayed(
    queue_pool: asyncpg.Pool, jobs: Jobs
) -> None:
    work = Work(failures=3)
    jobs.handle("work", work)
    await put(queue_pool, "a")
    await jobs.drain()
    [letter] = await dead_jobs(queue_pool)
    assert (letter.name, letter.subject, letter.attempts) == ("work", "a", 3)
    assert letter.failure == "no luck with a"
    assert letter.since_ms > 1_700_000_000_000
    assert await jobs.drain() == 0
    async with queue_pool.acquire() as conn:
        assert await replay_jobs(conn, int(letter.id)) == 1
        assert await replay_jobs(conn, int(letter.id)) == 0
    await jobs.drain()
    assert work.done == ["a"]
    assert await dead_jobs(queue_pool) == []


async def test_what_is_too_early_is_never_a_dead_letter(
    queue_pool: asyncpg.Pool, jobs: Jobs
) -> None:
    early = True
    attempts = 0

    async def wait(_: str) -> None:
        nonlocal attempts
        attempts += 1
        if early:
            raise NotYetError("the bank is asleep")

    jobs.handle("work", wait)
    await put(queue_pool, "a")
    for _ in range(10):
        assert await jobs.drain() == 0
    assert await dead_jobs(queue_pool) == []
    early = False
    assert await jobs.drain() == 1
    assert attempts == 11
    assert await queue_pool.fetchval("select count(*) from pgqueuer") == 0


async def test_the_pause_after_a_failure_is_the_backoffs(queue_pool: asyncpg.Pool) -> None:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    slow = Jobs(
        queue_pool,
        backoff=Backoff(base_ms=3_600_000, cap_ms=3_600_000, attempts=5),
        chance=lambda: 1.0,
    )
    work = Work(failures=1)
    slow.handle("work", work)
    await put(queue_pool, "a")
    [job] = await slow._pick(1)
    await slow._carry_out(job)
    waits_s = await queue_pool.fetchval(
        "select extract(epoch from execute_after - updated)::int from pgqueuer"
    )
    assert waits_s == 3600
    assert await slow._pick(1) == []
    assert await slow.drain() == 1
    assert work.done == ["a"]


async def test_a_running_worker_is_woken_by_a_new_job_and_stops_when_it_is_told_to(
    queue_pool: asyncpg.Pool,
) -> None:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    # It would look by itself only after an hour.
    jobs = Jobs(queue_pool, poll_s=3600)
    work = Work()
    jobs.handle("work", work)
    running = asyncio.create_task(jobs.run())
    await put(queue_pool, "a")
    await asyncio.wait_for(work.happened.wait(), 20)
    work.happened.clear()
    await put(queue_pool, "b")
    await asyncio.wait_for(work.happened.wait(), 20)
    jobs.stop()
    await asyncio.wait_for(running, 20)
    assert work.done == ["a", "b"]
    assert await queue_pool.fetchval("select count(*) from pgqueuer") == 0


async def test_a_worker_whose_connection_is_cut_goes_on_with_another(
    queue_pool: asyncpg.Pool,
) -> None:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    jobs = Jobs(queue_pool, poll_s=0.05)
    work = Work()
    jobs.handle("work", work)
    running = asyncio.create_task(jobs.run())
    await put(queue_pool, "a")
    await asyncio.wait_for(work.happened.wait(), 20)
    work.happened.clear()
    cut = await queue_pool.fetchval(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity"
        " where datname = current_database() and query ilike 'listen%greenroom_jobs%'"
    )
    assert cut == 1
    await put(queue_pool, "b")
    await asyncio.wait_for(work.happened.wait(), 20)
    jobs.stop()
    await asyncio.wait_for(running, 20)


async def test_a_worker_that_is_stopped_before_it_begins_does_not_begin(
    queue_pool: asyncpg.Pool,
) -> None:
    jobs = Jobs(queue_pool)
    running = asyncio.create_task(jobs.run())
    jobs.stop()
    await asyncio.wait_for(running, 20)


async def test_two_workers_do_each_job_once(queue_pool: asyncpg.Pool) -> None:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    work = Work()
    both = [Jobs(queue_pool, concurrency=3), Jobs(queue_pool, concurrency=3)]
    for each in both:
        each.handle("work", work)
    await put(queue_pool, *(str(number) for number in range(40)))
    await asyncio.gather(*(each.drain() for each in both))
    assert sorted(work.done, key=int) == [str(number) for number in range(40)]


async def test_a_job_whose_worker_died_is_done_by_another(queue_pool: asyncpg.Pool) -> None:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    work = Work()
    dead, living = Jobs(queue_pool), Jobs(queue_pool)
    for each in (dead, living):
        each.handle("work", work)
    await put(queue_pool, "a")
    assert len(await dead._pick(1)) == 1
    assert await living.drain() == 0
    await queue_pool.execute("update pgqueuer set heartbeat = now() - interval '1 minute'")
    assert await living.drain() == 1
    assert work.done == ["a"]


async def test_a_job_that_does_not_end_in_time_is_given_back(queue_pool: asyncpg.Pool) -> None:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log")
    begun = asyncio.Event()

    async def forever(_: str) -> None:
        begun.set()
        await asyncio.Event().wait()

    jobs = Jobs(queue_pool, grace_s=0)
    jobs.handle("work", forever)
    running = asyncio.create_task(jobs.run())
    await put(queue_pool, "a")
    await asyncio.wait_for(begun.wait(), 20)
    jobs.stop()
    await asyncio.wait_for(running, 20)
    assert await count(queue_pool, "queued") == 1


async def test_the_log_of_finished_jobs_is_forgotten_and_that_of_dead_letters_kept(
    queue_pool: asyncpg.Pool, jobs: Jobs
) -> None:
    work = Work(failures=3)
    jobs.handle("work", work)
    await put(queue_pool, "a")
    await jobs.drain()
    await put(queue_pool, "b")
    await jobs.drain()
    await queue_pool.execute("update pgqueuer_log set created = created - interval '2 days'")
    assert await jobs.prune(1000) == 3
    [letter] = await dead_jobs(queue_pool)
    assert letter.failure == "no luck with a"


@pytest.mark.parametrize("name", ["PGQUEUER_QUEUE_TABLE", "CHANNEL", "QUEUE_TABLE"])
async def test_the_environment_does_not_rename_the_queue(
    name: str, queue_pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from greenroom.platform import jobs as module  # noqa: PLC0415

    monkeypatch.setenv(name, "somewhere_else")
    module._settings.cache_clear()
    settings = module._settings()
    assert (settings.queue_table, settings.channel) == ("pgqueuer", module.CHANNEL)
