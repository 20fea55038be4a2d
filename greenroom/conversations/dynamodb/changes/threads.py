"""Changes a thread with optimistic locking: read, decide, commit if unchanged, then project.

A process makes one change of a thread at a time and caches the thread's state, so that the next
change needs no read. If another process was faster, the change is decided again. A refusal is based
only on a state that was just read, never on the cache.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from greenroom.conversations.dynamodb.changes.change import (
    Change,
    OutboxRecord,
    Write,
    encode_record,
)
from greenroom.conversations.dynamodb.changes.keyed_locks import KeyedLocks
from greenroom.conversations.dynamodb.changes.projection import Projector, pause
from greenroom.conversations.dynamodb.changes.recent_cache import RecentCache
from greenroom.conversations.dynamodb.items.keys import answer_key, thread_key
from greenroom.conversations.dynamodb.items.rows import (
    Packed,
    Row,
    apply_row_change,
    inbox_row,
    with_standing,
)
from greenroom.conversations.dynamodb.items.threads import (
    StoredThread,
    public_thread,
    state_from,
    state_item,
    thread_for,
)
from greenroom.conversations.model import DAY_MS, Thread
from greenroom.conversations.people import Profiles
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
    """Another process has changed the thread, or is doing so: decide again."""


class WriteRefused(Exception):  # noqa: N818 (an answer that callers expect)
    """The condition of another write of the change failed. `found` has the existing items by their
    index in `Change.writes`."""

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
        self._cache: RecentCache[str, StoredThread] = RecentCache(clock)
        self._locks: KeyedLocks[str] = KeyedLocks()

    # Reading.

    async def read(self, thread_id: str) -> StoredThread | None:
        item = await self.table.get(thread_key(thread_id))
        return None if item is None else state_from(item)

    async def view(self, viewer: str, state: StoredThread) -> Thread:
        """The thread as it is now, for a viewer who sees it."""
        row = await self.projector.row(state.id, viewer, state.members[viewer].ver)
        return await self._for_viewer(viewer, state, row.packed)

    def for_server(self, state: StoredThread) -> Thread:
        """The thread without a viewer, and without names and pictures of people."""
        return thread_for(
            state.id, public_thread(state), {}, viewer=None, inbox=None, standing=state.standing
        )

    async def view_for_backend(self, state: StoredThread) -> Thread:
        return await self._for_viewer(None, state, None)

    async def view_after(self, viewer: str | None, change: Change) -> Thread:
        """The thread as it will be when the change is committed."""
        packed = None
        if viewer is not None:
            packed = (await self.row_before(viewer, change)).packed
            for step in change.steps_for(viewer):
                packed = apply_row_change(packed, step.row_change, viewer, change.state.kind)
            if packed is not None:
                packed = with_standing(packed, viewer, change.state.kind, change.state.standing)
        return await self._for_viewer(viewer, change.state, packed)

    async def row_before(self, user: str, change: Change) -> Row:
        member = change.before.members.get(user)
        if member is None or not member.ver:
            return Row(change.before.id, user, 0, 0, None)
        return await self.projector.row(change.before.id, user, member.ver)

    async def _for_viewer(
        self, viewer: str | None, state: StoredThread, packed: Packed | None
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
            standing=state.standing,
            external_key=state.external_key if viewer is None else None,
        )

    # Changing.

    @asynccontextmanager
    async def lock(self, thread_id: str) -> AsyncIterator[None]:
        async with self._locks.hold(thread_id):
            yield

    async def change(self, thread_id: str, decide: Decide[T], once: Once | None = None) -> T | Kept:
        """Change the thread as `decide` says. Returns what `decide` returns; with a `Once`, the
        answer made of it is kept."""
        async with self.lock(thread_id):
            for attempt in range(ATTEMPTS):
                await pause(attempt)
                known = self._cache.get(thread_id) if attempt == 0 else None
                state = known or await self.read(thread_id)
                if state is None:
                    raise ThreadNotFound
                change = self.new_change(state)
                try:
                    outcome = await decide(change)
                except Problem:
                    if known is None:
                        raise
                    self._cache.forget(thread_id)
                    continue
                if change.is_empty and known is not None:
                    self._cache.forget(thread_id)
                    continue
                kept = await self._commit_once(change, outcome, once)
                if kept is not None:
                    return outcome if kept is change else kept  # type: ignore[return-value]
        raise _too_busy()

    async def _commit_once(
        self, change: Change, outcome: object, once: Once | None
    ) -> Kept | Change | None:
        """The change itself if it was committed; the kept answer if it was committed before; None
        if it must be decided again."""
        if change.is_empty:
            answer = None if once is None else once.answer(outcome)
            if once is None or answer is None:
                return change
            kept = await self.keep_refusal(once, answer)
            return change if kept == answer else kept
        if once is not None:
            change.writes.append(self.put_answer(once, once.answer(outcome)))
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

    def new_change(self, state: StoredThread) -> Change:
        return Change(state, now_ms=self.clock(), randomness=self.randomness)

    def cached(self, thread_id: str) -> StoredThread | None:
        return self._cache.get(thread_id)

    def uncache(self, thread_id: str) -> None:
        self._cache.forget(thread_id)

    async def commit(self, change: Change, *, is_new: bool = False) -> OutboxRecord | None:
        """Write the thread, the outbox record and all other writes in one transaction. Raises
        StaleThread or WriteRefused."""
        state, record = change.finalize()
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
            self._cache.forget(state.id)
            if 0 in cancelled.failed or not cancelled.failed:
                raise StaleThread from cancelled
            raise WriteRefused(
                {place - ahead: cancelled.reasons[place].item for place in cancelled.failed}
            ) from cancelled
        except Unavailable:
            self._cache.forget(state.id)
            raise
        self._cache.keep(state.id, state)
        return record

    # Answers that are kept by Idempotency-Key.

    def put_answer(self, once: Once, answer: Kept) -> Put:
        pk, sk = answer_key(once.caller, once.route, once.key)
        kept = {"pk": pk, "sk": sk, "f": once.fingerprint, "s": answer.status, "b": answer.body}
        return self.put_unless_kept({**kept, **self.kept_fields()})

    def put_unless_kept(self, item: Item) -> Put:
        """A put that ignores an expired item, which DynamoDB may not have deleted yet."""
        cutoff_ms = item["at"] - self.limits.idempotency_kept_days * DAY_MS
        condition = f"{UNLESS_THERE} OR #at < :cutoff"
        return Put(item, condition, {":cutoff": cutoff_ms}, {"#at": "at"})

    def kept_fields(self) -> Item:
        now_ms = self.clock()
        return {"at": now_ms, "ttl": now_ms // 1000 + self.limits.idempotency_kept_days * 86_400}

    async def recall(self, once: Once) -> Kept | None:
        item = await self.table.get(answer_key(once.caller, once.route, once.key))
        if item is None or self.is_expired(item):
            return None
        return _kept(item, once)

    def is_expired(self, item: Item) -> bool:
        """Whether a kept answer has expired; DynamoDB deletes it some time later."""
        kept_ms: int = self.limits.idempotency_kept_days * DAY_MS
        return bool(item["at"] < self.clock() - kept_ms)

    async def keep_refusal(self, once: Once, refusal: Kept) -> Kept:
        try:
            await self.table.write(self.put_answer(once, refusal))
        except ConditionFailed as failed:
            return _kept(failed.item, once)
        return refusal


def _kept(item: Item | None, once: Once) -> Kept:
    if item is None:
        raise Unavailable("The answer kept under this key has just expired; try again.")
    if item["f"] != once.fingerprint:
        raise IdempotencyMismatch
    return Kept(item["s"], item["b"])


def _too_busy() -> Unavailable:
    return Unavailable("Too many changes in this thread.", retry_after_s=BUSY_RETRY_S)
