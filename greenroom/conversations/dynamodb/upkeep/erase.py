"""Erases what one person wrote, in steps that can be repeated.

Each step is an ordinary change of a thread. A thread's messages are erased page by page; with the
last page the person leaves the thread. Everything else is deleted after all threads, so that a run
that is repeated after a crash finds all threads again. The fact that they were in a thread stays.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

from greenroom.conversations.dynamodb.changes.blocks import Blocks
from greenroom.conversations.dynamodb.changes.change import Change, Write
from greenroom.conversations.dynamodb.changes.membership import LEFT
from greenroom.conversations.dynamodb.changes.message_lookup import BEFORE_ALL
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import (
    blocks_partition,
    client_id_key,
    listings_partition,
    original_key,
    pair_key,
    person_answers,
    thread_key,
    thread_partition,
)
from greenroom.conversations.dynamodb.items.rows import Left, MessageDeleted, is_visible
from greenroom.conversations.dynamodb.items.threads import StoredThread, state_from
from greenroom.conversations.dynamodb.reads.paging import (
    id_of,
    is_words_of,
    messages_of,
    originals_of,
    pages_of,
    threads_of,
)
from greenroom.conversations.dynamodb.upkeep.feed import FeedUpkeep
from greenroom.conversations.model import EventType
from greenroom.conversations.upkeep import Erased, HeldError
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.dynamodb.table import Delete, Put
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept

MESSAGES_AT_ONCE = 20
"""One outbox record has the events of all of them, for everybody in the thread."""
WRITES_AT_ONCE = 90
"""A transaction takes a hundred, some of them for the thread."""

BLOCKED = "OUT#"

# The hash as well: with it a guess of the text could be verified.
TRACES = ("html", "clientId", "sendHash", "files")


@dataclass(frozen=True, slots=True)
class Found:
    """Sort keys of someone's messages in a thread, and the key up to which it was searched."""

    sorts: list[str]
    up_to: str
    is_all: bool


@dataclass(slots=True)
class Page:
    """Messages that are erased in one change."""

    writes: list[Write] = field(default_factory=list)
    live: list[Item] = field(default_factory=list)
    """Messages that were not deleted before."""
    after: str = ""
    """The sort key of the last message that is done."""
    is_whole: bool = True


