"""Looking after one person's feed: that its numbers have no holes; and forgetting it.

What is past its keeping time DynamoDB takes away when it likes, in no order. So a number is missed
only behind an entry that is young, because what came after that one is younger still.
"""

from contextlib import suppress
from dataclasses import dataclass

from greenroom.conversations.keys_dynamodb import (
    ENTRIES,
    entry_sort,
    feed_partition,
    head_key,
)
from greenroom.conversations.model import DAY_MS
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.upkeep import Fault
from greenroom.conversations.walks_dynamodb import ITEMS_AT_ONCE, pages_of
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.table import Delete, Update
from greenroom.platform.dynamodb.values import Item

SETTLED_MS = 60_000
"""What is older than this has no living process behind it that would still finish it."""


@dataclass(frozen=True, slots=True)
class Feed:
    head: int
    """As the head has it."""
    last: int
    hole: int
    """The largest number that should be there and is not, 0 for none."""
    is_behind: bool
    """The head has been behind the entries for longer than it takes to write it."""


class FeedUpkeep:
    def __init__(self, threads: Threads) -> None:
        self._table = threads.table
        self._projector = threads.projector
        self._clock = threads.clock
        self._kept_ms = threads.limits.feed_kept_days * DAY_MS

    async def look(self, user_id: str) -> list[Fault]:
        feed = await self._read(user_id)
        if feed.hole:
            # An erasure that is under way takes entries out of the middle.
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
        """Nobody can say what is missing. Without the entries before it, everyone who has not come
        past the hole gets a reset; the others have missed nothing."""
        await self._raise_head(user_id, (await self._read(user_id)).last)
        hole = (await self._read(user_id)).hole
        await self._remove(user_id, hole)

    async def forget(self, user_id: str) -> None:
        """All entries go. The head stays, so that no number is used twice."""
        last = await self._projector.read_head(user_id)
        await self._raise_head(user_id, last)
        await self._remove(user_id, last)

    async def _read(self, user_id: str) -> Feed:
        """The head first: what it counts was there before it was written."""
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
