"""Looking again until something is so. Patience is long: a busy machine is slow, not wrong."""

import asyncio
import time
from collections.abc import Callable

from tests.support import IS_FULL

PATIENCE_S = 300.0 if IS_FULL else 120.0
LOOK_S = 0.01


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain: {what}")
        await asyncio.sleep(LOOK_S)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """`until`, where there is no event loop or it may stand still."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain: {what}")
        time.sleep(LOOK_S)
