"""Lists refunds, releases and payouts that failed for good, and repeats them on request."""

from collections.abc import Awaitable, Callable

from greenroom.bookings import sql
from greenroom.bookings.model import ENDED, Group, Payment
from greenroom.bookings.money.orders import queue_payout, queue_release, repeat_refund
from greenroom.bookings.money.payout_holds import STOPPED
from greenroom.bookings.money.settling import lock_for_money
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions
from greenroom.kernel.errors import ActionConflict, ActionInvalidState, NotFound
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import unavailable_on_failure

RETRIED = ("refund", "release", "payout")
NOTE_AGAIN = "update payment set again = $2 where payment_id = $1"

Again = Callable[[ContractTransaction, Payment], Awaitable[None]]
"""Repeats a failed payment of one purpose. The thread and the group are locked."""


class Retrying:
    def __init__(self, transactions: ContractTransactions) -> None:
        self.transactions = transactions
        self._again: dict[str, Again] = {}

    def register(self, purpose: str, again: Again) -> None:
        self._again[purpose] = again

    @unavailable_on_failure()
    async def failed(self, after: str, limit: int) -> list[Payment]:
        """Failed payments that nobody has repeated, the oldest first, after the id `after`."""
        rows = await self.transactions.pool.fetch(sql.FAILED_PAYMENTS, after, limit)
        return [sql.read_payment(row) for row in rows]

    async def retry(self, payment_id: str, once: Once | None = None) -> Payment | Kept:
        """Repeat a failed payment and return the new one; a second call returns the same new one.
        Raises NotFound, ActionInvalidState, ActionConflict."""
        return await self.transactions.run(lambda tx: self._retry(tx, payment_id), once)

    async def _retry(self, tx: ContractTransaction, payment_id: str) -> Payment:
        found = await tx.conn.fetchrow(sql.PAYMENT, payment_id)
        if found is None:
            raise NotFound
        group = await lock_for_money(tx, found["group_id"])
        failed = await _lock_payment(tx, payment_id)
        _check(failed)
        if failed.again is not None:
            return await _lock_payment(tx, failed.again)
        made = await self._make(tx, group, failed)
        await tx.tell_booking_changed(group.thread_id)
        return made

    async def _make(self, tx: ContractTransaction, group: Group, failed: Payment) -> Payment:
        again = self._again.get(failed.purpose)
        if again is None or failed.operation != "refund":
            return await _make_again(tx, group, failed)
        await again(tx, failed)
        made = (await _lock_payment(tx, failed.payment_id)).again
        if made is None:
            raise ActionConflict("There is nothing left to be refunded here.")
        return await _lock_payment(tx, made)


async def _lock_payment(tx: ContractTransaction, payment_id: str) -> Payment:
    [row] = await tx.conn.fetch(sql.LOCK_PAYMENT, payment_id)
    return sql.read_payment(row)


def _check(payment: Payment) -> None:
    is_retried = payment.operation in RETRIED and payment.failure_code != STOPPED
    if payment.state != "failed" or not is_retried:
        raise ActionInvalidState(
            "Only a refund, release or payout that failed is tried again.",
            hint="GET /v1/payments?state=failed lists them.",
        )


async def _make_again(tx: ContractTransaction, group: Group, failed: Payment) -> Payment:
    key, leg = f"{failed.payment_id}:again", group.leg(failed.leg_id or "")
    made: Payment | None
    if failed.operation == "refund":
        made = await repeat_refund(tx, group, failed)
    elif failed.operation == "release":
        made = await queue_release(tx, group, leg, key=key, purpose=failed.purpose)
    else:
        if leg.payout == "held" or leg.state not in ENDED:
            raise ActionConflict("The payout of this leg is held.")
        made = await queue_payout(tx, group, leg, key=key, purpose=failed.purpose)
    if made is None:
        raise ActionConflict("Nothing of it is left: it was settled in another way.")
    await tx.conn.execute(NOTE_AGAIN, failed.payment_id, made.payment_id)
    return made
