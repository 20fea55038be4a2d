"""What one connection watches: typing and presence in a few threads."""

from collections.abc import Callable, Sequence

from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.limits import Limits
from greenroom.presence.actions import Presence
from greenroom.presence.watches import Watch
from greenroom.presence.wire import Ephemeral


class Watching:
    __slots__ = ("_is_closed", "_presence", "_tell", "_viewer", "_watch")

    def __init__(self, presence: Presence, viewer: str, tell: Callable[[Ephemeral], None]) -> None:
        self._presence = presence
        self._viewer = viewer
        self._tell = tell
        self._watch: Watch | None = None
        self._is_closed = False

    async def watch(self, thread_ids: Sequence[str]) -> None:
        """Replaces what was watched. Raises ThreadNotFound, and then nothing has changed."""
        watch = self._presence.watch(self._viewer, thread_ids, self._tell)
        await watch.start(instead_of=self._watch)
        self._watch = watch
        if self._is_closed:
            watch.close()

    async def check(self, thread_ids: Sequence[str]) -> None:
        """Whether these may be watched, while there is nobody to tell yet."""
        if thread_ids:
            watch = self._presence.watch(self._viewer, thread_ids, lambda _event: None)
            await watch.start()
            watch.close()

    def close(self) -> None:
        self._is_closed = True
        if self._watch is not None:
            self._watch.close()
        # It refers to the connection that refers to this.
        self._tell = _ignore


def _ignore(_event: Ephemeral) -> None:
    pass


def watched_in(text: str | None, limits: Limits) -> list[str]:
    """The thread ids of a `watch` parameter."""
    threads = [part for part in (text or "").split(",") if part]
    if len(threads) > limits.watched_threads:
        raise InvalidRequest(f"watch takes at most {limits.watched_threads} threads")
    return threads
