"""The HTTP endpoints of the feed: poll, long-poll, SSE, acknowledgement and stream renewal."""

import re

from msgspec import Struct

from greenroom.conversations.model import Cursor
from greenroom.conversations.rest.base import person_of
from greenroom.conversations.store import Changes
from greenroom.conversations.wire import EventView
from greenroom.kernel.errors import InvalidRequest, ThreadNotFound
from greenroom.platform.http.endpoint import Answer, Call, DelayedAnswer, Endpoint, Stream, Who
from greenroom.realtime.actions import Realtime
from greenroom.realtime.feed_pages import render_page
from greenroom.realtime.longpoll import LongPoll
from greenroom.realtime.sse import EventStream

_STREAM_ID = re.compile(r"str_[0-9a-z]{26}")


class SyncQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Without `since`, from the oldest event kept. `limit` is by default the most that the server
    allows (`page` of `GET /v1/limits`). `wait` is in seconds."""

    since: str | None = None
    limit: int | None = None
    wait: int = 0


class SyncAnswer(Struct, frozen=True):
    events: list[EventView]
    cursor: str
    has_more: bool


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True):
    """The client has received everything up to this cursor."""

    cursor: str


class StreamQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`watch` takes thread ids separated by commas. `Last-Event-ID` overrides `since`."""

    since: str | None = None
    ticket: str | None = None
    watch: str | None = None


class RealtimeRest:
    def __init__(self, realtime: Realtime) -> None:
        self._realtime = realtime

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/sync",
                self.sync,
                "What changed since a cursor",
                Who.PERSON,
                {200: SyncAnswer},
                "Sync",
                description=(
                    "Every change that you may see, exactly once, in order. With `wait` the answer "
                    "comes with the first event, or empty after that many seconds. Asking with "
                    "`since` acknowledges everything up to it. A `reset` event means: load the "
                    "inbox again and go on from the event's cursor."
                ),
                query=SyncQuery,
                waits=True,
            ),
            Endpoint(
                "POST",
                "/v1/sync/ack",
                self.acknowledge,
                "Acknowledge what has arrived",
                Who.PERSON,
                {204: None},
                "Sync",
                description=(
                    "For SSE; a WebSocket has its own frame, and a poll acknowledges with `since`. "
                    "Only moves forward, so repeating it is harmless."
                ),
                body=Acknowledged,
            ),
            Endpoint(
                "GET",
                "/v1/stream",
                self.stream_events,
                "The feed as server-sent events",
                Who.PERSON,
                {200: str},
                "Sync",
                description=(
                    "Each event is one `data:` line of JSON with its cursor as `id:`. Goes on "
                    "after `Last-Event-ID` or `since`."
                ),
                query=StreamQuery,
                media="text/event-stream",
                errors=(ThreadNotFound,),
                waits=True,
                tickets=True,
            ),
            Endpoint(
                "POST",
                "/v1/streams/{stream_id}/renew",
                self.renew_stream,
                "Renew an open stream with a fresh token",
                Who.PERSON,
                {204: None},
                "Sync",
                description=(
                    "The token in `Authorization` replaces the one that opened the stream. A "
                    "stream that is closed or another person's is left as it is."
                ),
            ),
        ]

    async def sync(self, call: Call) -> Answer | DelayedAnswer:
        viewer, query = person_of(call), call.query
        since = None if query.since is None else Cursor.parse(query.since)
        realtime = self._realtime
        most_s, most = realtime.limits.sync_wait_s, realtime.limits.page
        if not 0 <= query.wait <= most_s:
            raise InvalidRequest(f"wait takes 0–{most_s} seconds")
        limit = most if query.limit is None else query.limit
        if not 1 <= limit <= most:
            raise InvalidRequest(f"limit takes 1–{most}")
        realtime.note_seen(viewer)
        if query.wait:
            poll = LongPoll(realtime, viewer, call.caller)

            async def answer() -> Answer:
                return self._page(viewer, await poll.wait(since, limit, query.wait))

            return DelayedAnswer(answer)
        changes = await realtime.conversations.changes(viewer, since, limit)
        await realtime.acknowledge(viewer, since, changes)
        return self._page(viewer, changes)

    def _page(self, viewer: str, changes: Changes) -> Answer:
        page = render_page(changes, self._realtime.views(viewer, changes.files).event)
        has_more = changes.has_more or page.failure is not None
        return Answer(200, SyncAnswer(page.events, str(page.cursor), has_more))

    async def acknowledge(self, call: Call) -> Answer:
        viewer, cursor = person_of(call), Cursor.parse(call.body.cursor)
        await self._realtime.conversations.acknowledge(viewer, cursor)
        return Answer(204)

    async def stream_events(self, call: Call) -> Stream:
        events = EventStream(self._realtime, call)
        await events.check()
        # Tells proxies such as nginx not to buffer the events.
        return Stream(events.run, headers={"x-accel-buffering": "no"})

    async def renew_stream(self, call: Call) -> Answer:
        expires_at_ms = call.caller.expires_at
        stream_id = call.params["stream_id"]
        if expires_at_ms is not None and _STREAM_ID.fullmatch(stream_id):
            self._realtime.renew(stream_id, person_of(call), expires_at_ms)
        return Answer(204)
