"""A task is part of the transaction that decides on it, and is done at least once."""

import asyncio
from typing import TYPE_CHECKING

import asyncpg

from greenroom.platform.backoff import Backoff
from greenroom.platform.tasks.runner import NotYetError, TaskRunner
from greenroom.platform.tasks.table import Task, dead_tasks, enqueue, replay

if TYPE_CHECKING:
    from tests.support.clock import FakeClock

LISTENERS = """
select pid from pg_stat_activity
where datname = current_database() and query ilike 'listen%greenroom_tasks%'
"""


class Work:
    """Notes what it was called with, and fails as often as it was told to."""

    def __init__(self, failures: int = 0) -> None:
        self.done: list[str] = []
        self.payloads: list[object] = []
        self.failures = failures
        self.happened = asyncio.Event()

    async def __call__(self, task: Task) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError(f"no luck with {task.key}")
        self.done.append(task.key)
        self.payloads.append(task.payload)
        self.happened.set()


async def put(pool: asyncpg.Pool, *keys: str, due_ms: int = 0, payload: object = None) -> None:
    async with pool.acquire() as conn, conn.transaction():
        for key in keys:
            await enqueue(conn, "work", key, payload, due_ms=due_ms)


async def count(pool: asyncpg.Pool) -> int:
    return int(await pool.fetchval("select count(*) from task"))


async def test_a_task_of_a_transaction_that_is_rolled_back_was_never_there(
    pool: asyncpg.Pool, tasks: TaskRunner
) -> None:
    work = Work()
    tasks.register("work", work)
    async with pool.acquire() as conn:
        change = conn.transaction()
        await change.start()
        await enqueue(conn, "work", "a", due_ms=0)
        await change.rollback()
    assert await tasks.drain() == 0
    assert work.done == []


async def test_a_task_is_not_done_before_its_transaction_is_committed(
    pool: asyncpg.Pool, tasks: TaskRunner
) -> None:
    work = Work()
    tasks.register("work", work)
    async with pool.acquire() as conn, conn.transaction():
        await enqueue(conn, "work", "a", due_ms=0)
        assert await tasks.drain() == 0
    assert await tasks.drain() == 1
    assert work.done == ["a"]


async def test_tasks_are_done_in_the_order_in_which_they_are_due(
    pool: asyncpg.Pool, tasks: TaskRunner, clock: "FakeClock"
) -> None:
    work = Work()
    tasks.register("work", work)
    for place, key in enumerate("kjihgfedcba"):
        await put(pool, key, due_ms=clock() - 100 + place)
    await tasks.drain()
    assert work.done == list("kjihgfedcba")
    assert await count(pool) == 0


async def test_a_task_waits_for_its_time(
    pool: asyncpg.Pool, tasks: TaskRunner, clock: "FakeClock"
) -> None:
    work = Work()
    tasks.register("work", work)
    await put(pool, "a", due_ms=clock() + 1000)
    assert await tasks.drain() == 0
    clock.advance(seconds=1)
    assert await tasks.drain() == 1


async def test_a_handler_gets_the_payload(pool: asyncpg.Pool, tasks: TaskRunner) -> None:
    work = Work()
    tasks.register("work", work)
    await put(pool, "a", payload={"to": ["ada"], "n": 1})
    await put(pool, "b")
    await tasks.drain()
    assert work.payloads == [{"to": ["ada"], "n": 1}, None]


async def test_tasks_of_another_kind_are_left_to_those_who_know_it(
    pool: asyncpg.Pool, tasks: TaskRunner
) -> None:
    tasks.register("other", Work())
    await put(pool, "a")
    assert await tasks.drain() == 0
    assert await count(pool) == 1


async def test_who_queues_a_task_again_replaces_it(
    pool: asyncpg.Pool, tasks: TaskRunner, clock: "FakeClock"
) -> None:
    work = Work()
    tasks.register("work", work)
    await put(pool, "a", payload=1)
    await put(pool, "a", payload=2, due_ms=clock() + 1000)
    assert await tasks.drain() == 0
    clock.advance(seconds=1)
    await tasks.drain()
    assert work.payloads == [2]


