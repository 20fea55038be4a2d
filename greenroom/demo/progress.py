"""How far a long load has come: a bar on a terminal, a line per tenth elsewhere."""

import sys
from typing import TextIO

BAR_CHARACTERS = 30


class Progress:
    def __init__(self, total: int, noun: str, stream: TextIO | None = None) -> None:
        self._total = total
        self._noun = noun
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._done = 0
        self._told_tenths = 0

    def advance(self, count: int) -> None:
        self._done += count
        tenths = 10 * self._done // self._total
        if self._is_terminal:
            filled = BAR_CHARACTERS * self._done // self._total
            bar = "█" * filled + "░" * (BAR_CHARACTERS - filled)
            end = "\n" if self._done == self._total else ""
            self._stream.write(f"\r{bar} {self._text()}{end}")
            self._stream.flush()
        elif tenths > self._told_tenths:
            self._stream.write(self._text() + "\n")
            self._stream.flush()
        self._told_tenths = tenths

    def _text(self) -> str:
        percent = 100 * self._done // self._total
        return f"{percent:3}% {self._done:,} of {self._total:,} {self._noun}"
