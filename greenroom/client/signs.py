"""Signs of life: who types, who is there. Nothing here is kept, queued or repeated."""

import contextlib
from collections.abc import Iterable
from urllib.parse import quote

from greenroom.client.calls import Calls
from greenroom.client.errors import UnreachableError
from greenroom.client.feed import Feed
from greenroom.client.limits import ClientLimits
from greenroom.client.timing import Timing
from greenroom.client.transport import Watched
from greenroom.client.websocket import Frames, LineLostError


class Signs:
    def __init__(
        self, feed: Feed, calls: Calls, watched: Watched, timing: Timing, limits: ClientLimits
    ) -> None:
        self._feed = feed
        self._calls = calls
        self._watched = watched
        self._timing = timing
        self._limits = limits
        self._told_s: dict[str, float] = {}

    async def watch(self, threads: Iterable[str]) -> None:
        """Holds for every connection to come. SSE takes it only when it opens, so it opens anew."""
        wanted = list(dict.fromkeys(threads))
        if len(wanted) > self._limits.watched_threads:
            raise ValueError(f"at most {self._limits.watched_threads} threads can be watched")
        if wanted == self._watched.threads:
            return
        self._watched.threads = wanted
        line = self._feed.line
        if isinstance(line, Frames):
            with contextlib.suppress(LineLostError):
                await line.ask({"type": "watch", "threads": wanted})
        elif line is not None:
            self._feed.interrupt()

    async def typing(self, thread_id: str, *, on: bool) -> None:
        if self._feed.is_started and self._feed.transport is None:
            return
        now_s = self._timing.now_s()
        told_s = self._told_s.get(thread_id)
        if on and told_s is not None and now_s - told_s < self._limits.typing_interval_s:
            return
        if not on and told_s is None:
            return
        self.forget(thread_id)
        if on:
            self._told_s[thread_id] = now_s
        with contextlib.suppress(UnreachableError):
            await self._tell(thread_id, on=on)

    def forget(self, thread_id: str) -> None:
        """Nobody is told any more that the person types here, as when their message comes."""
        self._told_s.pop(thread_id, None)

    async def _tell(self, thread_id: str, *, on: bool) -> None:
        line = self._feed.line
        if isinstance(line, Frames):
            await line.tell({"type": "typing", "thread_id": thread_id, "on": on})
        else:
            path = f"/v1/threads/{quote(thread_id, safe='')}/typing"
            await self._calls.call("PUT", path, body={"on": on})
