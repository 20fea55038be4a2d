"""The last step of a change, in the background: update feed heads, then delete the outbox record.

A feed's head item keeps its largest number, for the time when all its entries have expired. It is
written before the record is deleted, so that after a crash the record is found and this is
repeated.
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

log = logging.getLogger(__name__)


class OutboxCleanup:
    """Runs one task that handles together whatever was added during its last round. If it fails,
    the records stay and the sweeper repeats the work, which does no harm."""

    def __init__(self, table: Table, in_progress: set[Key]) -> None:
        self._table = table
        self._in_progress = in_progress
        self._heads: dict[str, int] = {}
        self._records: list[Key] = []
        self._room = asyncio.Semaphore(UNFINISHED)
        self._task: asyncio.Task[None] | None = None

    async def add(self, record: Key | None, heads: Mapping[str, int]) -> None:
        await self._room.acquire()
        for user, n in heads.items():
            self._heads[user] = max(n, self._heads.get(user, 0))
        if record is not None:
            self._records.append(record)
        else:
            self._room.release()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

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
                log.warning("outbox records could not be deleted; the sweeper will retry")
            except Exception:
                log.exception("outbox records could not be deleted; the sweeper will retry")
            finally:
                self._in_progress.difference_update(records)
                for _ in records:
                    self._room.release()

    async def _finish(self, heads: Mapping[str, int], records: Sequence[Key]) -> None:
        await self.raise_heads(heads)
        await self._table.write_many([Delete(key) for key in records])

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
