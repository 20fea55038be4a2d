"""The client: one person's feed, sends and calls."""

import asyncio
import contextlib
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import httpx

from greenroom_client.acks import Acks
from greenroom_client.activity import Activity, Level
from greenroom_client.backoff import RetryBudget
from greenroom_client.calls import Calls
from greenroom_client.choice import KINDS, Choice, Kind
from greenroom_client.errors import ClosedError
from greenroom_client.feed import Feed
from greenroom_client.handover import Handover
from greenroom_client.limits import ClientLimits
from greenroom_client.link import Link
from greenroom_client.polling import Polling
from greenroom_client.presence import Presence
from greenroom_client.queue_file import Draft, NoQueueFile, QueueFile
from greenroom_client.rest import Rest
from greenroom_client.sending import QueuedSend, SendQueue
from greenroom_client.sse import SseTransport
from greenroom_client.state import State
from greenroom_client.timing import Timing, end
from greenroom_client.tokens import Tokens, TokenSource
from greenroom_client.transport import Transport, Watched
from greenroom_client.uploads import Uploads, source_of
from greenroom_client.websocket import Frames, WebSocketTransport

Json = dict[str, Any]


def _new_client_id() -> str:
    return secrets.token_hex(16)


class Client:
    """Use it with `async with`. The feed opens with the first look at `events()`.

    `token` is the person's token, or a function that returns one (or an awaitable of one) and is
    asked again before it ends. `since` is a `cursor` saved earlier. `http` is a transport of httpx
    for tests.
    """

    def __init__(
        self,
        url: str,
        token: TokenSource,
        *,
        since: str | None = None,
        transports: Sequence[Kind] = KINDS,
        activity: Level = "open",
        auto_ack: bool = True,
        queue_path: str | Path | None = None,
        tls: ssl.SSLContext | None = None,
        timing: Timing | None = None,
        limits: ClientLimits | None = None,
        new_client_id: Callable[[], str] = _new_client_id,
        http: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        timing, limits = timing or Timing(), limits or ClientLimits()
        url = url.rstrip("/")
        self._limits = limits
        self._auto_ack = auto_ack
        self._new_client_id = new_client_id
        self._http = httpx.AsyncClient(base_url=url, transport=http, verify=tls or True)
        self._activity = Activity(activity, timing, limits)
        self._tokens = Tokens(token, timing, limits)
        self._link = Link(timing)
        self.state = State(threads=limits.cached_threads, messages=limits.cached_messages)
        self._calls = Calls(self._http, self._tokens, limits)
        self.rest = Rest(self._calls)
        self._uploads = Uploads(self._calls, timing, limits)
        self._watched = Watched()
        self._handover = Handover(since, self.state, limits)
        budget = RetryBudget(timing, limits)
        self._feed = Feed(
            self._transports(url, tls, budget, timing),
            *(Choice(transports, limits), self._handover, self._link, self._activity, budget),
            *(self._tokens, self._calls, timing, limits),
        )
        self._presence = Presence(self._feed, self._calls, self._watched, timing, limits)
        self._queue = SendQueue(
            NoQueueFile() if queue_path is None else QueueFile(Path(queue_path)),
            *(self._frames, self._calls, self._link, self._tokens, budget, self.state),
            *(timing, limits),
        )
        self._acks = Acks(self._tell_ack, self._can_ack, self._feed.changed, timing, limits)
        self._acker: asyncio.Task[None] | None = None

    def _transports(
        self, url: str, tls: ssl.SSLContext | None, budget: RetryBudget, timing: Timing
    ) -> dict[Kind, Transport]:
        limits, calls, activity = self._limits, self._calls, self._activity
        wait_s = limits.long_poll_s
        return {
            "ws": WebSocketTransport(url, self._tokens, limits, self._watched, timing, tls),
            "sse": SseTransport(calls, self._tokens, limits, self._watched),
            "long-poll": Polling(calls, activity, budget, timing, limits, wait_s=wait_s),
            "poll": Polling(calls, activity, budget, timing, limits),
        }

    async def __aenter__(self) -> Self:
        self._queue.start()
        self._acker = asyncio.create_task(self._acks.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is left behind: no task, no socket. What was not sent stays in the file."""
        # Each step has its turn, also if the one before it is cancelled.
        async with contextlib.AsyncExitStack() as last_to_first:
            last_to_first.push_async_callback(self._http.aclose)
            last_to_first.push_async_callback(self._queue.stop)
            last_to_first.push_async_callback(self._feed.stop)
            last_to_first.push_async_callback(self._stop_acks)

    async def _stop_acks(self) -> None:
        if self._acker is not None:
            await end(self._acker)
        if self._link.is_up:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.close_timeout_s):
                    await self._acks.flush()

    def events(self) -> AsyncIterator[Json]:
        """Each event once, in order, over whatever transport works. One reader at a time.

        Ends when the client closes; raises Problem or ClosedError when the server will not have
        this person back.
        """
        return _Events(self._feed, self._handover, self._acks if self._auto_ack else None)

    @property
    def cursor(self) -> str | None:
        """Where the application is: save it, and give it back as `since`."""
        return self._handover.position

    @property
    def transport(self) -> Kind | None:
        """The one that is open just now."""
        return self._feed.transport

    async def use(self, kind: Kind | None) -> None:
        """Switch to this transport and stay with it; None chooses the best again.

        Returns when it is open, which takes as long as the server is away.
        """
        await self._feed.use(kind)

    @property
    def activity(self) -> Level:
        """`open`, `background` or `closed`: how often to poll. Closed: no feed at all."""
        return self._activity.level

    @activity.setter
    def activity(self, level: Level) -> None:
        self._activity.set_level(level)
        if level == "closed":
            self._feed.interrupt()

    def touch(self) -> None:
        """The person did something: they are not idle."""
        self._activity.touch()

    async def ack(self) -> None:
        """Everything that was handed over so far has arrived. For `auto_ack=False`.

        Told within a second; polls tell it by asking on.
        """
        self._acks.note(self._handover.handed)

    def _can_ack(self) -> bool:
        return self._feed.line is not None

    async def _tell_ack(self, cursor: str) -> None:
        frames = self._frames()
        if frames is not None:
            await frames.tell({"type": "ack", "cursor": cursor})
        else:
            await self._calls.call("POST", "/v1/sync/ack", body={"cursor": cursor})

    async def send(
        self,
        thread_id: str,
        body: str = "",
        client_id: str | None = None,
        reply_to: str | None = None,
        *,
        files: Iterable[str | Path] = (),
    ) -> Json:
        """The message, once the server has it on disk. Raises Problem if it is refused.

        `files` are paths, which are uploaded first; `body` is their caption and may be empty.
        Cancelling only stops the waiting once the send is in the queue.
        """
        attachments = [(await self.upload(thread_id, each))["id"] for each in files]
        queued = self.enqueue(
            thread_id, body, client_id=client_id, reply_to=reply_to, attachments=attachments
        )
        return await queued.done()

    async def upload(
        self,
        thread_id: str,
        content: str | Path | bytes,
        *,
        name: str | None = None,
        mime: str | None = None,
        purpose: str = "attachment",
    ) -> Json:
        """Upload a file for a message in this thread: a path, or bytes with a name. Returns it as
        the server has it, still to be processed; `enqueue` takes its `id`."""
        self._activity.touch()
        return await self._uploads.upload(thread_id, source_of(content, name, mime), purpose)

    def enqueue(
        self,
        thread_id: str,
        body: str = "",
        client_id: str | None = None,
        reply_to: str | None = None,
        *,
        attachments: Iterable[str] = (),
    ) -> QueuedSend:
        """Send as soon as possible, once, after what was queued for this thread before.
        `attachments` are ids of files that `upload` returned."""
        self._activity.touch()
        self._presence.forget(thread_id)
        client_id = client_id or self._new_client_id()
        draft = Draft(client_id, thread_id, body, reply_to, tuple(attachments))
        return self._queue.put(draft)

    def pending(self) -> list[QueuedSend]:
        """What waits to be sent, also from an earlier client with the same file."""
        return self._queue.pending()

    def _frames(self) -> Frames | None:
        line = self._feed.line
        return line if isinstance(line, Frames) else None

    async def load(self, **filters: Any) -> Json:
        """A page of the inbox, into `state`. Before the first `events()` without `since`: the feed
        goes on from there instead of from the oldest event kept. Load messages after it: what was
        read before is not followed by the feed."""
        with self.state.mark() as mark:
            page = await self.rest.inbox(**filters)
            self.state.load_threads(page["items"], mark)
        if self._handover.position is None and not self._feed.is_started:
            self._handover.position = page["sync_cursor"]
        return page

    async def load_messages(self, thread_id: str) -> list[Json]:
        """The newest messages of a thread, into `state`."""
        with self.state.mark() as mark:
            page = await self.rest.messages(thread_id)
            self.state.load_messages(thread_id, page["items"], mark)
        return self.messages(thread_id)

    def messages(self, thread_id: str) -> list[Json]:
        """The newest that are known, in order: loaded, sent, or told by events taken so far."""
        return self.state.messages(thread_id)

    async def watch(self, threads: Iterable[str]) -> None:
        """Be told who types and who is there in these threads, and in no others."""
        await self._presence.watch(threads)

    async def typing(self, thread_id: str, on: bool = True) -> None:
        """Tell the others, not more often than they need to hear it."""
        await self._presence.typing(thread_id, on=on)


class _Events:
    def __init__(self, feed: Feed, handover: Handover, acks: Acks | None) -> None:
        self._feed = feed
        self._handover = handover
        self._acks = acks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Json:
        # Asking for the next one says that the last one is dealt with.
        if self._acks is not None:
            self._acks.note(self._handover.handed)
        self._feed.start()
        try:
            return await self._handover.next()
        except ClosedError as error:
            if error.code is None:
                raise StopAsyncIteration from None
            raise
