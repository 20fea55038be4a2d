"""Reads threads on DynamoDB for the marketplace's backend, which is no participant."""

from collections.abc import AsyncIterator, Callable, Sequence

from greenroom.conversations.dynamodb.changes.message_lookup import (
    AFTER_ALL,
    BEFORE_ALL,
    find_messages,
    position_of,
)
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.cards import with_cards
from greenroom.conversations.dynamodb.items.keys import (
    external_key_key,
    job_partition,
    thread_key,
    user_partition,
)
from greenroom.conversations.dynamodb.items.rows import message_from
from greenroom.conversations.dynamodb.items.threads import StoredThread, state_from
from greenroom.conversations.dynamodb.reads.paging import THREADS
from greenroom.conversations.model import Message, Thread
from greenroom.platform.dynamodb.table import QueryRange
from greenroom.platform.dynamodb.values import Item

Wanted = Callable[[StoredThread], bool]

THREADS_AT_ONCE = 50
NEWEST = "~"
"""Greater than every thread id."""


class BackendReads:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table

    async def thread(self, thread_id: str) -> Thread | None:
        state = await self._threads.read(thread_id)
        return None if state is None else await self._threads.view_for_backend(state)

    async def thread_by_key(self, key: str) -> Thread | None:
        named = await self._table.get(external_key_key(key))
        return None if named is None else await self.thread(named["th"])

    async def messages(
        self, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> tuple[tuple[Message, ...], bool] | None:
        if await self._threads.read(thread_id) is None:
            return None
        if after is not None:
            bounds = position_of(after), AFTER_ALL
        else:
            bounds = BEFORE_ALL, AFTER_ALL if before is None else position_of(before)
        items = await find_messages(
            self._table,
            thread_id,
            bounds,
            limit + 1,
            lambda item: "visibleTo" not in item,
            newest_first=after is None,
        )
        page = sorted(map(message_from, items[:limit]), key=lambda message: message.seq)
        return tuple(await with_cards(self._table, page)), len(items) > limit

    async def of_user(self, user_id: str, *, before: str | None, limit: int) -> tuple[Thread, ...]:
        below = THREADS + (before or NEWEST)
        pages = self._ids(user_partition(user_id), {"between": (THREADS, below), "reverse": True})
        return await self._collect(pages, lambda state: user_id in state.active(), before, limit)

    async def of_job(self, job_id: str, *, before: str | None, limit: int) -> tuple[Thread, ...]:
        below = before or NEWEST
        pages = self._ids(
            job_partition(job_id), {"between": ("thr_", below), "reverse": True, "index": "GSI1"}
        )
        # The index may lag behind a thread that is about another job by now.
        return await self._collect(pages, lambda state: state.job_id == job_id, before, limit)

    async def _ids(self, partition: str, range_: QueryRange) -> AsyncIterator[list[str]]:
        """Ids of threads, the newest first."""
        start: Item | None = None
        while True:
            items, start = await self._table.query_page(
                partition, limit=THREADS_AT_ONCE, start=start, **range_
            )
            sort = "gsi1sk" if range_.get("index") else "sk"
            yield [item[sort].removeprefix(THREADS) for item in items]
            if start is None:
                return

    async def _collect(
        self, pages: AsyncIterator[list[str]], wanted: Wanted, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        found: list[StoredThread] = []
        async for ids in pages:
            states = await self._states([each for each in ids if each != before])
            found += [state for state in states if wanted(state)]
            if len(found) >= limit:
                break
        return tuple([await self._threads.view_for_backend(state) for state in found[:limit]])

    async def _states(self, thread_ids: Sequence[str]) -> list[StoredThread]:
        """Those that exist, in the same order."""
        items = await self._table.get_many([thread_key(each) for each in thread_ids])
        keys = (thread_key(each) for each in thread_ids)
        return [state_from(items[key]) for key in keys if key in items]
