"""The loop that forgets what is past its keeping time. Every server runs it; a lock in the store
lets one at a time do the work."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from greenroom.kernel.errors import Unavailable

log = logging.getLogger("greenroom.maintenance")


class Maintenance:
    def __init__(
        self, prune: Callable[[], Awaitable[dict[str, int]]], *, interval_s: float
    ) -> None:
        self._prune = prune
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
            try:
                pruned = await self._prune()
            except Unavailable:
                log.warning("maintenance could not reach the store; it will try again")
            except Exception:
                log.exception("maintenance failed; it will try again")
            else:
                for what, count in pruned.items():
                    if count:
                        log.info("pruned", extra={"job": what, "count": count})

    async def _pause(self) -> bool:
        """Wait for the next round; True when it is time to stop instead."""
        try:
            await asyncio.wait_for(self._stopping.wait(), self._interval_s)
        except TimeoutError:
            return False
        return True
