"""Jobs that were tried as often as they may be: listed, and replayed when their cause is mended."""

from dataclasses import dataclass
from typing import Any, Literal

from asyncpg import Pool

from greenroom.platform.jobs import queries_on
from greenroom.platform.postgres import Session

LISTED = 1000

# Held jobs with what the last attempt said.
DEAD_LETTERS = """
select q.id, q.entrypoint, q.payload, q.attempts, q.updated,
    (select l.traceback ->> 'exception_message' from pgqueuer_log l
     where l.job_id = q.id and l.traceback is not null
     order by l.created desc, l.id desc limit 1) as failure
from pgqueuer q where q.status = 'failed' order by q.id limit $1
"""

REPLAYABLE = "select id from pgqueuer where status = 'failed' and ($1::bigint is null or id = $1)"


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """Something that was tried as often as it may be. `id` is what replays it."""

    id: str
    kind: Literal["job", "timer"]
    name: str
    subject: str
    attempts: int
    failure: str | None
    since_ms: int


async def dead_jobs(conn: Pool | Session) -> list[DeadLetter]:
    rows = await conn.fetch(DEAD_LETTERS, LISTED)
    return [
        DeadLetter(
            id=str(row["id"]),
            kind="job",
            name=row["entrypoint"],
            subject=(row["payload"] or b"").decode(),
            # The library counts repeats, not the first attempt.
            attempts=row["attempts"] + 1,
            failure=row["failure"],
            since_ms=row["updated"],
        )
        for row in rows
    ]


async def replay_jobs(conn: Session, job_id: int | None) -> int:
    """Let dead letters be tried as if for the first time: this one, or all. Says how many."""
    ids: list[Any] = [row["id"] for row in await conn.fetch(REPLAYABLE, job_id)]
    await queries_on(conn).requeue_jobs(ids)
    return len(ids)