class Erasure:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table
        self._feed = FeedUpkeep(threads)

    async def check_allowed(self, user_id: str) -> None:
        async for page in threads_of(self._table, user_id):
            found = await self._table.get_many([thread_key(thread_id) for thread_id in page])
            for state in sorted(map(state_from, found.values()), key=lambda state: state.id):
                if user_id in state.members:
                    _check_not_held(state)

    async def run(self, user_id: str) -> AsyncGenerator[Erased, None]:
        await self.check_allowed(user_id)
        async for page in threads_of(self._table, user_id):
            for thread_id in page:
                after: str | None = BEFORE_ALL
                while after is not None:
                    count, after = await self._erase_page(user_id, thread_id, after)
                    yield Erased(messages=count, threads=0 if after else 1)
        await self._erase_person(user_id)

    async def _erase_page(self, user_id: str, thread_id: str, after: str) -> tuple[int, str | None]:
        """How many messages were erased, and the key to continue after; None: no more pages."""
        found = await self._find(user_id, thread_id, after)

        async def decide(change: Change) -> tuple[int, str | None]:
            if user_id not in change.state.members:
                return 0, None
            _check_not_held(change.state)
            page = await self._page(found, thread_id, change.now_ms)
            if page.writes:
                change.writes += page.writes
                change.state = replace(change.state, rewritten_ms=change.now_ms)
            for item in page.live:
                _notify_erased(change, item, user_id)
            if not page.is_whole:
                return len(page.live), page.after or after
            if not found.is_all or await self._find_more(user_id, thread_id, found.up_to):
                return len(page.live), found.up_to
            _leave(change, user_id)
            return len(page.live), None

        # A hold may have ended since this process cached the thread.
        self._threads.uncache(thread_id)
        try:
            outcome = await self._threads.change(thread_id, decide)
        except ThreadNotFound:
            # A pointer of a start that failed.
            return 0, None
        assert not isinstance(outcome, Kept)  # noqa: S101 (there was no key)
        return outcome

    async def _find(self, user_id: str, thread_id: str, after: str) -> Found:
        """Search before the change, which then reads only these: a thread can have very many
        messages of others."""
        sorts: list[str] = []
        async for items in messages_of(self._table, thread_id, after=after):
            for item in items:
                after = item["sk"]
                if is_words_of(item, user_id):
                    sorts.append(item["sk"])
                if len(sorts) == MESSAGES_AT_ONCE:
                    return Found(sorts, after, is_all=False)
        return Found(sorts, after, is_all=True)

    async def _find_more(self, user_id: str, thread_id: str, after: str) -> bool:
        """Whether they have written after the search."""
        return bool((await self._find(user_id, thread_id, after)).sorts)

    async def _page(self, found: Found, thread_id: str, now_ms: int) -> Page:
        page = Page()
        keys = [(thread_partition(thread_id), sort) for sort in found.sorts]
        items = await self._table.get_many(keys)
        for key in keys:
            if key in items:
                writes = await self._erasing(items[key], now_ms)
                if len(page.writes) + len(writes) > WRITES_AT_ONCE:
                    # Too many earlier versions: erase some of them first, then continue.
                    page.writes = page.writes or writes[:WRITES_AT_ONCE]
                    page.is_whole = False
                    return page
                page.writes += writes
                if "deletedAt" not in items[key]:
                    page.live.append(items[key])
            page.after = key[1]
        return page

    async def _erasing(self, item: Item, now_ms: int) -> list[Write]:
        """The text is removed everywhere. The fact of each edit or deletion stays."""
        originals = await originals_of(self._table, item)
        writes: list[Write] = [
            Put({**_without_files(each), "body": ""})
            for each in originals
            if each["body"] or "files" in each
        ]
        if "clientId" in item:
            writes.append(Delete(client_id_key(item["authorUserId"], item["clientId"])))
        erased = {name: value for name, value in item.items() if name not in TRACES}
        erased |= {"body": "", "deletedAt": item.get("deletedAt", now_ms)}
        if erased != item:
            writes.append(Put(erased))
        if "deletedAt" not in item:
            # `MessageReads.changed` finds it by this item.
            at_ms = max([now_ms, *(each["at"] + 1 for each in originals)])
            pk, sk = original_key(item["pk"].partition("#")[2], id_of(item), at_ms)
            mark: Item = {"pk": pk, "sk": sk, "act": "delete", "actor": item["authorUserId"]}
            writes.append(Put({**mark, "body": "", "at": at_ms}))
        return writes

    async def _erase_person(self, user_id: str) -> None:
        async for page in pages_of(self._table, blocks_partition(user_id), prefix=BLOCKED):
            for item in page:
                await self._blocks.unblock(user_id, item["sk"].removeprefix(BLOCKED))
        for partition in (person_answers(user_id), listings_partition(user_id)):
            await self._forget_partition(partition)
        # Outbox records contain previews of their last messages until they are projected.
        await self._threads.projector.drain()
        await self._feed.forget(user_id)

    async def _forget_partition(self, partition: str) -> None:
        async for page in pages_of(self._table, partition):
            await self._table.write_many([Delete((item["pk"], item["sk"])) for item in page])


def _without_files(item: Item) -> Item:
    return {name: value for name, value in item.items() if name != "files"}


def _notify_erased(change: Change, item: Item, user_id: str) -> None:
    """Also notifies the person, if they see the thread: their row shows the last message."""
    state, message_id = change.state, id_of(item)
    readers = [
        user for user in state.viewers() if is_visible(item, user, state.members[user].floor)
    ]
    change.notify(
        readers,
        EventType.MESSAGE_DELETED,
        MessageDeleted(message_id, user_id, change.now_ms, had_files="files" in item),
        message_id=message_id,
        actor=user_id,
    )
    change.publish("message.delete", user_id, message_id=message_id)


def _leave(change: Change, user_id: str) -> None:
    """Leave the thread, and remove the subject if the person gave it. Blocks do not matter: whoever
    sees the thread sees its members."""
    before = change.state
    is_opener = before.opened_by == user_id and before.subject is not None
    if before.members[user_id].status == "left" and not is_opener:
        return
    saw, pair = before.sees(user_id), before.pair()
    if before.members[user_id].status != "left":
        change.publish("participant.left", user_id, data={"user_id": user_id})
    change.state = replace(
        before.with_member(user_id, status="left", knows=False),
        subject=None if is_opener else before.subject,
        updated_at_ms=change.now_ms,
    )
    if pair is not None:
        change.writes.append(Delete(pair_key(*pair, before.started_n)))
    if saw:
        change.notify([user_id], EventType.THREAD_CHANGED, Left(), message_id=LEFT)
    change.notify_all(None)


def _check_not_held(state: StoredThread) -> None:
    if state.hold_ms is not None:
        raise HeldError(state.id, state.hold_reason)
