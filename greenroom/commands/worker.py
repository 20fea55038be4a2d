"""`greenroom worker`, `jobs list`, `jobs replay` and `payments-sandbox`."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

import asyncpg

from greenroom.bookings.sandbox.provider import run
from greenroom.bookings.transactions import TIMER
from greenroom.bootstrap import Rooms, database
from greenroom.bootstrap_contract import SANDBOX_FILE, payments_secret
from greenroom.doctor import MissingError
from greenroom.kernel.clock import rfc3339
from greenroom.platform.logs import configure_logging
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.postgres.pool import open_pool, snapshot
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.platform.tasks.table import DeadTask, dead_tasks, replay
from greenroom.settings import Settings

T = TypeVar("T")

HINTS = {
    "payment": "ask the payment provider what became of it; then replay it, which repeats nothing",
    "file": "mend what its failure tells of, then replay it: the file is processed from the start",
    "job": "mend what its failure tells of, then replay it",
    "timer": "mend what its failure tells of, then replay it: it runs late, but once",
}


def work(_: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    with database(settings) as url:

        async def run() -> None:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                await rooms.bus.start()
                rooms.contract.worker.start()
                try:
                    await asyncio.Event().wait()
                finally:
                    await rooms.contract.worker.stop()
                    await rooms.bus.stop()

        run_until_sigterm(run())
    return 0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead task as an operator sees it. `id` is what replays it."""

    id: str
    kind: Literal["job", "timer"]
    name: str
    subject: str
    attempts: int
    failure: str | None
    since_ms: int


def list_jobs(args: argparse.Namespace, settings: Settings) -> int:
    async def work(pool: asyncpg.Pool) -> list[DeadTask]:
        async with snapshot(pool) as conn:
            return await dead_tasks(conn)

    letters = [_letter(task) for task in _with_pool(settings, work)]
    if args.json:
        print(json.dumps([_row(letter) for letter in letters], indent=2))
        return 0
    for letter in letters:
        since = rfc3339(letter.since_ms)
        print(f"{letter.id}  {letter.kind} {letter.name} of {letter.subject}")
        print(f"    {letter.attempts} attempts, {since}: {letter.failure or 'no reason is known'}")
        print(f"    {_hint(letter)}")
    if letters:
        print("`greenroom jobs replay --id ID` or `--all` tries them again")
    else:
        print("nothing has failed for good")
    return 0


def _letter(task: DeadTask) -> DeadLetter:
    rest = (task.attempts, task.failure, task.due_ms)
    if task.kind != TIMER:
        return DeadLetter(str(task.id), "job", task.kind, task.key, *rest)
    subject, _, name = task.key.partition("/")
    return DeadLetter(task.key, "timer", name, subject, *rest)


def _row(letter: DeadLetter) -> dict[str, Any]:
    row = {**asdict(letter), "since": rfc3339(letter.since_ms), "hint": _hint(letter)}
    del row["since_ms"]
    return row


def _hint(letter: DeadLetter) -> str:
    return HINTS.get(letter.name, HINTS["job"]) if letter.kind == "job" else HINTS["timer"]


def replay_jobs(args: argparse.Namespace, settings: Settings) -> int:
    async def work(pool: asyncpg.Pool) -> int:
        if args.all:
            return await replay(pool)
        if args.id.isascii() and args.id.isdigit() and len(args.id) <= 18:
            return await replay(pool, int(args.id))
        return await replay(pool, kind=TIMER, key=args.id)

    count = _with_pool(settings, work)
    if not count and args.id is not None:
        raise MissingError(f"{args.id[:80]!r} is not listed. `greenroom jobs list` shows what is.")
    print(json.dumps({"replayed": count}) if args.json else f"{count} will be tried again")
    return 0


def _with_pool(settings: Settings, work: Callable[[asyncpg.Pool], Awaitable[T]]) -> T:
    with database(settings) as url:

        async def run() -> T:
            await migrate(url)
            timeout_ms = settings.limits.statement_timeout_ms
            pool = await open_pool(url, min_size=1, max_size=1, statement_timeout_ms=timeout_ms)
            try:
                return await work(pool)
            finally:
                await pool.close()

        return run_until_sigterm(run())


def run_sandbox(args: argparse.Namespace, settings: Settings) -> int:
    """Servers use it if their GREENROOM_PAYMENTS_URL is the address that it prints."""
    return run(
        settings.home / SANDBOX_FILE,
        secret=payments_secret(settings),
        webhook_url=args.webhook_url,
        port=args.port,
    )
