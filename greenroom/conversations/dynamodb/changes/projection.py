"""Projects a committed change to the inbox row and the feed of each person it concerns.

For each of them there are two conditional writes, in this order:

1. the row: it moves to the version of the change, and stores the feed number that the event gets;
2. the feed entry at that number, which must be free.

Because the row says which entry must exist, any process can add a missing one after a crash, and
two that do so at once write the same. If an event of another thread has taken the number, the row
is changed to the next free one. Numbers have no gaps, so a reader cannot skip an event that is
still to come. The outbox record is deleted only when everybody has their row and entry.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from greenroom.conversations.dynamodb.changes.change import (
    Entry,
    OutboxRecord,
    ProjectionStep,
    RecipientGroup,
    decode_record,
)
from greenroom.conversations.dynamodb.changes.keyed_locks import KeyedLocks
from greenroom.conversations.dynamodb.changes.outbox_cleanup import OutboxCleanup
from greenroom.conversations.dynamodb.changes.recent_cache import RecentCache
from greenroom.conversations.dynamodb.items.keys import (
    ENTRIES,
    HEAD,
    entry_key,
    feed_partition,
    outbox_key,
    outbox_sort,
    row_key,
)
from greenroom.conversations.dynamodb.items.rows import (
    Row,
    Unchanged,
    apply_row_change,
    row_from,
    row_item,
    with_standing,
)
from greenroom.conversations.dynamodb.items.threads import NO_STANDING
from greenroom.conversations.model import DAY_MS
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.backoff import Backoff
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.table import UNLESS_THERE, Key, Put, Table, Update
from greenroom.platform.dynamodb.values import Item

Wake = Callable[[Iterable[str]], None]

ATTEMPTS = 20
PARALLEL = 16
BACKOFF = Backoff(base_ms=8, cap_ms=200, attempts=ATTEMPTS, floor_ms=0)
DAY_S = DAY_MS // 1000

log = logging.getLogger(__name__)


async def pause(attempt: int) -> None:
    """Wait before another attempt after a conflict: longer each time, and for a random time. There
    is no wait before the second attempt, because the first may have failed only because of the
    cache, and the time that a refusal takes must not reveal that."""
    if attempt > 1:
        await BACKOFF.pause(attempt - 2)


class Projector:
    def __init__(
        self, table: Table, *, clock: Clock, limits: Limits, wake: Wake, keeps_records: bool
    ) -> None:
        self._table = table
        self._clock = clock
        self._limits = limits
        self._wake = wake
        self._keeps_records = keeps_records
        """True if domain events are collected: then `Sweeper.hand_over` deletes the records."""
        self._rows: RecentCache[Key, Row] = RecentCache(clock)
        self._heads: RecentCache[str, int] = RecentCache(clock)
        self._locks: KeyedLocks[str] = KeyedLocks()
        self._parallel = asyncio.Semaphore(PARALLEL)
        self._in_progress: set[Key] = set()
        self._cleanup = OutboxCleanup(table, self._in_progress, keeps_records=keeps_records)

    async def project(self, record: OutboxRecord) -> bool:
        """Returns whether everybody concerned has their row and feed entry. If not, the record
        stays and the sweeper tries again."""
        key, heads = self.key_of(record), None
        self._in_progress.add(key)
        try:
            heads = await self._project_to_all(record)
            if heads is not None:
                await self._cleanup.add(key, heads)
        finally:
            if heads is None or self._keeps_records:
                self._in_progress.discard(key)
        return heads is not None

    async def project_fully(self, record: OutboxRecord) -> bool:
        """Like `project`, but also updates the feed heads before it returns, so that the caller can
        delete the record."""
        if self._cleanup.take_finished(self.key_of(record)):
            return True
        heads = await self._project_to_all(record)
        if heads is not None:
            await self._cleanup.raise_heads(heads)
        return heads is not None

    async def settle(self, record: OutboxRecord) -> bool:
        """Project what another process has left. Returns whether the record is still there although
        it is projected."""
        if self._keeps_records:
            return await self.project_fully(record)
        await self.project(record)
        return False

    async def _project_to_all(self, record: OutboxRecord) -> dict[str, int] | None:
        """The new feed head of everybody concerned; None if the projection to somebody failed."""
        results = await asyncio.gather(
            *(self._project_locked(user, record) for user in record.users()), return_exceptions=True
        )
        failures = [each for each in results if isinstance(each, BaseException)]
        reached = [each for each in results if not isinstance(each, BaseException)]
        self._wake([row.user_id for row, is_new in reached if is_new])
        for failure in failures:
            if not isinstance(failure, Exception):
                raise failure
            if not isinstance(failure, Unavailable):
                # The change is committed, so its author must not get an error for another's row.
                log.error(
                    "a change could not be projected to a participant's inbox and feed",
                    exc_info=failure,
                    extra={"event": record.thread_id},
                )
        if failures:
            log.warning(
                "a change is not in every feed yet; the sweeper will retry",
                extra={"event": record.thread_id},
            )
            return None
        return {row.user_id: row.n for row, _ in reached}

    def is_in_progress(self, key: Key) -> bool:
        return key in self._in_progress

    def key_of(self, record: OutboxRecord) -> Key:
        return outbox_key(record.thread_id, record.ver, self._limits.outbox_shards)

    async def row(self, thread_id: str, user: str, ver: int) -> Row:
        """A person's row, after projecting to it all changes up to this version of the thread."""
        async with self._locks.hold(user):
            row = self._rows.get(row_key(thread_id, user))
            if row is None or row.ver < ver:
                row = await self._load_row(thread_id, user)
            if row.ver < ver:
                await self._catch_up(row, ver + 1)
                row = await self._load_row(thread_id, user)
            return row

    async def append_alone(
        self, user: str, event: str, file_id: str, thread_id: str | None
    ) -> None:
        """Add an event about a file that only this person knows of. No change of a thread comes
        with it, so there is no row that names its number: version 0 stands for that."""
        at_ms, ttl = self._clock(), (self._limits.feed_kept_days + 1) * DAY_S
        step = ProjectionStep(Unchanged(), Entry(event, None, user, at_ms), file_id)
        async with self._locks.hold(user):
            for attempt in range(ATTEMPTS):
                await pause(attempt)
                row = Row(thread_id or "", user, 0, await self.read_head(user) + 1, None)
                try:
                    await self._table.write(Put(_entry_item(row, row.n, step, ttl), UNLESS_THERE))
                except ConditionFailed:
                    continue
                self._heads.keep(user, row.n)
                await self._cleanup.raise_heads({user: row.n})
                self._wake([user])
                return
        raise Unavailable("A person's feed is too busy.", retry_after_s=1)

    def known_head(self, user: str) -> int:
        """The largest feed number that this process knows of, 0 for none."""
        return self._heads.last(user) or 0

    async def drain(self) -> None:
        await self._cleanup.drain()

    async def _project_locked(self, user: str, record: OutboxRecord) -> tuple[Row, bool]:
        async with self._parallel, self._locks.hold(user):
            return await self._project_to(user, record)

    async def _project_to(self, user: str, record: OutboxRecord) -> tuple[Row, bool]:
        """The row after this change, and whether this call has changed it."""
        group = record.group_of(user)
        for attempt in range(ATTEMPTS):
            row = self._rows.get(row_key(record.thread_id, user))
            if row is None:
                row = await self._load_row(record.thread_id, user)
            if group is None or row.ver >= record.ver:
                return row, False
            if row.ver == group.users[user]:
                taken = await self._advance(row, record, group)
                if taken is not None:
                    return taken, True
                await pause(attempt)
                continue
            # The cached row may be old; the stored row may be behind.
            row = await self._load_row(record.thread_id, user)
            if row.ver < group.users[user]:
                await self._catch_up(row, record.ver)
        raise Unavailable("A participant's inbox is too busy.", retry_after_s=1)

    async def _advance(self, row: Row, record: OutboxRecord, group: RecipientGroup) -> Row | None:
        """None: another process has written the row meanwhile."""
        steps = group.steps
        head = self._heads.get(row.user_id)
        if head is None:
            head = await self.read_head(row.user_id)
        advanced = _advanced(row, record, group, head + len(steps))
        condition, values = UNLESS_THERE, None
        if row.ver:
            condition, values = "ver = :ver", {":ver": row.ver}
        try:
            await self._table.write(Put(row_item(advanced), condition, values))
        except ConditionFailed:
            self._rows.forget(row_key(row.thread_id, row.user_id))
            return None
        fed = await self._append_to_feed(advanced, steps)
        if fed is not None:
            self._rows.keep(row_key(row.thread_id, row.user_id), fed)
        return fed or advanced

    async def _append_to_feed(self, row: Row, steps: Sequence[ProjectionStep]) -> Row | None:
        """Put the entries at the numbers that the row has, or at the next free ones. None: the row
        has moved to a later version, so its entries exist already."""
        for attempt in range(ATTEMPTS):
            taken = await self._put_entries(row, steps)
            if taken is None or (taken["th"], taken["v"]) == (row.thread_id, row.ver):
                self._heads.keep(row.user_id, row.n)
                return row
            head = await self.read_head(row.user_id)
            moved = msgspec.structs.replace(row, n=head + len(steps))
            try:
                key = row_key(row.thread_id, row.user_id)
                values = {":n": moved.n, ":old": row.n, ":ver": row.ver}
                await self._table.write(
                    Update(key, "SET n = :n", "ver = :ver AND n = :old", values)
                )
            except ConditionFailed as failed:
                if failed.item is None or failed.item["ver"] != row.ver:
                    return None
                moved = row_from(failed.item)
            row = moved
            await pause(attempt)
        raise Unavailable("A participant's feed is too busy.", retry_after_s=1)

    async def _put_entries(self, row: Row, steps: Sequence[ProjectionStep]) -> Item | None:
        """None if all were put; else an item that is already at one of their numbers."""
        first = row.n - len(steps) + 1
        ttl = (self._limits.feed_kept_days + 1) * DAY_S
        puts = [
            Put(_entry_item(row, n, step, ttl), UNLESS_THERE)
            for n, step in enumerate(steps, start=first)
        ]
        for attempt in range(ATTEMPTS):
            try:
                if len(puts) == 1:
                    await self._table.write(puts[0])
                else:
                    await self._table.transact(puts)
            except ConditionFailed as failed:
                there = failed.item
            except Cancelled as cancelled:
                there = cancelled.reasons[cancelled.failed[0]].item if cancelled.failed else None
            else:
                return None
            if there is not None:
                return there
            # A transaction conflict: nothing is known of what is there.
            await pause(attempt)
        raise Unavailable("A participant's feed is too busy.", retry_after_s=1)

    async def _load_row(self, thread_id: str, user: str) -> Row:
        """The stored row, after making sure that its feed entry exists."""
        key = row_key(thread_id, user)
        item = await self._table.get(key)
        if item is None:
            self._rows.forget(key)
            return Row(thread_id, user, ver=0, n=0, packed=None)
        row = row_from(item)
        entry = await self._table.get(entry_key(user, row.n))
        if entry is None or (entry["th"], entry["v"]) != (thread_id, row.ver):
            row = await self._restore_entries(row)
        self._rows.keep(key, row)
        return row

    async def _restore_entries(self, row: Row) -> Row:
        item = await self._table.get(outbox_key(row.thread_id, row.ver, self._limits.outbox_shards))
        # Without a record the change was projected, and its entry has expired.
        group = None if item is None else decode_record(item["record"]).group_of(row.user_id)
        if group is None or self._is_expired(group):
            return row
        fed = await self._append_to_feed(row, group.steps)
        return fed or await self._load_row(row.thread_id, row.user_id)

    def _is_expired(self, group: RecipientGroup) -> bool:
        """Whether the entries have expired. Records can outlive entries; an expired entry is not
        put again, because later numbers may have been used and expired as well."""
        kept_ms: int = self._limits.feed_kept_days * DAY_MS
        return group.steps[-1].entry.at_ms < self._clock() - kept_ms

    async def _catch_up(self, row: Row, before: int) -> None:
        """Project the changes that other processes have committed and not projected, in order."""
        partition, _ = outbox_key(row.thread_id, 0, self._limits.outbox_shards)
        bounds = outbox_sort(row.thread_id, row.ver + 1), outbox_sort(row.thread_id, before - 1)
        for item in await self._table.query(partition, between=bounds):
            await self._project_to(row.user_id, decode_record(item["record"]))

    async def read_head(self, user: str) -> int:
        """The largest number in the feed: that of the head item, or of an entry after it, because
        heads are written later than entries."""
        items = await self._table.query(feed_partition(user), reverse=True, limit=2)
        head = head_number(items)
        if head:
            self._heads.keep(user, head)
        return head


