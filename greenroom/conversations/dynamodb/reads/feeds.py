"""Reads feeds on DynamoDB, for many people at once, and records what their clients acknowledge."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.keyed_locks import KeyedLocks
from greenroom.conversations.dynamodb.changes.membership import LEFT
from greenroom.conversations.dynamodb.changes.message_lookup import MessageLookup
from greenroom.conversations.dynamodb.changes.projection import PARALLEL, head_number
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.cards import cards_of, shown_with
from greenroom.conversations.dynamodb.items.keys import (
    ENTRIES,
    EPOCH,
    HEAD,
    entry_key,
    entry_sort,
    feed_partition,
    head_key,
    message_key,
    row_key,
    thread_key,
)
from greenroom.conversations.dynamodb.items.rows import (
    Packed,
    inbox_row,
    is_visible,
    message_from,
    row_from,
)
from greenroom.conversations.dynamodb.items.threads import public_thread, state_from, thread_for
from greenroom.conversations.model import (
    DAY_MS,
    MESSAGE_EVENTS,
    Cursor,
    Event,
    EventType,
    Receipt,
    Thread,
)
from greenroom.conversations.store import Changes, FeedPosition
from greenroom.kernel.errors import ThreadNotFound, Unavailable
from greenroom.platform.dynamodb.errors import ConditionFailed
from greenroom.platform.dynamodb.table import Key, Update
from greenroom.platform.dynamodb.values import Item

# The stored type of a delivery receipt. A read receipt is stored as "receipt".
DELIVERED = "receipt.delivered"


@dataclass(frozen=True, slots=True)
class Page:
    """One person's feed after a cursor."""

    entries: list[Item]
    head: int
    acked: int
    is_kept: bool
    """Whether the cursor is valid; if not, the client gets a `reset`."""
    has_more: bool


