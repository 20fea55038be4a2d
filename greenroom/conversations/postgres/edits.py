"""Editing and deleting messages."""

from greenroom.conversations.model import EventType, Message, check_edit
from greenroom.conversations.postgres.changes import Change
from greenroom.conversations.postgres.transactions import Transactions
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import (
    EditWindowClosed,
    Forbidden,
    MsgBlockedByUser,
    NotFound,
    ParticipantMuted,
    ThreadLocked,
)
from greenroom.kernel.limits import Limits

# Whether a block lies between the author and someone who sees the message: null for none, else
# whether it is the author's own.
BLOCK_ACROSS_MESSAGE = """
select bool_or(b.blocker_user = $3) from message m
join thread_participant p on p.thread_id = m.thread_id and p.status = 'active'
    and p.user_id <> $3 and m.message_id > p.visible_after_id
join user_block b
    on (b.blocker_user, b.blocked_user) in ((p.user_id, $3), ($3, p.user_id))
where m.thread_id = $1 and m.message_id = $2
    and (m.visible_to is null or p.user_id = any (m.visible_to))
"""
# When a message of a thread was last edited or deleted.
LAST_CHANGE = """
select max(coalesce(deleted_at, edited_at)) from message
where thread_id = $1 and coalesce(deleted_at, edited_at) is not null
"""
# What the message said before; a deletion takes its files too.
KEEP_ORIGINAL = """
insert into message_audit (thread_id, message_id, at, actor, act, body_text, attachments)
select thread_id, message_id, greatest($3, coalesce((select max(a.at) + interval '1 millisecond'
        from message_audit a where a.thread_id = $1 and a.message_id = $2), $3)),
    $4, $5, body_text, case when $5 = 'delete' then attachments end
from message where thread_id = $1 and message_id = $2
"""
EDIT_MESSAGE = """
update message set body_text = $3, body_html = $4, edited_at = $5
where thread_id = $1 and message_id = $2
"""
DELETE_MESSAGE = """
update message set body_text = '', body_html = null, attachments = null, deleted_at = $3
where thread_id = $1 and message_id = $2
"""
# A deleted message is no longer unread for those who had not come to it.
UNCOUNT_MESSAGE = """
update inbox_index i set unread_count = i.unread_count - 1
from thread_participant p
where p.thread_id = i.thread_id and p.user_id = i.user_id and i.thread_id = $1
    and i.user_id = any ($2::text[]) and i.user_id <> $3 and p.last_read_id < $4
"""
UNCOUNT_FILES = """
update inbox_index set file_messages = file_messages - 1
where thread_id = $1 and user_id = any ($2::text[])
"""


class Edits:
    def __init__(self, transactions: Transactions, *, limits: Limits) -> None:
        self._transactions = transactions
        self._limits = limits

    async def edit_message(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        async def work(change: Change) -> Message:
            message = await _access_own_message(change, author, thread_id, message_id)
            now_ms = change.clock()
            await _check_not_muted(change, author, thread_id, now_ms)
            if message.deleted_at_ms is not None:
                raise NotFound("This message has been deleted.")
            check_edit(message, body)
            if message.body == body:
                return message
            if now_ms - message.created_at_ms > self._limits.edit_window_s * 1000:
                raise EditWindowClosed
            await _check_passes_no_block(change, message, author)
            at_ms = await _change_time(change, thread_id, now_ms)
            await change.conn.execute(KEEP_ORIGINAL, thread_id, message_id, at_ms, author, "edit")
            await change.conn.execute(EDIT_MESSAGE, thread_id, message_id, body, body_html, at_ms)
            await change.tell_viewers(EventType.MESSAGE_EDITED, message, author)
            await change.publish("message.edit", author, thread_id, message_id=message_id)
            return await change.load_message(author, thread_id, message_id)

        return await self._transactions.run(work)

    async def delete_message(self, author: str, thread_id: str, message_id: str) -> Message:
        async def work(change: Change) -> Message:
            message = await _access_own_message(change, author, thread_id, message_id)
            if message.deleted_at_ms is not None:
                return message
            at_ms = await _change_time(change, thread_id, change.clock())
            await change.conn.execute(KEEP_ORIGINAL, thread_id, message_id, at_ms, author, "delete")
            await change.conn.execute(DELETE_MESSAGE, thread_id, message_id, at_ms)
            viewers = await change.tell_viewers(EventType.MESSAGE_DELETED, message, author)
            await change.conn.execute(UNCOUNT_MESSAGE, thread_id, viewers, author, message_id)
            if message.attachments:
                await change.conn.execute(UNCOUNT_FILES, thread_id, viewers)
            await change.publish("message.delete", author, thread_id, message_id=message_id)
            return await change.load_message(author, thread_id, message_id)

        return await self._transactions.run(work)


async def _access_own_message(
    change: Change, author: str, thread_id: str, message_id: str
) -> Message:
    locked = await change.lock(thread_id, by=author)
    await change.member(author, thread_id)
    message = await change.load_message(author, thread_id, message_id)
    if message.author_id != author or message.kind not in ("text", "asset"):
        raise Forbidden("Only its author changes a message; cards and notices stay.")
    if locked.is_locked:
        raise ThreadLocked
    return message


async def _check_not_muted(change: Change, author: str, thread_id: str, now_ms: int) -> None:
    until_ms = (await change.member(author, thread_id))["blocked_until"]
    if until_ms is not None and until_ms > now_ms:
        raise ParticipantMuted(f"Until {rfc3339(until_ms)}.")


async def _check_passes_no_block(change: Change, message: Message, author: str) -> None:
    is_own = await change.conn.fetchval(BLOCK_ACROSS_MESSAGE, message.thread_id, message.id, author)
    if is_own:
        raise MsgBlockedByUser
    if is_own is not None:
        # Nothing new may reach the one who blocked. This error does not tell of the block: the
        # edit window could have closed as well.
        raise EditWindowClosed


async def _change_time(change: Change, thread_id: str, now_ms: int) -> int:
    """The time of this change: later than every earlier change of a message of the thread, even
    where clocks differ. Clients of the polling API ask for changes after the last one they know."""
    last_ms: int | None = await change.conn.fetchval(LAST_CHANGE, thread_id)
    return now_ms if last_ms is None else max(now_ms, last_ms + 1)