def head_number(items: Collection[Item]) -> int:
    numbers = [
        item.get("last", 0) if item["sk"] == HEAD else int(item["sk"].removeprefix(ENTRIES), 16)
        for item in items
    ]
    return max(numbers, default=0)


def _advanced(row: Row, record: OutboxRecord, group: RecipientGroup, n: int) -> Row:
    packed = row.packed
    for step in group.steps:
        packed = apply_row_change(packed, step.row_change, row.user_id, record.kind)
    if packed is not None:
        thread = record.thread if record.shows_thread else packed.thread
        packed = msgspec.structs.replace(packed, thread=thread)
        packed = with_standing(packed, row.user_id, record.kind, record.standing or NO_STANDING)
    return Row(row.thread_id, row.user_id, record.ver, n, packed)


def _entry_item(row: Row, n: int, step: ProjectionStep, kept_s: int) -> Item:
    pk, sk = entry_key(row.user_id, n)
    entry = step.entry
    item: Item = {
        "pk": pk,
        "sk": sk,
        "t": entry.type,
        "th": row.thread_id,
        "v": row.ver,
        "at": entry.at_ms,
        "ttl": entry.at_ms // 1000 + kept_s,
    }
    if entry.message_id is not None:
        item["m"] = entry.message_id
    if entry.actor is not None:
        item["a"] = entry.actor
    if step.file_id is not None:
        item["f"] = step.file_id
    return item
