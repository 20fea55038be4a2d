"""Checks one person's feed for gaps in its numbers, repairs it, and deletes it.

DynamoDB deletes expired entries late and in any order. So a missing number is a fault only after an
entry that has not expired, because later entries cannot have expired either.
"""

from contextlib import suppress
from dataclasses import dataclass

from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    ENTRIES,
    entry_sort,
    feed_partition,
    head_key,
)
from greenroom.conversations.dynamodb.reads.paging import ITEMS_AT_ONCE, pages_of
from greenroom.conversations.model import DAY_MS
from greenroom.conversations.upkeep import Fault
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.table import Delete, Update
from greenroom.platform.dynamodb.values import Item

SETTLED_MS = 60_000
"""No living process is still working on a change that is older than this."""


@dataclass(frozen=True, slots=True)
class Feed:
    head: int
    """The number in the head item."""
    last: int
    hole: int
    """The largest missing number, 0 for none."""
    is_behind: bool
    """The head item has been behind the entries for longer than `SETTLED_MS`."""


class FeedUpkeep:
    def __init__(self, threads: Threads) -> None:
        self._table = threads.table
        self._projector = threads.projector
        self._clock = threads.clock
        self._kept_ms = threads.limits.feed_kept_days * DAY_MS

    async def faults(self, user_id: str) -> list[Fault]:
        feed = await self._read(user_id)
        if feed.hole:
            # A running erasure deletes entries; read again.
            feed = await self._read(user_id)
        faults = []
        if feed.is_behind:
            found, right = f"a head of {feed.head}", f"a head of {feed.last}"
            faults.append(Fault("feed", None, user_id, found, right))
        if feed.hole:
            found, right = f"no entry {feed.hole}", f"every entry up to {feed.head}"
            faults.append(Fault("feed", None, user_id, found, right))
        return faults

    async def mend(self, user_id: str) -> None:
        """Nothing tells what the missing entry was. Delete the entries before it: clients that have
        not read past the gap then get a reset, and the others have missed nothing."""
        await self._raise_head(user_id, (await self._read(user_id)).last)
        hole = (await self._read(user_id)).hole
        await self._remove(user_id, hole)

    async def forget(self, user_id: str) -> None:
        """Delete all entries. The head stays, so that no number is used twice."""
        last = await self._projector.read_head(user_id)
        await self._raise_head(user_id, last)
        await self._remove(user_id, last)

    async def _read(self, user_id: str) -> Feed:
        """The head is read first: every entry up to its number was written before it."""
        item = await self._table.get(head_key(user_id))
        head = 0 if item is None else item.get("last", 0)
        last, hole, is_behind = head, 0, False
        before: Item | None = None

        def missing_before(n: int) -> int:
            missing = min(n - 1, head)
            is_missed = before is not None and missing > _number(before) and self._is_young(before)
            return missing if is_missed else hole

        async for page in pages_of(self._table, feed_partition(user_id), prefix=ENTRIES):
            for entry in page:
                n = _number(entry)
                hole = missing_before(n)
                is_behind |= n > head and entry["at"] <= self._clock() - SETTLED_MS
                before, last = entry, max(last, n)
        return Feed(head, last, missing_before(head + 1), is_behind)

    def _is_young(self, entry: Item) -> bool:
        return bool(entry["at"] > self._clock() - self._kept_ms)

    async def _raise_head(self, user_id: str, n: int) -> None:
        condition = "attribute_not_exists(#last) OR #last < :n"
        with suppress(ConditionFailed):
            await self._table.write(
                Update(head_key(user_id), "SET #last = :n", condition, {":n": n}, {"#last": "last"})
            )

    async def _remove(self, user_id: str, up_to: int) -> None:
        bounds = entry_sort(0), entry_sort(up_to)
        while entries := await self._table.query(
            feed_partition(user_id), between=bounds, limit=ITEMS_AT_ONCE
        ):
            await self._table.write_many([Delete((item["pk"], item["sk"])) for item in entries])


def _number(entry: Item) -> int:
    return int(entry["sk"].removeprefix(ENTRIES), 16)
