"""What the marketplace's backend does with threads: open them by its own keys, say something in
them, change and read them."""

from asyncpg import Pool

from greenroom.conversations.backend_store import (
    OTHER_THREAD,
    OTHER_THREAD_HINT,
    KeyedThread,
    MarketplaceNotice,
    ThreadFields,
)
from greenroom.conversations.model import EventType, Message, Thread, ThreadDraft
from greenroom.conversations.postgres import sql
from greenroom.conversations.postgres.append import append_notice
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.reads import AFTER_ALL
from greenroom.conversations.postgres.rows import message_from, thread_from
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.errors import ActionConflict
from greenroom.platform.idempotency import Kept, Once
from greenroom.platform.postgres.pool import unavailable_on_failure

# Taken before all other locks: of several calls with one key, one creates the thread.
LOCK_KEY = "select pg_advisory_xact_lock(hashtextextended($1, 7235925))"
THREAD_OF_KEY = "select thread_id, opened_as from thread_key where external_key = $1"
KEEP_KEY = "insert into thread_key (external_key, thread_id, opened_as) values ($1, $2, $3)"

ADD_THREAD = """
insert into thread (thread_id, kind, subject, role_context, job_id, opened_by_user, city,
                    safe_mode_required, last_msg_ts, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, '-infinity', $9, $9)
"""
ADD_PARTICIPANTS = """
with people as (
    select * from unnest($2::text[], $3::text[]) as p (user_id, role)
), rows as (
    insert into inbox_index (user_id, thread_id, kind, last_msg_ts)
    select user_id, $1, $5, $4 from people
)
insert into thread_participant (thread_id, user_id, role, status, joined_at)
select $1, user_id, role, 'active', $4 from people
"""
CHANGE_THREAD = """
update thread set subject = $2, role_context = $3, city = $4, safe_mode_required = $5,
    updated_at = greatest(updated_at, $6)
where thread_id = $1
"""

_BY_KEY = f"""
select {sql.BACKEND_COLUMNS} from thread_key k join thread t on t.thread_id = k.thread_id
where k.external_key = $1
"""  # noqa: S608 (put together from constants)
_OF_USER = f"""
select {sql.BACKEND_COLUMNS} from thread_participant p
join thread t on t.thread_id = p.thread_id
where p.user_id = $1 and p.status = 'active' and p.thread_id < $2
order by p.thread_id desc limit $3
"""  # noqa: S608
_OF_JOB = f"""
select {sql.BACKEND_COLUMNS} from thread t
where t.job_id = $1 and t.thread_id < $2 order by t.thread_id desc limit $3
"""  # noqa: S608
# One row of nulls when there are no messages; no row when there is no thread.
_MESSAGES = f"""
select m.* from thread t left join lateral (
    select {sql.MESSAGE_COLUMNS} from message m
    where m.thread_id = t.thread_id and m.visible_to is null and m.message_id {{side}} $2
    order by m.message_id {{order}} limit $3
) m on true
where t.thread_id = $1
"""  # noqa: S608
MESSAGES_BEFORE = _MESSAGES.format(side="<", order="desc")
MESSAGES_AFTER = _MESSAGES.format(side=">", order="asc")


