"""A lock per key within this process.

The store is correct without it, because every write is conditional; the locks avoid conflicts
between the tasks of one process.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class KeyedLocks(Generic[K]):
    def __init__(self) -> None:
        self._locks: dict[K, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, key: K) -> AsyncIterator[None]:
        lock, waiting = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._locks.pop(key)
            if waiting > 1:
                self._locks[key] = lock, waiting - 1
