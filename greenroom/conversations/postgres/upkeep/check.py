"""Comparing everything derived with what it is derived from, and setting right what can be."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace

from asyncpg import Record

from greenroom.conversations.model import EventType
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.rows import LEFT
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.conversations.postgres.upkeep.recount import ROW_FAULTS, mend_rows
from greenroom.conversations.postgres.upkeep.standing import StandingCheck
from greenroom.conversations.upkeep import Fault, Progress
from greenroom.platform.postgres.pool import Session, snapshot, unavailable_on_failure

THREADS_AT_ONCE = 50
PEOPLE_AT_ONCE = 100
FAULTS_AT_ONCE = 1000

# A long thread takes longer than a request may. Only an operator's command does this.
PATIENCE = "set local statement_timeout = '10min'"

COUNT_THREADS = "select count(*) from thread"
COUNT_PEOPLE = "select count(*) from feed_head"

# The next threads that have a row or messages, by id.
NEXT_THREADS = """
select id from (
    (select thread_id as id from thread where thread_id > $1 order by thread_id limit $2)
    union
    (select distinct thread_id from message where thread_id > $1 order by thread_id limit $2)) x
order by id limit $2
"""

# Messages whose number or time does not follow on the one before, or is not the time in the id.
MESSAGE_FAULTS = """
select f.kind, m.thread_id, null as user_id, m.message_id || ' ' || f.found as found, f.should
from (
    select m.*, coalesce(lag(m.seq) over w, t.pruned_seq) + 1 as right_seq,
        lag(m.created_at) over w as before_at,
        case when m.message_id ~ '^msg_[0-9a-f]{12}[0-9a-z]{14}$'
            then ('x' || substr(m.message_id, 5, 12))::bit(48)::bigint end as id_ms
    from message m left join thread t on t.thread_id = m.thread_id
    where m.thread_id = any ($1::text[])
    window w as (partition by m.thread_id order by m.message_id)) m
cross join lateral (values
    ('seq', m.seq::text, m.right_seq::text, m.seq <> m.right_seq),
    ('created_at_order', m.created_at::text, 'after ' || m.before_at::text,
        m.created_at < m.before_at + interval '1 millisecond'),
    ('created_at_id', m.created_at::text, 'the time in the id',
        m.id_ms is distinct from extract(epoch from m.created_at) * 1000)
) as f (kind, found, should, is_wrong)
where f.is_wrong
order by m.thread_id, m.message_id, f.kind limit $2
"""

# Threads whose counters are not those of their last message; and messages without a thread.
THREAD_FAULTS = """
select f.kind, a.thread_id, null as user_id, f.found, f.should
from unnest($1::text[]) as a (thread_id)
left join thread t on t.thread_id = a.thread_id
left join lateral (
    select seq, created_at from message m where m.thread_id = a.thread_id
    order by m.message_id desc limit 1) l on true
cross join lateral (values
    ('thread_missing', 'messages without a thread', 'a thread', t.thread_id is null),
    ('last_seq', t.last_seq::text, coalesce(l.seq, t.pruned_seq)::text,
        t.last_seq <> coalesce(l.seq, t.pruned_seq)),
    ('last_msg_ts', t.last_msg_ts::text, l.created_at::text, t.last_msg_ts <> l.created_at)
) as f (kind, found, should, is_wrong)
where f.is_wrong
order by a.thread_id, f.kind limit $2
"""

# Participants who may see messages of the thread but have no inbox row of it.
MISSING_ROWS = """
select 'inbox_row_missing' as kind, p.thread_id, p.user_id, 'no row' as found, 'a row' as should
from thread_participant p
where p.thread_id = any ($1::text[]) and p.status = 'active'
    and not exists (select 1 from inbox_index i
        where i.user_id = p.user_id and i.thread_id = p.thread_id)
    and exists (select 1 from message m
        where m.thread_id = p.thread_id and m.message_id > p.visible_after_id
            and (m.visible_to is null or p.user_id = any (m.visible_to)))
order by p.thread_id, p.user_id limit $2
"""
# Threads muted until a time out of range, which an older version accepted.
_STRANGE_MUTE = """muted_until is not null and not muted_until
    between timestamptz '1970-01-01Z' and timestamptz '9999-12-31T23:59:59.999Z'"""
MUTE_FAULTS = (
    """
select 'muted_until' as kind, p.thread_id, p.user_id, p.muted_until::text as found,
    'a time of the years 1970 to 9999' as should