async def test_a_task_that_is_replaced_while_it_is_done_is_done_once_more(
    pool: asyncpg.Pool, tasks: TaskRunner
) -> None:
    seen: list[object] = []

    async def work(task: Task) -> None:
        seen.append(task.payload)
        if task.payload == 1:
            await put(pool, "a", payload=2)

    tasks.register("work", work)
    await put(pool, "a", payload=1)
    assert await tasks.drain() == 2
    assert seen == [1, 2]
    assert await count(pool) == 0


async def test_what_fails_is_tried_again(pool: asyncpg.Pool, tasks: TaskRunner) -> None:
    work = Work(failures=2)
    tasks.register("work", work)
    await put(pool, "a")
    assert await tasks.drain() == 3
    assert work.done == ["a"]
    assert await dead_tasks(pool) == []


async def test_after_the_last_attempt_it_is_dead_and_can_be_replayed(
    pool: asyncpg.Pool, tasks: TaskRunner, clock: "FakeClock"
) -> None:
    work = Work(failures=3)
    tasks.register("work", work)
    await put(pool, "a", due_ms=clock())
    await tasks.drain()
    [dead] = await dead_tasks(pool)
    assert (dead.kind, dead.key, dead.attempts) == ("work", "a", 3)
    assert (dead.failure, dead.due_ms) == ("RuntimeError: no luck with a", clock())
    assert await tasks.drain() == 0
    assert await replay(pool, dead.id) == 1
    assert await replay(pool, dead.id) == 0
    await tasks.drain()
    assert work.done == ["a"]
    assert await dead_tasks(pool) == []


async def test_what_is_too_early_is_never_dead_and_does_not_use_up_attempts(
    pool: asyncpg.Pool, tasks: TaskRunner
) -> None:
    says: list[Exception] = [NotYetError("the bank is asleep")] * 10
    says += [RuntimeError("broken")] * 2
    attempts = 0

    async def work(_: Task) -> None:
        nonlocal attempts
        attempts += 1
        if says:
            raise says.pop(0)

    tasks.register("work", work)
    await put(pool, "a")
    for _ in range(10):
        assert await tasks.drain() == 0
    assert await tasks.drain() == 3
    assert attempts == 13
    assert await count(pool) == 0


