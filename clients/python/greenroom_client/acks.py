"""Telling the server what has arrived, at most once a second."""

import logging
from collections.abc import Awaitable, Callable

from greenroom_client.errors import GreenroomError, Problem
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Signal, Timing

log = logging.getLogger("greenroom_client")


class Acks:
    """`deliver` tells the server; `can_deliver` says whether that is in order just now."""

    def __init__(
        self,
        deliver: Callable[[str], Awaitable[None]],
        can_deliver: Callable[[], bool],
        changed: Signal,
        timing: Timing,
        limits: ClientLimits,
    ) -> None:
        self._deliver = deliver
        self._can_deliver = can_deliver
        self._changed = changed
        self._timing = timing
        self._limits = limits
        self._told: str | None = None
        self._due: str | None = None

    def note(self, cursor: str | None) -> None:
        """The application has taken everything up to here."""
        if cursor is not None and cursor != self._due:
            was_idle = not self._is_due()
            self._due = cursor
            if was_idle:
                self._changed.fire()

    async def run(self) -> None:
        while True:
            await self._changed.wait_for(lambda: self._is_due() and self._can_deliver())
            await self._tell()
            await self._timing.sleep(self._limits.ack_interval_s)

    async def flush(self) -> None:
        """The last one, before the client closes."""
        if self._is_due():
            await self._tell()

    def _is_due(self) -> bool:
        return self._due is not None and self._due != self._told

    async def _tell(self) -> None:
        cursor = self._due
        if cursor is None:
            return
        try:
            await self._deliver(cursor)
        except GreenroomError as error:
            log.info("an acknowledgement was not taken: %s", error)
            if not (isinstance(error, Problem) and error.is_final):
                return
        self._told = cursor
