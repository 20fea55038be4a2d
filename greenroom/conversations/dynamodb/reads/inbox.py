"""Reads pages of the inbox on DynamoDB, in list order, and the counts of the folders.

Rows are found through an index, which lags behind the table. The end of the user's feed does not
lag, so it is read first: if it names a thread whose row is missing in the index or is older there,
the row itself is read. So a page is never older than its sync cursor.
"""

from collections.abc import Mapping, Sequence

from greenroom.conversations.dynamodb.changes.projection import head_number
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    HEAD,
    PINNED,
    UnreadKey,
    feed_partition,
    inbox_partition,
    inbox_sort,
    row_key,
    unread_partition,
)
from greenroom.conversations.dynamodb.items.rows import (
    Row,
    is_counted,
    row_from,
    unread_key_of,
)
from greenroom.conversations.dynamodb.reads.feeds import FeedReads, view_threads
from greenroom.conversations.inbox import (
    FOLDERS,
    Folder,
    InboxFilter,
    InboxKey,
    InboxPage,
    folders_counting,
)
from greenroom.conversations.model import Cursor, Thread
from greenroom.platform.dynamodb.values import Item

INDEX_LAG_MS = 30_000
"""The longest time that an index is assumed to lag behind the table."""
TAIL = 24
LONG_TAIL = 200
ROWS_AT_ONCE = 100


