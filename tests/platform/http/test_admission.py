"""New streams open at a limited pace, and one that fails holds up nobody behind it."""

import asyncio

import pytest

from greenroom.kernel.errors import Unavailable
from greenroom.platform.http.connections.admission import AdmissionQueue

PER_S = 1000


async def test_all_who_wait_enter_in_order() -> None:
    queue = AdmissionQueue(per_s=PER_S, at_once=1, waiting=10)
    entered: list[int] = []

    async def enter(number: int) -> None:
        await queue.wait()
        entered.append(number)

    await asyncio.gather(*(enter(number) for number in range(5)))
    assert entered == [0, 1, 2, 3, 4]


async def test_more_than_may_wait_are_told_when_to_come_back() -> None:
    queue = AdmissionQueue(per_s=PER_S, at_once=1, waiting=2, chance=lambda: 0.5)
    waiting = [asyncio.create_task(queue.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable) as refused:
        await queue.wait()
    assert refused.value.retry_after_s == 5.5
    await asyncio.gather(*waiting)


async def test_one_that_fails_to_open_holds_up_nobody_behind_it() -> None:
    loop = asyncio.get_running_loop()
    failures: list[str] = []
    loop.set_exception_handler(lambda _loop, told: failures.append(str(told.get("exception"))))

    def fail() -> None:
        raise OSError("its connection is gone")

    queue = AdmissionQueue(per_s=PER_S, at_once=1, waiting=10)
    try:
        queue.admit(lambda: None)
        queue.admit(fail)
        async with asyncio.timeout(60):
            await queue.wait()
            await queue.wait()
    finally:
        loop.set_exception_handler(None)
    assert failures == ["its connection is gone"]
