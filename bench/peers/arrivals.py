"""Messages in flight: when each was sent, and how long it took to arrive."""

import asyncio
import time

# Much longer than any working system needs.
PATIENCE_S = 30


class Arrivals:
    """One system's receivers report here. Each text is announced once and arrives once."""

    def __init__(self, text: str) -> None:
        self.delays_ms: list[float] = []
        self.announced = 0
        self._text = text
        self._sent_at: dict[str, float] = {}
        self._none_left = asyncio.Event()
        self._none_left.set()
        self._error: Exception | None = None

    def announce(self) -> str:
        """The next text; its time runs from now."""
        self.announced += 1
        text = f"{self.announced} {self._text}"
        self._none_left.clear()
        self._sent_at[text] = time.perf_counter()
        return text

    def arrived(self, text: str) -> None:
        now = time.perf_counter()
        sent_at = self._sent_at.pop(text, None)
        if sent_at is None:
            self.broke(RuntimeError(f"arrived twice or was never sent: {text!r}"))
            return
        self.delays_ms.append((now - sent_at) * 1000)
        if not self._sent_at:
            self._none_left.set()

    def broke(self, error: Exception) -> None:
        """A receiver has failed: stop waiting, because not all messages can arrive."""
        self._error = self._error or error
        self._none_left.set()

    async def settled(self) -> None:
        """Wait until everything announced has arrived."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._none_left.wait()
        except TimeoutError:
            raise RuntimeError(f"{len(self._sent_at)} messages did not arrive") from None
        if self._error:
            raise self._error

    def take_delays_ms(self) -> list[float]:
        taken, self.delays_ms = self.delays_ms, []
        return taken
