"""Callers that arrive together share one write; none is lost, doubled or left waiting."""

import asyncio
from collections.abc import Hashable, Iterable, Sequence

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.batching import Batching
from tests.support.waiting import PATIENCE_S


class Writer:
    """Writes strings, one batch at a time, each when it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = asyncio.Event()
        self.begun = asyncio.Semaphore(0)
        self.poison: set[str] = set()

    async def flush(self, items: Sequence[str]) -> Sequence[str | Exception]:
        self.batches.append(list(items))
        self.begun.release()
        await self.gate.wait()
        return [ValueError(item) if item in self.poison else item.upper() for item in items]


def first_letter(item: str) -> Iterable[Hashable]:
    return [item[0]]


def group_of(
    writer: Writer, *, writers: int = 1, batch_limit: int = 64, queue_limit: int = 64
) -> Batching[str, str]:
    return Batching(
        writer.flush,
        first_letter,
        writers=writers,
        batch_limit=batch_limit,
        queue_limit=queue_limit,
    )


async def waiting(group: Batching[str, str], *items: str) -> list[asyncio.Task[str]]:
    """Submitted, and at their place in the queue."""
    tasks = [asyncio.create_task(group.submit(item)) for item in items]
    reached = asyncio.Event()
    asyncio.get_running_loop().call_soon(reached.set)
    await reached.wait()
    return tasks


async def all_of(tasks: Iterable[asyncio.Task[str]]) -> list[str | BaseException]:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_waits_during_a_write_shares_the_next() -> None:
    writer = Writer()
    group = group_of(writer)
    first = await waiting(group, "a")
    await writer.begun.acquire()
    rest = await waiting(group, "b", "c", "d")
    writer.gate.set()
    assert await all_of([*first, *rest]) == ["A", "B", "C", "D"]
    assert writer.batches == [["a"], ["b", "c", "d"]]


async def test_a_batch_is_bounded_and_in_order() -> None:
    writer = Writer()
    group = group_of(writer, batch_limit=2)
    first = await waiting(group, "a")
    await writer.begun.acquire()
    rest = await waiting(group, "b", "c", "d", "e", "f")
    writer.gate.set()
    await all_of([*first, *rest])
    assert writer.batches == [["a"], ["b", "c"], ["d", "e"], ["f"]]


async def test_no_more_writers_than_given() -> None:
    writer = Writer()
    group = group_of(writer, writers=2)
    tasks = await waiting(group, "a")
    await writer.begun.acquire()
    tasks += await waiting(group, "b")
    await writer.begun.acquire()
    tasks += await waiting(group, "c", "d")
    assert writer.batches == [["a"], ["b"]]
    writer.gate.set()
    await all_of(tasks)
    assert writer.batches == [["a"], ["b"], ["c", "d"]]


async def test_a_full_queue_refuses_and_keeps_what_it_has() -> None:
    writer = Writer()
    group = group_of(writer, queue_limit=2)
    tasks = await waiting(group, "a")
    await writer.begun.acquire()
    tasks += await waiting(group, "b", "c")
    with pytest.raises(Unavailable):
        await group.submit("d")
    writer.gate.set()
    assert await all_of(tasks) == ["A", "B", "C"]
    assert await group.submit("d") == "D"


async def test_one_poison_item_fails_alone() -> None:
    writer = Writer()
    writer.poison = {"c"}
    group = group_of(writer)
    tasks = await waiting(group, "a")
    await writer.begun.acquire()
    tasks += await waiting(group, "b", "c", "d")
    writer.gate.set()
    a, b, c, d = await all_of(tasks)
    assert [a, b, d] == ["A", "B", "D"]
    assert isinstance(c, ValueError)


async def test_a_failed_write_fails_its_batch_and_not_the_next() -> None:
    failing = [True]

    async def flush(items: Sequence[str]) -> Sequence[str]:
        if failing.pop():
            failing.append(False)
            raise Unavailable
        failing.append(False)
        return items

    group: Batching[str, str] = Batching(
        flush, first_letter, writers=1, batch_limit=2, queue_limit=9
    )
    a, b, c = await all_of(await waiting(group, "a", "b", "c"))
    assert isinstance(a, Unavailable)
    assert isinstance(b, Unavailable)
    assert c == "c"


async def test_a_batch_that_fails_at_one_item_is_done_item_by_item() -> None:
    batches = []

    async def work(items: Sequence[str]) -> Sequence[str]:
        batches.append(list(items))
        if "b" in items:
            raise ValueError
        return items

    group: Batching[str, str] = Batching(work, batch_limit=9, queue_limit=9)
    a, b, c = await all_of(await waiting(group, "a", "b", "c"))
    assert (a, type(b), c) == ("a", ValueError, "c")
    assert batches == [["a", "b", "c"], ["a"], ["b"], ["c"]]


async def test_closing_ends_the_work_and_refuses_whoever_waits() -> None:
    writer = Writer()
    group = group_of(writer)
    tasks = await waiting(group, "a")
    await writer.begun.acquire()
    tasks += await waiting(group, "b")
    await group.close()
    with pytest.raises(Unavailable):
        await group.submit("c")
    assert [type(each) for each in await all_of(tasks)] == [Unavailable, Unavailable]
    assert writer.batches == [["a"]]


async def test_items_with_a_key_in_common_never_share_a_batch_and_keep_their_order() -> None:
    writer = Writer()
    group = group_of(writer)
    tasks = await waiting(group, "x")
    await writer.begun.acquire()
    tasks += await waiting(group, "a1", "a2", "b1", "a3", "b2", "c1")
    writer.gate.set()
    await all_of(tasks)
    assert writer.batches == [["x"], ["a1", "b1", "c1"], ["a2", "b2"], ["a3"]]


async def test_drain_finishes_what_was_taken_and_refuses_the_rest() -> None:
    writer = Writer()
    group = group_of(writer, batch_limit=2)
    tasks = await waiting(group, "a")
    await writer.begun.acquire()
    tasks += await waiting(group, "b", "c", "d")
    draining = await waiting_for_drain(group)
    with pytest.raises(Unavailable):
        await group.submit("e")
    assert not draining.done()
    writer.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        await draining
    assert await all_of(tasks) == ["A", "B", "C", "D"]


async def waiting_for_drain(group: Batching[str, str]) -> asyncio.Task[None]:
    task = asyncio.create_task(group.drain())
    reached = asyncio.Event()
    asyncio.get_running_loop().call_soon(reached.set)
    await reached.wait()
    return task


async def test_someone_who_gave_up_waiting_breaks_nothing() -> None:
    writer = Writer()
    group = group_of(writer)
    tasks = await waiting(group, "a")
    await writer.begun.acquire()
    tasks += await waiting(group, "b", "c")
    tasks[0].cancel()
    tasks[1].cancel()
    writer.gate.set()
    a, b, c = await all_of(tasks)
    assert isinstance(a, asyncio.CancelledError)
    assert isinstance(b, asyncio.CancelledError)
    assert c == "C"


@pytest.mark.parametrize("writers", [1, 2, 3])
async def test_who_submits_again_at_once_is_served(writers: int) -> None:
    """A writer that has just found the queue empty must not count as one that will look again."""
    writer = Writer()
    writer.gate.set()
    group = group_of(writer, writers=writers)

    async def submit_in_a_row(letter: str) -> list[str]:
        return [await group.submit(f"{letter}{number}") for number in range(20)]

    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*map(submit_in_a_row, "abcdef"))
    assert [len(each) for each in answers] == [20] * 6


async def test_a_writer_that_dies_lets_nobody_wait_and_is_replaced() -> None:
    """A cancellation inside a driver ends the task that waits for it, like no other failure."""
    deaths = [asyncio.CancelledError(), asyncio.CancelledError()]

    async def flush(items: Sequence[str]) -> Sequence[str | Exception]:
        if deaths:
            raise deaths.pop()
        return [item.upper() for item in items]

    group: Batching[str, str] = Batching(
        flush, first_letter, writers=1, batch_limit=1, queue_limit=64
    )
    outcomes = await all_of(await waiting(group, "a", "b", "c"))
    assert [type(each) for each in outcomes] == [Unavailable, Unavailable, str]
    assert await all_of(await waiting(group, "d")) == ["D"]
    await group.drain()
