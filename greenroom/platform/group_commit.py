"""Callers that arrive together share one write.

There is no linger: whoever arrives while a write is under way waits for the next one, and that one
takes all who wait. So an idle server answers at once and a busy one writes large batches.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from greenroom.kernel.errors import Unavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


class GroupCommit(Generic[Item, Result]):
    """Runs `flush` on batches, at most `writers` at a time.

    `flush` returns a result or an exception per item, in order; if it raises, every item of its
    batch gets that exception. Two items with a key in common never stand in one batch. Submitting
    raises Unavailable when `queue_limit` callers wait already, or after `drain`.
    """

    def __init__(
        self,
        flush: Callable[[Sequence[Item]], Awaitable[Sequence[Result | Exception]]],
        keys: Callable[[Item], Iterable[Hashable]],
        *,
        writers: int,
        batch_limit: int,
        queue_limit: int,
    ) -> None:
        self._flush = flush
        self._keys = keys
        self._batch_limit = batch_limit
        self._queue_limit = queue_limit
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._running: set[asyncio.Task[None]] = set()
        self._idle = writers
        self._draining = False

    async def submit(self, item: Item) -> Result:
        if self._draining:
            raise Unavailable("The server is stopping.")
        if len(self._waiting) >= self._queue_limit:
            raise Unavailable("Too many messages are waiting to be written.")
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._idle:
            self._idle -= 1
            task = asyncio.create_task(self._write())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await done

    async def _write(self) -> None:
        while self._waiting:
            batch = self._take()
            try:
                results = await self._flush([item for item, _ in batch])
            except Exception as failure:  # noqa: BLE001 (it is handed to every caller)
                results = [failure] * len(batch)
            for (_, done), result in zip(batch, results, strict=True):
                if done.cancelled():
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)
        # In the same step as the last look at the queue: whoever submits after it finds us idle.
        self._idle += 1

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
        """Write what was submitted; take no more."""
        self._draining = True
        while self._running:
            await asyncio.gather(*self._running)