class InboxReads:
    def __init__(self, threads: Threads, feeds: FeedReads) -> None:
        self._threads = threads
        self._feeds = feeds
        self._table = threads.table

    async def page(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        cursor, recent = await self._recent(viewer)
        counted = await self._table.query(unread_partition(viewer), index="GSI2")
        scan = InboxScan(self._threads, viewer, asked, recent)
        found = await scan.collect(after, limit + 1)
        next_key = _key_of(found[limit - 1]) if len(found) > limit else None
        counts = _counts([UnreadKey.parse(item["gsi2sk"]) for item in counted], scan.fresh)
        return InboxPage(tuple(found[:limit]), next_key, counts, cursor)

    async def newest(self, viewer: str, limit: int) -> list[Thread]:
        """Threads whose placement is the inbox, last activity first, pinned or not."""
        _, recent = await self._recent(viewer)
        found: dict[str, Thread] = {}
        for pinned in (True, False):
            scan = InboxScan(self._threads, viewer, InboxFilter(), recent, pinned=pinned)
            found |= {thread.id: thread for thread in await scan.collect(None, limit)}
        newest = sorted(found.values(), key=_activity, reverse=True)
        return newest[:limit]

    async def _recent(self, viewer: str) -> tuple[Cursor, dict[str, int]]:
        """The end of the feed, and the feed numbers of the threads that changed recently."""
        since_ms = self._threads.clock() - INDEX_LAG_MS
        items = await self._table.query(feed_partition(viewer), reverse=True, limit=TAIL)
        if len(items) == TAIL and items[-1]["at"] >= since_ms:
            # More entries than usual are recent.
            items = await self._table.query(feed_partition(viewer), reverse=True, limit=LONG_TAIL)
        recent: dict[str, int] = {}
        for item in items:
            # An entry of version 0 came with no change of a row.
            if item["sk"] != HEAD and item["at"] >= since_ms and item["v"]:
                recent.setdefault(item["th"], int(item["sk"].partition("#")[2], 16))
        return Cursor(await self._feeds.epoch(), head_number(items)), recent


class InboxScan:
    """Reads the rows of one placement in list order until enough of them match the filter."""

    def __init__(
        self,
        threads: Threads,
        viewer: str,
        asked: InboxFilter,
        recent: dict[str, int],
        *,
        pinned: bool | None = None,
    ) -> None:
        self._threads = threads
        self._viewer = viewer
        self._asked = asked
        self._recent = recent
        self._pinned = pinned
        self._placement = FOLDERS[asked.folder].placement
        self.fresh: dict[str, Row] = {}
        """The current rows of recently changed threads."""

    async def collect(self, after: InboxKey | None, limit: int) -> list[Thread]:
        items, start = await self._rows(after, limit, None)
        await self._refresh([row_from(item) for item in items])
        before = None if after is None else _sort(after.pinned, after.at_ms, after.thread_id)
        found = await self._matching(self._in_place(items, before, start))
        while len(found) < limit and start is not None:
            before = start["gsi1sk"]
            items, start = await self._rows(after, ROWS_AT_ONCE, start)
            found += await self._matching(self._in_place(items, before, start))
        return sorted(found, key=_order, reverse=True)[:limit]

    async def _rows(
        self, after: InboxKey | None, limit: int, start: Item | None
    ) -> tuple[list[Item], Item | None]:
        before = None if after is None else _sort(after.pinned, after.at_ms, after.thread_id)
        return await self._threads.table.query_page(
            inbox_partition(self._viewer, self._placement),
            index="GSI1",
            reverse=True,
            prefix=PINNED if self._pinned else None,
            before=PINNED if self._pinned is False else before,
            limit=limit,
            start=start,
        )

    async def _refresh(self, shown: Sequence[Row]) -> None:
        """Read the rows that the index does not have yet or has in an older version. Rows that are
        current in this index are kept as well, because the index of the counts lags on its own."""
        rows = {row.thread_id: row for row in shown}
        late = [each for each, n in self._recent.items() if each not in rows or rows[each].n < n]
        found = await self._threads.table.get_many([row_key(each, self._viewer) for each in late])
        rows |= {row.thread_id: row for row in map(row_from, found.values())}
        self.fresh = {each: rows[each] for each in self._recent if each in rows}

    def _in_place(self, items: Sequence[Item], before: str | None, start: Item | None) -> list[Row]:
        """The rows between two positions of the list: those in `fresh` at their current position,
        the others as the index has them."""
        rows = [row for row in map(row_from, items) if row.thread_id not in self.fresh]
        last = "" if start is None else start["gsi1sk"]
        return rows + [
            row
            for row in self.fresh.values()
            if _sort_of(row) >= last and (before is None or _sort_of(row) < before)
        ]

    async def _matching(self, rows: Sequence[Row]) -> list[Thread]:
        packed = {
            (self._viewer, row.thread_id): row.packed
            for row in rows
            if row.packed is not None
            and row.packed.placement == self._placement
            and self._pinned in (None, row.packed.pinned)
        }
        threads = await view_threads(self._threads, packed)
        now_ms, limits = self._threads.clock(), self._threads.limits
        return [
            thread
            for thread in threads.values()
            if self._asked.matches(self._viewer, thread, now_ms, limits)
        ]


def _counts(indexed: Sequence[UnreadKey], fresh: Mapping[str, Row]) -> dict[Folder, int]:
    """The count of each folder. Rows in `fresh` are newer than what the index says of them."""
    keys = [key for key in indexed if key.thread_id not in fresh]
    keys += [
        unread_key_of(row.packed, row.thread_id)
        for row in fresh.values()
        if row.packed is not None and is_counted(row.packed)
    ]
    counts = dict.fromkeys(Folder, 0)
    for key in keys:
        for folder in folders_counting(
            key.placement, key.kind, is_unread=key.is_unread, needs_action=key.needs_action
        ):
            counts[folder] += 1
    return counts


def _key_of(thread: Thread) -> InboxKey:
    assert thread.inbox is not None  # noqa: S101 (it was found by its row)
    return InboxKey(thread.inbox.pinned, thread.inbox.last_activity_ms, thread.id)


def _order(thread: Thread) -> str:
    key = _key_of(thread)
    return _sort(key.pinned, key.at_ms, key.thread_id)


def _activity(thread: Thread) -> tuple[int, str]:
    return _key_of(thread).at_ms, thread.id


def _sort_of(row: Row) -> str:
    packed = row.packed
    return "" if packed is None else _sort(packed.pinned, packed.activity_ms, row.thread_id)


def _sort(pinned: bool, at_ms: int, thread_id: str) -> str:
    return inbox_sort(pinned=pinned, at_ms=at_ms, thread_id=thread_id)
