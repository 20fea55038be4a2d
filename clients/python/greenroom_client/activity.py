"""How closely the person looks, and with it how often to poll."""

from typing import Literal, get_args

from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Signal, Timing

Level = Literal["open", "background", "closed"]


class Activity:
    def __init__(self, level: Level, timing: Timing, limits: ClientLimits) -> None:
        self._timing = timing
        self._limits = limits
        self._touched_s = timing.now_s()
        self.changed = Signal()
        self.touches = 0
        self._level = _checked(level)

    @property
    def level(self) -> Level:
        return self._level

    def set_level(self, level: Level) -> None:
        self._level = _checked(level)
        self.touch()

    def touch(self) -> None:
        """The person did something."""
        self._touched_s = self._timing.now_s()
        self.touches += 1
        self.changed.fire()

    @property
    def is_closed(self) -> bool:
        return self._level == "closed"

    def interval_s(self) -> float:
        if self._timing.now_s() - self._touched_s >= self._limits.idle_after_s:
            return self._limits.poll_idle_s
        if self._level == "open":
            return self._limits.poll_open_s
        return self._limits.poll_background_s

    async def pause(self, since_s: float) -> None:
        """Until an interval after `since_s` is over; shorter at once when the person comes back."""
        while (left_s := since_s + self.interval_s() - self._timing.now_s()) > 0:
            await self._timing.wait(self.changed.wait(), left_s)


def _checked(level: Level) -> Level:
    if level not in get_args(Level):
        raise ValueError(f"activity is one of {', '.join(get_args(Level))}")
    return level