from thread_participant p
where p.thread_id = any ($1::text[]) and """
    + _STRANGE_MUTE
    + """
order by p.thread_id, p.user_id limit $2
"""
)
OF_THREADS = (THREAD_FAULTS, MESSAGE_FAULTS, MISSING_ROWS, ROW_FAULTS, MUTE_FAULTS)

NEXT_PEOPLE = """
select id from (
    (select user_id as id from feed_head where user_id > $1 order by user_id limit $2)
    union
    (select distinct user_id from inbox_index where user_id > $1 order by user_id limit $2)
    union
    (select distinct user_id from feed where user_id > $1 order by user_id limit $2)) x
order by id limit $2
"""

# Inbox rows of people who are not in the thread.
STRAY_ROWS = """
select 'inbox_row_stray' as kind, i.thread_id, i.user_id,
    'a row' as found, 'no row: not in the thread' as should
from inbox_index i
left join thread_participant p on p.thread_id = i.thread_id and p.user_id = i.user_id
where i.user_id = any ($1::text[]) and p.status is distinct from 'active'
order by i.user_id, i.thread_id limit $2
"""

# Feeds that do not run from the number after the pruned ones to the head's without a gap.
FEED_FAULTS = """
select 'feed' as kind, null as thread_id, a.user_id,
    format('%s entries from %s to %s', f.entries, f.lowest, f.highest) as found,
    coalesce(format('%s to %s', h.pruned_n + 1, h.last_n), 'a head') as should
from unnest($1::text[]) as a (user_id)
left join feed_head h on h.user_id = a.user_id
cross join lateral (
    select count(*) as entries, min(n) as lowest, max(n) as highest from feed
    where feed.user_id = a.user_id) f
where h.user_id is null or f.entries <> h.last_n - h.pruned_n
    or f.lowest <= h.pruned_n or f.highest > h.last_n
order by a.user_id limit $2
"""
OF_PEOPLE = (STRAY_ROWS, FEED_FAULTS)

MEND_THREAD = """
update thread t set last_seq = coalesce(l.seq, t.pruned_seq),
    last_msg_ts = coalesce(l.created_at, t.last_msg_ts)
from (select 1) one
left join lateral (
    select seq, created_at from message where thread_id = $1
    order by message_id desc limit 1) l on true
where t.thread_id = $1
"""
MEND_MUTES = (
    """
update thread_participant set muted_until = case
    when muted_until > timestamptz '1970-01-01Z' then timestamptz '9999-12-31T23:59:59.999Z' end
where thread_id = $1 and """
    + _STRANGE_MUTE
    + """
returning user_id
"""
)
# `mend_rows` fills in the counts.
ADD_MISSING_ROW = """
insert into inbox_index (user_id, thread_id, kind, last_msg_ts)
select $1, thread_id, kind, last_msg_ts from thread where thread_id = $2
on conflict do nothing
"""
REMOVE_STRAY_ROW = """
delete from inbox_index i where i.user_id = $1 and i.thread_id = $2 and not exists (
    select 1 from thread_participant p where p.thread_id = i.thread_id
        and p.user_id = i.user_id and p.status = 'active')
returning 1
"""
# What is missing cannot be known, so the feed begins anew, beyond every number that was ever handed
# out: every cursor gets a reset.
RESTART_FEED = """
update feed_head h set last_n = top.n, pruned_n = top.n
from (select greatest(g.last_n, (select max(n) from feed where user_id = $1)) + 1 as n
      from feed_head g where g.user_id = $1) top
