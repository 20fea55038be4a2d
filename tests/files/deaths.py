"""Parts of a worker that dies before or after any of the calls through which others see what it
does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any


class Killed(BaseException):
    """The process is no more: nothing that would handle an error runs on."""


class Death:
    """Comes at the place with this number; None: not at all."""

    def __init__(self, at: int | None) -> None:
        self.places: list[str] = []
        self._at = at
        self._is_dead = False

    def passes(self, place: str) -> None:
        if self._is_dead:
            raise Killed(place)
        self.places.append(place)
        if len(self.places) - 1 == self._at:
            self._is_dead = True
            raise Killed(place)


class Mortal:
    """Anything with methods that wait: each call is a place before and a place after it."""

    def __init__(self, alive: Any, death: Death) -> None:
        self._alive = alive
        self._death = death

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._alive, name)
        if isasyncgenfunction(found):
            return self._read(found, name)
        if not iscoroutinefunction(found):
            return found

        async def call(*args: Any, **more: Any) -> Any:
            self._death.passes(f"before {name}")
            done = await found(*args, **more)
            self._death.passes(f"after {name}")
            return done

        return call

    def _read(self, found: Any, name: str) -> Any:
        async def read(*args: Any, **more: Any) -> AsyncIterator[bytes]:
            self._death.passes(f"before {name}")
            async for each in found(*args, **more):
                yield each

        return read
