"""Time, randomness and waiting. All of it is given from outside, so that tests advance time."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

log = logging.getLogger("greenroom_client")


@dataclass(frozen=True, slots=True)
class Timing:
    """`now_s` only grows; `wall_s` is what tokens are dated by; `random` is in [0, 1)."""

    now_s: Callable[[], float] = time.monotonic
    wall_s: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random

    async def sleep_until(self, at_s: float) -> None:
        wait_s = at_s - self.now_s()
        if wait_s > 0:
            await self.sleep(wait_s)

    async def wait(self, waiting: Coroutine[Any, Any, None], seconds: float) -> None:
        """Until `waiting` is done, or so many seconds have passed."""
        tasks = [asyncio.create_task(waiting), asyncio.create_task(self._sleep(seconds))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end(*tasks)

    async def _sleep(self, seconds: float) -> None:
        await self.sleep(seconds)


class Signal:
    """Wakes everyone who waits, each time something has changed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def fire(self) -> None:
        fired, self._event = self._event, asyncio.Event()
        fired.set()

    async def wait(self) -> None:
        await self._event.wait()

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self.wait()


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel, and return when they are over: also if we are cancelled ourselves meanwhile."""
    for task in tasks:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            cancelled = error
    for task in tasks:
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.debug("a task that is no longer wanted had failed", exc_info=failure)
    if cancelled is not None:
        raise cancelled
