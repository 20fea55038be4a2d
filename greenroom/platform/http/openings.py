"""Newcomers are let in a few at a time, so that a crowd does not hold up those who are inside.

After a restart every client comes back at once. Letting one in takes a signature check and a look
into the database; those who wait for it cost nothing but their place in the queue. When that is
full too, a client is told to come back after a time of its own, so that the crowd thins out.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from greenroom.kernel.errors import Unavailable

RETRY_LEAST_S = 1
RETRY_MOST_S = 10


class Openings:
    def __init__(
        self,
        *,
        per_s: int,
        waiting: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._gap_s = 1 / per_s
        self._limit = waiting
        self._waiting = 0
        self._next_s = 0.0
        self._chance = chance

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Waits for one's turn. Raises Unavailable when too many do."""
        if self._waiting >= self._limit:
            raise self.refusal()
        self._waiting += 1
        try:
            await self._wait()
            yield
        finally:
            self._waiting -= 1

    async def _wait(self) -> None:
        now_s = asyncio.get_running_loop().time()
        turn_s = max(self._next_s, now_s)
        self._next_s = turn_s + self._gap_s
        if turn_s > now_s:
            await asyncio.sleep(turn_s - now_s)

    def refusal(self) -> Unavailable:
        after_s = RETRY_LEAST_S + (RETRY_MOST_S - RETRY_LEAST_S) * self._chance()
        return Unavailable("Too many clients are coming back at once.", retry_after_s=after_s)
