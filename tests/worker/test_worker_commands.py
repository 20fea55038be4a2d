"""The commands of background work, as an operator meets them: output and exit codes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import httpx
import pytest

from greenroom.platform.dead_letters import dead_jobs

from .site import add_payment

REPOSITORY = Path(__file__).resolve().parents[2]
NOW_MS = 1_800_000_000_000


class Greenroom:
    def __init__(self, home: Path, url: str, **settings: str) -> None:
        self._env = {k: v for k, v in os.environ.items() if not k.startswith("GREENROOM_")}
        self._env |= {"GREENROOM_HOME": str(home), "GREENROOM_DATABASE_URL": url, **settings}

    def start(self, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "greenroom", *argv],
            cwd=REPOSITORY,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    async def run(self, *argv: str) -> tuple[int, str, str]:
        program = self.start(*argv)
        out, err = await asyncio.to_thread(program.communicate, timeout=60)
        assert "Traceback" not in err
        return program.returncode, out, err


@pytest.fixture
async def greenroom(tmp_path: Path, database_url: str, queue_pool: asyncpg.Pool) -> Greenroom:
    await queue_pool.execute("truncate pgqueuer, pgqueuer_log, timer, payment cascade")
    return Greenroom(tmp_path, database_url)


async def _fail_for_good(pool: asyncpg.Pool) -> None:
    await add_payment(pool, "pay_1", now_ms=NOW_MS)
    await pool.execute("update pgqueuer set status = 'failed', attempts = 9")
    await pool.execute(
        "insert into timer (subject, name, due_at, attempts, failure)"
        " values ('leg_1', 'begin', $1, 10, 'RuntimeError: broken')",
        NOW_MS,
    )


async def test_with_nothing_failed_the_list_says_so(greenroom: Greenroom) -> None:
    assert await greenroom.run("jobs", "list") == (0, "nothing has failed for good\n", "")
    assert await greenroom.run("jobs", "list", "--json") == (0, "[]\n", "")


async def test_what_failed_is_listed_with_a_hint_and_replayed_by_its_id(
    greenroom: Greenroom, queue_pool: asyncpg.Pool
) -> None:
    await _fail_for_good(queue_pool)
    code, out, _ = await greenroom.run("jobs", "list")
    assert code == 0
    assert "job payment of pay_1" in out
    assert "ask the payment provider" in out
    assert "leg_1/begin  timer begin of leg_1" in out
    assert "RuntimeError: broken" in out
    job, timer = json.loads((await greenroom.run("jobs", "list", "--json"))[1])
    assert (job["subject"], job["attempts"]) == ("pay_1", 10)
    assert timer["since"] == "2027-01-15T08:00:00.000Z"
    for letter in (job, timer):
        code, out, _ = await greenroom.run("jobs", "replay", "--id", letter["id"])
        assert (code, out) == (0, "1 will be tried again\n")
    assert await dead_jobs(queue_pool) == []
    assert await queue_pool.fetchval("select failure is null and attempts = 0 from timer")


async def test_everything_can_be_replayed_at_once(
    greenroom: Greenroom, queue_pool: asyncpg.Pool
) -> None:
    await _fail_for_good(queue_pool)
    code, out, _ = await greenroom.run("jobs", "replay", "--all", "--json")
    assert (code, json.loads(out)) == (0, {"replayed": 2})


async def test_an_id_that_is_not_listed_is_told(greenroom: Greenroom) -> None:
    for wrong in ("7", "leg_7/begin", "nonsense"):
        code, _, err = await greenroom.run("jobs", "replay", "--id", wrong)
        assert (code, "jobs list" in err) == (1, True)
    code, _, err = await greenroom.run("jobs", "replay")
    assert code == 2


async def test_the_sandbox_of_the_command_has_the_secret_that_servers_have(
    greenroom: Greenroom, tmp_path: Path
) -> None:
    program = greenroom.start("payments-sandbox", "--port", "0")
    try:
        assert program.stdout is not None
        url = (await asyncio.to_thread(program.stdout.readline)).strip()
        secret = (tmp_path / "payments-secret").read_text().strip()
        async with httpx.AsyncClient() as http:
            headers = {"authorization": f"Bearer {secret}"}
            answer = await http.get(f"{url}/sandbox/operations", headers=headers)
        assert answer.json() == {"operations": []}
    finally:
        program.send_signal(signal.SIGTERM)
        await asyncio.to_thread(program.communicate, timeout=60)


async def test_the_worker_by_itself_does_jobs_until_it_is_told_to_stop(
    greenroom: Greenroom, queue_pool: asyncpg.Pool
) -> None:
    heard = asyncio.Event()
    async with queue_pool.acquire() as conn:

        def hear(*_: object) -> None:
            heard.set()

        await add_payment(queue_pool, "pay_gone", now_ms=NOW_MS, state="failed")
        await conn.add_listener("greenroom_jobs", hear)
        program = greenroom.start("worker")
        try:
            # The library tells when a job is gone.
            await asyncio.wait_for(heard.wait(), 60)
        finally:
            program.send_signal(signal.SIGTERM)
            await asyncio.to_thread(program.communicate, timeout=60)
            await conn.remove_listener("greenroom_jobs", hear)
    assert program.returncode == 128 + signal.SIGTERM
    assert await queue_pool.fetchval("select count(*) from pgqueuer") == 0
