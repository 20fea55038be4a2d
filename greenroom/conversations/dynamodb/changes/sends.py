"""Appends messages on DynamoDB. Sends that wait for the same thread share a transaction."""

import asyncio
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.projection import pause
from greenroom.conversations.dynamodb.changes.threads import (
    ATTEMPTS,
    StaleThread,
    Threads,
    WriteRefused,
)
from greenroom.conversations.dynamodb.items.keys import answer_key, client_id_key
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.model import Draft, Message, ThreadKind
from greenroom.conversations.store import Send
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    ParticipantMuted,
    Problem,
    RateLimited,
    ThreadLocked,
    ThreadNotFound,
    ThreadReadOnly,
    Unavailable,
)
from greenroom.platform.batching import Batching
from greenroom.platform.dynamodb.table import UNLESS_THERE, Key, Put
from greenroom.platform.dynamodb.values import Item

SEND_WINDOW_MS = 60_000
SENDS_AT_ONCE = 30
"""Each send writes three items and the thread two; a transaction takes a hundred."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The send is a repeat of an earlier one, which made this message."""

    message_id: str


Outcome = Message | Repeat


@dataclass(slots=True, eq=False)
class PendingSend:
    """A send of a batch, and what becomes of it."""

    send: Send
    outcome: Outcome | Exception | None = None


@dataclass(slots=True)
class Queue:
    """The sends of one thread. There is one as long as some are not done."""

    batching: Batching[Send, Outcome]
    pending: int = 0


class Sends:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._queues: dict[str, Queue] = {}
        self._pending: set[asyncio.Future[Outcome]] = set()

    async def submit(self, send: Send) -> Outcome:
        if len(self._pending) >= self._threads.limits.send_queue:
            raise Unavailable("Too many sends are waiting.", retry_after_s=1)
        queue = self._queues.get(send.thread_id)
        if queue is None:
            queue = self._queues[send.thread_id] = self._new_queue()
        done = queue.batching.put(send)
        queue.pending += 1
        self._pending.add(done)
        done.add_done_callback(lambda done: self._end(send.thread_id, done))
        # A caller who goes away leaves their send behind: it may be on its way already.
        return await asyncio.shield(done)

    def _new_queue(self) -> Queue:
        limit = self._threads.limits.send_queue
        return Queue(Batching(self._append, _names, batch_limit=SENDS_AT_ONCE, queue_limit=limit))

    def _end(self, thread_id: str, done: "asyncio.Future[Outcome]") -> None:
        self._pending.discard(done)
        queue = self._queues[thread_id]
        queue.pending -= 1
        if not queue.pending:
            del self._queues[thread_id]

    async def find_before(self, author: str, thread_id: str, draft: Draft) -> str | None:
        """The id of the message that was sent with this client_id."""
        item = await self._threads.table.get(client_id_key(author, draft.client_id))
        if item is None:
            return None
        if item["th"] != thread_id or item["h"] != draft.hash():
            raise IdempotencyMismatch("This client_id was used for another message.")
        message_id: str = item["m"]
        return message_id

    async def drain(self) -> None:
        while self._pending:
            await asyncio.wait(self._pending)

    async def _append(self, sends: Sequence[Send]) -> list[Outcome | Exception]:
        batch = [PendingSend(send) for send in sends]
        await self._append_together(sends[0].thread_id, batch)
        busy = Unavailable("Too many sends in this thread.", retry_after_s=1)
        return [waiting.outcome or busy for waiting in batch]

    async def _append_together(self, thread_id: str, batch: Sequence[PendingSend]) -> None:
        """Give each of them its outcome; those without one at the end met too many others."""
        threads, left = self._threads, list(batch)
        async with threads.lock(thread_id):
            for attempt in range(ATTEMPTS):
                await pause(attempt)
                known = threads.cached(thread_id) if attempt == 0 else None
                state = known or await threads.read(thread_id)
                change, accepted, refused = await self._build_change(
                    state, left, is_fresh=known is None
                )
                if known is not None and refused:
                    continue
                for waiting, failure in refused:
                    waiting.outcome = failure
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
                    waiting.outcome = message
                return

    async def _build_change(
        self, state: StoredThread | None, left: Sequence[PendingSend], *, is_fresh: bool
    ) -> tuple[
        Change | None, list[tuple[PendingSend, Message]], list[tuple[PendingSend, Exception]]
    ]:
        """The change that these sends make together, the accepted and the refused ones. With a
        cached state (not `is_fresh`) refusals are checked again, so no repeat is searched for."""
        if state is None:
            return None, [], [(waiting, ThreadNotFound()) for waiting in left]
        change = self._threads.new_change(state)
        accepted: list[tuple[PendingSend, Message]] = []
        refused: list[tuple[PendingSend, Exception]] = []
        for waiting in left:
            try:
                accepted.append((waiting, add_send(self._threads, change, waiting.send)))
            except Problem as problem:
                found: Exception | None = problem
                if is_fresh and not isinstance(problem, ThreadNotFound):
                    found = await self._find_repeat(waiting, problem)
                if found is not None:
                    refused.append((waiting, found))
        return change, accepted, refused

    async def _find_repeat(self, waiting: PendingSend, problem: Problem) -> Exception | None:
        """A repeat gets its message even if a new send would be refused. None: it was a repeat and
        is answered; else the error to raise."""
        send = waiting.send
        keys = [client_id_key(send.author_id, send.draft.client_id)]
        if send.key is not None:
            keys.append(send_answer_key(send.author_id, send.key))
        found = await self._threads.table.get_many(keys)
        items = [found[key] for key in keys if key in found]
        try:
            for item in items:
                if _is_answer(item) and self._threads.is_expired(item):
                    continue
                waiting.outcome = _repeat_of(send, item)
                return None
        except IdempotencyMismatch as mismatch:
            return mismatch
        return problem

    async def _without_repeats(
        self, accepted: Sequence[tuple[PendingSend, Message]], refusal: WriteRefused
    ) -> list[PendingSend]:
        """Answer the sends that are repeats; return the others."""
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
                waiting.outcome = mismatch
                continue
            if by_key is None and send.key is not None:
                await self._keep_key_of(send, repeats[0].message_id)
            waiting.outcome = repeats[0]
        return left

    async def _keep_key_of(self, send: Send, message_id: str) -> None:
        """A repeat under another Idempotency-Key: store that this key made the same message."""
        item = send_answer_item(self._threads, send, message_id)
        if item is not None:
            await self._threads.table.write(Put(item))


