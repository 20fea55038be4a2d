"""Deletes expired items (TTL) in the embedded engine, which does not do it itself; AWS does.

Expired items are ignored by all reads; this only keeps the engine's file from growing.
"""

from greenroom.kernel.clock import Clock
from greenroom.platform.dynamodb.schema import TTL_ATTRIBUTE
from greenroom.platform.dynamodb.table import Delete, Table
from greenroom.platform.dynamodb.values import Item


class Expiry:
    """Scans the table, a bounded number of items per call, and starts again at its end."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock
        self._start: Item | None = None

    async def delete_expired(self, limit: int) -> int:
        items, self._start = await self._table.scan(start=self._start, limit=limit)
        now_s = self._clock() // 1000
        expired = [item for item in items if item.get(TTL_ATTRIBUTE, now_s) < now_s]
        await self._table.write_many([Delete((item["pk"], item["sk"])) for item in expired])
        return len(expired)
