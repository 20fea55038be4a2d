"""Removing what one person wrote, in steps that can be repeated.

Each step is a change of a thread like any other. A thread's messages go page by page; with the last
page the person leaves it. What is not of a thread goes after all threads, so that a run that was
killed finds everything again. That someone was in a thread stays known, as it does in the thread.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from greenroom.conversations.blocks_dynamodb import Blocks
from greenroom.conversations.feed_upkeep_dynamodb import FeedUpkeep
from greenroom.conversations.keys_dynamodb import (
    blocks_partition,
    client_id_key,
    pair_key,
    person_answers,
    thread_key,
    thread_partition,
)
from greenroom.conversations.membership_dynamodb import LEFT
from greenroom.conversations.messages_dynamodb import BEFORE_ALL
from greenroom.conversations.model import EventType
from greenroom.conversations.records_dynamodb import Change, Write
from greenroom.conversations.rows_dynamodb import Deleted, Left, is_visible
from greenroom.conversations.states_dynamodb import ThreadState, state_from
from greenroom.conversations.threads_dynamodb import Threads
from greenroom.conversations.upkeep import Erased, HeldError
from greenroom.conversations.walks_dynamodb import (
    id_of,
    is_words_of,
    messages_of,
    originals_of,
    pages_of,
    threads_of,
)
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.dynamodb.table import Delete, Put
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept

MESSAGES_AT_ONCE = 20
"""Everybody in the thread gets an event of each, and one record has them all."""
WRITES_AT_ONCE = 90
"""A transaction takes a hundred, some of them for the thread."""

BLOCKED = "OUT#"

# The hash goes too: it would tell whether a guess at the text is right.
TRACES = ("html", "clientId", "sendHash")


@dataclass(frozen=True, slots=True)
class Found:
    """Sort keys of someone's messages in a thread, and up to which key it was looked."""

    sorts: list[str]
    up_to: str
    is_all: bool


@dataclass(slots=True)
class Page:
    """What of these messages goes in one change."""

    writes: list[Write] = field(default_factory=list)
    live: list[Item] = field(default_factory=list)
    """Those that were not deleted before."""
    after: str = ""
    """The last message that is done."""
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

    async def run(self, user_id: str) -> AsyncIterator[Erased]:
        await self.check_allowed(user_id)
        async for page in threads_of(self._table, user_id):
            for thread_id in page:
                after: str | None = BEFORE_ALL
                while after is not None:
                    count, after = await self._erase_page(user_id, thread_id, after)
                    yield Erased(messages=count, threads=0 if after else 1)
        await self._erase_person(user_id)

    async def _erase_page(self, user_id: str, thread_id: str, after: str) -> tuple[int, str | None]:
        """How many messages went, and after which key to go on; None: this was the last page."""
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
                _tell_erased(change, item, user_id)
            if not page.is_whole:
                return len(page.live), page.after or after
            if not found.is_all or await self._find_more(user_id, thread_id, found.up_to):
                return len(page.live), found.up_to
            _leave(change, user_id)
            return len(page.live), None

        # A hold may have ended since this process last saw the thread.
        self._threads.forget(thread_id)
        try:
            outcome = await self._threads.change(thread_id, decide)
        except ThreadNotFound:
            # Announced by a start that did not happen.
            return 0, None
        assert not isinstance(outcome, Kept)  # noqa: S101 (there was no key)
        return outcome

    async def _find(self, user_id: str, thread_id: str, after: str) -> Found:
        """Before the change, which then reads these only: those of others can be very many."""
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
        """Whether they have written since it was looked."""
        return bool((await self._find(user_id, thread_id, after)).sorts)

    async def _page(self, found: Found, thread_id: str, now_ms: int) -> Page:
        page = Page()
        keys = [(thread_partition(thread_id), sort) for sort in found.sorts]
        items = await self._table.get_many(keys)
        for key in keys:
            if key in items:
                writes = await self._erasing(items[key], now_ms)
                if len(page.writes) + len(writes) > WRITES_AT_ONCE:
                    # Very many earlier versions: a part of them by themselves, then again.
                    page.writes = page.writes or writes[:WRITES_AT_ONCE]
                    page.is_whole = False
                    return page
                page.writes += writes
                if "deletedAt" not in items[key]:
                    page.live.append(items[key])
            page.after = key[1]
        return page

    async def _erasing(self, item: Item, now_ms: int) -> list[Write]:
        """What it said goes from everywhere. That there was an edit or a deletion stays known."""
        originals = await originals_of(self._table, item)
        writes: list[Write] = [Put({**each, "body": ""}) for each in originals if each["body"]]
        if "clientId" in item:
            writes.append(Delete(client_id_key(item["authorUserId"], item["clientId"])))
        erased = {name: value for name, value in item.items() if name not in TRACES}
        erased |= {"body": "", "deletedAt": item.get("deletedAt", now_ms)}
        if erased != item:
            writes.append(Put(erased))
        return writes

    async def _erase_person(self, user_id: str) -> None:
        async for page in pages_of(self._table, blocks_partition(user_id), prefix=BLOCKED):
            for item in page:
                await self._blocks.unblock(user_id, item["sk"].removeprefix(BLOCKED))
        async for page in pages_of(self._table, person_answers(user_id)):
            await self._table.write_many([Delete((item["pk"], item["sk"])) for item in page])
        # Records of what they said lately hold its first words until everybody has been told.
        await self._threads.projector.drain()
        await self._feed.forget(user_id)


def _tell_erased(change: Change, item: Item, user_id: str) -> None:
    """Also to themselves, while they see the thread: their row shows the last message."""
    state, message_id = change.state, id_of(item)
    readers = [
        user for user in state.viewers() if is_visible(item, user, state.members[user].floor)
    ]
    change.tell(
        readers,
        EventType.MESSAGE_DELETED,
        Deleted(message_id, user_id, change.now_ms),
        message_id=message_id,
        actor=user_id,
    )
    change.publish("message.delete", user_id, message_id=message_id)


def _leave(change: Change, user_id: str) -> None:
    """The subject is the opener's own text. Everybody who sees the thread sees who is in it, so
    they are told whatever blocks there are."""
    before = change.state
    is_opener = before.opened_by == user_id and before.subject is not None
    if before.members[user_id].status == "left" and not is_opener:
        return
    saw, pair = before.sees(user_id), before.pair()
    change.state = replace(
        before.with_member(user_id, status="left", knows=False),
        subject=None if is_opener else before.subject,
        updated_at_ms=change.now_ms,
    )
    if pair is not None:
        change.writes.append(Delete(pair_key(*pair, before.started_n)))
    if saw:
        change.tell([user_id], EventType.THREAD_CHANGED, Left(), message_id=LEFT)
    change.tell_all(None)


def _check_not_held(state: ThreadState) -> None:
    if state.hold_ms is not None:
        raise HeldError(state.id, state.hold_reason)
