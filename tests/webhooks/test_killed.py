"""Workers that are killed with SIGKILL while they post: at least once, and in order."""

import asyncio
import itertools
import random
import signal
from pathlib import Path

import asyncpg

from greenroom.kernel.clock import system_clock
from tests.support import IS_FULL, command
from tests.support.waiting import PATIENCE_S, until
from tests.webhooks.stage import KEY, Stage, new_stage
from tests.webhooks.test_over_http import TAKEN, site

PHASES = ("before the answer", "after the answer", "whenever")
KILLS = 60 if IS_FULL else 2
EVENTS, THREADS = 12, 3
WORKERS = 3


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

    def start(self, count: int) -> None:
        for _ in range(count):
            with self._log.open("ab") as output:
                self._running.append(command.start("worker", given=self._given, output=output))

    async def kill_who_has(self, port: int) -> None:
        """The one whose connection comes from this port."""
        [killed] = [each for each in self._running if has_port(each.pid, port)]
        killed.send_signal(signal.SIGKILL)
        await asyncio.to_thread(killed.wait)
        self._running.remove(killed)

    async def end(self) -> None:
        for each in self._running:
            each.send_signal(signal.SIGTERM)
        for each in self._running:
            await asyncio.to_thread(each.wait)


def has_port(pid: int, port: int) -> bool:
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = {f"socket:[{each[9]}]" for each in lines if each[1].endswith(f":{port:04X}")}
    links = list(Path(f"/proc/{pid}/fd").iterdir())
    return any(str(each.readlink()) in sockets for each in links if each.is_symlink())


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
    struck: asyncio.Queue[int] = asyncio.Queue()
    phase, posts = "", itertools.count()
    async with site() as receiver:

        async def answer(_: int, writer: asyncio.StreamWriter) -> bool:
            nonlocal phase
            is_it = phase != "" and next(posts) >= strikes_at
            port = writer.get_extra_info("peername")[1]
            if is_it and phase == "before the answer":
                phase = ""
                struck.put_nowait(port)
                # It never comes: the process is killed while it waits for it.
                return True
            writer.write(TAKEN)
            await writer.drain()
            if is_it:
                phase = ""
                struck.put_nowait(port)
            return True

        receiver.answer = answer
        await stage.add()
        await pool.execute("update webhook set url = $1", receiver.url)
        workers.start(WORKERS)
        for kill in range(KILLS):
            kind, strikes_at = PHASES[kill % len(PHASES)], seed.randrange(EVENTS // 2)
            phase, posts = kind, itertools.count()
            await happen(stage, happened)
            port = await asyncio.wait_for(struck.get(), PATIENCE_S)
            if kind == "whenever":
                await asyncio.sleep(seed.random() * 0.3)
            await workers.kill_who_has(port)
            if KILLS > WORKERS:
                workers.start(1)
        await until(lambda: set(receiver.ids) == set(happened), "everything")
        await workers.end()
    first_arrivals = list(dict.fromkeys(receiver.ids))
    for thread_id in set(happened.values()):
        in_order = [event_id for event_id, of in happened.items() if of == thread_id]
        assert [each for each in first_arrivals if happened[each] == thread_id] == in_order
