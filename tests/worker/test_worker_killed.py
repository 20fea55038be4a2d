"""If a worker is killed during a charge, the buyer is charged once, and another worker books it."""

import asyncio
import signal
from pathlib import Path

import asyncpg

from greenroom.bookings.sandbox.listener import Request, Response, SandboxServer
from greenroom.bookings.sandbox.provider import HOST, Sandbox
from tests.support import command
from tests.support.waiting import PATIENCE_S

from .payments import add_payment, told_when_tasks_end

SECRET = "a secret of the tests that is long enough"
NOW_MS = 1_700_000_000_000


async def test_killed_after_the_charge_and_before_the_answer_it_is_charged_and_booked_once(
    tmp_path: Path, database_url: str, pool: asyncpg.Pool
) -> None:
    called = asyncio.Event()

    async with Sandbox(tmp_path / "sandbox.db", secret=SECRET) as sandbox:

        async def answer(request: Request) -> Response | None:
            """The first who asks gets what they asked for, but never hears of it."""
            response = await sandbox._answer(request)
            if not called.is_set():
                called.set()
                await asyncio.Event().wait()
            return response

        front = SandboxServer(answer, host=HOST, port=0)
        url = f"http://{HOST}:{await front.open()}"
        await _book(pool)
        first = _start(tmp_path, database_url, url)
        try:
            await asyncio.wait_for(called.wait(), PATIENCE_S)
        finally:
            first.send_signal(signal.SIGKILL)
            await asyncio.to_thread(first.wait)
        async with told_when_tasks_end(pool) as ended:
            second = _start(tmp_path, database_url, url)
            try:
                await asyncio.wait_for(ended.wait(), PATIENCE_S)
            finally:
                second.send_signal(signal.SIGTERM)
                await asyncio.to_thread(second.wait)
        await front.close()
        [operation] = sandbox._state.all()

    assert (operation["times"], operation["moved"]) == (2, True)
    assert await pool.fetchval("select state from payment") == "succeeded"
    escrow = "select sum(balance_cents) from money_account where kind = 'escrow'"
    assert await pool.fetchval(escrow) == -10_000


async def _book(pool: asyncpg.Pool) -> None:
    await add_payment(pool, "pay_0", now_ms=NOW_MS, queued=False, state="failed")
    await pool.execute("delete from payment")
    await pool.execute(
        "insert into leg (leg_id, group_id, place, kind, seller, title, state, during, timezone,"
        " price_cents, created_at, updated_at) values ('leg_1', 'lbg_1', 0, 'talent', 'sol',"
        " 'A day', 'confirmed', tstzrange($1, $2), 'UTC', 10000, $1, $1)",
        *(NOW_MS, NOW_MS + 3_600_000),
    )
    await add_payment(pool, "pay_1", now_ms=NOW_MS, purpose="card", leg_id="leg_1")


def _start(home: Path, database_url: str, payments_url: str) -> command.Process:
    given = {
        "GREENROOM_HOME": str(home),
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_PAYMENTS_URL": payments_url,
        "GREENROOM_PAYMENTS_SECRET": SECRET,
    }
    with (home / "worker.log").open("ab") as log:
        return command.start("worker", given=given, output=log)
