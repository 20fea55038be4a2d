"""Long-poll: an answer to `GET /v1/sync` that waits for the first event."""

import asyncio
from dataclasses import replace

from greenroom.conversations.model import Cursor
from greenroom.conversations.store import Changes
from greenroom.platform.http.endpoint import Caller
from greenroom.realtime.actions import Realtime
from greenroom.realtime.close_codes import CloseCode


class LongPoll:
    transport = "longpoll"

    def __init__(self, realtime: Realtime, user_id: str, caller: Caller) -> None:
        self.id = realtime.new_stream_id()
        self.user_id = user_id
        self.expires_at_ms: float = caller.expires_at or 0
        self._realtime = realtime
        self._answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._latest: Changes | None = None

    async def wait(self, since: Cursor | None, limit: int, wait_s: int) -> Changes:
        """The first new events; none when the time is up or the server stops. Raises Unavailable
        and Unreadable."""
        realtime = self._realtime
        realtime.streams.check_room()
        realtime.streams.add(self)
        self._since = since
        self._follower = realtime.feeds.follow(
            self.user_id, since, self._deliver, broken=self._fail, fail=self._fail
        )
        try:
            async with asyncio.timeout(wait_s):
                await self._answered
        except TimeoutError:
            pass
        finally:
            self._follower.close()
            realtime.streams.remove(self)
        if self._latest is None:
            # Ended before the first query; the answer needs a cursor all the same.
            self._latest = await realtime.conversations.changes(self.user_id, since, limit)
        return _first(self._latest, limit)

    def end(self, code: CloseCode) -> None:  # noqa: ARG002 - an empty answer needs no code
        if not self._answered.done():
            self._answered.set_result(None)

    def _deliver(self, changes: Changes) -> None:
        if self._latest is None:
            self._realtime.acknowledge_soon(self.user_id, self._since, changes)
        self._latest = changes
        if not changes.events:
            self._follower.done()
        elif not self._answered.done():
            self._answered.set_result(None)

    def _fail(self, failure: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(failure)


def _first(changes: Changes, limit: int) -> Changes:
    if len(changes.events) <= limit:
        return changes
    events = changes.events[:limit]
    return replace(changes, events=events, cursor=events[-1].cursor, has_more=True)
