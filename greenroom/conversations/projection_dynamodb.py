"""From a committed change to what each person sees of it: their inbox row, their feed.

For each of them two conditional writes, in this order:

1. the row, which takes the version after the last that concerned them and names the number in the
   feed that the event is to have;
2. the entry in the feed at that number, which must be free.

The row says what is to be in the feed, so whoever comes by after a crash can put it there, and two
who come by at once put the same. If another thread's event has taken the number, the row names the
next free one. Numbers follow each other without holes, so no reader can pass an event that is still
to come. Only when everybody has theirs is the change's record taken away.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import msgspec

from greenroom.conversations.finishing_dynamodb import Finishing
from greenroom.conversations.keys_dynamodb import (
    ENTRIES,
    HEAD,
    entry_key,
    feed_partition,
    outbox_key,
    outbox_sort,
    row_key,
)
from greenroom.conversations.model import DAY_MS
from greenroom.conversations.records_dynamodb import Entry, Part, Record, decode_record
from greenroom.conversations.rows_dynamodb import Row, after, beside, row_from, row_item
from greenroom.conversations.states_dynamodb import NO_CONTRACT
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.table import UNLESS_THERE, Key, Put, Table, Update
from greenroom.platform.dynamodb.values import Item

Wake = Callable[[Iterable[str]], None]

ATTEMPTS = 20
AT_ONCE = 16
PAUSE_S = 0.002
LONGEST_PAUSE_S = 0.2
REMEMBERED = 20_000
REMEMBERED_MS = 500
DAY_S = DAY_MS // 1000

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

log = logging.getLogger(__name__)


async def pause(attempt: int) -> None:
    """Others are at the same place: wait longer each time, by chance. Not at all before the second
    attempt: it may be due to what was remembered, and how long a refusal takes must not tell."""
    if attempt > 1:
        await asyncio.sleep(random.random() * min(LONGEST_PAUSE_S, PAUSE_S * 2**attempt))  # noqa: S311


class Remembered(Generic[K, V]):
    """What was seen or written last, for the most recent of many. May be out of date: whoever uses
    it writes on condition that it is not. To lose costs as much as to win, so what is older than a
    moment, in which another process may have come by, is read again."""

    def __init__(self, clock: Clock, most: int = REMEMBERED) -> None:
        self._values: OrderedDict[K, tuple[int, V]] = OrderedDict()
        self._clock = clock
        self._most = most

    def get(self, key: K) -> V | None:
        at_ms, value = self._values.get(key, (0, None))
        return value if abs(self._clock() - at_ms) <= REMEMBERED_MS else None

    def last(self, key: K) -> V | None:
        """However long ago it was."""
        return self._values.get(key, (0, None))[1]

    def keep(self, key: K, value: V) -> None:
        self._values[key] = self._clock(), value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def forget(self, key: K) -> None:
        self._values.pop(key, None)


class Turns(Generic[K]):
    """One at a time for each key. Within this process: it saves conflicts, it decides nothing."""

    def __init__(self) -> None:
        self._locks: dict[K, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: K) -> AsyncIterator[None]:
        lock, waiting = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._locks.pop(key)
            if waiting > 1:
                self._locks[key] = lock, waiting - 1


class Projector:
    def __init__(
        self, table: Table, *, clock: Clock, limits: Limits, wake: Wake, keeps_records: bool
    ) -> None:
        self._table = table
        self._clock = clock
        self._limits = limits
        self._wake = wake
        self._keeps_records = keeps_records
        """Somebody takes the domain events out of the records, and the records away."""
        self._rows: Remembered[Key, Row] = Remembered(clock)
        self._heads: Remembered[str, int] = Remembered(clock)
        self._turns: Turns[str] = Turns()
        self._parallel = asyncio.Semaphore(AT_ONCE)
        self._under_way: set[Key] = set()
        self._finishing = Finishing(table, self._under_way)

    async def project(self, record: Record) -> bool:
        """Whether everybody concerned has theirs. What is missing is left to `settle`."""
        key, heads = self.key_of(record), None
        self._under_way.add(key)
        try:
            heads = await self._reach(record)
            if heads is not None:
                await self._finishing.add(None if self._keeps_records else key, heads)
        finally:
            if heads is None or self._keeps_records:
                self._under_way.discard(key)
        return heads is not None

    async def complete(self, record: Record) -> bool:
        """`project`, and nothing of it is left to do later: the record can go."""
        heads = await self._reach(record)
        if heads is not None:
            await self._finishing.raise_heads(heads)
        return heads is not None

    async def settle(self, record: Record) -> bool:
        """Finish what somebody else has left; says whether it stays all the same."""
        if self._keeps_records:
            return await self.complete(record)
        await self.project(record)
        return False

    async def _reach(self, record: Record) -> dict[str, int] | None:
        """How far the feeds of all concerned are with it, None if somebody's is not."""
        results = await asyncio.gather(
            *(self._project_for(user, record) for user in record.users()), return_exceptions=True
        )
        failures = [each for each in results if isinstance(each, BaseException)]
        reached = [each for each in results if not isinstance(each, BaseException)]
        self._wake([row.user_id for row, is_new in reached if is_new])
        for failure in failures:
            if not isinstance(failure, Unavailable):
                raise failure
        if failures:
            log.warning("a change is not yet in every feed", extra={"event": record.thread_id})
            return None
        return {row.user_id: row.n for row, _ in reached}

    def is_under_way(self, key: Key) -> bool:
        return key in self._under_way

    def key_of(self, record: Record) -> Key:
        return outbox_key(record.thread_id, record.ver, self._limits.outbox_shards)

    async def row(self, thread_id: str, user: str, ver: int) -> Row:
        """A person's row, brought up to this version of the thread if it is not there yet."""
        async with self._turns.of(user):
            row = self._rows.get(row_key(thread_id, user))
            if row is None or row.ver < ver:
                row = await self._load_row(thread_id, user)
            if row.ver < ver:
                await self._catch_up(row, ver + 1)
                row = await self._load_row(thread_id, user)
            return row

    def known_head(self, user: str) -> int:
        """The largest number that this process knows of, 0 for none."""
        return self._heads.last(user) or 0

    async def drain(self) -> None:
        await self._finishing.drain()

    async def _project_for(self, user: str, record: Record) -> tuple[Row, bool]:
        async with self._parallel, self._turns.of(user):
            return await self._take(user, record)

    async def _take(self, user: str, record: Record) -> tuple[Row, bool]:
        """The row after this change, and whether it came with it just now."""
        part = record.part_of(user)
        for attempt in range(ATTEMPTS):
            row = self._rows.get(row_key(record.thread_id, user))
            if row is None:
                row = await self._load_row(record.thread_id, user)
            if part is None or row.ver >= record.ver:
                return row, False
            if row.ver == part.users[user]:
                taken = await self._advance(row, record, part)
                if taken is not None:
                    return taken, True
                await pause(attempt)
                continue
            # What is remembered may be old; what is there may be behind.
            row = await self._load_row(record.thread_id, user)
            if row.ver < part.users[user]:
                await self._catch_up(row, record.ver)
        raise Unavailable("Somebody's inbox is too busy.", retry_after_s=1)

    async def _advance(self, row: Row, record: Record, part: Part) -> Row | None:
        """None: somebody else has written the row meanwhile."""
        entries = [step.entry for step in part.steps]
        head = self._heads.get(row.user_id)
        if head is None:
            head = await self.read_head(row.user_id)
        advanced = _advanced(row, record, part, head + len(entries))
        condition, values = UNLESS_THERE, None
        if row.ver:
            condition, values = "ver = :ver", {":ver": row.ver}
        try:
            await self._table.write(Put(row_item(advanced), condition, values))
        except ConditionFailed:
            self._rows.forget(row_key(row.thread_id, row.user_id))
            return None
        fed = await self._feed(advanced, entries)
        if fed is not None:
            self._rows.keep(row_key(row.thread_id, row.user_id), fed)
        return fed or advanced

    async def _feed(self, row: Row, entries: Sequence[Entry]) -> Row | None:
        """Put the entries where the row says, or where there is room; None if the row has gone on,
        which it does only once its entries are there."""
        for attempt in range(ATTEMPTS):
            taken = await self._put_entries(row, entries)
            if taken is None or (taken["th"], taken["v"]) == (row.thread_id, row.ver):
                self._heads.keep(row.user_id, row.n)
                return row
            head = await self.read_head(row.user_id)
            moved = msgspec.structs.replace(row, n=head + len(entries))
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
        raise Unavailable("Somebody's feed is too busy.", retry_after_s=1)

    async def _put_entries(self, row: Row, entries: Sequence[Entry]) -> Item | None:
        """What lies there already, if anything."""
        first = row.n - len(entries) + 1
        ttl = (self._limits.feed_kept_days + 1) * DAY_S
        puts = [
            Put(_entry_item(row, n, entry, ttl), UNLESS_THERE)
            for n, entry in enumerate(entries, start=first)
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
            # A refusal that names nothing says nothing of what is there.
            await pause(attempt)
        raise Unavailable("Somebody's feed is too busy.", retry_after_s=1)

    async def _load_row(self, thread_id: str, user: str) -> Row:
        """The row as it is, with what it says of the feed made true."""
        key = row_key(thread_id, user)
        item = await self._table.get(key)
        if item is None:
            self._rows.forget(key)
            return Row(thread_id, user, ver=0, n=0, packed=None)
        row = row_from(item)
        entry = await self._table.get(entry_key(user, row.n))
        if entry is None or (entry["th"], entry["v"]) != (thread_id, row.ver):
            row = await self._complete(row)
        self._rows.keep(key, row)
        return row

    async def _complete(self, row: Row) -> Row:
        item = await self._table.get(outbox_key(row.thread_id, row.ver, self._limits.outbox_shards))
        # Without a record the change was finished, and its entry is past its keeping time.
        part = None if item is None else decode_record(item["record"]).part_of(row.user_id)
        if part is None or self._is_past(part):
            return row
        fed = await self._feed(row, [step.entry for step in part.steps])
        return fed or await self._load_row(row.thread_id, row.user_id)

    def _is_past(self, part: Part) -> bool:
        """Records can outlive entries. What is not kept any more is not put again: the numbers
        after it may have been used, and be free again as well."""
        kept_ms: int = self._limits.feed_kept_days * DAY_MS
        return part.steps[-1].entry.at_ms < self._clock() - kept_ms

    async def _catch_up(self, row: Row, before: int) -> None:
        """Take the changes that others have committed and not projected, one after the other."""
        partition, _ = outbox_key(row.thread_id, 0, self._limits.outbox_shards)
        bounds = outbox_sort(row.thread_id, row.ver + 1), outbox_sort(row.thread_id, before - 1)
        for item in await self._table.query(partition, between=bounds):
            await self._take(row.user_id, decode_record(item["record"]))

    async def read_head(self, user: str) -> int:
        """The largest number in the feed. It stands in the head, or in an entry after it: heads
        are written a moment later than entries."""
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


def _advanced(row: Row, record: Record, part: Part, n: int) -> Row:
    packed = row.packed
    for step in part.steps:
        packed = after(packed, step.what, row.user_id, record.kind)
    if packed is not None:
        thread = record.thread if record.shows_thread else packed.thread
        packed = msgspec.structs.replace(packed, thread=thread)
        packed = beside(packed, row.user_id, record.kind, record.stands or NO_CONTRACT)
    return Row(row.thread_id, row.user_id, record.ver, n, packed)


def _entry_item(row: Row, n: int, entry: Entry, kept_s: int) -> Item:
    pk, sk = entry_key(row.user_id, n)
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
    return item
