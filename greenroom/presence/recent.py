"""A set of recently seen keys, which saves queries to the store."""

from collections import OrderedDict

from greenroom.kernel.clock import Clock


class RecentKeys:
    """Contains a key for `lifetime_ms` after it was added. At most `size` keys; the oldest are
    dropped first."""

    def __init__(self, size: int, lifetime_ms: int, clock: Clock) -> None:
        self._size = size
        self._lifetime_ms = lifetime_ms
        self._clock = clock
        self._at_ms: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        at_ms = self._at_ms.get(key)
        # Also false for a time in the future, which appears when the clock is set back.
        return at_ms is not None and 0 <= self._clock() - at_ms < self._lifetime_ms

    def add(self, key: str) -> None:
        self._at_ms[key] = self._clock()
        self._at_ms.move_to_end(key)
        if len(self._at_ms) > self._size:
            self._at_ms.popitem(last=False)
