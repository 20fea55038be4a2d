"""Trying again without making it worse."""

from collections import deque

from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing


class Backoff:
    """Full jitter: a random time up to a bound that doubles with each failure."""

    def __init__(self, timing: Timing, limits: ClientLimits) -> None:
        self._timing = timing
        self._limits = limits
        self.failures = 0

    def next_s(self, retry_after_s: float | None = None) -> float:
        """How long to wait after one more failure; never less than the server asked for."""
        # Bounded before it is a float: one that overflows would end a client that waits long.
        bound_s = self._limits.backoff_base_s * float(1 << min(self.failures, 32))
        self.failures += 1
        wait_s = self._timing.random() * min(self._limits.backoff_cap_s, bound_s)
        return max(wait_s, retry_after_s or 0.0)

    def reset(self) -> None:
        self.failures = 0


class RetryBudget:
    """Early retries, as a share of what has succeeded within the last minute.

    A client that is over it still comes back, but no sooner than it would have polled anyway. So
    an outage gets at most 1.2 times the requests of ordinary operation, and a server that takes
    connections only to drop them is not hammered although each success starts the backoff anew.
    """

    def __init__(self, timing: Timing, limits: ClientLimits) -> None:
        self._timing = timing
        self._limits = limits
        self._successes: deque[float] = deque()
        self._retries: deque[float] = deque()

    def note_success(self) -> None:
        self._forget_old()
        self._successes.append(self._timing.now_s())

    def spend(self, *, at_least: int = 0) -> bool:
        """Whether one more early retry is within the budget; if so, it is spent."""
        self._forget_old()
        allowed = max(at_least, int(self._limits.retry_ratio * len(self._successes)))
        if len(self._retries) >= allowed:
            return False
        self._retries.append(self._timing.now_s())
        return True

    def _forget_old(self) -> None:
        since_s = self._timing.now_s() - self._limits.retry_window_s
        for times in (self._successes, self._retries):
            while times and times[0] <= since_s:
                times.popleft()