class FeedReads:
    def __init__(self, threads: Threads, lookup: MessageLookup) -> None:
        self._threads = threads
        self._lookup = lookup
        self._table = threads.table
        self._locks: KeyedLocks[str] = KeyedLocks()
        self._epoch = ""

    async def epoch(self) -> str:
        if not self._epoch:
            item = await self._table.get(EPOCH)
            if item is None:
                raise Unavailable("The table is not prepared; run: greenroom dynamodb create-table")
            self._epoch = item["epoch"]
        return self._epoch

    async def head(self, viewer: str) -> Cursor:
        return Cursor(await self.epoch(), await self._threads.projector.read_head(viewer))

    async def heads(self, viewers: Sequence[str]) -> dict[str, Cursor]:
        """As stored, or as this process knows: head items are written later than entries."""
        epoch = await self.epoch()
        found = await self._table.get_many([head_key(user) for user in viewers], consistent=False)
        heads = {}
        for user in viewers:
            written = found.get(head_key(user), {}).get("last", 0)
            n = max(written, self._threads.projector.known_head(user))
            if n:
                heads[user] = Cursor(epoch, n)
        return heads

    async def changes(self, positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
        epoch = await self.epoch()
        parallel = asyncio.Semaphore(PARALLEL)

        async def page_of(position: FeedPosition) -> Page:
            async with parallel:
                return await self._page(position, epoch, limit)

        pages = await asyncio.gather(*(page_of(each) for each in positions))
        loader = EventLoader(self._threads)
        for position, page in zip(positions, pages, strict=True):
            if page.is_kept:
                loader.request(position.viewer, page.entries)
        await loader.load()
        return [
            self._changes(position, page, epoch, loader)
            for position, page in zip(positions, pages, strict=True)
        ]

    def _changes(
        self, position: FeedPosition, page: Page, epoch: str, loader: "EventLoader"
    ) -> Changes:
        head, acked = Cursor(epoch, page.head), Cursor(epoch, page.acked)
        if not page.is_kept:
            reset = Event(EventType.RESET, head, self._threads.clock())
            return Changes((reset,), head, False, acked)
        events = [loader.event(position.viewer, item, epoch) for item in page.entries]
        cursor = position.since or head
        if page.entries:
            cursor = Cursor(epoch, _number(page.entries[-1]))
        shown = tuple(event for event in events if event is not None)
        return Changes(shown, cursor, page.has_more, acked)

    async def _page(self, position: FeedPosition, epoch: str, limit: int) -> Page:
        """One query returns the new entries and, if they fit, the head, which sorts after them. It
        starts at the entry of the cursor itself, which shows whether the cursor is valid."""
        since = position.since
        if since is not None and since.epoch != epoch:
            return await self._reset(position.viewer)
        start = 0 if since is None else since.n
        partition = feed_partition(position.viewer)
        items = await self._table.query(partition, at_least=entry_sort(start), limit=limit + 3)
        if since is None:
            items = await self._skip_expired(partition, items, limit)
        head_item = next((item for item in items if item["sk"] == HEAD), None)
        entries = [item for item in items if item["sk"] != HEAD and _number(item) > start]
        last = head_number(items)
        if since is not None and not self._is_kept(start, entries, last):
            return await self._reset(position.viewer)
        if head_item is None:
            head_item = await self._table.get(head_key(position.viewer)) if entries else None
        acked = 0 if head_item is None else head_item.get("acked", 0)
        return Page(entries[:limit], last, acked, True, len(entries) > limit)

    async def _skip_expired(self, partition: str, items: list[Item], limit: int) -> list[Item]:
        """Without expired entries at the start, which DynamoDB has not deleted yet."""
        while items and items[0]["sk"] != HEAD and self._is_expired(items[0]):
            kept = [item for item in items if item["sk"] == HEAD or not self._is_expired(item)]
            if kept:
                return await self._table.query(partition, at_least=kept[0]["sk"], limit=limit + 3)
            items = await self._table.query(partition, after=items[-1]["sk"], limit=limit + 3)
        return items

    def _is_kept(self, start: int, entries: Sequence[Item], last: int) -> bool:
        if not entries:
            return start == last
        return _number(entries[0]) == start + 1 and not self._is_expired(entries[0])

    def _is_expired(self, item: Item) -> bool:
        kept_ms: int = self._threads.limits.feed_kept_days * DAY_MS
        return bool(item["at"] < self._threads.clock() - kept_ms)

    async def _reset(self, viewer: str) -> Page:
        items = await self._table.query(feed_partition(viewer), reverse=True, limit=2)
        head_item = next((item for item in items if item["sk"] == HEAD), {})
        return Page([], head_number(items), head_item.get("acked", 0), False, False)

    # Acknowledgements.

    async def acknowledge(self, viewer: str, up_to: Cursor) -> None:
        """In steps of `ack_span` entries, so that no step takes long."""
        if up_to.epoch != await self.epoch():
            return
        async with self._locks.hold(viewer):
            head = await self._table.get(head_key(viewer)) or {}
            acked = head.get("acked", 0)
            if up_to.n <= acked or not await self._is_position(
                viewer, up_to.n, head.get("last", 0)
            ):
                return
            while acked < up_to.n:
                step = min(up_to.n, acked + self._threads.limits.ack_span)
                await self._deliver(viewer, acked, step)
                await self._save_acked(viewer, step)
                acked = step

    async def _is_position(self, viewer: str, n: int, last: int) -> bool:
        return n <= last or await self._table.get(entry_key(viewer, n)) is not None

    async def _deliver(self, viewer: str, after: int, up_to: int) -> None:
        bounds = entry_sort(after + 1), entry_sort(up_to)
        arrived: dict[str, str] = {}
        for item in await self._table.query(feed_partition(viewer), between=bounds):
            if item["t"] == EventType.MESSAGE_NEW and item.get("a") != viewer:
                arrived[item["th"]] = max(item["m"], arrived.get(item["th"], ""))
        for thread_id, message_id in sorted(arrived.items()):
            try:
                await self._deliver_in(viewer, thread_id, message_id)
            except ThreadNotFound:
                continue

    async def deliver(self, viewer: str, thread_id: str, message_id: str) -> None:
        with suppress(ThreadNotFound):
            await self._deliver_in(viewer, thread_id, message_id)

    async def _deliver_in(self, viewer: str, thread_id: str, message_id: str) -> None:
        async def decide(change: Change) -> None:
            state, people = change.state, change.state.active()
            if not state.sees(viewer) or any(state.is_between(viewer, each) for each in people):
                return
            member, most = state.members[viewer], self._threads.limits.delivery_shown_participants
            after = max(member.arrived_id, member.floor)
            if len(people) > most or message_id <= after:
                return
            shown = await self._lookup.last_shared(
                state,
                after,
                message_id,
                lambda item: item["type"] != "system" and item.get("authorUserId") != viewer,
            )
            if shown is None:
                return
            shown_id = message_from(shown).id
            change.state = state.with_member(viewer, arrived_id=shown_id, arrived_ms=change.now_ms)
            change.shows_thread = True
            told = [
                user
                for user in state.viewers()
                if user != viewer and state.members[user].floor < shown_id
            ]
            change.notify(told, DELIVERED, message_id=shown_id, actor=viewer)

        await self._threads.change(thread_id, decide)

    async def _save_acked(self, viewer: str, n: int) -> None:
        condition = "attribute_not_exists(acked) OR acked < :n"
        try:
            await self._table.write(
                Update(head_key(viewer), "SET acked = :n", condition, {":n": n})
            )
        except ConditionFailed:
            return


class EventLoader:
    """Loads together what many events refer to, as each viewer may see it now."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._rows: set[tuple[str, str]] = set()
        self._messages: set[Key] = set()
        self._changed: set[tuple[str, str]] = set()
        self._found: dict[Key, Item] = {}
        self._cards: dict[Key, Item] = {}
        self._packed: dict[tuple[str, str], Packed] = {}
        self._shown: dict[tuple[str, str], Thread] = {}

    def request(self, viewer: str, entries: Sequence[Item]) -> None:
        for item in entries:
            if item["th"]:
                self._rows.add((viewer, item["th"]))
            if item["t"] == EventType.THREAD_CHANGED:
                self._changed.add((viewer, item["th"]))
            key = message_key(item["th"], item["m"]) if item.get("m") else None
            if key is not None:
                self._messages.add(key)

    async def load(self) -> None:
        rows = {row_key(thread_id, viewer): (viewer, thread_id) for viewer, thread_id in self._rows}
        table = self._threads.table
        self._found = await table.get_many([*rows, *self._messages])
        self._cards = await cards_of(table, [self._found.get(key) for key in self._messages])
        for key, of in rows.items():
            item = self._found.get(key)
            packed = None if item is None else row_from(item).packed
            if packed is not None:
                self._packed[of] = packed
        await self._load_threads()

    async def _load_threads(self) -> None:
        wanted = {of: self._packed[of] for of in self._changed if of in self._packed}
        self._shown = await view_threads(self._threads, wanted)

    def event(self, viewer: str, item: Item, epoch: str) -> Event | None:
        """None if the viewer no longer sees what the event is about."""
        is_delivery = item["t"] == DELIVERED
        kind = EventType.RECEIPT if is_delivery else EventType(item["t"])
        thread_id = item["th"] or None
        event = Event(kind, Cursor(epoch, _number(item)), item["at"], thread_id)
        if thread_id is None:
            return replace(event, file_id=item["f"])
        packed = self._packed.get((viewer, thread_id))
        if kind == EventType.THREAD_CHANGED:
            is_last = item.get("m") == LEFT
            return event if is_last else replace(event, thread=self._shown.get((viewer, thread_id)))
        if packed is None:
            return None
        if kind == EventType.INBOX_CHANGED:
            return replace(event, inbox=inbox_row(thread_id, packed))
        if kind == EventType.FILE_CHANGED and "m" not in item:
            return replace(event, file_id=item["f"])
        found = self._found.get(message_key(thread_id, item["m"]) or ("", ""))
        if found is None or not is_visible(found, viewer, packed.floor):
            return None
        if kind == EventType.FILE_CHANGED:
            shown = replace(event, message_id=item["m"], file_id=item["f"])
            return None if "deletedAt" in found else shown
        message = shown_with(message_from(found), self._cards)
        if kind in MESSAGE_EVENTS:
            return replace(event, message=message, inbox=inbox_row(thread_id, packed))
        told = "delivered" if is_delivery else "read"
        receipt = Receipt(item["a"], told, message.id, message.seq, item["at"])  # type: ignore[arg-type]
        return replace(event, receipt=receipt)


async def view_threads(
    threads: Threads, rows: Mapping[tuple[str, str], Packed]
) -> dict[tuple[str, str], Thread]:
    """Threads by (viewer, thread id), from the copies in the rows. Large threads have no copy, so
    their items are read."""
    large = {thread_id for (_, thread_id), packed in rows.items() if packed.thread is None}
    found = await threads.table.get_many([thread_key(thread_id) for thread_id in large])
    public = {
        state.id: public_thread(state) for state in (state_from(item) for item in found.values())
    }
    seen = {of: packed.thread or public.get(of[1]) for of, packed in rows.items()}
    people = {each.user_id for thread in seen.values() if thread for each in thread.members}
    profiles = await threads.profiles(sorted(people)) if people else {}
    return {
        (viewer, thread_id): thread_for(
            thread_id,
            thread,
            profiles,
            viewer=viewer,
            inbox=inbox_row(thread_id, rows[viewer, thread_id]),
            floor=rows[viewer, thread_id].floor,
        )
        for (viewer, thread_id), thread in seen.items()
        if thread is not None
    }


def _number(item: Item) -> int:
    return int(item["sk"].removeprefix(ENTRIES), 16)
