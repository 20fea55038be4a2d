"""How long to wait before trying again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import random as system_random

_MOST_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class Backoff:
    """A pause after each attempt: `base_ms` after the first, doubled each time up to `cap_ms`. Part
    of it is left to chance, so that those who failed together do not come back together: it is at
    least `floor_ms`, or half of the whole pause where none is given.

    With the numbers given here, a payment whose provider is away is tried for about four hours
    before somebody has to look at it.
    """

    base_ms: int = 1000
    cap_ms: int = 15 * 60 * 1000
    attempts: int = 25
    floor_ms: int | None = None

    def delay_ms(self, attempt: int, chance: float) -> float:
        """The pause after an attempt, counted from 0: the shortest with chance 0, all of it with
        chance 1."""
        whole = min(self.cap_ms, self.base_ms << min(attempt, _MOST_DOUBLINGS))
        least = whole / 2 if self.floor_ms is None else self.floor_ms
        return least + (whole - least) * chance

    async def pause(
        self,
        attempt: int,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = system_random,
    ) -> None:
        await sleep(self.delay_ms(attempt, chance()) / 1000)

    def is_over(self, attempt: int) -> bool:
        """Whether the attempt of this number, counted from 0, was the last."""
        return attempt + 1 >= self.attempts
