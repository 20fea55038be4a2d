"""Going along what there is, page by page: a person's threads, a thread's messages."""

from collections.abc import AsyncIterator
from typing import Unpack

from greenroom.conversations.keys_dynamodb import thread_partition, user_partition
from greenroom.conversations.messages_dynamodb import AFTER_ALL, BEFORE_ALL
from greenroom.platform.dynamodb.table import Part, Table
from greenroom.platform.dynamodb.values import Item

ITEMS_AT_ONCE = 500
THREADS_AT_ONCE = 100

THREADS = "THR#"


async def pages_of(
    table: Table, partition: str, *, limit: int = ITEMS_AT_ONCE, **part: Unpack[Part]
) -> AsyncIterator[list[Item]]:
    """A part of a partition, in the order of its sort keys."""
    start: Item | None = None
    while True:
        items, start = await table.query_page(partition, limit=limit, start=start, **part)
        yield items
        if start is None:
            return


async def threads_of(table: Table, user_id: str) -> AsyncIterator[list[str]]:
    """Threads that someone is or was in, in the order of their ids; among them can be some that
    were announced and never begun."""
    pages = pages_of(table, user_partition(user_id), prefix=THREADS, limit=THREADS_AT_ONCE)
    async for page in pages:
        yield [item["sk"].removeprefix(THREADS) for item in page]


async def messages_of(
    table: Table, thread_id: str, *, after: str = BEFORE_ALL
) -> AsyncIterator[list[Item]]:
    """Those after a sort key, in order."""
    async for page in pages_of(table, thread_partition(thread_id), between=(after, AFTER_ALL)):
        yield [item for item in page if item["sk"] != after]


async def originals_of(table: Table, item: Item) -> list[Item]:
    """What a message said before; only one that was edited or deleted has said anything else."""
    if "editedAt" not in item and "deletedAt" not in item:
        return []
    return await table.query(item["pk"], prefix=f"AUD#{id_of(item)}#")


def id_of(item: Item) -> str:
    """A message's id."""
    message_id: str = item["sk"].rpartition("#")[2]
    return message_id


def is_words_of(item: Item, user_id: str) -> bool:
    """Notices that name someone as the actor hold ids only: they are the server's words. A card is
    the contract's, which both sides have a right to."""
    return item.get("authorUserId") == user_id and item["type"] not in ("system", "card")