async def test_the_pause_after_a_failure_is_the_backoffs(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    backoff = Backoff(base_ms=3_600_000, cap_ms=3_600_000, attempts=5)
    slow = TaskRunner(pool, clock=clock, backoff=backoff, chance=lambda: 1.0)
    work = Work(failures=1)
    slow.register("work", work)
    await put(pool, "a")
    [task] = await slow._take(1)
    await slow._do(task)
    assert await pool.fetchval("select retry_at from task") == clock() + 3_600_000
    assert await slow._take(1) == []
    assert await slow.drain() == 1
    assert work.done == ["a"]


async def test_a_handler_can_say_when_to_ask_again(
    pool: asyncpg.Pool, tasks: TaskRunner, clock: "FakeClock"
) -> None:
    async def later(_: Task) -> None:
        raise NotYetError("closed", pause_ms=7000)

    tasks.register("work", later)
    await put(pool, "a")
    [task] = await tasks._take(1)
    await tasks._do(task)
    assert await pool.fetchval("select retry_at from task") == clock() + 7000


async def test_a_running_worker_is_woken_by_a_new_task_and_stops_when_it_is_told_to(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    # It would look by itself only after an hour.
    tasks = TaskRunner(pool, clock=clock, poll_s=3600)
    work = Work()
    tasks.register("work", work)
    running = asyncio.create_task(tasks.run())
    await put(pool, "a")
    await asyncio.wait_for(work.happened.wait(), 20)
    work.happened.clear()
    await put(pool, "b")
    await asyncio.wait_for(work.happened.wait(), 20)
    tasks.stop()
    await asyncio.wait_for(running, 20)
    assert work.done == ["a", "b"]
    assert await count(pool) == 0


async def test_a_worker_with_its_hands_full_takes_the_next_task_when_one_has_ended(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    tasks = TaskRunner(pool, clock=clock, poll_s=3600, concurrency=2)
    at_once, most, done = 0, 0, asyncio.Event()

    async def work(task: Task) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await pool.fetchval("select 1")
        at_once -= 1
        if task.key == "9":
            done.set()

    tasks.register("work", work)
    await put(pool, *"0123456789")
    running = asyncio.create_task(tasks.run())
    await asyncio.wait_for(done.wait(), 20)
    tasks.stop()
    await asyncio.wait_for(running, 20)
    assert most == 2


async def test_a_worker_whose_connection_is_cut_goes_on_with_another(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    tasks = TaskRunner(pool, clock=clock, poll_s=0.05)
    work = Work()
    tasks.register("work", work)
    running = asyncio.create_task(tasks.run())
    await put(pool, "a")
    await asyncio.wait_for(work.happened.wait(), 20)
    work.happened.clear()
    [pid] = [row["pid"] for row in await pool.fetch(LISTENERS)]
    assert await pool.fetchval("select pg_terminate_backend($1)", pid)
    await put(pool, "b")
    await asyncio.wait_for(work.happened.wait(), 20)
    tasks.stop()
    await asyncio.wait_for(running, 20)


async def test_a_worker_that_is_stopped_before_it_begins_does_not_begin(
    tasks: TaskRunner,
) -> None:
    running = asyncio.create_task(tasks.run())
    tasks.stop()
    await asyncio.wait_for(running, 20)


async def test_two_workers_do_each_task_once(pool: asyncpg.Pool, clock: "FakeClock") -> None:
    await pool.execute("truncate task")
    work = Work()
    both = [TaskRunner(pool, clock=clock, concurrency=3) for _ in range(2)]
    for each in both:
        each.register("work", work)
    await put(pool, *(str(number) for number in range(40)))
    await asyncio.gather(*(each.drain() for each in both))
    assert sorted(work.done, key=int) == [str(number) for number in range(40)]


async def test_a_task_whose_worker_died_is_done_by_another_when_the_hold_has_run_out(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    work = Work()
    dead, living = TaskRunner(pool, clock=clock), TaskRunner(pool, clock=clock)
    for each in (dead, living):
        each.register("work", work)
    await put(pool, "a")
    [taken] = await dead._take(1)
    assert await living.drain() == 0
    assert 0 < await living._until_next_s() <= 6
    await pool.execute("update task set held_until = now() - interval '1 second'")
    assert await living.drain() == 1
    assert work.done == ["a"]
    # The first was only slow: what it writes down at last is about a task that it has lost.
    await put(pool, "a")
    await dead._do(taken)
    assert await count(pool) == 1


async def test_a_worker_holds_on_to_what_it_is_doing(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    slow, other = TaskRunner(pool, clock=clock), TaskRunner(pool, clock=clock)
    for each in (slow, other):
        each.register("work", Work())
    await put(pool, "a")
    taken = await slow._take(1)
    await pool.execute("update task set held_until = now() - interval '1 second'")
    await slow._hold(taken)
    assert await other.drain() == 0


async def test_a_task_that_does_not_end_in_time_is_given_back(
    pool: asyncpg.Pool, clock: "FakeClock"
) -> None:
    await pool.execute("truncate task")
    begun = asyncio.Event()

    async def forever(_: Task) -> None:
        begun.set()
        await asyncio.Event().wait()

    tasks = TaskRunner(pool, clock=clock, grace_s=0)
    tasks.register("work", forever)
    running = asyncio.create_task(tasks.run())
    await put(pool, "a")
    await asyncio.wait_for(begun.wait(), 20)
    tasks.stop()
    await asyncio.wait_for(running, 20)
    assert await pool.fetchval("select held_until is null and attempts = 0 from task")
