"""Writes a file in threads while its next bytes arrive."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from greenroom.platform.blobs.sealed_file import SealedWriter

T = TypeVar("T")

Start = Callable[[Callable[[], None]], "asyncio.Future[None]"]
"""Begins some work in a thread."""


class WriteBehind:
    """One write at a time. Whoever closes the writer calls `settle` first."""

    def __init__(self, writer: SealedWriter, start: Start) -> None:
        self._writer = writer
        self._start = start
        self._running: asyncio.Future[None] | None = None

    async def write(self, chunks: Sequence[bytes]) -> None:
        """Returns while it is being written. Raises OSError if the write before has failed."""
        await self.wait()
        self._running = self._start(lambda: self._write(chunks))

    def _write(self, chunks: Sequence[bytes]) -> None:
        for chunk in chunks:
            self._writer.write(chunk)

    async def wait(self) -> None:
        """Until everything is written. Raises OSError."""
        running, self._running = self._running, None
        if running is not None:
            await finished(running)

    async def settle(self) -> None:
        """Until no thread uses the writer, whatever has become of the write."""
        with suppress(OSError):
            await self.wait()


async def finished(running: "asyncio.Future[T]") -> T:
    """The result of work in a thread. Waits for its end also when the caller is cancelled, because
    the thread must be done with a file that the caller closes next."""
    is_cancelled = False
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        running.exception()
        raise asyncio.CancelledError
    return running.result()
