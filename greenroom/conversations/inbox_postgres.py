"""The inbox's page query on PostgreSQL: one bounded statement, made of the conditions it needs.

A condition that is not asked for is not in the statement, so the planner sees through each variant:
it walks the viewer's rows in the list's own order and stops when the page is full.
"""

from typing import Any

from greenroom.conversations.model import DAY_MS
from greenroom.conversations.sql_postgres import INBOX
from greenroom.conversations.store import Folder, InboxFilter, InboxKey
from greenroom.kernel.limits import Limits

_FOLDERS = {
    Folder.ALL: "i.folder = 'inbox'",
    Folder.ACTION: "i.folder = 'inbox' and i.needs_action",
    Folder.BOOKINGS: "i.folder = 'inbox' and i.kind = 'project'",
    Folder.OFFERS: "i.folder = 'inbox' and i.kind in ('inquiry', 'invite')",
    Folder.REQUESTS: "i.folder = 'requests'",
    Folder.ARCHIVED: "i.folder = 'archived'",
    Folder.SPAM: "i.folder = 'spam'",
}

# As `model.derive_state` says it.
_STATE = """case when i.last_msg_ts < {quiet_since} then 'archived' else (
    select case when s.stage = 'disputed' then 'disputed'
        when s.open_cards > 0 then 'pending_decision'
        when s.stage <> 'cancelled' then s.stage
        when i.kind = 'project' and s.stage is null then 'confirmed'
        when i.awaits_reply then 'awaiting_reply' else 'open' end
    from thread s where s.thread_id = i.thread_id) end"""

_SEARCH = """(
    exists (select 1 from thread s where s.thread_id = i.thread_id and s.subject ilike {q})
    or exists (select 1 from thread_participant p join app_user u on u.user_id = p.user_id
        where p.thread_id = i.thread_id and p.user_id <> $1 and u.display_name ilike {q}))"""

_OF_THREAD = "exists (select 1 from thread s where s.thread_id = i.thread_id and s.{column} = {{}})"


class InboxQuery:
    """Puts a statement together; values only ever go in as parameters."""

    def __init__(self, viewer: str, asked: InboxFilter, limits: Limits, now_ms: int) -> None:
        self.args: list[Any] = [viewer]
        self._conditions = ["i.user_id = $1", _FOLDERS[asked.folder]]
        self._flag("i.unread_count > 0", asked.unread)
        self._flag("i.starred", asked.starred)
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
        return INBOX.format(conditions=" and ".join(self._conditions), limit=self._place(limit))

    def _flag(self, condition: str, wanted: bool | None) -> None:
        if wanted is not None:
            self._conditions.append(condition if wanted else f"not ({condition})")

    def _value(self, condition: str, wanted: str | None) -> None:
        if wanted is not None:
            self._conditions.append(condition.format(self._place(wanted)))

    def _place(self, value: Any) -> str:
        self.args.append(value)
        return f"${len(self.args)}"


def _pattern(text: str) -> str:
    """Somewhere in it, with the pattern's own characters taken literally."""
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return f"%{text}%"
