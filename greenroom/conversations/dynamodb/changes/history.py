"""Imports history into DynamoDB. Each call is one change of its thread."""

from collections.abc import Sequence
from dataclasses import replace

from greenroom.conversations.dynamodb.changes.backend import BackendChanges
from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.membership import Membership
from greenroom.conversations.dynamodb.changes.message_lookup import MessageLookup
from greenroom.conversations.dynamodb.changes.projection import pause
from greenroom.conversations.dynamodb.changes.starts import Starts, too_busy
from greenroom.conversations.dynamodb.changes.threads import ATTEMPTS, Threads
from greenroom.conversations.dynamodb.items.keys import (
    external_key_key,
    imported_key,
    message_key,
    pointer_key,
)
from greenroom.conversations.dynamodb.items.rows import Joined, MarkedRead, Recounted, message_from
from greenroom.conversations.dynamodb.items.threads import Member, StoredThread
from greenroom.conversations.history_store import (
    KNOWN,
    NEW,
    NOT_IN_THREAD,
    UNKNOWN_MESSAGE,
    PastMark,
    PastMessage,
    PastThread,
    Placed,
)
from greenroom.conversations.model import EventType, LastMessage, Message, Role
from greenroom.conversations.previews import as_last_message
from greenroom.kernel.errors import ActionConflict, ActionInvalidState
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put
from greenroom.platform.idempotency import Kept


