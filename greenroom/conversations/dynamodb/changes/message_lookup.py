"""Finds messages of a thread in the table, as changes and reads need them."""

from collections.abc import Callable, Sequence

from greenroom.conversations.dynamodb.items.keys import (
    MESSAGES,
    message_key,
    message_sort,
    thread_partition,
)
from greenroom.conversations.dynamodb.items.rows import is_visible
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.kernel.ids import TIME_CHARS
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.values import Item

BEFORE_ALL = MESSAGES
AFTER_ALL = MESSAGES + "~"

Wanted = Callable[[Item], bool]


async def find_messages(
    table: Table,
    thread_id: str,
    bounds: tuple[str, str],
    limit: int,
    wanted: Wanted,
    *,
    newest_first: bool,
) -> list[Item]:
    """Up to `limit` messages strictly between two sort keys, without those that are not wanted."""
    found: list[Item] = []
    start: Item | None = None
    while True:
        items, start = await table.query_page(
            thread_partition(thread_id),
            between=bounds,
            reverse=newest_first,
            limit=limit - len(found) + 2,
            start=start,
        )
        found += [item for item in items if item["sk"] not in bounds and wanted(item)]
        if len(found) >= limit or start is None:
            return found[:limit]


def position_of(message_id: str) -> str:
    """The sort key at which an id would be. Also for an id that does not exist or is invalid."""
    sort = message_sort(message_id)
    if sort is not None:
        return sort
    time, digits = message_id.removeprefix("msg_"), "0123456789abcdef"
    if not message_id.startswith("msg_") or not set(time[:TIME_CHARS]) <= set(digits):
        return BEFORE_ALL if message_id < "msg_" else AFTER_ALL
    first = message_sort(f"msg_{time[:TIME_CHARS]:0<{TIME_CHARS}}" + "0" * 14)
    return AFTER_ALL if first is None else first.rpartition("#")[0] + "#" + message_id


class MessageLookup:
    def __init__(self, table: Table) -> None:
        self._table = table

    async def visible(
        self,
        viewer: str,
        state: StoredThread,
        bounds: tuple[str, str],
        limit: int,
        *,
        newest_first: bool,
        kinds: Sequence[str] | None = None,
    ) -> list[Item]:
        floor = state.members[viewer].floor

        def wanted(item: Item) -> bool:
            return is_visible(item, viewer, floor) and (kinds is None or item["type"] in kinds)

        # They see nothing before the floor, so nothing before it is read.
        low = max(bounds[0], position_of(floor)) if floor else bounds[0]
        if low >= bounds[1]:
            return []
        return await find_messages(
            self._table, state.id, (low, bounds[1]), limit, wanted, newest_first=newest_first
        )

    async def access(self, viewer: str, state: StoredThread, message_id: str) -> Item | None:
        """The item of one message, if this viewer may see it."""
        key = message_key(state.id, message_id)
        item = None if key is None else await self._table.get(key)
        if item is None or not is_visible(item, viewer, state.members[viewer].floor):
            return None
        return item

    async def unread_after(self, reader: str, state: StoredThread, message_id: str) -> int:
        """How many messages after this one are visible to the reader, written by others and not
        deleted."""
        if message_id >= state.last_message_id:
            return 0

        def counts(item: Item) -> bool:
            return item.get("authorUserId") != reader and "deletedAt" not in item

        items = await self.visible(
            reader, state, (position_of(message_id), AFTER_ALL), state.last_seq, newest_first=False
        )
        return sum(counts(item) for item in items if item["seq"] <= state.last_seq)

    async def last_shared(
        self, state: StoredThread, after: str, up_to: str, wanted: Wanted = lambda _: True
    ) -> Item | None:
        """The last message after `after`, up to and including `up_to`, that everybody sees."""
        high = position_of(up_to) + "~"
        found = await find_messages(
            self._table,
            state.id,
            (position_of(after) if after else BEFORE_ALL, high),
            1,
            lambda item: "visibleTo" not in item and wanted(item),
            newest_first=True,
        )
        return found[0] if found else None
