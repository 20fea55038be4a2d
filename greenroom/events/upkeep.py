"""Checks that the numbers of the event log have no gaps and agree with its counters."""

from collections.abc import AsyncGenerator

from asyncpg import Pool

from greenroom.conversations.upkeep import Fault
from greenroom.platform.postgres.pool import snapshot

BATCH = 10_000
FAULTS_AT_ONCE = 100

BOUNDS = """
select coalesce((select min(position) from event_log), head + 1) - 1 as before, head,
    coalesce((select max(position) from event_log), 0) as last
from (select coalesce(max(position), 0) as head from event_log_head) counter
"""
COUNT = "select count(*) from event_log where position > $1 and position <= $2"
# The first event of a thread that is kept has none before it.
OUT_OF_ORDER = """
select l.thread_id, l.thread_number, t.last_number from event_log l
left join event_thread t on t.thread_id = l.thread_id
where l.position > $1 and l.position <= $2 and l.thread_id is not null and (
    l.thread_number > coalesce(t.last_number, 0)
    or not exists (select from event_log b where b.thread_id = l.thread_id
            and b.thread_number = l.thread_number - 1 and b.position < l.position)
        and exists (select from event_log b
            where b.thread_id = l.thread_id and b.thread_number < l.thread_number))
order by l.position limit $3
"""


class EventUpkeep:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def check(self) -> AsyncGenerator[Fault, None]:
        async with snapshot(self._pool) as conn:
            [bounds] = await conn.fetch(BOUNDS)
            if bounds["last"] > bounds["head"]:
                found, right = f"the last event is {bounds['last']}", f"at most {bounds['head']}"
                yield Fault("event_position", None, None, found, right)
            for after in range(bounds["before"], bounds["head"], BATCH):
                up_to = min(after + BATCH, bounds["head"])
                count = await conn.fetchval(COUNT, after, up_to)
                if count != up_to - after:
                    found = f"{count} events from {after + 1} to {up_to}"
                    right = f"{up_to - after} events"
                    yield Fault("event_position", None, None, found, right)
                for row in await conn.fetch(OUT_OF_ORDER, after, up_to, FAULTS_AT_ONCE):
                    found = f"event {row['thread_number']} of {row['last_number'] or 0}"
                    right = "numbered without gaps"
                    yield Fault("event_number", row["thread_id"], None, found, right)
