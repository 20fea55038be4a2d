"""The commands of background work: worker, jobs, payments-sandbox."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

import asyncpg

from greenroom.bookings.sandbox import run
from greenroom.bookings.timers import dead_timers, replay_timers
from greenroom.bootstrap import Rooms, database
from greenroom.contract import SANDBOX_FILE, payments_secret
from greenroom.doctor import MissingError
from greenroom.kernel.clock import rfc3339
from greenroom.platform.dead_letters import DeadLetter, dead_jobs
from greenroom.platform.dead_letters import replay_jobs as replay_dead_jobs
from greenroom.platform.logs import configure_logging
from greenroom.platform.migrations import migrate
from greenroom.platform.postgres import open_pool
from greenroom.platform.termination import run_until_sigterm
from greenroom.settings import Settings

T = TypeVar("T")

HINTS = {
    "payment": "ask the payment provider what became of it; then replay it, which repeats nothing",
    "job": "mend what its failure tells of, then replay it",
    "timer": "mend what its failure tells of, then replay it: it runs late, but once",
}


def work(_: argparse.Namespace, settings: Settings) -> int:
    configure_logging()
    with database(settings) as url:

        async def run() -> None:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                rooms.contract.worker.start()
                try:
                    await asyncio.Event().wait()
                finally:
                    await rooms.contract.worker.stop()

        run_until_sigterm(run())
    return 0


def list_jobs(args: argparse.Namespace, settings: Settings) -> int:
    async def work(pool: asyncpg.Pool) -> list[DeadLetter]:
        return [*await dead_jobs(pool), *await dead_timers(pool)]

    letters = _with_pool(settings, work)
    if args.json:
        print(json.dumps([_row(letter) for letter in letters], indent=2))
        return 0
    for letter in letters:
        since = rfc3339(letter.since_ms)
        print(f"{letter.id}  {letter.kind} {letter.name} of {letter.subject}")
        print(f"    {letter.attempts} attempts, {since}: {letter.failure or 'no reason is known'}")
        print(f"    {_hint(letter)}")
    if letters:
        print("`greenroom jobs replay --id ID` or `--all` lets them be tried again")
    else:
        print("nothing has failed for good")
    return 0


def _row(letter: DeadLetter) -> dict[str, Any]:
    row = {**asdict(letter), "since": rfc3339(letter.since_ms), "hint": _hint(letter)}
    del row["since_ms"]
    return row


def _hint(letter: DeadLetter) -> str:
    return HINTS.get(letter.name, HINTS["job"]) if letter.kind == "job" else HINTS["timer"]


def replay_jobs(args: argparse.Namespace, settings: Settings) -> int:
    async def work(pool: asyncpg.Pool) -> int:
        async with pool.acquire() as conn:
            if args.all:
                return await replay_dead_jobs(conn, None) + await replay_timers(conn, None)
            if args.id.isascii() and args.id.isdigit() and len(args.id) <= 18:
                return await replay_dead_jobs(conn, int(args.id))
            return await replay_timers(conn, args.id)

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
    """Servers use it when their GREENROOM_PAYMENTS_URL is the address that it prints."""
    return run(
        settings.home / SANDBOX_FILE,
        secret=payments_secret(settings),
        webhook_url=args.webhook_url,
        port=args.port,
    )
