"""The feed over HTTP: poll, long-poll and SSE, and what clients say about it."""

import re

from msgspec import Struct

from greenroom.conversations.model import Cursor
from greenroom.conversations.rest_face import person_of
from greenroom.conversations.store import Changes
from greenroom.conversations.wire import EventView
from greenroom.kernel.errors import InvalidRequest, ThreadNotFound
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Later, Stream, Who
from greenroom.realtime.actions import Realtime
from greenroom.realtime.longpoll import LongPoll
from greenroom.realtime.sse import EventStream

_STREAM_ID = re.compile(r"str_[0-9a-z]{26}")


class SyncQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Without `since`, from the oldest event kept. `wait` is in seconds."""

    since: str | None = None
    limit: int = 100
    wait: int = 0


class SyncAnswer(Struct, frozen=True):
    events: list[EventView]
    cursor: str
    has_more: bool


class Acknowledged(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything up to this cursor has arrived."""

    cursor: str


class StreamQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`watch` takes thread ids with commas between them. `Last-Event-ID` goes before `since`."""

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
                "Say what has arrived",
                Who.PERSON,
                {204: None},
                "Sync",
                description=(
                    "For SSE; a WebSocket has its own frame, and a poll says it with `since`. "
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
                "Let an open stream live on with a fresh token",
                Who.PERSON,
                {204: None},
                "Sync",
                description=(
                    "The token in `Authorization` takes the place of the one that the stream was "
                    "opened with. A stream that is gone, or another person's, is left as it is."
                ),
            ),
        ]

    async def sync(self, call: Call) -> Answer | Later:
        viewer, query = person_of(call), call.query
        since = None if query.since is None else Cursor.parse(query.since)
        realtime = self._realtime
        most_s, most = realtime.limits.sync_wait_s, realtime.limits.page
        if not 0 <= query.wait <= most_s:
            raise InvalidRequest(f"wait takes 0–{most_s} seconds")
        if not 1 <= query.limit <= most:
            raise InvalidRequest(f"limit takes 1–{most}")
        realtime.note_seen(viewer)
        if query.wait:
            poll = LongPoll(realtime, viewer, call.caller)

            async def come() -> Answer:
                return self._page(viewer, await poll.wait(since, query.limit, query.wait))

            return Later(come)
        changes = await realtime.conversations.changes(viewer, since, query.limit)
        await realtime.acknowledge(viewer, since, changes)
        return self._page(viewer, changes)

    def _page(self, viewer: str, changes: Changes) -> Answer:
        views = self._realtime.views(viewer)
        events = [views.event(event) for event in changes.events]
        return Answer(200, SyncAnswer(events, str(changes.cursor), changes.has_more))

    async def acknowledge(self, call: Call) -> Answer:
        viewer, cursor = person_of(call), Cursor.parse(call.body.cursor)
        await self._realtime.conversations.acknowledge(viewer, cursor)
        return Answer(204)

    async def stream_events(self, call: Call) -> Stream:
        events = EventStream(self._realtime, call)
        await events.check()
        # Buffering proxies would hold events back.
        return Stream(events.run, headers={"x-accel-buffering": "no"})

    async def renew_stream(self, call: Call) -> Answer:
        expires_at_ms = call.caller.expires_at
        stream_id = call.params["stream_id"]
        if expires_at_ms is not None and _STREAM_ID.fullmatch(stream_id):
            self._realtime.renew(stream_id, person_of(call), expires_at_ms)
        return Answer(204)
