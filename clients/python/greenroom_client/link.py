"""Whether the server answers. While it does not, one probe at a time stands for everyone."""

import contextlib
from collections.abc import AsyncIterator

from greenroom_client.timing import Signal, Timing


class Link:
    """The feed's attempts to connect are the probe while it makes any (`has_leader`).

    Otherwise, as for a client that only sends, one of those who wait is.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._changed = Signal()
        self._is_probing = False
        self._has_leader = False
        self.is_up = True
        self.not_before_s = timing.now_s()

    def up(self) -> None:
        self.is_up = True
        self._changed.fire()

    def down(self, wait_s: float) -> None:
        """Nothing answers; the next attempt comes after `wait_s`, not before."""
        self.is_up = False
        self.not_before_s = max(self.not_before_s, self._timing.now_s() + wait_s)
        self._changed.fire()

    def lead(self, *, is_leading: bool) -> None:
        self._has_leader = is_leading
        self._changed.fire()

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Entered when an attempt is in order. Tell `up` or `down` before leaving it."""
        if await self._wait_for_turn():
            yield
            return
        try:
            yield
        finally:
            self._is_probing = False
            self._changed.fire()

    async def _wait_for_turn(self) -> bool:
        """Whether the server is up; if not, the caller is the probe now."""
        while True:
            await self._changed.wait_for(lambda: self.is_up or self._may_probe())
            if self.is_up:
                return True
            self._is_probing = True
            is_mine = False
            try:
                await self._timing.sleep_until(self.not_before_s)
                is_mine = self._is_mine()
            finally:
                self._is_probing = is_mine
                self._changed.fire()
            if is_mine:
                return False

    def _may_probe(self) -> bool:
        return not self._has_leader and not self._is_probing

    def _is_mine(self) -> bool:
        """Nobody has found out meanwhile, or is about to."""
        return not self.is_up and not self._has_leader
