"""The commands of background work: output and exit codes."""

import asyncio
import json
import signal
from pathlib import Path

import asyncpg
import httpx
import pytest

from greenroom.platform.tasks.table import dead_tasks
from tests.support import command
from tests.support.waiting import PATIENCE_S

from .payments import add_payment, told_when_tasks_end

NOW_MS = 1_800_000_000_000
LONG_AGO_MS = 1_600_000_000_000


class Greenroom:
    def __init__(self, home: Path, url: str, **settings: str) -> None:
        self._given = {"GREENROOM_HOME": str(home), "GREENROOM_DATABASE_URL": url, **settings}

    def start(self, *argv: str) -> command.Process:
        return command.start(*argv, given=self._given)

    async def run(self, *argv: str) -> tuple[int, str, str]:
        done = await asyncio.to_thread(command.run, *argv, given=self._given)
        return done.code, done.out, done.err


@pytest.fixture
async def greenroom(tmp_path: Path, database_url: str, pool: asyncpg.Pool) -> Greenroom:
    await pool.execute("truncate task, payment cascade")
    return Greenroom(tmp_path, database_url)


async def _fail_for_good(pool: asyncpg.Pool) -> None:
    await add_payment(pool, "pay_1", now_ms=NOW_MS)
    await pool.execute(
        "insert into task (kind, key, due_at, failure) values ('timer', 'leg_1/begin', $1,"
        " 'RuntimeError: broken')",
        NOW_MS,
    )
    await pool.execute("update task set is_dead = true, attempts = 10, failures = 10")


async def test_with_nothing_failed_the_list_says_so(greenroom: Greenroom) -> None:
    assert await greenroom.run("jobs", "list") == (0, "nothing has failed for good\n", "")
    assert await greenroom.run("jobs", "list", "--json") == (0, "[]\n", "")


async def test_what_failed_is_listed_with_a_hint_and_replayed_by_its_id(
    greenroom: Greenroom, pool: asyncpg.Pool
) -> None:
    await _fail_for_good(pool)
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
    assert await dead_tasks(pool) == []
    assert await pool.fetchval("select every(failure is null and attempts = 0) from task")


async def test_everything_can_be_replayed_at_once(greenroom: Greenroom, pool: asyncpg.Pool) -> None:
    await _fail_for_good(pool)
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
        await asyncio.to_thread(program.communicate, timeout=PATIENCE_S)


async def test_the_worker_by_itself_does_tasks_until_it_is_told_to_stop(
    greenroom: Greenroom, pool: asyncpg.Pool
) -> None:
    await add_payment(pool, "pay_gone", now_ms=LONG_AGO_MS, state="failed")
    async with told_when_tasks_end(pool) as ended:
        program = greenroom.start("worker")
        try:
            await asyncio.wait_for(ended.wait(), PATIENCE_S)
        finally:
            program.send_signal(signal.SIGTERM)
            await asyncio.to_thread(program.communicate, timeout=PATIENCE_S)
    assert program.returncode == 128 + signal.SIGTERM
    assert await pool.fetchval("select count(*) from task") == 0


async def test_failed_payouts_are_listed_and_what_is_none_is_not_made_again(
    greenroom: Greenroom, pool: asyncpg.Pool
) -> None:
    code, out, _ = await greenroom.run("payments", "list")
    assert (code, out) == (0, "no refund, release or payout has failed for good\n")
    await add_payment(pool, "pay_7", now_ms=NOW_MS)
    await pool.execute(
        "update payment set state = 'failed', failure_code = 'gone', operation = 'payout'"
    )
    code, out, _ = await greenroom.run("payments", "list", "--json")
    [listed] = json.loads(out)
    assert (code, listed["id"], listed["failure_code"]) == (0, "pay_7", "gone")
    await pool.execute("update payment set operation = 'charge'")
    code, out, _ = await greenroom.run("payments", "retry", "--id", "pay_7")
    assert code == 0
    assert out.startswith("pay_7  not tried again: Only a refund, release or payout")
    code, _, err = await greenroom.run("payments", "retry", "--id", "pay_none")
    assert code != 0
    assert "greenroom payments list" in err
