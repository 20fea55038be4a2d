"""Iterates over a partition page by page: a person's threads, a thread's messages."""

from collections.abc import AsyncIterator
from typing import Unpack

from greenroom.conversations.dynamodb.changes.message_lookup import AFTER_ALL, BEFORE_ALL
from greenroom.conversations.dynamodb.items.keys import thread_partition, user_partition
from greenroom.platform.dynamodb.table import QueryRange, Table
from greenroom.platform.dynamodb.values import Item

ITEMS_AT_ONCE = 500
THREADS_AT_ONCE = 100

THREADS = "THR#"


async def pages_of(
    table: Table, partition: str, *, limit: int = ITEMS_AT_ONCE, **range_: Unpack[QueryRange]
) -> AsyncIterator[list[Item]]:
    """The items of a partition or of a range in it, in the order of their sort keys."""
    start: Item | None = None
    while True:
        items, start = await table.query_page(partition, limit=limit, start=start, **range_)
        yield items
        if start is None:
            return


async def threads_of(table: Table, user_id: str) -> AsyncIterator[list[str]]:
    """Ids of the threads that someone is or was in, in order. Some may not exist: a start writes
    the pointer before the thread, and can fail in between."""
    pages = pages_of(table, user_partition(user_id), prefix=THREADS, limit=THREADS_AT_ONCE)
    async for page in pages:
        yield [item["sk"].removeprefix(THREADS) for item in page]


async def messages_of(
    table: Table, thread_id: str, *, after: str = BEFORE_ALL
) -> AsyncIterator[list[Item]]:
    """The message items after a sort key, in order."""
    async for page in pages_of(table, thread_partition(thread_id), between=(after, AFTER_ALL)):
        yield [item for item in page if item["sk"] != after]


async def originals_of(table: Table, item: Item) -> list[Item]:
    """The earlier versions of a message; only an edited or deleted message has any."""
    if "editedAt" not in item and "deletedAt" not in item:
        return []
    return await table.query(item["pk"], prefix=f"AUD#{id_of(item)}#")


def id_of(item: Item) -> str:
    """The id of a message item."""
    message_id: str = item["sk"].rpartition("#")[2]
    return message_id


def is_words_of(item: Item, user_id: str) -> bool:
    """Whether this user wrote the text. System messages contain only ids. A card is not one
    person's text: it is part of the booking, to which both sides have a right."""
    return item.get("authorUserId") == user_id and item["type"] not in ("system", "card")
