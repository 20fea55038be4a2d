"""The loop that deletes what is past its keeping time.

Every server runs it; a lock in the store lets one of them at a time do the work. When one kind of
work fails, the others are done all the same.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from greenroom.kernel.errors import Unavailable
from greenroom.platform.metrics import BACKGROUND_FAILURES

log = logging.getLogger("greenroom.maintenance")


Round = Callable[[], Awaitable[dict[str, int]]]
"""A bounded piece of work. It returns how much it has deleted, by what it was."""


class Maintenance:
    def __init__(self, rounds: Sequence[Round], *, interval_s: float) -> None:
        self._rounds = rounds
        self._interval_s = interval_s
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        while not await self._pause():
            for work in self._rounds:
                await _try(work)

    async def _pause(self) -> bool:
        """Wait for the next round; True when it is time to stop instead."""
        try:
            await asyncio.wait_for(self._stopping.wait(), self._interval_s)
        except TimeoutError:
            return False
        return True


async def _try(work: Round) -> None:
    name = work.__name__.removeprefix("_")
    try:
        done = await work()
    except Unavailable:
        log.warning("maintenance could not reach the store; it will try again")
    except Exception:
        BACKGROUND_FAILURES.labels(name).inc()
        log.exception("maintenance failed; it will try again", extra={"job": name})
    else:
        for what, count in done.items():
            if count:
                log.info("pruned", extra={"job": what, "count": count})
