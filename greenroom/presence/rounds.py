"""Work that nobody waits for, done in batches while more of it gathers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from greenroom.kernel.errors import Unavailable
from greenroom.platform.batching import Batching

log = logging.getLogger("greenroom.presence")

Item = TypeVar("Item", bound=Hashable)


class Rounds(Generic[Item]):
    """Does `work` on what was added, one batch after the other.

    An item that waits already is not added a second time. What fails is not repeated, because
    clients say it again or it ends by itself; the log tells of the first failure in a row. What is
    more than `queue_limit` is dropped for the same reason.
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
        self._batching: Batching[Item, None] = Batching(
            self._do, batch_limit=batch_limit, queue_limit=queue_limit
        )
        self._waiting: set[Item] = set()
        self._pending: set[asyncio.Future[None]] = set()
        self._is_failing = False
        self._is_closed = False

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            if item not in self._waiting:
                with suppress(Unavailable):
                    done = self._batching.put(item)
                    self._waiting.add(item)
                    self._pending.add(done)
                    done.add_done_callback(self._note)

    async def settled(self) -> None:
        """Wait until all that was added before this call is done, or has failed."""
        if self._pending:
            await asyncio.wait(self._pending)

    async def _do(self, batch: Sequence[Item]) -> list[None]:
        self._waiting.difference_update(batch)
        await self._work(list(batch))
        return [None] * len(batch)

    def _note(self, done: "asyncio.Future[None]") -> None:
        self._pending.discard(done)
        failure = done.exception()
        if failure is not None and not self._is_failing and not self._is_closed:
            is_passing = isinstance(failure, Unavailable)
            log.warning(
                "%s failed and will be tried again",
                self._name,
                exc_info=None if is_passing else failure,
            )
        self._is_failing = failure is not None

    async def close(self) -> None:
        """Stop at once; what waits is dropped."""
        self._is_closed = True
        await self._batching.close()
