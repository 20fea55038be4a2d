"""Callers that arrive together share one piece of work, such as one commit.

Nobody waits for more to come. Whoever arrives while a batch is under way waits for the next one,
and that one takes all who wait. So an idle server answers at once and a busy one works in large
batches.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from greenroom.kernel.errors import Unavailable

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")


def no_keys(_: object) -> Iterable[Hashable]:
    return ()


class Batching(Generic[Item, Result]):
    """Calls `work` with batches of what is submitted, at most `writers` at a time.

    `work` returns a result or an exception per item, in order. If it raises `Unavailable`, every
    item of the batch gets that. If it raises anything else, each item is tried alone, so that one
    bad item does not fail those beside it: `work` must not mind to see an item twice.

    Two items with a key in common are never in one batch. Submitting raises `Unavailable` when
    `queue_limit` items wait already, and after `drain` or `close`.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Awaitable[Sequence[Result | Exception]]],
        keys: Callable[[Item], Iterable[Hashable]] = no_keys,
        *,
        writers: int = 1,
        batch_limit: int,
        queue_limit: int,
    ) -> None:
        self._work = work
        self._keys = keys
        self._batch_limit = batch_limit
        self._queue_limit = queue_limit
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._idle = writers
        self._is_ending = False

    async def submit(self, item: Item) -> Result:
        """Wait for the item's result. A caller who stops waiting does not take the item back."""
        return await self.put(item)

    def put(self, item: Item) -> "asyncio.Future[Result]":
        """As `submit`, for those who do not wait at once."""
        if self._is_ending:
            raise Unavailable("The server is stopping.")
        if len(self._waiting) >= self._queue_limit:
            raise Unavailable("Too much is waiting to be written.")
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._idle:
            self._idle -= 1
            self._start()
        return done

    def _start(self) -> None:
        task = asyncio.create_task(self._run())
        self._running.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        """A writer can die, for example of a cancellation inside a driver. Another one takes over
        the queue, because those in it must not wait for ever."""
        self._running.discard(task)
        if task.cancelled() or task.exception() is not None:
            failure = None if task.cancelled() else task.exception()
            if not self._is_ending:
                log.error("a writer has died; another takes over", exc_info=failure)
            if self._waiting:
                self._start()
            else:
                self._idle += 1

    async def _run(self) -> None:
        while self._waiting:
            batch = self._take()
            try:
                await self._do(batch)
            finally:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(Unavailable("The write was broken off."))
        # In the same step as the last look at the queue: whoever submits after it finds us idle.
        self._idle += 1

    async def _do(self, batch: Sequence[tuple[Item, asyncio.Future[Result]]]) -> None:
        results: Sequence[Result | Exception]
        try:
            results = await self._work([item for item, _ in batch])
        except Exception as failure:  # noqa: BLE001 (it is handed to the callers)
            if len(batch) > 1 and not isinstance(failure, Unavailable):
                for entry in batch:
                    await self._do([entry])
                return
            results = [failure] * len(batch)
        for (_, done), result in zip(batch, results, strict=True):
            if done.done():
                continue
            if isinstance(result, Exception):
                done.set_exception(result)
            else:
                done.set_result(result)

    def _take(self) -> list[tuple[Item, asyncio.Future[Result]]]:
        batch: list[tuple[Item, asyncio.Future[Result]]] = []
        put_back: list[tuple[Item, asyncio.Future[Result]]] = []
        taken: set[Hashable] = set()
        while self._waiting and len(batch) < self._batch_limit:
            entry = self._waiting.popleft()
            keys = set(self._keys(entry[0]))
            if taken.isdisjoint(keys):
                taken |= keys
                batch.append(entry)
            else:
                put_back.append(entry)
        self._waiting.extendleft(reversed(put_back))
        return batch

    async def drain(self) -> None:
        """Do what was submitted; take no more."""
        self._is_ending = True
        while self._running:
            await asyncio.wait(self._running)

    async def close(self) -> None:
        """Stop at once. Whoever waits gets `Unavailable`."""
        self._is_ending = True
        for _, done in self._waiting:
            if not done.done():
                done.set_exception(Unavailable("The server is stopping."))
        self._waiting.clear()
        for task in self._running:
            task.cancel()
        while self._running:
            await asyncio.wait(self._running)
