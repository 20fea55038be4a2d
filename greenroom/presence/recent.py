"""What happened a moment ago, so that it need not be asked of the store."""

from collections import OrderedDict

from greenroom.kernel.clock import Clock


class Recent:
    """Keys of the last while, at most `size` of them, the oldest forgotten first."""

    def __init__(self, size: int, life_ms: int, clock: Clock) -> None:
        self._size = size
        self._life_ms = life_ms
        self._clock = clock
        self._at_ms: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        at_ms = self._at_ms.get(key)
        # Between the two, because a clock can be set back.
        return at_ms is not None and 0 <= self._clock() - at_ms < self._life_ms

    def add(self, key: str) -> None:
        self._at_ms[key] = self._clock()
        self._at_ms.move_to_end(key)
        if len(self._at_ms) > self._size:
            self._at_ms.popitem(last=False)
