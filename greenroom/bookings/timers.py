"""Runs what happens by itself at its time: in order, once each, also after a long absence."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from random import random as system_random

from asyncpg import Pool, Record

from greenroom.bookings.deeds import Deed, Deeds
from greenroom.kernel.errors import Unavailable
from greenroom.platform.backoff import Backoff
from greenroom.platform.dead_letters import LISTED, DeadLetter
from greenroom.platform.postgres import Session, unavailable_on_failure

FAILURE_CHARACTERS = 500
TIMER_BACKOFF = Backoff(base_ms=5000, cap_ms=15 * 60 * 1000, attempts=10)

RunTimer = Callable[[str, str], Awaitable[None]]
"""Does what the timer of this subject and name is for, in a deed that also ends the timer."""

RunInDeed = Callable[[Deed, str, str], Awaitable[None]]

log = logging.getLogger("greenroom.timers")

NEXT_DUE = """
select subject, name, due_at, attempts from timer
where failure is null and due_at <= $1 and ($2 or retry_at is null or retry_at <= $1)
order by due_at, subject, name limit 1
"""
NEXT_TIME = """
select due_at from timer where failure is null and due_at > $1 order by due_at limit 1
"""
LOCK_TIMER = "select due_at from timer where subject = $1 and name = $2 for update"
# Only the timer that was run: it may have been set anew meanwhile.
PUT_OFF = """
update timer set attempts = attempts + $4, retry_at = $5, failure = $6
where subject = $1 and name = $2 and due_at = $3
returning 1
"""
DEAD_TIMERS = """
select subject, name, attempts, failure, due_at from timer
where failure is not null order by due_at, subject, name limit $1
"""
REPLAY = """
update timer set failure = null, attempts = 0, retry_at = null
where failure is not null and ($1::text is null or (subject = $1 and name = $2))
"""


def in_deed(deeds: Deeds, run: RunInDeed) -> RunTimer:
    """A timer that was ended or moved since it was found does nothing.

    The timer is locked before whatever the work locks, the other way round than in deeds that set
    it. Should the two meet, the database ends one of them, which is then done again.
    """

    async def run_once(subject: str, name: str) -> None:
        async def work(deed: Deed) -> None:
            due_ms = await deed.conn.fetchval(LOCK_TIMER, subject, name)
            if due_ms is not None and due_ms <= deed.now_ms:
                deed.end_timer(subject, name)
                await run(deed, subject, name)

        await deeds.do(work)

    return run_once


class Timers:
    """`runs` says who runs the timers of which subjects, by the beginning of their ids."""

    def __init__(
        self,
        pool: Pool,
        runs: Mapping[str, RunTimer],
        *,
        clock: Callable[[], int],
        backoff: Backoff = TIMER_BACKOFF,
        chance: Callable[[], float] = system_random,
    ) -> None:
        self._pool = pool
        self._runs = runs
        self._clock = clock
        self._backoff = backoff
        self._chance = chance

    async def run_due(self, limit: int, *, at_once: bool = False) -> int:
        """Run what is due, the longest due first, and say how many were tried. One that fails is
        put off by itself; `at_once` does not wait for that pause to be over."""
        for count in range(limit):
            async with unavailable_on_failure():
                due = await self._pool.fetchrow(NEXT_DUE, self._clock(), at_once)
            if due is None:
                return count
            await self._run(due)
        return limit

    async def _run(self, due: Record) -> None:
        told = {"job": due["name"], "subject": due["subject"]}
        try:
            await self._run_of(due["subject"])(due["subject"], due["name"])
        except Unavailable:
            log.warning("a timer could not be run just now", extra=told)
            await self._put_off(due, None)
        except Exception as failure:
            log.exception("a timer failed", extra=told)
            await self._put_off(due, failure)
        else:
            if await self._put_off(due, RuntimeError("what it did has not ended it")):
                log.error("a timer was run and is still there", extra=told)

    def _run_of(self, subject: str) -> RunTimer:
        for beginning, run in self._runs.items():
            if subject.startswith(beginning):
                return run
        raise LookupError(f"nobody runs timers of {subject}")

    async def _put_off(self, due: Record, failure: Exception | None) -> bool:
        """False when the timer is not there any more, or was set anew."""
        attempts = due["attempts"]
        retry_ms = self._clock() + self._backoff.delay_ms(attempts, self._chance())
        text = None
        if failure is not None and self._backoff.is_over(attempts):
            text = f"{type(failure).__name__}: {failure}"[:FAILURE_CHARACTERS]
        counts = int(failure is not None)
        of = (due["subject"], due["name"], due["due_at"])
        async with unavailable_on_failure():
            return bool(await self._pool.fetchval(PUT_OFF, *of, counts, retry_ms, text))

    async def next_due_ms(self) -> int | None:
        """When the next one is due that is not due yet."""
        async with unavailable_on_failure():
            due_ms: int | None = await self._pool.fetchval(NEXT_TIME, self._clock())
        return due_ms


async def dead_timers(conn: Pool | Session) -> list[DeadLetter]:
    return [
        DeadLetter(
            id=f"{row['subject']}/{row['name']}",
            kind="timer",
            name=row["name"],
            subject=row["subject"],
            attempts=row["attempts"],
            failure=row["failure"],
            since_ms=row["due_at"],
        )
        for row in await conn.fetch(DEAD_TIMERS, LISTED)
    ]


async def replay_timers(conn: Pool | Session, letter_id: str | None) -> int:
    """Let this one, or all, be tried as if for the first time. Says how many."""
    subject, _, name = (None, "", None) if letter_id is None else letter_id.partition("/")
    return int((await conn.execute(REPLAY, subject, name)).rpartition(" ")[2])
