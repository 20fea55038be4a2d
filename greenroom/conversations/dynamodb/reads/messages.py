"""Reads pages of messages on DynamoDB."""

from greenroom.conversations.dynamodb.changes.message_lookup import (
    AFTER_ALL,
    BEFORE_ALL,
    MessageLookup,
    position_of,
)
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.cards import with_cards
from greenroom.conversations.dynamodb.items.keys import message_key, thread_partition
from greenroom.conversations.dynamodb.items.rows import is_visible, message_from
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.model import Message
from greenroom.platform.dynamodb.values import Item

REPLICA_LAG_MS = 120_000
"""An eventually consistent read lags by less than a minute, and clocks differ by less than another
minute."""

ORIGINALS = "AUD#"


class MessageReads:
    def __init__(self, threads: Threads, lookup: MessageLookup) -> None:
        self._threads = threads
        self._lookup = lookup
        self._table = threads.table

    async def page(
        self, viewer: str, state: StoredThread, *, before: str | None, after: str | None, limit: int
    ) -> tuple[list[Message], bool]:
        if after is not None:
            bounds = position_of(after), AFTER_ALL
        else:
            bounds = BEFORE_ALL, AFTER_ALL if before is None else position_of(before)
        items = None
        if after is None and before is None:
            items = await self._newest(viewer, state, limit + 1)
        if items is None:
            items = await self._lookup.visible(
                viewer, state, bounds, limit + 1, newest_first=after is None
            )
        page = sorted(map(message_from, items[:limit]), key=lambda message: message.seq)
        return await with_cards(self._table, page), len(items) > limit

    async def _newest(self, viewer: str, state: StoredThread, limit: int) -> list[Item] | None:
        """The newest page by an eventually consistent read, at half the price. None if the thread's
        item does not confirm that the result is complete; then it must be read consistently."""
        floor = state.members[viewer].floor
        rewritten_ms = state.rewritten_ms
        if rewritten_ms is not None and abs(self._threads.clock() - rewritten_ms) < REPLICA_LAG_MS:
            return None
        items, start = await self._table.query_page(
            thread_partition(state.id),
            between=(position_of(floor) if floor else BEFORE_ALL, AFTER_ALL),
            reverse=True,
            limit=limit,
            consistent=False,
        )
        expected = range(state.last_seq, state.last_seq - len(items), -1)
        # Without any item there is nothing to compare.
        is_whole = bool(items) and [item["seq"] for item in items] == list(expected)
        visible = [item for item in items if is_visible(item, viewer, floor)]
        if not is_whole or (len(visible) < limit and start is not None):
            return None
        return visible

    async def spoken(
        self, viewer: str, state: StoredThread, *, after: str | None, limit: int
    ) -> tuple[Message, ...]:
        """Messages that people wrote, without system messages and cards."""
        bounds = BEFORE_ALL if after is None else position_of(after), AFTER_ALL
        items = await self._lookup.visible(
            viewer, state, bounds, limit, newest_first=after is None, kinds=("text", "asset")
        )
        return tuple(sorted(map(message_from, items), key=lambda message: message.seq))

    async def changed(
        self, viewer: str, state: StoredThread, *, after_ms: int, limit: int
    ) -> tuple[Message, ...]:
        """Messages that people edited or deleted, found through their stored earlier versions."""
        if state.rewritten_ms is None or state.rewritten_ms <= after_ms:
            return ()
        originals = await self._table.query(thread_partition(state.id), prefix=ORIGINALS)
        ids = {item["sk"].split("#")[1] for item in originals if item["at"] > after_ms}
        keys = [key for each in ids if (key := message_key(state.id, each)) is not None]
        floor = state.members[viewer].floor
        found = [
            message_from(item)
            for item in (await self._table.get_many(keys)).values()
            if is_visible(item, viewer, floor) and item["type"] in ("text", "asset")
        ]
        found = [each for each in found if each.changed_at_ms > after_ms]
        found.sort(key=lambda each: (each.changed_at_ms, each.id))
        last_ms = found[limit - 1].changed_at_ms if len(found) > limit else None
        return tuple(each for each in found if last_ms is None or each.changed_at_ms <= last_ms)
