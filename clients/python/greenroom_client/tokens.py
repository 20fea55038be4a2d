"""The person's token: a fixed one, or from the application, which is asked before it ends."""

import asyncio
import base64
import inspect
import json
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from greenroom_client.errors import UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing

log = logging.getLogger("greenroom_client")

TokenSource = str | Callable[[], str | Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Token:
    """`expires_s` and `renew_s` are wall-clock times; infinite if it does not say."""

    text: str
    expires_s: float
    renew_s: float

    @property
    def header(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.text}"}


class Tokens:
    def __init__(self, source: TokenSource, timing: Timing, limits: ClientLimits) -> None:
        self._source = source
        self._timing = timing
        self._limits = limits
        self._current: Token | None = None
        self._lock = asyncio.Lock()

    @property
    def is_fixed(self) -> bool:
        """Whether there is no other token to hope for."""
        return isinstance(self._source, str)

    async def get(self) -> Token:
        """One that has some time left, if the application gives such. Raises UnreachableError."""
        async with self._lock:
            if self._current is None or self._timing.wall_s() >= self._current.renew_s:
                self._current = await self._fetch()
            return self._current

    def refuse(self, token: Token) -> None:
        """The server did not take it: ask for another."""
        if self._current is not None and token.text == self._current.text:
            self._current = None

    def refuse_current(self) -> None:
        self._current = None

    async def until_due(self, token: Token) -> None:
        """Until `token` should be replaced; for ever if it never ends."""
        if math.isinf(token.renew_s):
            await asyncio.get_running_loop().create_future()
        await self._timing.sleep(max(0.0, token.renew_s - self._timing.wall_s()))

    async def _fetch(self) -> Token:
        if isinstance(self._source, str):
            return Token(self._source, math.inf, math.inf)
        try:
            given = self._source()
            text = await given if inspect.isawaitable(given) else given
        except Exception as error:
            current = self._current
            if current is None or self._timing.wall_s() >= current.expires_s:
                raise UnreachableError("the application gave no token") from error
            log.warning("no fresh token; going on with the present one", exc_info=error)
            return self._dated(current.text)
        return self._dated(text)

    def _dated(self, text: str) -> Token:
        """Renewed a margin before its end, or in its last quarter if it is short-lived."""
        expires_s = read_expiry_s(text)
        left_s = max(0.0, expires_s - self._timing.wall_s())
        margin_s = min(self._limits.token_margin_s, left_s / 4)
        # One that is over when it comes may only seem so, if our clock is fast: the server decides.
        return Token(text, expires_s, expires_s - margin_s if left_s else math.inf)


def read_expiry_s(text: str) -> float:
    """A JWT's `exp`. It is read, not verified: only the server can do that."""
    try:
        payload = text.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        return math.inf
