"""The feed over a WebSocket, and the frames of clients, which are handled one after another."""

import asyncio
import logging
from collections.abc import Mapping

from msgspec import UNSET, Struct, UnsetType

from greenroom.conversations.attachments import FileView
from greenroom.conversations.model import Cursor, Thread
from greenroom.conversations.rest.base import person_of
from greenroom.conversations.store import Changes
from greenroom.conversations.wire import Views
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import InvalidRequest, Problem, Unreadable
from greenroom.platform.http.connections.frame_limit import FrameLimit
from greenroom.platform.http.endpoint import Call, Run, Socket, SocketEndpoint, Who
from greenroom.platform.http.problems import problem_from
from greenroom.platform.http.request_parsing import decode_json
from greenroom.presence.wire import Ephemeral
from greenroom.realtime.actions import Realtime
from greenroom.realtime.close_codes import CloseCode
from greenroom.realtime.connection_watch import ConnectionWatch, watched_in
from greenroom.realtime.feed_pages import render_page
from greenroom.realtime.frames import (
    AckFrame,
    AuthFrame,
    ClientFrame,
    DoneFrame,
    ErrorFrame,
    PingFrame,
    PongFrame,
    ReadFrame,
    SendFrame,
    SentFrame,
    ServerFrame,
    TypingFrame,
    WatchFrame,
    client_frames,
    encode,
    is_object,
    ref_of,
)

log = logging.getLogger("greenroom.realtime")


class SocketQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`watch` takes thread ids separated by commas."""

    since: str | None = None
    ticket: str | None = None
    watch: str | None = None


class RealtimeSockets:
    def __init__(self, realtime: Realtime) -> None:
        self._realtime = realtime

    def endpoints(self) -> list[SocketEndpoint]:
        return [
            SocketEndpoint(
                "/v1/ws",
                self.connect,
                "The feed over a WebSocket, and sends through it",
                Who.PERSON,
                SocketQuery,
            )
        ]

    async def connect(self, call: Call) -> Run:
        connection = Connection(self._realtime, call)
        await connection.check()
        return connection.run


class Connection:
    transport = "websocket"

    def __init__(self, realtime: Realtime, call: Call) -> None:
        self.id = realtime.new_stream_id()
        self.user_id = person_of(call)
        self.expires_at_ms: float = call.caller.expires_at or 0
        self._realtime = realtime
        self._corr_id = call.corr_id
        query = call.query
        self._since = None if query.since is None else Cursor.parse(query.since)
        self._watching = ConnectionWatch(realtime.presence, self.user_id, self._tell)
        self._wanted = watched_in(query.watch, realtime.limits)
        self._frame_limit = FrameLimit(realtime.limits)
        self._draining: asyncio.Task[None] | None = None
        self._is_new = True

    async def check(self) -> None:
        """Errors are answered before the connection opens."""
        self._realtime.streams.check_room()
        await self._watching.check(self._wanted)

    async def run(self, socket: Socket) -> None:
        realtime = self._realtime
        self._socket = socket
        realtime.streams.add(self)
        realtime.note_seen(self.user_id)
        self._follower = realtime.feeds.follow(
            self.user_id, self._since, self._deliver, broken=self._end_broken
        )
        try:
            if self._wanted:
                await self._watching.watch(self._wanted)
            while (text := await socket.receive_text()) is not None:
                await self._handle(text.encode())
                # Backpressure: no further frame is handled until the client reads its answers.
                await socket.wait_writable()
        finally:
            self._follower.close()
            realtime.streams.remove(self)
            self._watching.close()
            realtime.presence.connection_ended(self.id)
            if self._draining is not None:
                self._draining.cancel()

    def end(self, code: CloseCode) -> None:
        self._follower.close()
        self._socket.end(code, code.reason)

    # To the client.

    def _deliver(self, changes: Changes) -> None:
        if self._is_new:
            self._is_new = False
            self._realtime.acknowledge_soon(self.user_id, self._since, changes)
        show = self._views(changes.files).event
        page = render_page(changes, lambda event: encode(show(event)))
        self._socket.write(page.events)
        if page.failure is not None:
            self._follower.end_broken(page.failure)
        elif self._socket.is_writable:
            self._follower.done()
        else:
            self._draining = asyncio.create_task(self._drain())

    def _end_broken(self, failure: Exception) -> None:
        """Sends a problem document first, which has a corr_id to find the log entry by."""
        broken = failure if isinstance(failure, Problem) else Unreadable()
        self._socket.write([encode(self._refuse(broken, UNSET))])
        self.end(CloseCode.UNREADABLE)

    async def _drain(self) -> None:
        """Wait until the client has read. Close the connection if it takes too long."""
        try:
            async with asyncio.timeout(self._realtime.limits.slow_reader_s):
                await self._socket.wait_writable()
        except TimeoutError:
            self.end(CloseCode.TOO_SLOW)
        else:
            self._follower.done()

    def _tell(self, event: Ephemeral) -> None:
        """Dropped for a slow client: a later event has the current state."""
        if self._socket.is_writable:
            self._socket.write([encode(event)])

    def _views(self, files: Mapping[str, FileView] | None = None) -> Views:
        return self._realtime.views(self.user_id, files)

    # From the client.

    async def _handle(self, raw: bytes) -> None:
        if not self._frame_limit.allows(asyncio.get_running_loop().time()):
            self.end(CloseCode.TOO_MANY_FRAMES)
            return
        ref: str | UnsetType = UNSET
        try:
            frame: ClientFrame = decode_json(client_frames, raw)
            ref = frame.ref or UNSET
            answer = await self._answer(frame, ref)
        except InvalidRequest as wrong:
            if not is_object(raw):
                self.end(CloseCode.BAD_FRAME)
                return
            answer = self._refuse(wrong, ref or ref_of(raw))
        except Exception as error:  # noqa: BLE001 - every error becomes an error frame
            answer = self._refuse(error, ref)
        if answer is not None:
            self._socket.write([encode(answer)])

    async def _answer(self, frame: ClientFrame, ref: str | UnsetType) -> ServerFrame | None:
        realtime = self._realtime
        match frame:
            case SendFrame():
                return await self._send(frame, ref)
            case ReadFrame():
                return await self._read(frame, ref)
            case AuthFrame():
                return await self._renew(frame, ref)
            case PingFrame():
                return PongFrame(ref=ref)
            case AckFrame(cursor=cursor):
                await realtime.conversations.acknowledge(self.user_id, Cursor.parse(cursor))
            case TypingFrame(thread_id=thread_id, on=on):
                await realtime.presence.set_typing(self.user_id, thread_id, on, device=self.id)
            case WatchFrame(threads=threads):
                await self._watching.watch(threads)
        return DoneFrame(ref=ref) if ref is not UNSET else None

    async def _send(self, frame: SendFrame, ref: str | UnsetType) -> SentFrame:
        sent = await self._realtime.conversations.send(
            self.user_id,
            frame.thread_id,
            client_id=frame.client_id,
            body=frame.body,
            attachments=[each.file_id for each in frame.attachments],
            reply_to=frame.reply_to,
        )
        files = await self._realtime.conversations.files_in(self.user_id, [sent.message])
        return SentFrame(self._views(files).message(sent.message), sent.is_repeat, ref)

    async def _read(self, frame: ReadFrame, ref: str | UnsetType) -> DoneFrame:
        thread = await self._realtime.conversations.mark_read(
            self.user_id, frame.thread_id, frame.up_to
        )
        if not isinstance(thread, Thread) or thread.inbox is None:
            return DoneFrame(ref=ref)
        return DoneFrame(inbox=self._views().inbox(thread.inbox), ref=ref)

    async def _renew(self, frame: AuthFrame, ref: str | UnsetType) -> DoneFrame:
        expires_at_ms = await self._realtime.authenticate_again(self.user_id, frame.token)
        self.expires_at_ms = max(self.expires_at_ms, expires_at_ms)
        return DoneFrame(expires_at=rfc3339(int(self.expires_at_ms)), ref=ref)

    def _refuse(self, error: Exception, ref: str | UnsetType) -> ErrorFrame:
        problem = problem_from(error)
        if not isinstance(error, Problem) or isinstance(error, Unreadable):
            log.error(
                "%s while handling a frame",
                type(error).__qualname__,
                exc_info=error,
                extra={"corr_id": self._corr_id, "code": problem.code},
            )
        after_s = UNSET if problem.retry_after_s is None else round(problem.retry_after_s, 3)
        title = problem.title()
        return ErrorFrame(
            *(problem.status, problem.code, title, problem.detail or title, problem.hint),
            *(self._corr_id, after_s, ref, problem.extra.get("file_id", UNSET)),
        )
