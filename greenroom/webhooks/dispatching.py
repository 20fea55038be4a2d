"""The dispatcher reads the log behind each webhook's cursor and queues deliveries.

Deliveries and the cursor are written in one transaction, so an event is queued once for a webhook.
The cursor's row is locked meanwhile: of several processes one at a time queues for a webhook, and
the others pass over it. No webhook waits for another.
"""

import logging

from asyncpg import Pool

from greenroom.kernel.clock import Clock
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure
from greenroom.webhooks import sql

log = logging.getLogger(__name__)


class Dispatcher:
    def __init__(self, pool: Pool, *, clock: Clock, limits: Limits) -> None:
        self._pool = pool
        self._clock = clock
        self._limits = limits
        self.has_webhooks = False
        """Whether any was enabled at the last step."""
        self.is_behind = False
        """Whether one was passed over then, because somebody else had its row."""
        self.head = 0
        """Where the log ended then."""

    @unavailable_on_failure()
    async def step(self) -> int:
        """Queue a batch for each webhook that is behind; returns how many events were looked at."""
        rows = await self._pool.fetch(sql.ENABLED, self._limits.webhooks)
        self.has_webhooks, self.is_behind = bool(rows), False
        total = 0
        for row in rows:
            self.head = row["head"]
            if row["position"] < row["head"]:
                total += await self._queue(row["webhook_id"])
        return total

    async def _queue(self, webhook_id: str) -> int:
        row = await self._pool.fetchrow(
            sql.QUEUE, webhook_id, self._clock(), self._limits.webhook_batch
        )
        if row is None:
            self.is_behind = True
            return 0
        missed = (row["first"] or row["head"] + 1) - row["after"] - 1
        if missed > 0:
            told = {"subject": webhook_id, "count": missed}
            log.error("a webhook was disabled for so long that events were deleted", extra=told)
        return max(1, int(row["seen"]))
