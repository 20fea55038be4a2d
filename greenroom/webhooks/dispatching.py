"""The dispatcher reads the log behind each webhook's cursor and queues deliveries.

Deliveries and the cursor are written in one transaction, so an event is queued once for a webhook.
The cursor's row is locked meanwhile: of several processes one at a time queues for a webhook, and
the others pass over it. No webhook waits for another.
"""

import logging

from asyncpg import Pool

from greenroom.events.consumers import advance
from greenroom.kernel.clock import Clock
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure
from greenroom.webhooks import sql
from greenroom.webhooks.model import Webhook

log = logging.getLogger(__name__)


class Dispatcher:
    def __init__(self, pool: Pool, *, clock: Clock, limits: Limits) -> None:
        self._pool = pool
        self._clock = clock
        self._limits = limits
        self.has_webhooks = False
        """Whether any was enabled at the last step."""
        self.head = 0
        """Where the log ended then."""

    @unavailable_on_failure()
    async def step(self) -> int:
        """Queue a batch for each webhook that is behind; returns how many events were looked at."""
        rows = await self._pool.fetch(sql.ENABLED, self._limits.webhooks)
        self.has_webhooks = bool(rows)
        total = 0
        for row in rows:
            self.head = row["head"]
            if row["position"] < row["head"]:
                total += await self._queue(sql.webhook_from(row), row["head"])
        return total

    async def _queue(self, webhook: Webhook, head: int) -> int:
        async with self._pool.acquire() as conn, conn.transaction():
            # In the order of replays: webhook, then cursor and lanes.
            if await conn.fetchrow(sql.LOCK, webhook.webhook_id) is None:
                return 0
            after = await conn.fetchval(sql.CURSOR_IF_FREE, webhook.webhook_id)
            if after is None or after >= head:
                return 0
            now_ms = self._clock()
            taken = (webhook.takes_all, list(webhook.events))
            looked = (webhook.webhook_id, after, head, *taken, now_ms, self._limits.webhook_batch)
            [row] = await conn.fetch(sql.DISPATCH, *looked)
            reached = head if row["seen"] < self._limits.webhook_batch else row["last"]
            await advance(conn, webhook.webhook_id, reached)
        first = row["first"] or head + 1
        if first > after + 1:
            told = {"subject": webhook.webhook_id, "count": first - after - 1}
            log.error("a webhook was disabled for so long that events were deleted", extra=told)
        return max(1, int(row["seen"]))
