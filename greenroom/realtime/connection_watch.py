"""The threads whose typing and presence one connection watches. A new list replaces the old."""

from collections.abc import Callable, Sequence

from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.limits import Limits
from greenroom.presence.actions import Presence
from greenroom.presence.watches import Watch
from greenroom.presence.wire import Ephemeral


class ConnectionWatch:
    __slots__ = ("_is_closed", "_presence", "_tell", "_viewer", "_watch")

    def __init__(self, presence: Presence, viewer: str, tell: Callable[[Ephemeral], None]) -> None:
        self._presence = presence
        self._viewer = viewer
        self._tell = tell
        self._watch: Watch | None = None
        self._is_closed = False

    async def watch(self, thread_ids: Sequence[str]) -> None:
        """Replaces the watched threads. Raises ThreadNotFound, and then the old list stays."""
        watch = self._presence.watch(self._viewer, thread_ids, self._tell)
        await watch.start(instead_of=self._watch)
        self._watch = watch
        if self._is_closed:
            watch.close()

    async def check(self, thread_ids: Sequence[str]) -> None:
        """Raises ThreadNotFound unless these may be watched. Used before the connection opens."""
        if thread_ids:
            watch = self._presence.watch(self._viewer, thread_ids, lambda _event: None)
            await watch.start()
            watch.close()

    def close(self) -> None:
        self._is_closed = True
        if self._watch is not None:
            self._watch.close()
        # Break the reference cycle with the connection.
        self._tell = _ignore


def _ignore(_event: Ephemeral) -> None:
    pass


def watched_in(text: str | None, limits: Limits) -> list[str]:
    """The thread ids of a `watch` parameter."""
    threads = [part for part in (text or "").split(",") if part]
    if len(threads) > limits.watched_threads:
        raise InvalidRequest(f"watch takes at most {limits.watched_threads} threads")
    return threads
