"""Exports everything about one person, thread by thread.

DynamoDB has no snapshot of many items, so each thread and each message is exported as it is when it
is read. Whatever existed during the whole export is in it once.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.cards import with_cards
from greenroom.conversations.dynamodb.items.keys import (
    blocks_partition,
    message_key,
    thread_partition,
)
from greenroom.conversations.dynamodb.items.rows import files_from, is_visible, message_from
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.dynamodb.reads.paging import (
    is_words_of,
    messages_of,
    pages_of,
    threads_of,
)
from greenroom.conversations.exports import (
    block_of,
    earlier_version,
    message_for,
    own_part,
    seen_part,
)
from greenroom.conversations.model import ReadMark
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.dynamodb.values import Item

ORIGINALS = "AUD#"
BLOCKS = "OUT#"

Json = dict[str, Any]


class Export:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table

    async def run(self, user_id: str) -> AsyncGenerator[tuple[str, Json], None]:
        async for state in self._threads_of(user_id):
            if _knows_of(user_id, state):
                yield "threads", await self._thread(user_id, state)
        async for state in self._threads_of(user_id):
            async for page in messages_of(self._table, state.id):
                theirs = [message_from(each) for each in page if _is_theirs(each, user_id, state)]
                for message in await with_cards(self._table, theirs):
                    yield "messages", message_for(user_id, message)
        async for state in self._threads_of(user_id):
            async for earlier in self._earlier_versions(user_id, state):
                yield "earlier_versions", earlier
        async for page in pages_of(self._table, blocks_partition(user_id), prefix=BLOCKS):
            for item in page:
                yield "blocks", block_of(item["sk"].removeprefix(BLOCKS), item["at"])

    async def _threads_of(self, user_id: str) -> AsyncIterator[StoredThread]:
        """Threads that they are or were in."""
        async for page in threads_of(self._table, user_id):
            for thread_id in page:
                state = await self._threads.read(thread_id)
                if state is not None and user_id in state.members:
                    yield state

    async def _thread(self, user_id: str, state: StoredThread) -> Json:
        member = state.members[user_id]
        last_read = None
        if member.read_id and member.read_ms is not None:
            last_read = ReadMark(member.read_id, member.read_ms)
        own = own_part(state.id, member.role, member.status, member.joined_ms, last_read)
        if not state.sees(user_id):
            return own
        try:
            return {**own, **seen_part(await self._threads.view(user_id, state))}
        except ThreadNotFound:
            # They have left it meanwhile.
            return own

    async def _earlier_versions(self, user_id: str, state: StoredThread) -> AsyncIterator[Json]:
        """The earlier versions of their own messages."""
        message_id, is_own = "", False
        async for page in pages_of(self._table, thread_partition(state.id), prefix=ORIGINALS):
            for item in page:
                _, of, _ = item["sk"].split("#")
                if of != message_id:
                    message_id, is_own = of, await self._is_own(user_id, state.id, of)
                if is_own:
                    said = (item["at"], item["act"], item["body"], files_from(item))
                    yield earlier_version(state.id, of, *said)

    async def _is_own(self, user_id: str, thread_id: str, message_id: str) -> bool:
        key = message_key(thread_id, message_id)
        found = None if key is None else await self._table.get(key)
        return found is not None and is_words_of(found, user_id)


def _knows_of(user_id: str, state: StoredThread) -> bool:
    """Threads that they see or have left. A thread that a block hides from them is not exported."""
    return state.sees(user_id) or not state.members[user_id].is_active


def _is_theirs(item: Item, user_id: str, state: StoredThread) -> bool:
    """All that they wrote, including cards, and all that they may see now."""
    if item.get("authorUserId") == user_id and item["type"] != "system":
        return True
    return state.sees(user_id) and is_visible(item, user_id, state.members[user_id].floor)
