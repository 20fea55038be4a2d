"""Who types and who is online. Nothing here is kept, queued or repeated."""

import contextlib
from collections.abc import Iterable
from urllib.parse import quote

from greenroom_client.calls import Calls
from greenroom_client.errors import UnreachableError
from greenroom_client.feed import Feed
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing
from greenroom_client.transport import Watched
from greenroom_client.websocket import Frames, LineLostError


class Presence:
    def __init__(
        self, feed: Feed, calls: Calls, watched: Watched, timing: Timing, limits: ClientLimits
    ) -> None:
        self._feed = feed
        self._calls = calls
        self._watched = watched
        self._timing = timing
        self._limits = limits
        self._told_s: dict[str, float] = {}
        self._most_watched: int | None = None

    async def watch(self, threads: Iterable[str]) -> None:
        """Holds for every connection to come. SSE takes it only when it opens, so it opens anew."""
        wanted = list(dict.fromkeys(threads))
        if wanted:
            await self._check_count(len(wanted))
        if wanted == self._watched.threads:
            return
        self._watched.threads = wanted
        line = self._feed.line
        if isinstance(line, Frames):
            with contextlib.suppress(LineLostError):
                await line.ask({"type": "watch", "threads": wanted})
        elif line is not None:
            self._feed.interrupt()

    async def _check_count(self, count: int) -> None:
        """Asks the server once how many it allows. If it cannot be asked now, it refuses later."""
        with contextlib.suppress(UnreachableError):
            if self._most_watched is None:
                answer = await self._calls.call("GET", "/v1/limits")
                self._most_watched = answer["limits"]["watched_threads"]
        if self._most_watched is not None and count > self._most_watched:
            raise ValueError(f"at most {self._most_watched} threads can be watched")

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
