"""Ends a command without an error message if the reader of its output goes away, as `head` does."""

import os
import select
import signal
from collections.abc import Callable

NOBODY_READS = 128 + signal.SIGPIPE
"""The exit code that shells use for a program that was ended by a closed pipe."""


def while_somebody_reads(work: Callable[[], int]) -> int:
    """The exit code of `work`, or that of a closed pipe."""
    try:
        try:
            return work()
        finally:
            # Python would flush at exit, where a failure cannot be caught.
            print(end="", flush=True)
    except BrokenPipeError:
        closed = _closed_outputs()
        if not closed:
            raise
        _discard(closed)
        return NOBODY_READS


def nobody_reads() -> bool:
    """Whether the reader of this command's output has gone."""
    return bool(_closed_outputs())


def _closed_outputs() -> list[int]:
    """Asks the system, because a broken database connection raises the same error."""
    outputs = select.poll()
    for number in (1, 2):
        outputs.register(number, 0)
    return [number for number, events in outputs.poll(0) if events & select.POLLERR]


def _discard(outputs: list[int]) -> None:
    """Send buffered output to /dev/null, so that flushing it does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in outputs:
        os.dup2(nowhere, number)
    os.close(nowhere)