class DynamoHistory:
    """`HistoryStore` on the conversations' table."""

    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table
        self._starts = Starts(threads, blocks)
        self._backend = BackendChanges(threads, self._starts)
        self._membership = Membership(threads, blocks)
        self._lookup = MessageLookup(threads.table)

    async def import_thread(self, thread: PastThread) -> tuple[str, bool]:
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            named = await self._table.get(external_key_key(thread.key))
            if named is not None:
                if named["as"] != thread.draft.opened_as:
                    raise ActionConflict("This id names a thread of another kind or other people.")
                return named["th"], False
            change = await self._backend.begin(thread.key, thread.draft, thread.created_at_ms)
            if await self._starts.commit(change):
                return thread.draft.id, True
        raise too_busy()

    async def import_participant(
        self, thread_id: str, user_id: str, role: Role, joined_at_ms: int, *, has_left: bool
    ) -> str:
        async def decide(change: Change) -> str:
            before = change.state
            if user_id in before.members:
                return KNOWN
            if len(before.members) >= self._threads.limits.participants:
                raise ActionInvalidState("This thread is full.")
            known = await self._blocks.known_blocks(user_id, before.members)
            status = "left" if has_left else "active"
            member = Member(role, status, not has_left, joined_at_ms)
            change.state = replace(
                before,
                members={**before.members, user_id: member},
                blocks=before.blocks | known.pairs,
            )
            self._membership.update_pair_list(change, before)
            pk, sk = pointer_key(user_id, thread_id)
            change.writes += [known.unchanged(), Put({"pk": pk, "sk": sk})]
            change.shows_thread = True
            change.notify(before.viewers(), EventType.THREAD_CHANGED)
            if not has_left:
                await self._add_row(change, user_id)
            return NEW

        return _outcome(await self._threads.change(thread_id, decide))

    async def _add_row(self, change: Change, user_id: str) -> None:
        """The row of somebody who sees all messages so far and has read none."""
        state = change.state
        change.notify([user_id], EventType.THREAD_CHANGED, Joined(state.created_at_ms))
        key = message_key(state.id, state.last_message_id)
        item = None if key is None else await self._table.get(key)
        if item is not None:
            last = as_last_message(message_from(item))
            unread = await self._lookup.unread_after(user_id, state, "")
            row = _recounted(last, user_id, unread, 0)
            change.notify([user_id], EventType.INBOX_CHANGED, row)

    async def import_messages(self, thread_id: str, messages: Sequence[PastMessage]) -> list[str]:
        async def decide(change: Change) -> list[str]:
            state = change.state
            named = {each.external_id for each in messages}
            named.update(each.reply_to for each in messages if each.reply_to is not None)
            known = await self._ids(thread_id, named)
            last_ms = state.last_message_ms if state.last_seq else 0
            placed = Placed.of(messages, last_ms, frozenset(known), frozenset(state.members))
            if placed.accepted:
                await self._append(change, placed, known)
            return placed.outcomes

        return _outcomes(await self._threads.change(thread_id, decide))

    async def _append(self, change: Change, placed: Placed, known: dict[str, str]) -> None:
        ids = dict(known)
        state, appended = change.state, list[Message]()
        for seq, (past, at_ms) in enumerate(placed.accepted, start=state.last_seq + 1):
            reply_to = None if past.reply_to is None else ids.get(past.reply_to)
            message = _message(state, past, at_ms, seq, reply_to)
            ids[past.external_id] = message.id
            pk, sk = imported_key(state.id, past.external_id)
            change.put_message(message)
            change.writes.append(Put({"pk": pk, "sk": sk, "m": message.id}, UNLESS_THERE))
            appended.append(message)
        last = appended[-1]
        change.state = replace(
            state,
            last_seq=last.seq,
            last_message_ms=last.created_at_ms,
            last_message_id=last.id,
        )
        live = [each for each in appended if each.deleted_at_ms is None]
        for user in state.viewers():
            packed = (await self._threads.row_before(user, change)).packed
            added = sum(each.author_id != user for each in live)
            unread = added + (packed.unread if packed else 0)
            files = packed.file_messages if packed else 0
            row = _recounted(as_last_message(last), user, unread, files)
            change.notify([user], EventType.INBOX_CHANGED, row)

    async def import_marks(self, thread_id: str, marks: Sequence[PastMark]) -> list[str]:
        async def decide(change: Change) -> list[str]:
            ids = await self._ids(thread_id, {mark.external_id for mark in marks})
            outcomes = [await self._mark(change, mark, ids) for mark in marks]
            if NEW in outcomes:
                # The rows of all have a copy of the marks.
                others = [user for user in change.state.viewers() if not change.steps_for(user)]
                change.shows_thread = True
                change.notify(others, EventType.INBOX_CHANGED)
            return outcomes

        return _outcomes(await self._threads.change(thread_id, decide))

    async def _mark(self, change: Change, mark: PastMark, ids: dict[str, str]) -> str:
        state, user = change.state, mark.user_id
        message_id = ids.get(mark.external_id)
        if message_id is None:
            return UNKNOWN_MESSAGE
        if not state.sees(user):
            return NOT_IN_THREAD
        if message_id <= state.members[user].read_id:
            return KNOWN
        unread = await self._lookup.unread_after(user, state, message_id)
        change.state = state.with_member(
            user, read_id=message_id, read_ms=mark.at_ms, shown_id=message_id, shown_ms=mark.at_ms
        )
        moved = MarkedRead(message_id, mark.at_ms, unread)
        change.notify([user], EventType.INBOX_CHANGED, moved)
        return NEW

    async def _ids(self, thread_id: str, external_ids: set[str]) -> dict[str, str]:
        """The messages that were imported under these ids."""
        keys = {imported_key(thread_id, each): each for each in sorted(external_ids)}
        found = await self._table.get_many(list(keys))
        return {keys[key]: item["m"] for key, item in found.items()}


def _message(
    state: StoredThread, past: PastMessage, at_ms: int, seq: int, reply_to: str | None
) -> Message:
    return Message(
        id=past.id_at(at_ms),
        thread_id=state.id,
        seq=seq,
        author_id=past.author,
        kind="text" if past.system is None else "system",
        body=past.body,
        body_html=past.html,
        system=past.system,
        reply_to=reply_to,
        client_id=None,
        created_at_ms=at_ms,
        edited_at_ms=past.edited_at_ms,
        deleted_at_ms=past.deleted_at_ms,
    )


def _recounted(last: LastMessage, user: str, unread: int, file_messages: int) -> Recounted:
    awaits_reply = last.kind != "system" and last.author_id != user
    return Recounted(unread, last.created_at_ms, awaits_reply, last, file_messages)


def _outcome(outcome: str | Kept) -> str:
    assert isinstance(outcome, str)  # noqa: S101 (there was no key)
    return outcome


def _outcomes(outcomes: list[str] | Kept) -> list[str]:
    assert isinstance(outcomes, list)  # noqa: S101 (there was no key)
    return outcomes
