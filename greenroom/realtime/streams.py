"""The open connections of this process: limits, token expiry, renewal, and closing."""

import logging
from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol

from prometheus_client import Gauge

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.tokens.verifying import EXPIRY_LEEWAY_S
from greenroom.realtime.close_codes import CloseCode

log = logging.getLogger("greenroom.realtime")

OPEN = Gauge(
    "greenroom_streams_open", "Open connections", ["transport"], multiprocess_mode="livesum"
)


class OpenStream(Protocol):
    id: str
    user_id: str
    transport: str
    expires_at_ms: float

    def end(self, code: CloseCode) -> None:
        """Send the close code and close. The connection then removes itself from `Streams`."""
        ...


class Streams:
    def __init__(self, *, clock: Clock, limits: Limits) -> None:
        self._clock = clock
        self._limits = limits
        self._by_id: dict[str, OpenStream] = {}
        self._of_user: defaultdict[str, dict[str, OpenStream]] = defaultdict(dict)

    def check_room(self) -> None:
        if len(self._by_id) >= self._limits.streams:
            raise Unavailable("This server has reached its connection limit.", retry_after_s=5)

    def add(self, stream: OpenStream) -> None:
        """If the person has too many connections, their oldest one is closed; it is often dead."""
        own = self._of_user[stream.user_id]
        while len(own) >= self._limits.streams_per_user:
            oldest = next(iter(own.values()))
            self.remove(oldest)
            _end(oldest, CloseCode.REPLACED)
            own = self._of_user[stream.user_id]
        own[stream.id] = stream
        self._by_id[stream.id] = stream
        OPEN.labels(stream.transport).inc()

    def remove(self, stream: OpenStream) -> None:
        if self._by_id.pop(stream.id, None) is None:
            return
        own = self._of_user[stream.user_id]
        del own[stream.id]
        if not own:
            del self._of_user[stream.user_id]
        OPEN.labels(stream.transport).dec()

    def users(self) -> list[str]:
        return list(self._of_user)

    def end_expired(self) -> None:
        ended_ms = self._clock() - EXPIRY_LEEWAY_S * 1000
        self._end(
            (each for each in self._by_id.values() if each.expires_at_ms <= ended_ms),
            CloseCode.TOKEN_ENDED,
        )

    def end_users(self, user_ids: Iterable[str]) -> None:
        for user_id in user_ids:
            self._end(self._of_user.get(user_id, {}).values(), CloseCode.NOT_WELCOME)

    def end_all(self) -> None:
        self._end(self._by_id.values(), CloseCode.RESTART)

    def _end(self, streams: Iterable[OpenStream], code: CloseCode) -> None:
        for stream in list(streams):
            self.remove(stream)
            _end(stream, code)

    def renew(self, stream_id: str, user_id: str, expires_at_ms: float) -> None:
        """Extend a stream of this process with a new token of the same person."""
        stream = self._by_id.get(stream_id)
        if stream is not None and stream.user_id == user_id:
            stream.expires_at_ms = max(stream.expires_at_ms, expires_at_ms)


def _end(stream: OpenStream, code: CloseCode) -> None:
    """A connection that fails while closing must not stop the others from being closed."""
    try:
        stream.end(code)
    except Exception:
        log.exception("a connection could not be closed cleanly")