class Backend:
    def __init__(self, pool: Pool, transactions: Transactions) -> None:
        self._pool = pool
        self._transactions = transactions

    async def open_by_key(
        self, key: str, draft: ThreadDraft, notice: MarketplaceNotice | None
    ) -> KeyedThread:
        async def work(change: Change) -> KeyedThread:
            await change.conn.execute(LOCK_KEY, key)
            row = await change.conn.fetchrow(THREAD_OF_KEY, key)
            if row is not None:
                if row["opened_as"] != draft.opened_as:
                    raise ActionConflict(OTHER_THREAD, hint=OTHER_THREAD_HINT)
                return KeyedThread(await change.load(None, row["thread_id"]), is_new=False)
            await create(change, draft)
            await change.publish("thread.create", None, draft.id, {"kind": draft.kind})
            await change.conn.execute(KEEP_KEY, key, draft.id, draft.opened_as)
            if notice is not None:
                await _say(change, draft.id, notice)
            return KeyedThread(await change.load(None, draft.id), is_new=True)

        return await self._transactions.run(work)

    async def add_notice(
        self, thread_id: str, notice: MarketplaceNotice, once: Once | None = None
    ) -> Message | Kept:
        async def work(change: Change) -> Message:
            await change.lock(thread_id, by=None)
            return await _say(change, thread_id, notice)

        return await self._transactions.run_once(work, once)

    async def change_thread(self, thread_id: str, fields: ThreadFields) -> Thread:
        async def work(change: Change) -> Thread:
            await change.lock(thread_id, by=None)
            before = await change.load(None, thread_id)
            names = ("subject", "role_context", "city", "safe_mode_required")
            was = [getattr(before, name) for name in names]
            values = [fields.get(name, value) for name, value in zip(names, was, strict=True)]
            if values == was:
                return before
            await change.conn.execute(CHANGE_THREAD, thread_id, *values, change.clock())
            await change.tell_all(thread_id, None)
            await change.publish("thread.change", None, thread_id, {"fields": sorted(fields)})
            return await change.load(None, thread_id)

        return await self._transactions.run(work)

    @unavailable_on_failure()
    async def thread_by_key(self, key: str) -> Thread | None:
        row = await self._pool.fetchrow(_BY_KEY, key)
        return None if row is None else thread_from(row, with_inbox=False)

    @unavailable_on_failure()
    async def any_thread(self, thread_id: str) -> Thread | None:
        row = await self._pool.fetchrow(sql.THREAD_FOR_BACKEND, thread_id)
        return None if row is None else thread_from(row, with_inbox=False)

    @unavailable_on_failure()
    async def any_messages(
        self, thread_id: str, *, before: str | None, after: str | None, limit: int
    ) -> tuple[tuple[Message, ...], bool] | None:
        if after is not None:
            query, bound = MESSAGES_AFTER, after
        else:
            query, bound = MESSAGES_BEFORE, before or AFTER_ALL
        rows = await self._pool.fetch(query, thread_id, bound, limit + 1)
        if not rows:
            return None
        found = [message_from(row) for row in rows if row["message_id"] is not None]
        page = sorted(found[:limit], key=lambda message: message.seq)
        return tuple(page), len(found) > limit

    @unavailable_on_failure()
    async def threads_of_user(
        self, user_id: str, *, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        rows = await self._pool.fetch(_OF_USER, user_id, before or AFTER_ALL, limit)
        return tuple(thread_from(row, with_inbox=False) for row in rows)

    @unavailable_on_failure()
    async def threads_of_job(
        self, job_id: str, *, before: str | None, limit: int
    ) -> tuple[Thread, ...]:
        rows = await self._pool.fetch(_OF_JOB, job_id, before or AFTER_ALL, limit)
        return tuple(thread_from(row, with_inbox=False) for row in rows)


async def create(change: Change, draft: ThreadDraft, *, at_ms: int | None = None) -> None:
    """Write the thread and its people, who all see it. `at_ms` is when it began, by default now."""
    conn, people = change.conn, list(draft.members)
    at_ms = change.clock() if at_ms is None else at_ms
    await change.add_heads(people)
    await change.lock_heads(people)
    await conn.execute(
        ADD_THREAD, draft.id, draft.kind, draft.subject, draft.role_context, draft.job_id,
        draft.opened_by, draft.city, draft.safe_mode_required, at_ms,
    )  # fmt: skip
    roles = [str(role) for role in draft.members.values()]
    await conn.execute(ADD_PARTICIPANTS, draft.id, people, roles, at_ms, draft.kind)
    await change.tell(people, EventType.THREAD_CHANGED, draft.id, actor=None)


async def _say(change: Change, thread_id: str, notice: MarketplaceNotice) -> Message:
    appended = await append_notice(
        *(change.conn, thread_id, None, notice.system, change.clock(), change.randomness),
        body=notice.text,
        html=notice.html,
    )
    change.told.update(appended.viewers)
    return appended.message
