"""The inbox's page on DynamoDB: one walk along the user's rows in the list's own order.

The rows are found through an index, and an index lags behind its table. So the end of the user's
feed is read first, which does not lag: where it tells of a row that the index shows too old, or not
at all, the row itself is read. What the page shows is then never older than its cursor.
"""

from collections.abc import Mapping, Sequence

from greenroom.conversations.feeds_dynamodb import Feeds, shown_threads
from greenroom.conversations.keys_dynamodb import (
    HEAD,
    NEEDS_ACTION,
    PINNED,
    feed_partition,
    inbox_partition,
    inbox_sort,
    row_key,
    unread_partition,
)
from greenroom.conversations.model import Cursor, Thread, derive_state
from greenroom.conversations.projection_dynamodb import head_number
from greenroom.conversations.rows_dynamodb import (
    ARCHIVED,
    INBOX,
    Row,
    row_from,
    unread_sort_of,
)
from greenroom.conversations.store import Folder, InboxFilter, InboxKey, InboxPage
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.platform.dynamodb.values import Item

INDEX_LAG_MS = 30_000
"""How far behind its table an index is taken to be at most."""
TAIL = 24
LONG_TAIL = 200
ROWS_AT_ONCE = 100

_PLACEMENTS = {
    Folder.REQUESTS: "requests",
    Folder.ARCHIVED: ARCHIVED,
    Folder.SPAM: "spam",
}
_KINDS = {Folder.BOOKINGS: ("project",), Folder.OFFERS: ("inquiry", "invite")}


class Inbox:
    def __init__(self, threads: Threads, feeds: Feeds) -> None:
        self._threads = threads
        self._feeds = feeds
        self._table = threads.table

    async def page(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        cursor, recent = await self._recent(viewer)
        unread = await self._table.query(unread_partition(viewer), index="GSI2")
        walk = Walk(self._threads, viewer, asked, recent)
        found = await walk.collect(after, limit + 1)
        next_key = _key_of(found[limit - 1]) if len(found) > limit else None
        counts = _counts([item["gsi2sk"] for item in unread], walk.fresh)
        return InboxPage(tuple(found[:limit]), next_key, counts, cursor)

    async def newest(self, viewer: str, limit: int) -> list[Thread]:
        """What is placed in the inbox, last activity first, pinned or not."""
        _, recent = await self._recent(viewer)
        found: dict[str, Thread] = {}
        for pinned in (True, False):
            walk = Walk(self._threads, viewer, InboxFilter(), recent, pinned=pinned)
            found |= {thread.id: thread for thread in await walk.collect(None, limit)}
        newest = sorted(found.values(), key=_activity, reverse=True)
        return newest[:limit]

    async def _recent(self, viewer: str) -> tuple[Cursor, dict[str, int]]:
        """Where the feed stands, and the threads that it has told of lately."""
        since_ms = self._threads.clock() - INDEX_LAG_MS
        items = await self._table.query(feed_partition(viewer), reverse=True, limit=TAIL)
        if len(items) == TAIL and items[-1]["at"] >= since_ms:
            # More than usual has happened in the last minute.
            items = await self._table.query(feed_partition(viewer), reverse=True, limit=LONG_TAIL)
        recent: dict[str, int] = {}
        for item in items:
            if item["sk"] != HEAD and item["at"] >= since_ms:
                recent.setdefault(item["th"], int(item["sk"].partition("#")[2], 16))
        return Cursor(await self._feeds.epoch(), head_number(items)), recent


class Walk:
    """Goes along one placement until enough rows have been found that were asked for."""

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
        self._placement = _PLACEMENTS.get(asked.folder, INBOX)
        self.fresh: dict[str, Row] = {}
        """The rows of which the feed has told lately, as they are."""

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
        """Read what the index does not show yet, or shows too old. What it shows as it is counts as
        read: the other index may lag by itself."""
        rows = {row.thread_id: row for row in shown}
        late = [each for each, n in self._recent.items() if each not in rows or rows[each].n < n]
        found = await self._threads.table.get_many([row_key(each, self._viewer) for each in late])
        rows |= {row.thread_id: row for row in map(row_from, found.values())}
        self.fresh = {each: rows[each] for each in self._recent if each in rows}

    def _in_place(self, items: Sequence[Item], before: str | None, start: Item | None) -> list[Row]:
        """The rows of this part of the list: those that were read past the index where they belong,
        the others as it shows them."""
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
        threads = await shown_threads(self._threads, packed)
        return [thread for thread in threads.values() if self._matches(thread)]

    def _matches(self, thread: Thread) -> bool:
        asked, row = self._asked, thread.inbox
        if row is None or thread.kind not in _KINDS.get(asked.folder, (thread.kind,)):
            return False
        if asked.folder == Folder.ACTION and not row.needs_action:
            return False
        now_ms, limits = self._threads.clock(), self._threads.limits
        wanted = (
            (asked.unread, row.unread_count > 0),
            (asked.starred, row.starred),
            (asked.kind, thread.kind),
            (asked.role_context, thread.role_context),
            (asked.city, thread.city),
            (asked.state, asked.state and derive_state(thread.kind, row, now_ms, limits)),
        )
        if any(value is not None and value != there for value, there in wanted):
            return False
        return asked.q is None or self._is_named(thread, asked.q.lower())

    def _is_named(self, thread: Thread, text: str) -> bool:
        names = [each.display_name for each in thread.participants if each.user_id != self._viewer]
        return any(text in name.lower() for name in (thread.subject or "", *names))


def _counts(keys: list[str], fresh: Mapping[str, Row]) -> dict[Folder, int]:
    """Threads with something unread per folder; what was read past the index counts as it is."""
    current = [key for key in keys if key.rpartition("#")[2] not in fresh]
    current += [
        unread_sort_of(row.packed, row.thread_id)
        for row in fresh.values()
        if row.packed is not None and row.packed.unread
    ]
    counts = dict.fromkeys(Folder, 0)
    for key in current:
        placement, kind, _ = key.split("#", 2)
        if placement != INBOX:
            counts[Folder(placement)] += 1
            continue
        counts[Folder.ALL] += 1
        counts[Folder.ACTION] += kind.endswith(NEEDS_ACTION)
        kind = kind.removesuffix(NEEDS_ACTION)
        for folder, kinds in _KINDS.items():
            counts[folder] += kind in kinds
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
