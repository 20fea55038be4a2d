"""Jobs of the marketplace: who may talk in them, and which one a thread is about."""

from asyncpg import Pool

from greenroom.conversations.postgres.changes import Change
from greenroom.kernel.clock import Clock
from greenroom.platform.postgres.pool import unavailable_on_failure

PUT_JOB = """
insert into job as j (job_id, participants, created_at, updated_at) values ($1, $2, $3, $3)
on conflict (job_id) do update set participants = excluded.participants,
    updated_at = greatest(j.updated_at, excluded.updated_at)
returning xmax = 0
"""
JOB = "select participants from job where job_id = $1"
JOB_OF_THREAD = "select job_id from thread where thread_id = $1"
# Returns a row if the thread was about something else.
SET_THREAD_JOB = """
update thread set job_id = $2, updated_at = greatest(updated_at, $3)
where thread_id = $1 and job_id is distinct from $2 returning 1
"""


class MarketplaceJobs:
    def __init__(self, pool: Pool, *, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock

    @unavailable_on_failure()
    async def put_job(self, job_id: str, participants: list[str]) -> bool:
        created = await self._pool.fetchval(PUT_JOB, job_id, participants, self._clock())
        return bool(created)

    @unavailable_on_failure()
    async def job(self, job_id: str) -> list[str] | None:
        participants: list[str] | None = await self._pool.fetchval(JOB, job_id)
        return participants

    @unavailable_on_failure()
    async def job_of_thread(self, thread_id: str) -> str | None:
        job_id: str | None = await self._pool.fetchval(JOB_OF_THREAD, thread_id)
        return job_id


async def set_job(change: Change, author: str, thread_id: str, job_id: str | None) -> None:
    """The thread is about the job of the last message that named one."""
    if job_id is None:
        return
    if await change.conn.fetchval(SET_THREAD_JOB, thread_id, job_id, change.clock()):
        await change.tell_all(thread_id, author)
