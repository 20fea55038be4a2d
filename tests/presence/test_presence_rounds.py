"""Work in rounds: no linger, each thing once, and a loop that nothing ends."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.presence.rounds import Rounds


class Work:
    """Notes its batches; each waits for the gate, and fails while it is told to."""

    def __init__(self) -> None:
        self.batches: list[Sequence[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.began = asyncio.Event()
        self.failure: Exception | None = None

    async def __call__(self, batch: Sequence[int]) -> None:
        self.batches.append(batch)
        self.began.set()
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure


def rounds_of(work: Work, batch_limit: int = 3, queue_limit: int = 100) -> Rounds[int]:
    return Rounds("Testing", work, batch_limit=batch_limit, queue_limit=queue_limit)


async def test_what_comes_during_a_round_goes_with_the_next_once() -> None:
    work = Work()
    rounds = rounds_of(work)
    work.gate.clear()
    rounds.add([1])
    await work.began.wait()
    for _ in range(3):
        rounds.add([1, 2])
    work.gate.set()
    await rounds.settled()
    assert work.batches == [[1], [1, 2]]


async def test_batches_are_bounded_and_in_order() -> None:
    work = Work()
    rounds = rounds_of(work)
    rounds.add(range(7))
    await rounds.settled()
    assert work.batches == [[0, 1, 2], [3, 4, 5], [6]]


async def test_a_full_queue_takes_no_more() -> None:
    work = Work()
    rounds = rounds_of(work, batch_limit=10, queue_limit=4)
    rounds.add(range(7))
    await rounds.settled()
    assert work.batches == [[0, 1, 2, 3]]


async def test_settled_waits_for_what_was_added_before_and_not_for_what_comes_after() -> None:
    permits = asyncio.Semaphore(0)

    async def work(_: Sequence[int]) -> None:
        await permits.acquire()

    rounds: Rounds[int] = Rounds("Testing", work, batch_limit=1, queue_limit=100)
    rounds.add([1])
    first = asyncio.ensure_future(rounds.settled())
    # It begins to wait in this turn of the loop.
    await asyncio.sleep(0)
    rounds.add([2])
    both = asyncio.ensure_future(rounds.settled())
    permits.release()
    await first
    assert not both.done()
    permits.release()
    await both


@pytest.mark.parametrize("failure", [Unavailable(), RuntimeError("a mistake")])
async def test_failures_are_logged_once_in_a_row_and_end_nothing(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    work = Work()
    rounds = rounds_of(work, batch_limit=1)
    with caplog.at_level(logging.WARNING, "greenroom.presence"):
        work.failure = failure
        rounds.add([1, 2, 3])
        await rounds.settled()
        assert len(caplog.records) == 1
        work.failure = None
        rounds.add([4])
        await rounds.settled()
        work.failure = failure
        rounds.add([5])
        await rounds.settled()
    assert len(caplog.records) == 2
    assert work.batches == [[1], [2], [3], [4], [5]]


async def test_closing_stops_the_round_and_frees_whoever_waits() -> None:
    work = Work()
    rounds = rounds_of(work, batch_limit=1)
    work.gate.clear()
    rounds.add([1, 2])
    await work.began.wait()
    waiting = asyncio.create_task(rounds.settled())
    await rounds.close()
    await waiting
    rounds.add([3])
    await rounds.settled()
    assert work.batches == [[1]]


async def test_one_item_that_cannot_be_done_costs_those_beside_it_nothing() -> None:
    done: list[int] = []

    async def work(batch: Sequence[int]) -> None:
        if 2 in batch:
            raise ValueError
        done.extend(batch)

    rounds: Rounds[int] = Rounds("Testing", work, batch_limit=3, queue_limit=100)
    rounds.add([1, 2, 3])
    await rounds.settled()
    assert done == [1, 3]
    await rounds.close()


async def test_a_round_that_is_cancelled_from_inside_is_not_the_last() -> None:
    failures = [asyncio.CancelledError()]
    done: list[int] = []

    async def work(batch: Sequence[int]) -> None:
        if failures:
            raise failures.pop()
        done.extend(batch)

    rounds: Rounds[int] = Rounds("Testing", work, batch_limit=3, queue_limit=100)
    rounds.add([1])
    await rounds.settled()
    rounds.add([2])
    await rounds.settled()
    assert done == [2]
    await rounds.close()
