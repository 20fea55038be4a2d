"""What a worker works with: bookings with payments, a provider that is told what to say."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import asyncpg

from greenroom.bookings.money.provider import Operation, Outcome
from greenroom.bookings.transactions import ContractTransactions
from greenroom.conversations.thread_updates import AppliedUpdate, ThreadUpdates
from greenroom.kernel.clock import Clock
from greenroom.platform.tasks.table import enqueue

TELL_WHEN_TASKS_END = """
create function tell_when_tasks_end() returns trigger language plpgsql as $$
begin
    if not exists (select from task) then
        perform pg_notify('tests_tasks_end', '');
    end if;
    return null;
end
$$;
create trigger tell_when_tasks_end after delete on task
    for each statement execute function tell_when_tasks_end();
"""


class NoThreads:
    """Bookings without a conversation have nothing to post."""

    async def show(self, applied: Sequence[AppliedUpdate]) -> None:
        assert not applied


class ScriptedProvider:
    """Says what it is told to, then that all is well; counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Operation] = []
        self.says: list[Outcome | Exception] = []

    async def carry_out(self, operation: Operation) -> Outcome:
        self.asked.append(operation)
        if self.says:
            said = self.says.pop(0)
            if isinstance(said, Exception):
                raise said
            return said
        return Outcome("succeeded", f"prv_{operation.key}")


class PlainSettling:
    """Writes the outcome down, once."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool
        self.settled: list[tuple[str, Outcome]] = []
        self.happened = asyncio.Event()

    async def settle(self, payment_id: str, outcome: Outcome) -> bool:
        news = await self._pool.fetchval(
            "update payment set state = $2, provider_id = $3, failure_code = $4"
            " where payment_id = $1 and state = 'queued' returning 1",
            *(payment_id, outcome.status, outcome.provider_id, outcome.failure_code),
        )
        if news:
            self.settled.append((payment_id, outcome))
            self.happened.set()
        return bool(news)

    async def wait_for_payer(self, payment_id: str) -> bool:
        raise AssertionError(f"{payment_id} waits for nobody")


def transactions_on(
    pool: asyncpg.Pool, clock: Clock, wake_collector: Callable[[], None] = lambda: None
) -> ContractTransactions:
    return ContractTransactions(
        pool,
        cast("ThreadUpdates", NoThreads()),
        clock=clock,
        randomness=lambda: "0" * 14,
        wake_collector=wake_collector,
    )


async def add_payment(
    pool: asyncpg.Pool,
    payment_id: str,
    *,
    now_ms: int,
    queued: bool = True,
    **columns: Any,
) -> None:
    """A payment of a booking, and its task."""
    values = {
        "payment_id": payment_id,
        "key": f"key:{payment_id}",
        "operation": "charge",
        "purpose": "confirm",
        "group_id": "lbg_1",
        "account": "ada",
        "amount_cents": 10_000,
        "currency": "EUR",
        "created_at": now_ms,
        "updated_at": now_ms,
        **columns,
    }
    names = ", ".join(values)
    places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute(
            "insert into booking_group (group_id, buyer, currency, state, policy, created_at,"
            " updated_at) values ('lbg_1', 'ada', 'EUR', 'confirming', '[]', $1, $1)"
            " on conflict do nothing",
            now_ms,
        )
        sql = f"insert into payment ({names}) values ({places})"  # noqa: S608 (names of columns)
        await conn.execute(sql, *values.values())
        if queued:
            await enqueue(conn, "payment", payment_id, due_ms=now_ms)


@asynccontextmanager
async def told_when_tasks_end(pool: asyncpg.Pool) -> AsyncIterator[asyncio.Event]:
    """Set when any worker, also one in another process, has done the last task."""
    ended = asyncio.Event()
    await pool.execute(TELL_WHEN_TASKS_END)

    def hear(*_: object) -> None:
        ended.set()

    async with pool.acquire() as conn:
        await conn.add_listener("tests_tasks_end", hear)
        try:
            yield ended
        finally:
            await conn.remove_listener("tests_tasks_end", hear)
            await conn.execute("drop function tell_when_tasks_end cascade")
