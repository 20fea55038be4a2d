"""Writes down what has become of deliveries, and disables webhooks that are gone or fail."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from asyncpg import Pool
from prometheus_client import Counter

from greenroom.kernel.clock import Clock
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import Session, unavailable_on_failure
from greenroom.webhooks import sql
from greenroom.webhooks.model import (
    BACK_AFTER_MS,
    GONE,
    HOUR_MS,
    SPREAD_MS,
    TEST_EVENT,
    Attempt,
    DeliveryState,
    DisabledReason,
)

ATTEMPTS = Counter(
    "greenroom_webhook_attempts",
    "Attempts to deliver an event: delivered, tried again later, or failed for good",
    ["outcome"],
)
DISABLED = Counter(
    "greenroom_webhooks_disabled", "Webhooks that were disabled by the server", ["reason"]
)

log = logging.getLogger("greenroom.webhooks")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`next_at_ms` is None after a success and after the last attempt."""

    webhook_id: str
    lane: str
    version: int
    delivery_id: int
    event_id: str
    type: str
    attempt: Attempt
    tried_at_ms: int
    duration_ms: int
    next_at_ms: int | None
    was_failing: bool
    """Whether the webhook was known to fail when the delivery was taken."""

    @property
    def is_gone(self) -> bool:
        return self.attempt.status == GONE

    @property
    def state(self) -> DeliveryState:
        if self.attempt.is_success:
            return "delivered"
        # What a receiver that is gone was to get waits until the webhook is enabled again.
        return "failed" if self.next_at_ms is None and not self.is_gone else "waiting"


class Outcomes:
    def __init__(self, pool: Pool, *, clock: Clock, limits: Limits) -> None:
        self._pool = pool
        self._clock = clock
        self._limits = limits

    @unavailable_on_failure()
    async def write(self, outcomes: Sequence[Outcome]) -> Sequence[bool]:
        """Says of each whether it was written down: not when another process has the lane now."""
        async with self._pool.acquire() as conn:
            rows = await conn.fetch(sql.FINISH, *_columns(outcomes))
            written = {row["delivery_id"] for row in rows}
            mine = [each for each in outcomes if each.delivery_id in written]
            await self._note_webhooks(conn, mine)
        for each in mine:
            _tell(each)
        return [each.delivery_id in written for each in outcomes]

    async def _note_webhooks(self, conn: Session, outcomes: Sequence[Outcome]) -> None:
        """Of what succeeds and fails together, the success counts."""
        good = {each.webhook_id for each in outcomes if each.attempt.is_success}
        bad = {each.webhook_id for each in outcomes if each.attempt.was_made} - good
        now_ms = self._clock()
        recovered = good & {each.webhook_id for each in outcomes if each.was_failing}
        if recovered:
            for row in await conn.fetch(sql.NOTE_SUCCESS, sorted(recovered)):
                if now_ms - row["failing_since"] >= BACK_AFTER_MS:
                    log.info("a webhook works again", extra={"subject": row["webhook_id"]})
                    await conn.execute(sql.BRING_FORWARD, row["webhook_id"], now_ms, SPREAD_MS)
        for each in {each.webhook_id for each in outcomes if each.is_gone}:
            await self._disable(conn, each, "gone")
        if bad:
            since_ms = now_ms - self._limits.webhook_failing_hours * HOUR_MS
            for row in await conn.fetch(sql.NOTE_FAILING, sorted(bad), now_ms):
                if row["failing_since"] <= since_ms:
                    await self._disable(conn, row["webhook_id"], "failing")

    async def _disable(self, conn: Session, webhook_id: str, reason: DisabledReason) -> None:
        if await conn.fetchrow(sql.DISABLE, webhook_id, self._clock(), reason) is not None:
            DISABLED.labels(reason).inc()
            told = {"subject": webhook_id, "code": reason}
            log.error("a webhook was disabled: `greenroom webhooks list`", extra=told)


def _tell(outcome: Outcome) -> None:
    state = outcome.state
    ATTEMPTS.labels("retried" if state == "waiting" else state).inc()
    if state == "failed" and outcome.type != TEST_EVENT:
        told = {"subject": outcome.webhook_id, "code": outcome.event_id}
        log.error("a delivery failed for good and can be replayed", extra=told)


def _columns(outcomes: Sequence[Outcome]) -> list[list[object]]:
    attempts = [each.attempt for each in outcomes]
    return [
        [each.webhook_id for each in outcomes],
        [each.lane for each in outcomes],
        [each.version for each in outcomes],
        [each.delivery_id for each in outcomes],
        [each.state for each in outcomes],
        [each.tried_at_ms for each in outcomes],
        [each.duration_ms for each in outcomes],
        [each.status for each in attempts],
        [each.error for each in attempts],
        [each.excerpt for each in attempts],
        # The next delivery of the lane is due at once.
        [each.next_at_ms or each.tried_at_ms for each in outcomes],
    ]
