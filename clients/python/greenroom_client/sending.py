"""The offline queue: each send happens once, in order within its thread."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

from greenroom_client.backoff import Backoff, RetryBudget
from greenroom_client.calls import Calls
from greenroom_client.errors import (
    ClosedError,
    GreenroomError,
    Problem,
    QueueFullError,
    UnreachableError,
)
from greenroom_client.limits import ClientLimits
from greenroom_client.link import Link
from greenroom_client.queue_file import Draft, NoQueueFile, QueueFile
from greenroom_client.state import State
from greenroom_client.timing import Timing, end
from greenroom_client.tokens import Tokens
from greenroom_client.websocket import Frames, LineLostError

log = logging.getLogger("greenroom_client")

Json = dict[str, Any]
SendState = Literal["queued", "sending", "sent", "failed"]


class QueuedSend:
    """One send on its way. `message` is there once it is sent, `problem` if it was refused."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.state: SendState = "queued"
        self.message: Json | None = None
        self.problem: Problem | None = None
        self._stopped: GreenroomError | None = None
        self._over = asyncio.Event()

    @property
    def client_id(self) -> str:
        return self.draft.client_id

    @property
    def is_over(self) -> bool:
        return self.state in ("sent", "failed")

    async def done(self) -> Json:
        """The message. Raises Problem if it was refused, ClosedError if the client closes first:
        it then stays in the queue's file, if there is one."""
        await self._over.wait()
        if self.message is not None:
            return self.message
        raise self.problem or self._stopped or ClosedError("the client is closed")

    def succeed(self, message: Json) -> None:
        self.state, self.message = "sent", message
        self._over.set()

    def fail(self, problem: Problem) -> None:
        self.state, self.problem = "failed", problem
        self._over.set()

    def stop(self, error: GreenroomError) -> None:
        """Nothing more happens to it here."""
        if not self.is_over:
            self.state, self._stopped = "queued", error
            self._over.set()


