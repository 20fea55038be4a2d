"""Changing a thread: decide on what is there, commit on condition that it still is, then project.

A process takes one change of a thread at a time, and remembers how it left the thread: the next one
needs no read. Whoever loses against another process decides anew. A refusal is only ever given on
what has just been read.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from greenroom.conversations.keys_dynamodb import answer_key, thread_key
from greenroom.conversations.model import DAY_MS, Thread
from greenroom.conversations.people import Profiles
from greenroom.conversations.projection_dynamodb import Projector, Remembered, Turns, pause
from greenroom.conversations.records_dynamodb import Change, Record, Write, encode_record
from greenroom.conversations.rows_dynamodb import Packed, Row, after, beside, inbox_row
from greenroom.conversations.states_dynamodb import (
    ThreadState,
    public_thread,
    state_from,
    state_item,
    thread_for,
)
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import IdempotencyMismatch, Problem, ThreadNotFound, Unavailable
from greenroom.kernel.ids import Randomness
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put, Table
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept, Once

T = TypeVar("T")
Decide = Callable[[Change], Awaitable[T]]

ATTEMPTS = 16
BUSY_RETRY_S = 1


class StaleThread(Exception):  # noqa: N818 (an answer that callers expect)
    """Somebody else has changed the thread, or is doing so: decide anew."""


class WriteRefused(Exception):  # noqa: N818 (an answer that callers expect)
    """Something else that the change writes was there already: the change's writes by their place,
    with the item that was there."""

    def __init__(self, found: dict[int, Item | None]) -> None:
        super().__init__("a condition of the change does not hold")
        self.found = found


class Threads:
    def __init__(
        self,
        table: Table,
        projector: Projector,
        profiles: Profiles,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
    ) -> None:
        self.table = table
        self.projector = projector
        self.profiles = profiles
        self.clock = clock
        self.limits = limits
        self.randomness = randomness
        self._known: Remembered[str, ThreadState] = Remembered(clock)
        self._turns: Turns[str] = Turns()

    # Reading.

    async def read(self, thread_id: str) -> ThreadState | None:
        item = await self.table.get(thread_key(thread_id))
        return None if item is None else state_from(item)

    async def shown(self, viewer: str, state: ThreadState) -> Thread:
        """The thread as it is, for one who sees it."""
        row = await self.projector.row(state.id, viewer, state.members[viewer].ver)
        return await self._for_viewer(viewer, state, row.packed)

    async def shown_after(self, viewer: str | None, change: Change) -> Thread:
        """The thread as it will be once the change is committed."""
        packed = None
        if viewer is not None:
            packed = (await self.row_before(viewer, change)).packed
            for step in change.steps_of(viewer):
                packed = after(packed, step.what, viewer, change.state.kind)
            if packed is not None:
                packed = beside(packed, viewer, change.state.kind, change.state.stands)
        return await self._for_viewer(viewer, change.state, packed)

    async def row_before(self, user: str, change: Change) -> Row:
        member = change.before.members.get(user)
        if member is None or not member.ver:
            return Row(change.before.id, user, 0, 0, None)
        return await self.projector.row(change.before.id, user, member.ver)

    async def _for_viewer(
        self, viewer: str | None, state: ThreadState, packed: Packed | None
    ) -> Thread:
        if viewer is not None and packed is None:
            raise ThreadNotFound
        return thread_for(
            state.id,
            public_thread(state),
            await self.profiles(list(state.members)),
            viewer=viewer,
            inbox=None if packed is None else inbox_row(state.id, packed),
            floor="" if packed is None else packed.floor,
            stands=state.stands,
        )

    # Changing.

    @asynccontextmanager
    async def turn(self, thread_id: str) -> AsyncIterator[None]:
        async with self._turns.of(thread_id):
            yield

    async def change(self, thread_id: str, decide: Decide[T], once: Once | None = None) -> T | Kept:
        """Let `decide` change the thread; what it returns is returned, and kept under a `Once`."""
        async with self.turn(thread_id):
            for attempt in range(ATTEMPTS):
                await pause(attempt)
                known = self._known.get(thread_id) if attempt == 0 else None
                state = known or await self.read(thread_id)
                if state is None:
                    raise ThreadNotFound
                change = self.begin(state)
                try:
                    outcome = await decide(change)
                except Problem:
                    if known is None:
                        raise
                    self._known.forget(thread_id)
                    continue
                if change.is_empty and known is not None:
                    self._known.forget(thread_id)
                    continue
                kept = await self._commit_once(change, outcome, once)
                if kept is not None:
                    return outcome if kept is change else kept  # type: ignore[return-value]
        raise _too_busy()

    async def _commit_once(
        self, change: Change, outcome: object, once: Once | None
    ) -> Kept | Change | None:
        """The change itself when it has happened, what was kept before when it has happened then,
        None when it must be decided anew."""
        if change.is_empty:
            answer = None if once is None else once.answer(outcome)
            if once is None or answer is None:
                return change
            kept = await self.keep_refusal(once, answer)
            return change if kept == answer else kept
        if once is not None:
            change.writes.append(self.keeping(once, once.answer(outcome)))
        try:
            record = await self.commit(change)
        except StaleThread:
            return None
        except WriteRefused as refused:
            place = len(change.writes) - 1
            if once is not None and place in refused.found:
                return _kept(refused.found[place], once)
            return None
        if record is not None:
            await self.projector.project(record)
        return change

    def begin(self, state: ThreadState) -> Change:
        return Change(state, now_ms=self.clock(), randomness=self.randomness)

    def known(self, thread_id: str) -> ThreadState | None:
        return self._known.get(thread_id)

    def forget(self, thread_id: str) -> None:
        self._known.forget(thread_id)

    async def commit(self, change: Change, *, is_new: bool = False) -> Record | None:
        """All of the change or nothing. Raises StaleThread or WriteRefused."""
        state, record = change.seal()
        condition, values = "ver = :before", {":before": change.before.ver}
        if is_new:
            condition, values = UNLESS_THERE, {}
        ops: list[Write] = [Put(state_item(state), condition, values)]
        if record is not None:
            pk, sk = self.projector.key_of(record)
            ops.append(
                Put({"pk": pk, "sk": sk, "at": record.at_ms, "record": encode_record(record)})
            )
        ahead = len(ops)
        try:
            await self.table.transact([*ops, *change.writes])
        except Cancelled as cancelled:
            self._known.forget(state.id)
            if 0 in cancelled.failed or not cancelled.failed:
                raise StaleThread from cancelled
            raise WriteRefused(
                {place - ahead: cancelled.reasons[place].item for place in cancelled.failed}
            ) from cancelled
        except Unavailable:
            self._known.forget(state.id)
            raise
        self._known.keep(state.id, state)
        return record

    # Answers under a key.

    def keeping(self, once: Once, answer: Kept) -> Put:
        pk, sk = answer_key(once.caller, once.route, once.key)
        kept = {"pk": pk, "sk": sk, "f": once.fingerprint, "s": answer.status, "b": answer.body}
        return self.unless_kept({**kept, **self.kept_until()})

    def unless_kept(self, item: Item) -> Put:
        """What is past its keeping time does not count, whether or not it is still there."""
        cutoff_ms = item["at"] - self.limits.idempotency_kept_days * DAY_MS
        condition = f"{UNLESS_THERE} OR #at < :cutoff"
        return Put(item, condition, {":cutoff": cutoff_ms}, {"#at": "at"})

    def kept_until(self) -> Item:
        now_ms = self.clock()
        return {"at": now_ms, "ttl": now_ms // 1000 + self.limits.idempotency_kept_days * 86_400}

    async def recall(self, once: Once) -> Kept | None:
        item = await self.table.get(answer_key(once.caller, once.route, once.key))
        if item is None or self.is_forgotten(item):
            return None
        return _kept(item, once)

    def is_forgotten(self, item: Item) -> bool:
        """Past its keeping time, whether or not the database has noticed."""
        kept_ms: int = self.limits.idempotency_kept_days * DAY_MS
        return bool(item["at"] < self.clock() - kept_ms)

    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        try:
            await self.table.write(self.keeping(once, refusal))
        except ConditionFailed as failed:
            return _kept(failed.item, once)
        return refusal


def _kept(item: Item | None, once: Once) -> Kept:
    if item is None:
        raise Unavailable("The key's first request has just been forgotten.")
    if item["f"] != once.fingerprint:
        raise IdempotencyMismatch
    return Kept(item["s"], item["b"])


def _too_busy() -> Unavailable:
    return Unavailable("Too many changes in this thread.", retry_after_s=BUSY_RETRY_S)
