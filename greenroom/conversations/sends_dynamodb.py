"""Appending messages on DynamoDB: sends that wait for the same thread share a transaction."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from greenroom.conversations.keys_dynamodb import answer_key, client_id_key
from greenroom.conversations.model import Message, ThreadKind
from greenroom.conversations.projection_dynamodb import pause
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.states_dynamodb import ThreadState
from greenroom.conversations.store import Send
from greenroom.conversations.threads_dynamodb import ATTEMPTS, StaleThread, Threads, WriteRefused
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    ParticipantMuted,
    Problem,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    Unavailable,
)
from greenroom.platform.dynamodb.table import UNLESS_THERE, Key, Put
from greenroom.platform.dynamodb.values import Item

SEND_WINDOW_MS = 60_000
SENDS_AT_ONCE = 30
"""Three items each and two for the thread: a transaction takes a hundred."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The send was made before; this is the message it made."""

    message_id: str


Outcome = Message | Repeat


@dataclass(frozen=True, slots=True)
class Waiting:
    send: Send
    done: "asyncio.Future[Outcome]"


class Sends:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._queues: dict[str, deque[Waiting]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = 0

    async def submit(self, send: Send) -> Outcome:
        if self._waiting >= self._threads.limits.send_queue:
            raise Unavailable("Too many sends are waiting.", retry_after_s=1)
        waiting = Waiting(send, asyncio.get_running_loop().create_future())
        self._waiting += 1
        queue = self._queues.get(send.thread_id)
        if queue is None:
            self._queues[send.thread_id] = deque([waiting])
            task = asyncio.create_task(self._serve(send.thread_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            queue.append(waiting)
        # A caller who goes away leaves their send behind: it may be on its way already.
        return await asyncio.shield(waiting.done)

    async def drain(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _serve(self, thread_id: str) -> None:
        queue = self._queues[thread_id]
        while queue:
            batch = _take(queue)
            self._waiting -= len(batch)
            await self._append_or_fail(thread_id, batch)
        del self._queues[thread_id]

    async def _append_or_fail(self, thread_id: str, batch: Sequence[Waiting]) -> None:
        try:
            await self._append(thread_id, batch)
        except BaseException as failure:  # noqa: BLE001 (each caller gets it)
            left = [waiting for waiting in batch if not waiting.done.done()]
            if len(batch) == 1 or isinstance(failure, Unavailable | asyncio.CancelledError):
                for waiting in left:
                    _fail(waiting, failure)
                return
            # One of them cannot be stored: those who wait beside it must not pay.
            for waiting in left:
                await self._append_or_fail(thread_id, [waiting])

    async def _append(self, thread_id: str, batch: Sequence[Waiting]) -> None:
        threads, left = self._threads, list(batch)
        async with threads.turn(thread_id):
            for attempt in range(ATTEMPTS):
                await pause(attempt)
                known = threads.known(thread_id) if attempt == 0 else None
                state = known or await threads.read(thread_id)
                change, accepted, refused = await self._judge(state, left, is_certain=known is None)
                if known is not None and refused:
                    continue
                for waiting, failure in refused:
                    _fail(waiting, failure)
                left = [waiting for waiting, _ in accepted]
                if change is None or not accepted:
                    return
                try:
                    record = await threads.commit(change)
                except StaleThread:
                    continue
                except WriteRefused as refusal:
                    left = await self._without_repeats(accepted, refusal)
                    if not left:
                        return
                    continue
                if record is not None:
                    await threads.projector.project(record)
                for waiting, message in accepted:
                    if not waiting.done.done():
                        waiting.done.set_result(message)
                return
        busy = Unavailable("Too many sends in this thread.", retry_after_s=1)
        for waiting in left:
            _fail(waiting, busy)

    async def _judge(
        self, state: ThreadState | None, left: Sequence[Waiting], *, is_certain: bool
    ) -> tuple[Change | None, list[tuple[Waiting, Message]], list[tuple[Waiting, Exception]]]:
        """The change that these sends make together, and those that it does not take. What is not
        certain is judged again, so nothing is looked up for it."""
        if state is None:
            return None, [], [(waiting, ThreadNotFound()) for waiting in left]
        change = self._threads.begin(state)
        accepted: list[tuple[Waiting, Message]] = []
        refused: list[tuple[Waiting, Exception]] = []
        for waiting in left:
            try:
                accepted.append((waiting, add_send(self._threads, change, waiting.send)))
            except Problem as problem:
                found: Exception | None = problem
                if is_certain and not isinstance(problem, ThreadNotFound):
                    found = await self._repeat_before(waiting, problem)
                if found is not None:
                    refused.append((waiting, found))
        return change, accepted, refused

    async def _repeat_before(self, waiting: Waiting, problem: Problem) -> Exception | None:
        """A repeat gets its message, whatever would be said to a new send; None: it has it."""
        send = waiting.send
        keys = [client_id_key(send.author_id, send.draft.client_id)]
        if send.key is not None:
            keys.append(send_answer_key(send.author_id, send.key))
        found = await self._threads.table.get_many(keys)
        items = [found[key] for key in keys if key in found]
        try:
            for item in items:
                if _is_answer(item) and self._threads.is_forgotten(item):
                    continue
                _settle(waiting, _repeat_of(send, item))
                return None
        except IdempotencyMismatch as mismatch:
            return mismatch
        return problem

    async def _without_repeats(
        self, accepted: Sequence[tuple[Waiting, Message]], refusal: WriteRefused
    ) -> list[Waiting]:
        """Answer those who were there before; the rest go on."""
        there = {
            (item["pk"], item["sk"]): item for item in refusal.found.values() if item is not None
        }
        left = []
        for waiting, _ in accepted:
            send = waiting.send
            by_client_id = there.get(client_id_key(send.author_id, send.draft.client_id))
            by_key = (
                None if send.key is None else there.get(send_answer_key(send.author_id, send.key))
            )
            if by_client_id is None and by_key is None:
                left.append(waiting)
                continue
            try:
                repeats = [_repeat_of(send, item) for item in (by_key, by_client_id) if item]
            except IdempotencyMismatch as mismatch:
                _fail(waiting, mismatch)
                continue
            if by_key is None and send.key is not None:
                await self._keep_key_of(send, repeats[0].message_id)
            _settle(waiting, repeats[0])
        return left

    async def _keep_key_of(self, send: Send, message_id: str) -> None:
        """A repeat under a further key: that key stands for the same message."""
        item = send_answer_item(self._threads, send, message_id)
        if item is not None:
            await self._threads.table.write(Put(item))


def add_send(threads: Threads, change: Change, send: Send) -> Message:
    """Make this send part of the change. Raises what the author is to be told."""
    state, author = change.state, send.author_id
    if not state.sees(author):
        raise ThreadNotFound
    check_may_send(state, author, change.now_ms)
    tat = _take_of_limit(state, send, change.now_ms)
    draft = send.draft
    message = change.append(
        author,
        body=draft.body,
        body_html=draft.body_html,
        reply_to=draft.reply_to,
        client_id=draft.client_id,
        send_hash=draft.hash(),
        audience=send.visible_to,
    )
    tats = {user: ms for user, ms in change.state.tats.items() if ms > change.now_ms}
    if tat > change.now_ms:
        tats[author] = tat
    change.state = replace(change.state, tats=tats)
    pk, sk = client_id_key(author, draft.client_id)
    item: Item = {"pk": pk, "sk": sk, "th": state.id, "m": message.id, "h": draft.hash()}
    change.writes.append(Put(item, UNLESS_THERE))
    answer = send_answer_item(threads, send, message.id)
    if answer is not None:
        change.writes.append(threads.unless_kept(answer))
    return message


def check_may_send(state: ThreadState, author: str, now_ms: int) -> None:
    until_ms = state.members[author].blocked_until_ms
    if state.locked or state.kind == ThreadKind.SYSTEM:
        raise ThreadLocked
    if until_ms is not None and until_ms > now_ms:
        raise ParticipantMuted(f"Until {rfc3339(until_ms)}.")
    others = [user for user in state.active() if user != author]
    if len(others) == 1 and (author, others[0]) in state.blocks:
        raise MsgBlockedByUser


def _take_of_limit(state: ThreadState, send: Send, now_ms: int) -> int:
    """GCRA: where the author's limit stands after this send."""
    tat = state.tats.get(send.author_id, now_ms)
    # A limit that seems to run far ahead is from a clock that has been set back since.
    tat = now_ms if tat > now_ms + 2 * SEND_WINDOW_MS else max(tat, now_ms)
    excess_ms = tat + send.cost_ms - now_ms - SEND_WINDOW_MS
    if send.cost_ms > 0 and excess_ms > 0:
        wait_s = min(excess_ms, send.cost_ms) / 1000
        raise RateLimited("Too many messages in this thread.", retry_after_s=wait_s)
    return tat + send.cost_ms


def send_answer_key(author: str, key: str) -> Key:
    return answer_key(f"person:{author}", "send", key)


def send_answer_item(threads: Threads, send: Send, message_id: str) -> Item | None:
    """What a send keeps under its Idempotency-Key: which message it made."""
    if send.key is None:
        return None
    pk, sk = send_answer_key(send.author_id, send.key)
    return {
        "pk": pk,
        "sk": sk,
        "f": send.fingerprint or b"",
        "th": send.thread_id,
        "m": message_id,
        **threads.kept_until(),
    }


def _is_answer(item: Item) -> bool:
    return "f" in item


def _repeat_of(send: Send, item: Item) -> Repeat:
    if _is_answer(item):
        is_same = item["f"] == send.fingerprint
    else:
        is_same = item["th"] == send.thread_id and item["h"] == send.draft.hash()
    if not is_same:
        raise IdempotencyMismatch("This client_id or key was used for another message.")
    return Repeat(item["m"])


def _take(queue: deque[Waiting]) -> list[Waiting]:
    """The next few; two that name the same client_id or key come one after the other."""
    batch: list[Waiting] = []
    seen: set[tuple[str, str, str]] = set()
    while queue and len(batch) < SENDS_AT_ONCE:
        send = queue[0].send
        names = {(send.author_id, "client_id", send.draft.client_id)}
        if send.key is not None:
            names.add((send.author_id, "key", send.key))
        if names & seen:
            break
        seen |= names
        batch.append(queue.popleft())
    return batch


def _settle(waiting: Waiting, outcome: Outcome) -> None:
    if not waiting.done.done():
        waiting.done.set_result(outcome)


def _fail(waiting: Waiting, failure: BaseException) -> None:
    if not waiting.done.done():
        waiting.done.set_exception(failure)
