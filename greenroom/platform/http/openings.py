"""Newcomers are let in at a pace, so that a crowd does not hold up those who are inside.

After a restart every client comes back at once. Letting one in takes a handshake, a signature and
a look into the database; those who wait for their turn cost nothing but a place in the queue. When
that is full too, a client is told to come back after a time of its own, so that the crowd thins
out.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable

from greenroom.kernel.errors import Unavailable

RETRY_LEAST_S = 1
RETRY_MOST_S = 10


class Openings:
    """`per_s` on average, after a quiet time up to `at_once` without any waiting."""

    def __init__(
        self,
        *,
        per_s: int,
        at_once: int,
        waiting: int,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._gap_s = 1 / per_s
        self._ahead_s = (at_once - 1) / per_s
        self._limit = waiting
        self._chance = chance
        self._queue: deque[Callable[[], None]] = deque()
        self._next_s = 0.0
        self._timer: asyncio.Handle | None = None

    def admit(self, enter: Callable[[], None]) -> None:
        """Calls `enter` when it is its turn. Raises Unavailable when too many wait."""
        if len(self._queue) >= self._limit:
            after_s = RETRY_LEAST_S + (RETRY_MOST_S - RETRY_LEAST_S) * self._chance()
            raise Unavailable("Too many clients are coming back at once.", retry_after_s=after_s)
        self._queue.append(enter)
        if self._timer is None:
            self._let_in()

    def _let_in(self) -> None:
        """One at a time: also between two who are both due, others get their turn of the loop."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        self._next_s = max(self._next_s, now_s - self._ahead_s)
        if self._queue and self._next_s <= now_s:
            self._next_s += self._gap_s
            self._queue.popleft()()
        self._timer = None
        if self._queue and self._next_s <= now_s:
            self._timer = loop.call_soon(self._let_in)
        elif self._queue:
            self._timer = loop.call_at(self._next_s, self._let_in)

    async def turn(self) -> None:
        """Waits for one's turn. Raises Unavailable when too many do."""
        entered = asyncio.get_running_loop().create_future()
        self.admit(lambda: None if entered.done() else entered.set_result(None))
        await entered
