"""A cache of rows, feed heads and threads as this process last read or wrote them.

Its values may be out of date, so every write that relies on one is conditional on it.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from greenroom.kernel.clock import Clock

MOST_VALUES = 20_000
USABLE_MS = 500
"""Older values are read again: another process may have changed them, and a write that is refused
costs as much as one that succeeds."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class RecentCache(Generic[K, V]):
    def __init__(self, clock: Clock, most: int = MOST_VALUES) -> None:
        self._values: OrderedDict[K, tuple[int, V]] = OrderedDict()
        self._clock = clock
        self._most = most

    def get(self, key: K) -> V | None:
        at_ms, value = self._values.get(key, (0, None))
        return value if abs(self._clock() - at_ms) <= USABLE_MS else None

    def last(self, key: K) -> V | None:
        """The value, however old it is."""
        return self._values.get(key, (0, None))[1]

    def keep(self, key: K, value: V) -> None:
        self._values[key] = self._clock(), value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def forget(self, key: K) -> None:
        self._values.pop(key, None)