def add_send(threads: Threads, change: Change, send: Send) -> Message:
    """Add this send to the change. Raises the error that the author gets."""
    state, author = change.state, send.author_id
    if not state.sees(author):
        raise ThreadNotFound
    check_may_send(state, author, change.now_ms)
    tat = _charge_rate_limit(state, send, change.now_ms)
    draft = send.draft
    message = change.append(
        author,
        kind=draft.kind,
        body=draft.body,
        body_html=draft.body_html,
        reply_to=draft.reply_to,
        client_id=draft.client_id,
        send_hash=draft.hash(),
        audience=send.visible_to,
        job_id=send.job_id,
        attachments=draft.attachments,
    )
    if send.job_id is not None and send.job_id != change.state.job_id:
        updated_ms = max(change.state.updated_at_ms, change.now_ms)
        change.state = replace(change.state, job_id=send.job_id, updated_at_ms=updated_ms)
        change.notify_all(author)
    tats = {user: ms for user, ms in change.state.tats.items() if ms > change.now_ms}
    if tat > change.now_ms:
        tats[author] = tat
    change.state = replace(change.state, tats=tats)
    pk, sk = client_id_key(author, draft.client_id)
    item: Item = {"pk": pk, "sk": sk, "th": state.id, "m": message.id, "h": draft.hash()}
    change.writes.append(Put(item, UNLESS_THERE))
    answer = send_answer_item(threads, send, message.id)
    if answer is not None:
        change.writes.append(threads.put_unless_kept(answer))
    return message


def check_may_send(state: StoredThread, author: str, now_ms: int) -> None:
    until_ms = state.members[author].blocked_until_ms
    if state.kind == ThreadKind.SYSTEM:
        raise ThreadReadOnly
    if state.locked:
        raise ThreadLocked
    if until_ms is not None and until_ms > now_ms:
        raise ParticipantMuted(f"Until {rfc3339(until_ms)}.")
    others = [user for user in state.active() if user != author]
    if len(others) == 1 and (author, others[0]) in state.blocks:
        raise MsgBlockedByUser


def _charge_rate_limit(state: StoredThread, send: Send, now_ms: int) -> int:
    """The author's theoretical arrival time (GCRA) after this send. Raises RateLimited."""
    tat = state.tats.get(send.author_id, now_ms)
    # A time far ahead comes from a clock that has been set back since.
    tat = now_ms if tat > now_ms + 2 * SEND_WINDOW_MS else max(tat, now_ms)
    excess_ms = tat + send.cost_ms - now_ms - SEND_WINDOW_MS
    if send.cost_ms > 0 and excess_ms > 0:
        wait_s = min(excess_ms, send.cost_ms) / 1000
        raise RateLimited("Too many messages in this thread.", retry_after_s=wait_s)
    return tat + send.cost_ms


def send_answer_key(author: str, key: str) -> Key:
    return answer_key(f"person:{author}", "send", key)


def send_answer_item(threads: Threads, send: Send, message_id: str) -> Item | None:
    """What is kept under a send's Idempotency-Key: the message that it made."""
    if send.key is None:
        return None
    pk, sk = send_answer_key(send.author_id, send.key)
    return {
        "pk": pk,
        "sk": sk,
        "f": send.fingerprint or b"",
        "th": send.thread_id,
        "m": message_id,
        **threads.kept_fields(),
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


def _names(send: Send) -> Iterator[Hashable]:
    """Two sends that name the same client_id or key come one after the other."""
    yield send.author_id, "client_id", send.draft.client_id
    if send.key is not None:
        yield send.author_id, "key", send.key
