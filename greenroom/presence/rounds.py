"""Work that gathers while some of it is under way."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable
from itertools import islice
from typing import Generic, TypeVar

from greenroom.kernel.errors import Unavailable

log = logging.getLogger("greenroom.presence")

Item = TypeVar("Item", bound=Hashable)


class Rounds(Generic[Item]):
    """Does `work` on what was added, one batch after the other, in a task of its own.

    There is no linger: what is added while a batch is under way goes with the next one, each item
    once. A batch that fails is not repeated, because whatever it was for is said again or ends by
    itself; the log tells of the first failure in a row. What is more than `queue_limit` is dropped
    for the same reason.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[list[Item]], Awaitable[None]],
        *,
        batch_limit: int,
        queue_limit: int,
    ) -> None:
        self._name = name
        self._work = work
        self._batch_limit = batch_limit
        self._queue_limit = queue_limit
        self._waiting: dict[Item, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._added = 0
        self._done = 0
        self._turn = asyncio.Event()
        self._is_failing = False
        self._is_closed = False

    def add(self, items: Iterable[Item]) -> None:
        if self._is_closed:
            return
        for item in items:
            if item not in self._waiting and len(self._waiting) < self._queue_limit:
                self._waiting[item] = None
                self._added += 1
        if self._waiting and self._task is None:
            self._task = asyncio.create_task(self._run())

    async def settled(self) -> None:
        """Wait until all that was added before this call is done, or has failed."""
        goal = self._added
        while self._done < goal and not self._is_closed:
            await self._turn.wait()

    async def _run(self) -> None:
        while self._waiting:
            batch = list(islice(self._waiting, self._batch_limit))
            for item in batch:
                del self._waiting[item]
            await self._try(batch)
            self._done += len(batch)
            self._wake_waiters()
        # In the same step as the last look at the queue: whoever adds after it starts anew.
        self._task = None

    async def _try(self, batch: list[Item]) -> None:
        try:
            await self._work(batch)
        except Exception as failure:
            if not self._is_failing:
                is_passing = isinstance(failure, Unavailable)
                log.warning(
                    "%s failed and will be tried again",
                    self._name,
                    exc_info=None if is_passing else failure,
                )
            self._is_failing = True
        else:
            self._is_failing = False

    def _wake_waiters(self) -> None:
        turn, self._turn = self._turn, asyncio.Event()
        turn.set()

    async def close(self) -> None:
        """Stop at once; what waits is dropped."""
        self._is_closed = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        self._wake_waiters()