class SendQueue:
    def __init__(
        self,
        file: QueueFile | NoQueueFile,
        frames: Callable[[], Frames | None],
        calls: Calls,
        link: Link,
        tokens: Tokens,
        budget: RetryBudget,
        state: State,
        timing: Timing,
        limits: ClientLimits,
    ) -> None:
        self._file = file
        self._frames = frames
        self._calls = calls
        self._link = link
        self._tokens = tokens
        self._budget = budget
        self._state = state
        self._timing = timing
        self._limits = limits
        self._waiting: dict[str, QueuedSend] = {}
        self._threads: dict[str, deque[QueuedSend]] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(limits.sends_at_once)
        self._link_backoff = Backoff(timing, limits)
        self._hold_until_s = timing.now_s()
        self._stopped: GreenroomError | None = None

    def start(self) -> None:
        """Take up what an earlier client left."""
        for draft in self._file.load():
            self._admit(QueuedSend(draft))

    def pending(self) -> list[QueuedSend]:
        """In the order in which they were queued."""
        return list(self._waiting.values())

    def put(self, draft: Draft) -> QueuedSend:
        """On disk when it returns, if there is a file. A repeat of what waits is that one."""
        if self._stopped is not None:
            raise self._stopped
        known = self._waiting.get(draft.client_id)
        if known is not None:
            if known.draft != draft:
                raise ValueError(f"client_id {draft.client_id} waits with another message")
            return known
        if len(self._waiting) >= self._limits.queued_sends:
            raise QueueFullError(f"{len(self._waiting)} sends are waiting")
        self._file.save([*(each.draft for each in self._waiting.values()), draft])
        return self._admit(QueuedSend(draft))

    def _admit(self, send: QueuedSend) -> QueuedSend:
        thread_id = send.draft.thread_id
        self._waiting[send.client_id] = send
        self._threads.setdefault(thread_id, deque()).append(send)
        if thread_id not in self._workers:
            self._workers[thread_id] = asyncio.create_task(self._work(thread_id))
        return send

    async def stop(self) -> None:
        self._give_up(ClosedError("the client is closed"))
        await end(*self._workers.values())
        self._tidy()

    def _give_up(self, error: GreenroomError) -> None:
        """What waits stays in the file, and nothing more happens to it here."""
        self._stopped = error
        for send in self._waiting.values():
            send.stop(error)

    async def _work(self, thread_id: str) -> None:
        """The sends of one thread, one after the other."""
        sends, backoff = self._threads[thread_id], Backoff(self._timing, self._limits)
        while sends:
            await self._timing.sleep_until(self._hold_until_s)
            async with self._slots, self._link.turn():
                if self._stopped is not None:
                    return
                if self._timing.now_s() < self._hold_until_s:
                    continue
                wait_s = await self._try(sends[0], backoff)
            if sends[0].is_over:
                self._remove(sends.popleft())
                backoff.reset()
            elif wait_s:
                await self._timing.sleep(wait_s)
        # In the same step as the last look at the queue: whoever is queued after it starts anew.
        del self._workers[thread_id], self._threads[thread_id]

    async def _try(self, send: QueuedSend, backoff: Backoff) -> float:
        """One attempt. Returns how long this thread should wait before another."""
        send.state = "sending"
        try:
            with self._state.mark() as mark:
                message = await self._deliver(send.draft)
                self._state.note_sent(message, mark)
        except Problem as problem:
            return self._after_problem(send, problem, backoff)
        except LineLostError:
            # The feed, whose line it was, finds out whether the server is still there.
            self._link.down(0)
            return 0.0
        except UnreachableError:
            self._link.down(self._link_backoff.next_s())
            return 0.0
        except Exception:
            log.exception("a send failed in a way that nobody thought of; it stays in the queue")
            return backoff.next_s()
        finally:
            if not send.is_over:
                send.state = "queued"
        self._note_answer()
        self._budget.note_success()
        send.succeed(message)
        return 0.0

    async def _deliver(self, draft: Draft) -> Json:
        body: Json = {"client_id": draft.client_id, "body": draft.body}
        if draft.attachments:
            body["attachments"] = [{"file_id": each} for each in draft.attachments]
        if draft.reply_to is not None:
            body["reply_to"] = draft.reply_to
        message: Json
        frame = {"type": "send", "thread_id": draft.thread_id, **body}
        frames = self._frames()
        if frames is not None and frames.takes(frame):
            message = (await frames.ask(frame))["message"]
        else:
            path = f"/v1/threads/{quote(draft.thread_id, safe='')}/messages"
            message = await self._calls.call("POST", path, body=body)
        return message

    def _after_problem(self, send: QueuedSend, problem: Problem, backoff: Backoff) -> float:
        if problem.is_away:
            self._link.down(self._link_backoff.next_s(problem.retry_after_s))
            return 0.0
        self._note_answer()
        if problem.is_final:
            send.fail(problem)
            return 0.0
        if problem.status == 401:
            self._after_refused_token(problem)
        wait_s = backoff.next_s(problem.retry_after_s)
        if problem.status == 429:
            # The limit is the person's, so it holds for all their threads.
            self._hold_until_s = self._timing.now_s() + wait_s
        return wait_s

    def _after_refused_token(self, problem: Problem) -> None:
        """With a fixed token no send will ever succeed; with a source of them the next may."""
        self._tokens.refuse_current()
        if self._tokens.is_fixed:
            self._give_up(problem)

    def _note_answer(self) -> None:
        self._link.up()
        self._link_backoff.reset()

    def _remove(self, send: QueuedSend) -> None:
        del self._waiting[send.client_id]
        if not self._waiting:
            self._tidy()

    def _tidy(self) -> None:
        """Drop from the file what is sent; until then, and if it fails, a repeat has no effect."""
        try:
            self._file.save([each.draft for each in self._waiting.values()])
        except OSError:
            log.warning("the queue's file could not be written", exc_info=True)
