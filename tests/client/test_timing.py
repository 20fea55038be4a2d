"""Waiting with a timeout, and ending a wait."""

import asyncio

import pytest

from greenroom_client.timing import Signal, end

from .virtual_time import now_s, run_virtually, virtual_timing


async def takes_long_to_end(seconds: float) -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await asyncio.sleep(seconds)


def test_ending_waits_until_it_is_over_even_if_one_is_cancelled_oneself() -> None:
    async def story() -> None:
        task = asyncio.create_task(takes_long_to_end(5))
        await asyncio.sleep(0)
        ender = asyncio.create_task(end(task))
        await asyncio.sleep(1)
        ender.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ender
        assert task.done()
        assert now_s() == 1005

    run_virtually(story())


def test_what_had_failed_before_it_was_ended_is_no_news() -> None:
    async def story() -> None:
        async def fail() -> None:
            raise RuntimeError("oops")

        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        await end(task)

    run_virtually(story())


def test_a_wait_ends_with_the_signal_or_with_its_time() -> None:
    async def story() -> None:
        signal, timing = Signal(), virtual_timing()
        asyncio.get_running_loop().call_later(3, signal.fire)
        await timing.wait(signal.wait(), 10)
        assert now_s() == 1003
        await timing.wait(signal.wait(), 10)
        assert now_s() == 1013
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(story())
