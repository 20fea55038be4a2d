"""Deletes old deliveries, and says how webhooks are."""

from dataclasses import dataclass

from asyncpg import Pool, UndefinedTableError
from prometheus_client import Gauge

from greenroom.kernel.clock import Clock
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure
from greenroom.webhooks import sql
from greenroom.webhooks.model import DAY_MS
from greenroom.webhooks.signing import Sealer, SealError

WAITING = Gauge(
    "greenroom_webhook_deliveries_waiting",
    "Deliveries of webhooks that wait, up to some 100,000",
    multiprocess_mode="max",
)
FAILING = Gauge(
    "greenroom_webhooks_failing",
    "Webhooks that are enabled and whose last deliveries have all failed",
    multiprocess_mode="max",
)
STOPPED = Gauge(
    "greenroom_webhooks_stopped",
    "Webhooks that the server has disabled and nobody has enabled again",
    multiprocess_mode="max",
)


@dataclass(frozen=True, slots=True)
class Standing:
    """How one webhook is, for `greenroom doctor`."""

    webhook_id: str
    disabled_reason: str | None
    failing_since_ms: int | None
    is_readable: bool
    """Whether its secret can be read with the key of this process."""


class WebhookUpkeep:
    def __init__(self, pool: Pool, *, clock: Clock, limits: Limits) -> None:
        self._pool = pool
        self._clock = clock
        self._limits = limits

    @unavailable_on_failure()
    async def prune_deliveries(self) -> dict[str, int]:
        """Delete a batch of deliveries that ended long ago, and measure."""
        before_ms = self._clock() - self._limits.webhook_kept_days * DAY_MS
        status = await self._pool.execute(sql.PRUNE, before_ms, self._limits.maintenance_batch)
        [row] = await self._pool.fetch(sql.MEASURE)
        WAITING.set(row["waiting"])
        FAILING.set(row["failing"])
        STOPPED.set(row["disabled"])
        return {"webhook_delivery": int(status.rpartition(" ")[2])}


async def standings(pool: Pool, sealer: Sealer | None, limit: int) -> list[Standing]:
    """Nothing before the tables are made."""
    try:
        rows = await pool.fetch(sql.STANDINGS, limit)
    except UndefinedTableError:
        return []
    return [
        Standing(
            row["webhook_id"],
            row["disabled_reason"],
            row["failing_since"],
            _is_readable(sealer, row["webhook_id"], row["secret"]),
        )
        for row in rows
    ]


def _is_readable(sealer: Sealer | None, webhook_id: str, sealed: bytes) -> bool:
    if sealer is None:
        return False
    try:
        sealer.unseal(webhook_id, sealed)
    except SealError:
        return False
    return True
