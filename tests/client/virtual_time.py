"""An event loop on which time passes only when there is nothing else to do, and then at once."""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from greenroom_client import Timing

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now_s = 1000.0
        super().__init__(_SkippingSelector(self))

    def time(self) -> float:
        return self._now_s

    def skip(self, seconds: float) -> None:
        self._now_s += seconds


class _SkippingSelector(selectors.BaseSelector):
    """Never waits: what the loop would have waited for happens now."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._real = selectors.DefaultSelector()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = self._real.select(0)
        if not ready:
            assert timeout is not None, "everybody waits, and nothing will ever happen"
            self._loop.skip(timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def now_s() -> float:
    return asyncio.get_running_loop().time()


def virtual_timing(chance: Any = lambda: 0.5) -> Timing:
    return Timing(now_s=now_s, wall_s=now_s, sleep=asyncio.sleep, random=chance)
