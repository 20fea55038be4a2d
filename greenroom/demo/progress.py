"""Shows the progress of a long load: a bar on a terminal, otherwise a line per tenth."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

BAR_CHARACTERS = 30
MEASURED_S = 2
MINUTE_S = 60
HOUR_S = 60 * MINUTE_S

_ERASE_LINE = "\r\x1b[K"


class Progress:
    """Prints nothing in the first `quiet_s`, and a rate once it could be measured."""

    def __init__(
        self,
        total: int,
        noun: str,
        stream: TextIO | None = None,
        *,
        quiet_s: float = 0,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total = total
        self._noun = noun
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._quiet_s = quiet_s
        self._timer = timer
        self._started_s = timer()
        self._done = 0
        self._skipped = 0
        self._told_tenths = 0

    def skip(self, count: int) -> None:
        """Count what was there before, without counting it for the rate."""
        self._done += count
        self._skipped += count

    def advance(self, count: int) -> None:
        self._done += count
        elapsed_s = self._timer() - self._started_s
        if elapsed_s < self._quiet_s:
            return
        tenths = 10 * self._done // self._total
        if self._is_terminal:
            filled = BAR_CHARACTERS * self._done // self._total
            bar = "█" * filled + "░" * (BAR_CHARACTERS - filled)
            end = "\n" if self._done == self._total else ""
            self._tell(f"{_ERASE_LINE}{bar} {self._text(elapsed_s)}{end}")
        elif tenths > self._told_tenths:
            self._tell(self._text(elapsed_s) + "\n")
        self._told_tenths = tenths

    def _tell(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _text(self, elapsed_s: float) -> str:
        percent = 100 * self._done // self._total
        text = f"{percent:3}% {self._done:,} of {self._total:,} {self._noun}"
        made = self._done - self._skipped
        if elapsed_s < MEASURED_S or not made:
            return text
        rate = made / elapsed_s
        text = f"{text}, {rate:,.{0 if rate >= 10 else 1}f} per second"
        left = self._total - self._done
        return f"{text}, {_duration(left / rate)} left" if left else text


def _duration(seconds: float) -> str:
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < 2 * HOUR_S:
        return f"{seconds / MINUTE_S:.0f} min"
    return f"{seconds / HOUR_S:.1f} h"