where h.user_id = $1
"""
EMPTY_FEED = "delete from feed where user_id = $1"

Mend = Callable[[Change, str, Sequence[Fault]], Awaitable[None]]
"""Sets right what is wrong with one thread or person, in one transaction."""


class Check:
    """One run over all threads, then over all people."""

    def __init__(self, transactions: Transactions, standing: StandingCheck) -> None:
        self._transactions = transactions
        self._standing = standing
        self._pool = transactions.pool

    async def run(self, *, repair: bool, progress: Progress) -> AsyncGenerator[Fault, None]:
        async with snapshot(self._pool) as conn:
            threads = await conn.fetchval(COUNT_THREADS)
            people = await conn.fetchval(COUNT_PEOPLE)
        done, total = 0, threads + people
        for statement, size, looks, mend in (
            (NEXT_THREADS, THREADS_AT_ONCE, OF_THREADS, self._mend_thread),
            (NEXT_PEOPLE, PEOPLE_AT_ONCE, OF_PEOPLE, _mend_person),
        ):
            last = ""
            while ids := await self._next(statement, last, size):
                for fault in await self._look(ids, looks, mend if repair else None):
                    yield fault
                last, done = ids[-1], done + len(ids)
                progress(min(done, total), total)

    @unavailable_on_failure()
    async def _next(self, statement: str, after: str, limit: int) -> list[str]:
        async with self._pool.acquire() as conn, conn.transaction():
            await conn.execute(PATIENCE)
            return [row["id"] for row in await conn.fetch(statement, after, limit)]

    async def _look(
        self,
        ids: Sequence[str],
        looks: Sequence[str],
        mend: Mend | None,
    ) -> list[Fault]:
        """The faults of one batch, all as of one moment; then, one by one, mended."""
        faults = await self._snapshot(ids, looks)
        if mend is None or not faults:
            return faults
        told: list[Fault] = []
        by_thread = looks is OF_THREADS
        for each in ids:
            its = [f for f in faults if (f.thread_id if by_thread else f.user_id) == each]
            if not its:
                continue
            left = await self._mend(each, its, looks, mend)
            told += [
                replace(f, is_mended=(f.kind, f.thread_id, f.user_id) not in left) for f in its
            ]
        return told

    async def _snapshot(self, ids: Sequence[str], looks: Sequence[str]) -> list[Fault]:
        async with snapshot(self._pool) as conn:
            await conn.execute(PATIENCE)
            return await self._faults(conn, ids, looks)

    async def _mend(
        self,
        which: str,
        faults: Sequence[Fault],
        looks: Sequence[str],
        mend: Mend,
    ) -> set[tuple[str, str | None, str | None]]:
        """What is still wrong afterwards."""

        async def work(change: Change) -> set[tuple[str, str | None, str | None]]:
            await change.conn.execute(PATIENCE)
            await mend(change, which, faults)
            return {
                (fault.kind, fault.thread_id, fault.user_id)
                for fault in await self._faults(change.conn, [which], looks)
            }

        return await self._transactions.run(work)

    async def _faults(self, conn: Session, ids: Sequence[str], looks: Sequence[str]) -> list[Fault]:
        rows: list[Record] = []
        for statement in looks:
            rows += await conn.fetch(statement, ids, FAULTS_AT_ONCE)
        faults = [
            Fault(row["kind"], row["thread_id"], row["user_id"], row["found"], row["should"])
            for row in rows
        ]
        if looks is OF_THREADS:
            faults += await self._standing.faults(conn, ids)
        return faults[:FAULTS_AT_ONCE]

    async def _mend_thread(self, change: Change, thread_id: str, faults: Sequence[Fault]) -> None:
        if any(fault.kind == "thread_missing" for fault in faults):
            return
        conn = change.conn
        await change.lock(thread_id, by=None)
        await conn.execute(MEND_THREAD, thread_id)
        missing = await conn.fetch(MISSING_ROWS, [thread_id], FAULTS_AT_ONCE)
        for row in missing:
            await conn.execute(ADD_MISSING_ROW, row["user_id"], thread_id)
        newcomers = [row["user_id"] for row in missing]
        changed = {row["user_id"] for row in await conn.fetch(MEND_MUTES, thread_id)}
        changed.update(await mend_rows(conn, thread_id))
        others = sorted(changed.difference(newcomers))
        await change.tell(others, EventType.INBOX_CHANGED, thread_id, actor=None)
        await change.tell(newcomers, EventType.THREAD_CHANGED, thread_id, actor=None)
        # Looked at again, because a row that was missing shows nothing yet.
        if await self._standing.faults(conn, [thread_id]):
            await self._standing.mend(change, thread_id)


async def _mend_person(change: Change, user_id: str, faults: Sequence[Fault]) -> None:
    conn = change.conn
    stray = sorted({fault.thread_id for fault in faults if fault.thread_id is not None})
    for thread_id in stray:
        await conn.execute(sql.LOCK_THREAD, thread_id)
    await change.add_heads([user_id])
    await change.lock_heads([user_id])
    if await conn.fetch(FEED_FAULTS, [user_id], FAULTS_AT_ONCE):
        await conn.execute(RESTART_FEED, user_id)
        await conn.execute(EMPTY_FEED, user_id)
    for thread_id in stray:
        if await conn.fetchval(REMOVE_STRAY_ROW, user_id, thread_id):
            await change.tell([user_id], EventType.THREAD_CHANGED, thread_id, LEFT, actor=None)
