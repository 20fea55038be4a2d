"""Two workers that are killed with SIGKILL while they post: at least once, and in order."""

import asyncio
import itertools
import random
import signal
from pathlib import Path

import asyncpg

from greenroom.kernel.clock import system_clock
from tests.support import IS_FULL, command
from tests.support.waiting import until
from tests.webhooks.stage import KEY, Stage, new_stage
from tests.webhooks.test_over_http import TAKEN, site

PHASES = ("before the answer", "after the answer", "whenever")
KILLS = 60 if IS_FULL else len(PHASES)
EVENTS, THREADS = 12, 3
WORKERS = 2


class Workers:
    def __init__(self, home: Path, database_url: str) -> None:
        self._log = home / "worker.log"
        self._given = {
            "GREENROOM_HOME": str(home),
            "GREENROOM_DATABASE_URL": database_url,
            "GREENROOM_WEBHOOK_KEY": KEY.decode(),
            "GREENROOM_EGRESS_ALLOW": "127.0.0.1",
            "GREENROOM_LIMIT_WEBHOOK_TIMEOUT_S": "1",
            "GREENROOM_LIMIT_WEBHOOK_POSTS_EACH": "2",
        }
        self._running: list[command.Process] = []

    def start(self) -> None:
        for _ in range(WORKERS):
            with self._log.open("ab") as output:
                self._running.append(command.start("worker", given=self._given, output=output))

    async def end(self, how: signal.Signals) -> None:
        for each in self._running:
            each.send_signal(how)
        for each in self._running:
            await asyncio.to_thread(each.wait)
        self._running = []


async def happen(stage: Stage, happened: dict[str, str]) -> None:
    for number in range(EVENTS):
        stage.clock.now_ms = system_clock()
        thread_id = f"thr_{number % THREADS}"
        happened[await stage.happen(thread_id)] = thread_id


async def test_killed_workers_lose_nothing_and_keep_the_order(
    pool: asyncpg.Pool, database_url: str, tmp_path: Path, seed: random.Random
) -> None:
    stage = await new_stage(pool)
    # The workers have the clock of the machine.
    stage.clock.now_ms = system_clock()
    workers, happened = Workers(tmp_path, database_url), dict[str, str]()
    struck, posts = asyncio.Event(), itertools.count()
    phase, strikes_at = PHASES[0], 0
    async with site() as receiver:

        async def answer(_: int, writer: asyncio.StreamWriter) -> bool:
            is_it = next(posts) >= strikes_at and not struck.is_set()
            if is_it and phase == "before the answer":
                struck.set()
                # It never comes: the process is killed while it waits for it.
                return True
            writer.write(TAKEN)
            await writer.drain()
            if is_it:
                struck.set()
            return True

        receiver.answer = answer
        await stage.add()
        await pool.execute("update webhook set url = $1", receiver.url)
        workers.start()
        for kill in range(KILLS):
            phase, strikes_at = PHASES[kill % len(PHASES)], seed.randrange(EVENTS // 2)
            posts = itertools.count()
            struck.clear()
            await happen(stage, happened)
            await until(struck.is_set, f"a post to be killed {phase}")
            if phase == "whenever":
                await asyncio.sleep(seed.random() * 0.3)
            await workers.end(signal.SIGKILL)
            workers.start()
        phase = ""
        await until(lambda: set(receiver.ids) == set(happened), "everything")
        await workers.end(signal.SIGTERM)
    first_arrivals = list(dict.fromkeys(receiver.ids))
    for thread_id in set(happened.values()):
        in_order = [event_id for event_id, of in happened.items() if of == thread_id]
        assert [each for each in first_arrivals if happened[each] == thread_id] == in_order
    left = await pool.fetch("select state, error from webhook_delivery where state <> 'delivered'")
    assert left == []
