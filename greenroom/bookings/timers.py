"""What happens by itself at its time, such as the expiry of a card or the start of a leg.

Timers are tasks that are run in order of their time, once each, also after a long downtime.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping

from greenroom.bookings.transactions import (
    TIMER,
    ContractTransaction,
    ContractTransactions,
    timer_key,
)
from greenroom.kernel.errors import Unavailable
from greenroom.platform.backoff import Backoff
from greenroom.platform.tasks.runner import Handler, NotYetError
from greenroom.platform.tasks.table import Task

TIMER_BACKOFF = Backoff(base_ms=5000, cap_ms=15 * 60 * 1000, attempts=10)
UNAVAILABLE_PAUSE_MS = 5000

RunTimer = Callable[[str, str], Awaitable[None]]
"""Runs the timer of this subject and name, in a transaction that also ends the timer."""

RunInTransaction = Callable[[ContractTransaction, str, str], Awaitable[None]]

log = logging.getLogger("greenroom.timers")

LOCK_TIMER = "select due_at from task where kind = $1 and key = $2 for update"


def in_transaction(transactions: ContractTransactions, run: RunInTransaction) -> RunTimer:
    """Runs the timer in a transaction of its own. A timer that was ended or moved since it was
    found does nothing.

    It locks the timer before what the work locks; transactions that set a timer lock in the other
    order. If the two deadlock, the database ends one of them, and that one is tried again.
    """

    async def run_once(subject: str, name: str) -> None:
        async def work(tx: ContractTransaction) -> None:
            due_ms = await tx.conn.fetchval(LOCK_TIMER, TIMER, timer_key(subject, name))
            if due_ms is not None and due_ms <= tx.now_ms:
                tx.end_timer(subject, name)
                await run(tx, subject, name)

        await transactions.run(work)

    return run_once


def timer_handler(runs: Mapping[str, RunTimer]) -> Handler:
    """Hands each timer to the one who runs those of its subject, found by the beginning of the
    subject's id, such as `leg_`."""

    async def handle(task: Task) -> None:
        subject, _, name = task.key.partition("/")
        run = next((run for start, run in runs.items() if subject.startswith(start)), None)
        if run is None:
            raise LookupError(f"nobody runs timers of {subject}")
        try:
            await run(subject, name)
        except Unavailable as failure:
            told = {"job": name, "subject": subject}
            log.warning("a timer could not be run just now", extra=told)
            # The store is away, which says nothing about the timer: the pause does not grow.
            raise NotYetError(str(failure), pause_ms=UNAVAILABLE_PAUSE_MS) from failure

    return handle
