"""SIGTERM while no server runs: the work is cancelled, and what it holds is let go."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

EXIT_CODE = 128 + signal.SIGTERM


def unwind_on_sigterm() -> None:
    """From now on SIGTERM raises `SystemExit`, so that `finally` and `with` have their turn."""
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> NoReturn:
    raise SystemExit(EXIT_CODE)


def run_until_sigterm(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, but SIGTERM cancels the work and raises `SystemExit`.

    A plain handler is not enough here: a signal just before the loop begins to wait would be
    noticed only when the wait is over. The loop's own handler wakes it.
    """

    async def cancellable() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (a coroutine that runs has a task)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    before = signal.getsignal(signal.SIGTERM)
    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        raise SystemExit(EXIT_CODE) from None
    finally:
        # A closing loop leaves the default, which is to die at once.
        signal.signal(signal.SIGTERM, before)
