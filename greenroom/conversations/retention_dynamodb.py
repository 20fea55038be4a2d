"""Messages past their keeping time go, thread by thread; a legal hold keeps a thread's all.

No index knows of age: one would cost every send. Instead servers walk along the whole table, a few
pages at a time, one server at a time, and remember in the table how far they have come. At the
first item of a thread that has messages lies its oldest, so a page is enough to see who has old
ones. A walk over everything may take days; messages are kept for months.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace

from greenroom.conversations.keys_dynamodb import (
    MESSAGES,
    card_key,
    card_place_key,
    client_id_key,
)
from greenroom.conversations.model import DAY_MS, EventType
from greenroom.conversations.records_dynamodb import Change, Write
from greenroom.conversations.rows_dynamodb import Packed, Recounted, is_visible
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.walks_dynamodb import THREADS, id_of, messages_of, originals_of
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
"""How far the walk has come, and until when somebody is at it."""
TURN_MS = 5 * 60_000
"""A server that dies on the way keeps the others off for so long."""
IS_FREE = "attribute_not_exists(#until) OR #until <= :now OR #until > :far"
UNTIL = {"#until": "until"}

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Page:
    """The oldest messages of a thread, as many as go in one change."""

    messages: list[Item] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    next_kept: Item | None = None
    """The first that stays, if any does."""


class Retention:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table
        self._limits = threads.limits

    async def prune(self) -> int:
        before_ms = self._threads.clock() - self._limits.message_kept_days * DAY_MS
        until_ms = self._threads.clock() + TURN_MS
        if before_ms <= 0 or not await self._take_turn(until_ms):
            return 0
        place = (await self._table.get(PLACE) or {}).get("place")
        removed, place = await self._walk(place, f"{MESSAGES}{rfc3339(before_ms)}")
        await self._end_turn(until_ms, place)
        return removed

    async def _walk(self, place: Item | None, cutoff: str) -> tuple[int, Item | None]:
        """How many messages went, and where to go on; None: from the beginning."""
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
        """How many messages went, and whether there may be more."""

        async def decide(change: Change) -> tuple[int, bool]:
            if change.state.hold_ms is not None:
                return 0, False
            page = await self._oldest(thread_id, cutoff, limit)
            change.writes += page.writes
            if page.messages:
                await self._recount(change, page.messages)
                _note_pruned(change, page)
            return len(page.messages), bool(page.writes)

        try:
            outcome = await self._threads.change(thread_id, decide)
        except ThreadNotFound:
            # Messages without a thread: `check` tells of them.
            return 0, False
        except Unavailable:
            # One thread that is too busy, or broken, must not keep all others waiting.
            log.warning(
                "a thread's old messages stay until the next walk", extra={"event": thread_id}
            )
            return 0, False
        assert not isinstance(outcome, Kept)  # noqa: S101 (there was no key)
        return outcome

    async def _oldest(self, thread_id: str, cutoff: str, limit: int) -> Page:
        """Always the first of the thread, so that what remains is `pruned_seq` + 1 and up without
        gaps. What a message said before goes with it, or ahead of it where that is very much."""
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
        """The message itself last."""
        keys = [(each["pk"], each["sk"]) for each in await originals_of(self._table, item)]
        if "cardId" in item:
            thread_id = item["pk"].removeprefix(THREADS)
            keys += [card_key(thread_id, id_of(item)), card_place_key(item["cardId"])]
        if "clientId" in item:
            keys.append(client_id_key(item["authorUserId"], item["clientId"]))
        return [Delete(key) for key in (*keys, (item["pk"], item["sk"]))]

    async def _recount(self, change: Change, gone: list[Item]) -> None:
        for user in change.state.viewers():
            row = (await self._threads.row_before(user, change)).packed
            if row is None:
                continue
            counted = _without(row, user, gone)
            if (counted.unread, counted.last) != (row.unread, row.last):
                change.tell([user], EventType.INBOX_CHANGED, counted)

    async def _take_turn(self, until_ms: int) -> bool:
        # An end that is far ahead was set by a clock that has been set back since.
        values = {":until": until_ms, ":now": self._threads.clock(), ":far": until_ms + TURN_MS}
        try:
            await self._table.write(Update(PLACE, "SET #until = :until", IS_FREE, values, UNTIL))
        except ConditionFailed:
            return False
        return True

    async def _end_turn(self, until_ms: int, place: Item | None) -> None:
        names = {**UNTIL, "#place": "place"}
        change, values = "REMOVE #until, #place", {}
        if place is not None:
            change, values = "SET #place = :place REMOVE #until", {":place": place}
        # Someone else is at it if this took too long: theirs is the place that counts.
        with suppress(ConditionFailed):
            await self._table.write(
                Update(PLACE, change, "#until = :until", {**values, ":until": until_ms}, names)
            )


def _threads_before(items: list[Item], cutoff: str) -> list[str]:
    """Threads of which the page shows a message that is too old."""
    old = (
        item["pk"].removeprefix(THREADS)
        for item in items
        if item["pk"].startswith(THREADS) and MESSAGES < item["sk"] < cutoff
    )
    return list(dict.fromkeys(old))


def _without(row: Packed, user: str, gone: list[Item]) -> Recounted:
    """A viewer who sees no message has no last one, and their last activity is what it was."""
    unread = [
        item
        for item in gone
        if is_visible(item, user, max(row.read_id, row.floor))
        and item.get("authorUserId") != user
        and "deletedAt" not in item
    ]
    is_empty = row.last is None or row.last.id <= id_of(gone[-1])
    return Recounted(
        unread=row.unread - len(unread),
        activity_ms=row.activity_ms,
        awaits_reply=row.awaits_reply and not is_empty,
        last=None if is_empty else row.last,
    )


def _note_pruned(change: Change, page: Page) -> None:
    """An emptied thread has nothing older than this moment: what comes will be younger."""
    kept_from_ms = change.now_ms if page.next_kept is None else id_time_ms(id_of(page.next_kept))
    change.state = replace(
        change.state,
        pruned_seq=page.messages[-1]["seq"],
        kept_from_ms=kept_from_ms,
        rewritten_ms=change.now_ms,
    )
