"""Limits how many new WebSocket and SSE connections are opened per second.

After a restart all clients reconnect at once. Opening a connection takes a handshake, a signature
check and a database query, which would delay the connections that are already open. Connections
above the rate wait in a queue. When the queue is full, a client gets 503 with a random
`Retry-After`, so that clients do not return together.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable

from greenroom.kernel.errors import Unavailable

RETRY_LEAST_S = 1
RETRY_MOST_S = 10


class AdmissionQueue:
    """Admits `per_s` on average, and up to `at_once` without waiting after a quiet time."""

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
        """Calls `enter` when it is its turn. Raises Unavailable when too many are waiting."""
        if len(self._queue) >= self._limit:
            after_s = RETRY_LEAST_S + (RETRY_MOST_S - RETRY_LEAST_S) * self._chance()
            raise Unavailable("Too many clients are connecting at once.", retry_after_s=after_s)
        self._queue.append(enter)
        if self._timer is None:
            self._admit_next()

    def _admit_next(self) -> None:
        """One per iteration of the event loop, so that other tasks run in between."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        self._next_s = max(self._next_s, now_s - self._ahead_s)
        try:
            if self._queue and self._next_s <= now_s:
                self._next_s += self._gap_s
                self._queue.popleft()()
        finally:
            # One that fails must not keep those behind it waiting.
            self._timer = None
            if self._queue and self._next_s <= now_s:
                self._timer = loop.call_soon(self._admit_next)
            elif self._queue:
                self._timer = loop.call_at(self._next_s, self._admit_next)

    async def wait(self) -> None:
        """Returns when it is the caller's turn. Raises Unavailable when too many are waiting."""
        entered = asyncio.get_running_loop().create_future()
        self.admit(lambda: None if entered.done() else entered.set_result(None))
        await entered
