"""Edits and deletes messages on DynamoDB, and moves read marks."""

from contextlib import suppress
from dataclasses import replace

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.message_lookup import MessageLookup
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import message_key, original_key, thread_partition
from greenroom.conversations.dynamodb.items.rows import (
    MarkedRead,
    MessageDeleted,
    MessageEdited,
    files_item,
    is_visible,
    message_from,
)
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.model import EventType, Message, Thread, check_edit
from greenroom.conversations.previews import as_last_message
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import (
    EditWindowClosed,
    Forbidden,
    MsgBlockedByUser,
    NotFound,
    ParticipantMuted,
    ThreadLocked,
    ThreadNotFound,
)
from greenroom.platform.dynamodb.table import Put
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept, Once


class MessageChanges:
    def __init__(self, threads: Threads, lookup: MessageLookup) -> None:
        self._threads = threads
        self._lookup = lookup
        self._table = threads.table

    async def edit(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        async def decide(change: Change) -> Message:
            item = await self._access_own(change.state, author, message_id)
            message = message_from(item)
            _check_not_muted(change.state, author, change.now_ms)
            if message.deleted_at_ms is not None:
                raise NotFound("This message has been deleted.")
            check_edit(message, body)
            if message.body == body:
                return message
            window_ms = self._threads.limits.edit_window_s * 1000
            if change.now_ms - message.created_at_ms > window_ms:
                raise EditWindowClosed
            _check_passes_no_block(change.state, item, author)
            at_ms = _change_ms(change)
            edited = replace(message, body=body, body_html=body_html, edited_at_ms=at_ms)
            await self._replace(change, item, edited, "edit", author)
            change.notify(
                readers(change.state, item),
                EventType.MESSAGE_EDITED,
                MessageEdited(message_id, as_last_message(edited).preview),
                message_id=message_id,
                actor=author,
            )
            change.publish("message.edit", author, message_id=message_id)
            return edited

        return _changed(await self._threads.change(thread_id, decide))

    async def delete(self, author: str, thread_id: str, message_id: str) -> Message:
        async def decide(change: Change) -> Message:
            item = await self._access_own(change.state, author, message_id)
            message = message_from(item)
            if message.deleted_at_ms is not None:
                return message
            at_ms = _change_ms(change)
            gone = replace(message, body="", body_html=None, deleted_at_ms=at_ms, attachments=())
            await self._replace(change, item, gone, "delete", author)
            change.notify(
                readers(change.state, item),
                EventType.MESSAGE_DELETED,
                MessageDeleted(message_id, author, at_ms, had_files="files" in item),
                message_id=message_id,
                actor=author,
            )
            change.publish("message.delete", author, message_id=message_id)
            return gone

        return _changed(await self._threads.change(thread_id, decide))

    async def tell_file_changed(
        self, thread_id: str, file_id: str, owner: str, message_id: str
    ) -> None:
        async def decide(change: Change) -> None:
            key = message_key(thread_id, message_id)
            item = None if key is None else await self._table.get(key)
            if item is not None:
                change.notify(
                    readers(change.state, item),
                    EventType.FILE_CHANGED,
                    message_id=message_id,
                    actor=owner,
                    file_id=file_id,
                )

        with suppress(ThreadNotFound):
            await self._threads.change(thread_id, decide)

    async def _access_own(self, state: StoredThread, author: str, message_id: str) -> Item:
        if not state.sees(author):
            raise ThreadNotFound
        item = await self._lookup.access(author, state, message_id)
        if item is None:
            raise NotFound("There is no such message in this thread.")
        if item.get("authorUserId") != author or item["type"] not in ("text", "asset"):
            raise Forbidden(
                "Only its author changes a message; cards and system messages stay as they are."
            )
        if state.locked:
            raise ThreadLocked
        return item

    async def _replace(
        self, change: Change, item: Item, message: Message, act: str, actor: str
    ) -> None:
        """Replace the message and store its earlier version beside it."""
        changed = {
            **item,
            "body": message.body,
            "html": message.body_html,
            "editedAt": message.edited_at_ms,
            "deletedAt": message.deleted_at_ms,
            "files": files_item(message.attachments) or None,
        }
        changed_ms = message.changed_at_ms
        at_ms = await self._free_original(change.state.id, message.id, changed_ms)
        pk, sk = original_key(change.state.id, message.id, at_ms)
        original: Item = {"pk": pk, "sk": sk, "act": act, "actor": actor, "body": item["body"]}
        if "files" in item and not message.attachments:
            original["files"] = item["files"]
        change.writes += [
            Put({name: value for name, value in changed.items() if value is not None}),
            Put({**original, "at": at_ms}),
        ]
        change.state = replace(change.state, rewritten_ms=changed_ms)

    async def _free_original(self, thread_id: str, message_id: str, now_ms: int) -> int:
        """The time in the key of an earlier version, different from those of the same message."""
        before = await self._table.query(
            thread_partition(thread_id), prefix=f"AUD#{message_id}#", reverse=True, limit=1
        )
        last_ms: int = before[0]["at"] if before else 0
        return max(now_ms, last_ms + 1)

    async def mark_read(
        self, reader: str, thread_id: str, up_to: str, once: Once | None
    ) -> Thread | Kept:
        async def decide(change: Change) -> Thread:
            state = change.state
            if not state.sees(reader):
                raise ThreadNotFound
            if await self._lookup.access(reader, state, up_to) is None:
                raise NotFound("There is no such message in this thread.")
            if up_to > state.members[reader].read_id:
                await self._move_mark(change, reader, up_to)
            return await self._threads.view_after(reader, change)

        return await self._threads.change(thread_id, decide, once)

    async def _move_mark(self, change: Change, reader: str, up_to: str) -> None:
        state, now_ms = change.state, change.now_ms
        others = [user for user in state.active() if user != reader]
        shown = None
        if not any(state.is_between(reader, other) for other in others):
            # Not `up_to` itself: a receipt must not name a message that only some may see.
            shown = await self._lookup.last_shared(state, state.members[reader].shown_id, up_to)
        unread = await self._lookup.unread_after(reader, state, up_to)
        change.state = state.with_member(reader, read_id=up_to, read_ms=now_ms)
        change.notify(
            [reader], EventType.INBOX_CHANGED, MarkedRead(up_to, now_ms, unread), actor=reader
        )
        if shown is not None:
            shown_id = message_from(shown).id
            change.state = change.state.with_member(reader, shown_id=shown_id, shown_ms=now_ms)
            change.shows_thread = True
            told = [user for user in others if state.sees(user)]
            change.notify(told, EventType.RECEIPT, message_id=shown_id, actor=reader)
        change.publish("thread.read", reader, message_id=up_to)


def _change_ms(change: Change) -> int:
    """Later than every earlier change of the thread's messages, even if the clock went back, so
    that a client that asks for changes after the last one it knows misses none."""
    return max(change.now_ms, (change.state.rewritten_ms or 0) + 1)


def _changed(outcome: Message | Kept) -> Message:
    assert isinstance(outcome, Message)  # noqa: S101 (there was no key)
    return outcome


def readers(state: StoredThread, item: Item) -> list[str]:
    """The users who see a message now, and so are notified of its changes."""
    return [user for user in state.viewers() if is_visible(item, user, state.members[user].floor)]


def _check_not_muted(state: StoredThread, author: str, now_ms: int) -> None:
    until_ms = state.members[author].blocked_until_ms
    if until_ms is not None and until_ms > now_ms:
        raise ParticipantMuted(f"Until {rfc3339(until_ms)}.")


def _check_passes_no_block(state: StoredThread, item: Item, author: str) -> None:
    others = [
        user
        for user in state.active()
        if user != author and is_visible(item, user, state.members[user].floor)
    ]
    if any((author, other) in state.blocks for other in others):
        raise MsgBlockedByUser
    if any((other, author) in state.blocks for other in others):
        # The text must not reach the one who blocked the author. This error does not reveal the
        # block.
        raise EditWindowClosed
