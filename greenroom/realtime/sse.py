"""The feed as server-sent events, for clients whose network blocks WebSockets."""

import asyncio
import random
from collections.abc import Callable

import msgspec

from greenroom.conversations.model import Cursor
from greenroom.conversations.rest.base import person_of
from greenroom.conversations.store import Changes
from greenroom.kernel.clock import rfc3339
from greenroom.platform.http.endpoint import Call, StreamWriter
from greenroom.presence.wire import Ephemeral
from greenroom.realtime.actions import Realtime
from greenroom.realtime.close_codes import CloseCode
from greenroom.realtime.connection_watch import ConnectionWatch, watched_in
from greenroom.realtime.feed_pages import render_page, report_broken
from greenroom.realtime.frames import Close, Hello, encode

HEARTBEAT = b":\n\n"
RETRY_LEAST_MS = 1000
RETRY_MOST_MS = 5000
EPHEMERAL_WAITING = 100


class EventStream:
    transport = "sse"

    def __init__(
        self, realtime: Realtime, call: Call, chance: Callable[[], float] = random.random
    ) -> None:
        query = call.query
        # A browser that reconnects by itself repeats the address and adds this header.
        since = call.header("last-event-id") or query.since
        self.id = realtime.new_stream_id()
        self.user_id = person_of(call)
        self.expires_at_ms: float = call.caller.expires_at or 0
        self._realtime = realtime
        self._since = None if since is None else Cursor.parse(since)
        self._wanted = watched_in(query.watch, realtime.limits)
        self._watching = ConnectionWatch(realtime.presence, self.user_id, self._tell)
        self._chance = chance
        self._corr_id = call.corr_id
        self._waiting: list[bytes] = []
        self._something = asyncio.Event()
        self._is_new = True
        self._has_page = False
        self._ended: CloseCode | None = None

    async def check(self) -> None:
        self._realtime.streams.check_room()
        await self._watching.check(self._wanted)

    async def run(self, writer: StreamWriter) -> None:
        realtime = self._realtime
        realtime.streams.add(self)
        realtime.note_seen(self.user_id)
        self._follower = realtime.feeds.follow(
            self.user_id, self._since, self._deliver, broken=self._end_broken
        )
        try:
            await writer.write(self._greeting())
            if self._wanted:
                await self._watching.watch(self._wanted)
            while self._ended is None:
                await self._write_next(writer)
            await self._write_waiting(writer)
            await writer.write(self._farewell(self._ended))
        finally:
            self._follower.close()
            realtime.streams.remove(self)
            self._watching.close()

    async def _write_next(self, writer: StreamWriter) -> None:
        try:
            async with asyncio.timeout(self._realtime.limits.heartbeat_s):
                await self._something.wait()
        except TimeoutError:
            await writer.write(HEARTBEAT)
            return
        self._something.clear()
        await self._write_waiting(writer)
        if self._has_page:
            self._has_page = False
            self._follower.done()

    async def _write_waiting(self, writer: StreamWriter) -> None:
        chunk, self._waiting = b"".join(self._waiting), []
        if chunk:
            await writer.write(chunk)

    def end(self, code: CloseCode) -> None:
        self._ended = code
        self._something.set()

    def _deliver(self, changes: Changes) -> None:
        if self._is_new:
            self._is_new = False
            self._realtime.acknowledge_soon(self.user_id, self._since, changes)
        show = self._realtime.views(self.user_id, changes.files).event
        page = render_page(changes, lambda event: _event(encode(show(event)), event.cursor))
        self._waiting += page.events
        if not changes.events and changes.cursor != self._since:
            # The cursor has moved without a visible event; a browser keeps the id all the same.
            self._waiting.append(b"id: %s\n\n" % str(changes.cursor).encode())
        self._has_page = True
        self._something.set()
        if page.failure is not None:
            self._follower.end_broken(page.failure)

    def _end_broken(self, failure: Exception) -> None:
        """The events before the failure are still sent."""
        report_broken(failure, self._corr_id)
        self.end(CloseCode.UNREADABLE)

    def _tell(self, event: Ephemeral) -> None:
        if len(self._waiting) < EPHEMERAL_WAITING:
            self._waiting.append(_event(encode(event)))
            self._something.set()

    def _greeting(self) -> bytes:
        # A random time per client, so that clients cut off together do not reconnect together.
        retry_ms = RETRY_LEAST_MS + int((RETRY_MOST_MS - RETRY_LEAST_MS) * self._chance())
        hello = Hello(self.id, rfc3339(int(self.expires_at_ms)))
        return b"retry: %d\n\n" % retry_ms + _named(b"hello", hello)

    def _farewell(self, code: CloseCode) -> bytes:
        after_ms = int(code.retry_most_ms * self._chance())
        close = Close(code.value, code.reason, code.reconnect, after_ms)  # type: ignore[arg-type]
        return _named(b"close", close)


def _event(data: bytes, cursor: Cursor | None = None) -> bytes:
    head = b"" if cursor is None else b"id: %s\n" % str(cursor).encode()
    return b"%sdata: %s\n\n" % (head, data)


def _named(name: bytes, data: msgspec.Struct) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name, encode(data))
