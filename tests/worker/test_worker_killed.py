"""A worker that is killed while a charge is under way leaves one charge, and another books it."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg

from greenroom.bookings.sandbox import HOST, Sandbox
from greenroom.bookings.sandbox_http import Request, Response, SandboxServer
from greenroom.platform.jobs import CHANNEL

from .site import add_payment

REPOSITORY = Path(__file__).resolve().parents[2]
SECRET = "a secret of the tests that is long enough"
NOW_MS = 1_800_000_000_000
PATIENCE_S = 60


async def test_killed_after_the_charge_and_before_the_answer_it_is_charged_and_booked_once(
    tmp_path: Path, database_url: str, queue_pool: asyncpg.Pool
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
        await _book(queue_pool)
        first = _start(tmp_path, database_url, url)
        try:
            await asyncio.wait_for(called.wait(), PATIENCE_S)
        finally:
            first.send_signal(signal.SIGKILL)
            await asyncio.to_thread(first.wait)
        # As it is when half a minute has passed without a sign of life.
        await queue_pool.execute("update pgqueuer set heartbeat = now() - interval '1 minute'")

        second = _start(tmp_path, database_url, url)
        try:
            await _job_is_gone(queue_pool)
        finally:
            second.send_signal(signal.SIGTERM)
            await asyncio.to_thread(second.wait)
        await front.close()
        [operation] = sandbox._state.all()

    assert (operation["times"], operation["moved"]) == (2, True)
    assert await queue_pool.fetchval("select state from payment") == "succeeded"
    escrow = "select sum(balance_cents) from money_account where kind = 'escrow'"
    assert await queue_pool.fetchval(escrow) == -10_000


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


def _start(home: Path, database_url: str, payments_url: str) -> subprocess.Popen[bytes]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
    env |= {
        "GREENROOM_HOME": str(home),
        "GREENROOM_DATABASE_URL": database_url,
        "GREENROOM_PAYMENTS_URL": payments_url,
        "GREENROOM_PAYMENTS_SECRET": SECRET,
    }
    with (home / "worker.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "greenroom", "worker"],
            cwd=REPOSITORY,
            env=env,
            stdout=log,
            stderr=log,
        )


async def _job_is_gone(pool: asyncpg.Pool) -> None:
    """The library tells when it deletes one."""
    heard = asyncio.Event()

    def hear(*_: object) -> None:
        heard.set()

    async with pool.acquire() as conn:
        await conn.add_listener(CHANNEL, hear)
        try:
            while await conn.fetchval("select count(*) from pgqueuer"):
                await asyncio.wait_for(heard.wait(), PATIENCE_S)
                heard.clear()
        finally:
            await conn.remove_listener(CHANNEL, hear)
