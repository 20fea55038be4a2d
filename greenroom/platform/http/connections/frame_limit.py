"""The rate limit of WebSocket frames of one client."""

from greenroom.kernel.limits import Limits


class FrameLimit:
    """GCRA: `frames_per_s` on average, and at most `frames_ahead_s` of that at once."""

    __slots__ = ("_ahead_s", "_step_s", "_tat_s")

    def __init__(self, limits: Limits) -> None:
        self._step_s = 1 / limits.frames_per_s
        self._ahead_s = float(limits.frames_ahead_s)
        self._tat_s = 0.0

    def allows(self, now_s: float) -> bool:
        self._tat_s = max(self._tat_s, now_s) + self._step_s
        return self._tat_s <= now_s + self._ahead_s
