"""The last step of a change, in the background: update feed heads, then finish the outbox record.

A feed's head item keeps its largest number, for the time when all its entries have expired. It is
written before the record is finished, so that after a crash the record is found and this is
repeated. A finished record is deleted, here or by whoever collects its domain events.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress

from greenroom.conversations.dynamodb.items.keys import head_key
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.table import Delete, Key, Table, Update

HEADS_AT_ONCE = 16
UNFINISHED = 1000
REMEMBERED = 10_000

log = logging.getLogger(__name__)


class OutboxCleanup:
    """Runs one task that handles together whatever was added during its last round. If it fails,
    the records stay and the sweeper repeats the work, which does no harm."""

    def __init__(self, table: Table, in_progress: set[Key], *, keeps_records: bool) -> None:
        self._table = table
        self._in_progress = in_progress
        self._keeps_records = keeps_records
        self._finished: dict[Key, None] = {}
        """Records that are kept although nothing is to be done for them but to collect their
        events; the last ones."""
        self._heads: dict[str, int] = {}
        self._records: list[Key] = []
        self._room = asyncio.Semaphore(UNFINISHED)
        self._task: asyncio.Task[None] | None = None

    async def add(self, record: Key, heads: Mapping[str, int]) -> None:
        await self._room.acquire()
        for user, n in heads.items():
            self._heads[user] = max(n, self._heads.get(user, 0))
        self._records.append(record)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def take_finished(self, record: Key) -> bool:
        """Whether this process has finished the record. It is asked once, when the record is about
        to be deleted."""
        return self._finished.pop(record, False) is None

    async def drain(self) -> None:
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while self._heads or self._records:
            heads, self._heads = self._heads, {}
            records, self._records = self._records, []
            try:
                await self._finish(heads, records)
            except Unavailable:
                log.warning("outbox records could not be finished; the sweeper will retry")
            except Exception:
                log.exception("outbox records could not be finished; the sweeper will retry")
            finally:
                self._in_progress.difference_update(records)
                for _ in records:
                    self._room.release()

    async def _finish(self, heads: Mapping[str, int], records: Sequence[Key]) -> None:
        await self.raise_heads(heads)
        if not self._keeps_records:
            await self._table.write_many([Delete(key) for key in records])
            return
        self._finished.update(dict.fromkeys(records))
        while len(self._finished) > REMEMBERED:
            del self._finished[next(iter(self._finished))]

    async def raise_heads(self, heads: Mapping[str, int]) -> None:
        parallel = asyncio.Semaphore(HEADS_AT_ONCE)

        async def advance(user: str, n: int) -> None:
            names, values = {"#last": "last"}, {":n": n}
            condition = "attribute_not_exists(#last) OR #last < :n"
            async with parallel:
                with suppress(ConditionFailed):
                    await self._table.write(
                        Update(head_key(user), "SET #last = :n", condition, values, names)
                    )

        await asyncio.gather(*(advance(user, n) for user, n in heads.items()))
