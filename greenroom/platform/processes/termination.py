"""Ends commands on SIGTERM by cancelling their work, so that they release what they hold."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

EXIT_CODE = 128 + signal.SIGTERM


def unwind_on_sigterm() -> None:
    """Make SIGTERM raise `SystemExit`, so that `finally` and `with` blocks run."""
    signal.signal(signal.SIGTERM, _end)


def _end(*_: object) -> NoReturn:
    raise SystemExit(EXIT_CODE)


def run_until_sigterm(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, but SIGTERM cancels the work and raises `SystemExit`.

    An ordinary handler is not enough: a signal just before the loop starts to wait would be noticed
    only after the wait. The loop's own handler wakes it.
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
        # A closing loop restores the default handler, which would end the process at once.
        signal.signal(signal.SIGTERM, before)
