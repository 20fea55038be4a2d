"""The inbox: a page of it, and what a person does with their own rows.

A page is one bounded statement, made of the conditions that are asked for and no others. So the
planner walks the viewer's rows in the order of the list and stops when the page is full.
"""

from typing import Any

from asyncpg import Pool

from greenroom.conversations.inbox import (
    FOLDERS,
    Folder,
    InboxChanges,
    InboxFilter,
    InboxKey,
    InboxPage,
)
from greenroom.conversations.model import DAY_MS, EventType, Thread
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.rows import head_of, thread_from
from greenroom.conversations.postgres.sql import INBOX
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.clock import Clock
from greenroom.kernel.limits import Limits
from greenroom.platform.postgres.pool import unavailable_on_failure

# Each folder's count is a column of the page's statement, named like the folder.
_COUNT_UNREAD = 'count(*) filter (where {condition}) as "{folder}"'
_COUNT_ALL = (
    '(select count(*) from inbox_index i where i.user_id = $1 and {condition}) as "{folder}"'
)

# As `model.derive_state` says it.
_STATE = """case when i.last_msg_ts < {quiet_since} then 'archived' else (
    select case when s.stage = 'disputed' then 'disputed'
        when s.open_cards > 0 then 'pending_decision'
        when s.stage not in ('proposed', 'cancelled') then s.stage
        when i.kind = 'project' and s.stage is null then 'confirmed'
        when i.awaits_reply then 'awaiting_reply' else 'open' end
    from thread s where s.thread_id = i.thread_id) end"""

_SEARCH = """(
    exists (select 1 from thread s where s.thread_id = i.thread_id and s.subject ilike {q})
    or exists (select 1 from thread_participant p join app_user u on u.user_id = p.user_id
        where p.thread_id = i.thread_id and p.user_id <> $1 and u.display_name ilike {q}))"""

_OF_THREAD = "exists (select 1 from thread s where s.thread_id = i.thread_id and s.{column} = {{}})"


# What a person does with their own row. Null keeps a value.
SET_INBOX_ROW = """
update inbox_index set
    folder = case when $3 and folder = 'inbox' then 'archived'
        when not $3 and folder = 'archived' then 'inbox' else folder end,
    pinned = coalesce($4, pinned), starred = coalesce($5, starred)
where user_id = $1 and thread_id = $2
"""
SET_MUTED = """
update thread_participant set muted_until = $3 where user_id = $1 and thread_id = $2
"""


class Inbox:
    def __init__(
        self, pool: Pool, transactions: Transactions, *, clock: Clock, limits: Limits
    ) -> None:
        self._pool = pool
        self._transactions = transactions
        self._clock = clock
        self._limits = limits

    @unavailable_on_failure()
    async def inbox(
        self, viewer: str, asked: InboxFilter, *, after: InboxKey | None, limit: int
    ) -> InboxPage:
        query = InboxQuery(viewer, asked, self._limits, self._clock())
        statement = query.page(after, limit + 1)
        found = await self._pool.fetch(statement, *query.args)
        summary, rows = found[0], [row for row in found if row["thread_id"] is not None]
        items = tuple(thread_from(row) for row in rows[:limit])
        next_key = None
        if len(rows) > limit:
            last = rows[limit - 1]
            next_key = InboxKey(last["pinned"], last["last_msg_ts"], last["thread_id"])
        counts = {folder: summary[folder] for folder in Folder}
        return InboxPage(items, next_key, counts, head_of(summary))

    async def set_inbox_row(self, viewer: str, thread_id: str, changes: InboxChanges) -> Thread:
        async def work(change: Change) -> Thread:
            await change.lock(thread_id, by=viewer)
            await change.member(viewer, thread_id)
            before = await change.load(viewer, thread_id)
            await change.conn.execute(
                SET_INBOX_ROW,
                *(viewer, thread_id, changes.archived, changes.pinned, changes.starred),
            )
            if changes.sets_muted:
                await change.conn.execute(SET_MUTED, viewer, thread_id, changes.muted_until_ms)
            after = await change.load(viewer, thread_id)
            if after != before:
                await change.tell([viewer], EventType.INBOX_CHANGED, thread_id, actor=viewer)
            return after

        return await self._transactions.run(work)


class InboxQuery:
    """Puts the statement together; values go into it as parameters only."""

    def __init__(self, viewer: str, asked: InboxFilter, limits: Limits, now_ms: int) -> None:
        self.args: list[Any] = [viewer]
        self._conditions = ["i.user_id = $1", _folder_condition(asked.folder)]
        self._flag("i.unread_count > 0", asked.unread)
        self._flag("i.starred", asked.starred)
        self._flag("i.file_messages > 0", asked.has_files)
        self._value("i.kind = {}", asked.kind)
        self._value(_OF_THREAD.format(column="role_context"), asked.role_context)
        self._value(_OF_THREAD.format(column="city"), asked.city)
        if asked.state is not None:
            quiet_since = self._place(now_ms - limits.quiet_days_until_archived * DAY_MS)
            state = _STATE.format(quiet_since=f"{quiet_since}::timestamptz")
            self._value(f"{state} = {{}}", asked.state)
        if asked.q is not None:
            self._conditions.append(_SEARCH.format(q=self._place(_pattern(asked.q))))

    def page(self, after: InboxKey | None, limit: int) -> str:
        if after is not None:
            key = ", ".join(map(self._place, (after.pinned, after.at_ms, after.thread_id)))
            self._conditions.append(f"(i.pinned, i.last_msg_ts, i.thread_id) < ({key})")
        return INBOX.format(
            counts=_COUNTS, conditions=" and ".join(self._conditions), limit=self._place(limit)
        )

    def _flag(self, condition: str, wanted: bool | None) -> None:
        if wanted is not None:
            self._conditions.append(condition if wanted else f"not ({condition})")

    def _value(self, condition: str, wanted: str | None) -> None:
        if wanted is not None:
            self._conditions.append(condition.format(self._place(wanted)))

    def _place(self, value: Any) -> str:
        self.args.append(value)
        return f"${len(self.args)}"


def _folder_condition(folder: Folder) -> str:
    rule = FOLDERS[folder]
    conditions = [f"i.folder = '{rule.placement}'"]
    if rule.kinds is not None:
        kinds = ", ".join(f"'{kind}'" for kind in rule.kinds)
        conditions.append(f"i.kind in ({kinds})")
    if rule.needs_action:
        conditions.append("i.needs_action")
    return " and ".join(conditions)


def _count_column(folder: Folder) -> str:
    column = _COUNT_ALL if FOLDERS[folder].needs_action else _COUNT_UNREAD
    return column.format(condition=_folder_condition(folder), folder=folder)


_COUNTS = ", ".join(map(_count_column, FOLDERS))


def _pattern(text: str) -> str:
    """A pattern of ILIKE that finds this text anywhere; its special characters are escaped."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return f"%{text}%"
