"""Reads conversations for the polling API on DynamoDB, by thread or by the other person."""

import asyncio
from collections.abc import Sequence

from greenroom.conversations.dynamodb.changes.message_lookup import (
    AFTER_ALL,
    MessageLookup,
    find_messages,
    position_of,
)
from greenroom.conversations.dynamodb.changes.projection import PARALLEL
from greenroom.conversations.dynamodb.changes.sends import send_answer_key
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import pair_partition
from greenroom.conversations.dynamodb.items.rows import is_visible, message_from
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.dynamodb.reads.inbox import InboxReads
from greenroom.conversations.dynamodb.reads.messages import MessageReads
from greenroom.conversations.model import LastMessage, Message, Thread
from greenroom.conversations.previews import as_last_message
from greenroom.conversations.store import Conversation
from greenroom.kernel.errors import IdempotencyMismatch, ThreadNotFound
from greenroom.platform.dynamodb.values import Item

# How many messages are searched to count what the other person has not read.
UNREAD_SEARCHED = 100


class PairReads:
    def __init__(
        self,
        threads: Threads,
        lookup: MessageLookup,
        messages: MessageReads,
        inbox: InboxReads,
    ) -> None:
        self._threads = threads
        self._lookup = lookup
        self._messages = messages
        self._inbox = inbox
        self._table = threads.table

    async def thread_of(self, viewer: str, other: str) -> str | None:
        """The oldest thread of only these two that the viewer sees."""
        for item in await self._table.query(pair_partition(viewer, other), prefix="T#"):
            state = await self._threads.read(item["th"])
            if state is not None and state.pair() is not None and state.sees(viewer):
                return state.id
        return None

    async def sent_under(self, author: str, key: str, fingerprint: bytes) -> Message | None:
        item = await self._table.get(send_answer_key(author, key))
        if item is None or self._threads.is_expired(item):
            return None
        if item["f"] != fingerprint:
            raise IdempotencyMismatch
        state = await self._threads.read(item["th"])
        found = None
        if state is not None and state.sees(author):
            found = await self._lookup.access(author, state, item["m"])
        if found is None:
            raise ThreadNotFound
        return message_from(found)

    async def by_thread(self, viewer: str, thread_id: str) -> Conversation | None:
        state = await self._threads.read(thread_id)
        if state is None or not state.sees(viewer):
            return None
        return await self._conversation(viewer, await self._threads.view(viewer, state), state)

    async def by_people(self, viewer: str, others: Sequence[str]) -> Conversation | None:
        for other in others:
            thread_id = await self.thread_of(viewer, other)
            if thread_id is not None:
                return await self.by_thread(viewer, thread_id)
        return None

    async def newest(self, viewer: str, limit: int) -> tuple[Conversation, ...]:
        threads = await self._inbox.newest(viewer, limit)
        parallel = asyncio.Semaphore(PARALLEL)

        async def conversation(thread: Thread) -> Conversation:
            async with parallel:
                return await self._conversation(viewer, thread, None)

        return tuple(await asyncio.gather(*(conversation(each) for each in threads)))

    async def _conversation(
        self, viewer: str, thread: Thread, state: StoredThread | None
    ) -> Conversation:
        other = _other_of_two(viewer, thread)
        last = await self._last_spoken(viewer, thread, state)
        is_own = other is not None and await self.thread_of(viewer, other) == thread.id
        unread = {} if other is None else {other: await self._unread_by(viewer, other, thread)}
        delivered_id = "" if state is None else state.members[viewer].arrived_id
        return Conversation(thread, other if is_own else None, last, unread, delivered_id)

    async def _last_spoken(
        self, viewer: str, thread: Thread, state: StoredThread | None
    ) -> LastMessage | None:
        last = thread.inbox.last_message if thread.inbox is not None else None
        if last is None or last.kind in ("text", "asset"):
            return last
        state = state or await self._threads.read(thread.id)
        if state is None or not state.sees(viewer):
            return None
        spoken = await self._messages.spoken(viewer, state, after=None, limit=1)
        return as_last_message(spoken[0]) if spoken else None

    async def _unread_by(self, viewer: str, other: str, thread: Thread) -> int:
        """Counted from the read mark and the messages that the viewer can see, so that a block
        looks like a person who does not read."""
        mark = next(each.last_read for each in thread.participants if each.user_id == other)
        after = "" if mark is None else mark.message_id
        last = thread.inbox.last_message if thread.inbox is not None else None
        if last is None or last.id <= after:
            return 0
        looked_at = await find_messages(
            self._table,
            thread.id,
            (position_of(after), AFTER_ALL),
            UNREAD_SEARCHED,
            lambda _: True,
            newest_first=False,
        )
        return sum(_is_unread(item, viewer, other) for item in looked_at)


def _is_unread(item: Item, viewer: str, reader: str) -> bool:
    is_live = item.get("authorUserId") != reader and "deletedAt" not in item
    return is_live and is_visible(item, viewer, "")


def _other_of_two(viewer: str, thread: Thread) -> str | None:
    """The other person, if only two people have ever been in the thread and both still are."""
    people = thread.participants
    if len(people) != 2 or any(each.status != "active" for each in people):
        return None
    return next((each.user_id for each in people if each.user_id != viewer), None)
