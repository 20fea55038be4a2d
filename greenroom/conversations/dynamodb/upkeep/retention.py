"""Deletes messages past their retention time, thread by thread, except under legal hold.

There is no index by age, because it would make every send more expensive. Instead one server at a
time scans the whole table, a few pages per call, and stores its progress in the table. A complete
scan may take days; messages are kept for months.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace

from greenroom.conversations.dynamodb.changes.change import Change, Write
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    MESSAGES,
    card_key,
    card_pointer_key,
    client_id_key,
)
from greenroom.conversations.dynamodb.items.rows import Packed, Recounted, is_visible
from greenroom.conversations.dynamodb.reads.paging import THREADS, id_of, messages_of, originals_of
from greenroom.conversations.model import DAY_MS, EventType
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.kernel.ids import id_time_ms
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.table import Delete, Key, Update
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept

ITEMS_AT_ONCE = 2000
PAGES_AT_ONCE = 4
WRITES_AT_ONCE = 90
"""A transaction takes a hundred, some of them for the thread."""

PLACE: Key = ("META", "RETENTION")
"""The progress of the scan, and the lease of the server that is scanning."""
LEASE_MS = 5 * 60_000
"""If a server crashes, the others wait this long."""
IS_FREE = "attribute_not_exists(#until) OR #until <= :now OR #until > :far"
UNTIL = {"#until": "until"}

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Page:
    """The oldest messages of a thread, as many as one change can delete."""

    messages: list[Item] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    next_kept: Item | None = None
    """The first message that stays, if any."""


class Retention:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table
        self._limits = threads.limits

    async def prune(self) -> int:
        before_ms = self._threads.clock() - self._limits.message_kept_days * DAY_MS
        until_ms = self._threads.clock() + LEASE_MS
        if before_ms <= 0 or not await self._take_lease(until_ms):
            return 0
        place = (await self._table.get(PLACE) or {}).get("place")
        removed, place = await self._scan_on(place, f"{MESSAGES}{rfc3339(before_ms)}")
        await self._release_lease(until_ms, place)
        return removed

    async def _scan_on(self, place: Item | None, cutoff: str) -> tuple[int, Item | None]:
        """How many messages were deleted, and where to continue; None: at the beginning."""
        removed = 0
        for _ in range(PAGES_AT_ONCE):
            items, following = await self._table.scan(start=place, limit=ITEMS_AT_ONCE)
            for thread_id in _threads_before(items, cutoff):
                left = self._limits.maintenance_batch - removed
                removed += await self._prune_thread(thread_id, cutoff, left)
                if removed >= self._limits.maintenance_batch:
                    return removed, place
            place = following
            if place is None:
                break
        return removed, place

    async def _prune_thread(self, thread_id: str, cutoff: str, limit: int) -> int:
        removed = 0
        while removed < limit:
            gone, is_more = await self._prune_page(thread_id, cutoff, limit - removed)
            removed += gone
            if not is_more:
                break
        return removed

    async def _prune_page(self, thread_id: str, cutoff: str, limit: int) -> tuple[int, bool]:
        """How many messages were deleted, and whether there may be more."""

        async def decide(change: Change) -> tuple[int, bool]:
            if change.state.hold_ms is not None:
                return 0, False
            page = await self._oldest(thread_id, cutoff, limit)
            change.writes += page.writes
            if page.messages:
                await self._recount(change, page.messages)
                _record_pruned(change, page)
            return len(page.messages), bool(page.writes)

        try:
            outcome = await self._threads.change(thread_id, decide)
        except ThreadNotFound:
            # Messages without a thread: `greenroom check` reports them.
            return 0, False
        except Unavailable:
            # One thread that is too busy must not stop the scan.
            log.warning(
                "old messages of a busy thread stay until the next scan",
                extra={"event": thread_id},
            )
            return 0, False
        assert not isinstance(outcome, Kept)  # noqa: S101 (there was no key)
        return outcome

    async def _oldest(self, thread_id: str, cutoff: str, limit: int) -> Page:
        """Always the first messages of the thread, so that the rest starts at `pruned_seq` + 1
        without gaps. Earlier versions of a message are deleted with it, or before it if there are
        too many for one change."""
        page = Page()
        async for items in messages_of(self._table, thread_id):
            for item in items:
                page.next_kept = item
                if item["sk"] >= cutoff or len(page.messages) == limit:
                    return page
                writes = await self._removing(item)
                if len(page.writes) + len(writes) > WRITES_AT_ONCE:
                    page.writes = page.writes or writes[:WRITES_AT_ONCE]
                    return page
                page.writes += writes
                page.messages.append(item)
                page.next_kept = None
        return page

    async def _removing(self, item: Item) -> list[Write]:
        """Deletes everything of one message; the message itself last."""
        keys = [(each["pk"], each["sk"]) for each in await originals_of(self._table, item)]
        if "cardId" in item:
            thread_id = item["pk"].removeprefix(THREADS)
            keys += [card_key(thread_id, id_of(item)), card_pointer_key(item["cardId"])]
        if "clientId" in item:
            keys.append(client_id_key(item["authorUserId"], item["clientId"]))
        return [Delete(key) for key in (*keys, (item["pk"], item["sk"]))]

    async def _recount(self, change: Change, gone: list[Item]) -> None:
        for user in change.state.viewers():
            row = (await self._threads.row_before(user, change)).packed
            if row is None:
                continue
            counted = _without(row, user, gone)
            before = (row.unread, row.last, row.file_messages)
            if (counted.unread, counted.last, counted.file_messages) != before:
                change.notify([user], EventType.INBOX_CHANGED, counted)

    async def _take_lease(self, until_ms: int) -> bool:
        # A lease that ends far ahead was taken with a clock that has been set back since.
        values = {":until": until_ms, ":now": self._threads.clock(), ":far": until_ms + LEASE_MS}
        try:
            await self._table.write(Update(PLACE, "SET #until = :until", IS_FREE, values, UNTIL))
        except ConditionFailed:
            return False
        return True

    async def _release_lease(self, until_ms: int, place: Item | None) -> None:
        names = {**UNTIL, "#place": "place"}
        change, values = "REMOVE #until, #place", {}
        if place is not None:
            change, values = "SET #place = :place REMOVE #until", {":place": place}
        # If this took longer than the lease, another server has its own progress.
        with suppress(ConditionFailed):
            await self._table.write(
                Update(PLACE, change, "#until = :until", {**values, ":until": until_ms}, names)
            )


def _threads_before(items: list[Item], cutoff: str) -> list[str]:
    """Threads with a message before the cutoff among these items."""
    old = (
        item["pk"].removeprefix(THREADS)
        for item in items
        if item["pk"].startswith(THREADS) and MESSAGES < item["sk"] < cutoff
    )
    return list(dict.fromkeys(old))


def _without(row: Packed, user: str, gone: list[Item]) -> Recounted:
    """If no message is left for the viewer, there is no last one and the last activity stays."""
    unread = [
        item
        for item in gone
        if is_visible(item, user, max(row.read_id, row.floor))
        and item.get("authorUserId") != user
        and "deletedAt" not in item
    ]
    files = [
        item
        for item in gone
        if is_visible(item, user, row.floor) and "files" in item and "deletedAt" not in item
    ]
    is_empty = row.last is None or row.last.id <= id_of(gone[-1])
    return Recounted(
        unread=row.unread - len(unread),
        activity_ms=row.activity_ms,
        awaits_reply=row.awaits_reply and not is_empty,
        last=None if is_empty else row.last,
        file_messages=row.file_messages - len(files),
    )


def _record_pruned(change: Change, page: Page) -> None:
    """`kept_from_ms` of an empty thread is now, because all later messages are newer."""
    kept_from_ms = change.now_ms if page.next_kept is None else id_time_ms(id_of(page.next_kept))
    change.state = replace(
        change.state,
        pruned_seq=page.messages[-1]["seq"],
        kept_from_ms=kept_from_ms,
        rewritten_ms=change.now_ms,
    )
