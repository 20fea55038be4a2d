"""Messages on DynamoDB: reading pages, editing, deleting, and how far someone has read."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from greenroom.conversations.card_items_dynamodb import with_cards
from greenroom.conversations.keys_dynamodb import (
    MESSAGES,
    message_key,
    message_sort,
    original_key,
    thread_partition,
)
from greenroom.conversations.model import EventType, Message, Thread, as_last_message
from greenroom.conversations.records_dynamodb import Change
from greenroom.conversations.rows_dynamodb import Deleted, Edited, Read, is_visible, message_from
from greenroom.conversations.states_dynamodb import ThreadState
from greenroom.conversations.threads_dynamodb import Threads
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
from greenroom.kernel.ids import TIME_CHARS
from greenroom.platform.dynamodb.table import Put, Table
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept, Once

BEFORE_ALL = MESSAGES
AFTER_ALL = MESSAGES + "~"
COPY_LAG_MS = 120_000
"""A copy lags by less than a minute, and clocks differ by less than another."""

Wanted = Callable[[Item], bool]


async def find_messages(
    table: Table,
    thread_id: str,
    bounds: tuple[str, str],
    limit: int,
    wanted: Wanted,
    *,
    newest_first: bool,
) -> list[Item]:
    """Up to `limit` of the messages strictly between two sort keys, passing over those that are
    not wanted."""
    found: list[Item] = []
    start: Item | None = None
    while True:
        items, start = await table.query_page(
            thread_partition(thread_id),
            between=bounds,
            reverse=newest_first,
            limit=limit - len(found) + 2,
            start=start,
        )
        found += [item for item in items if item["sk"] not in bounds and wanted(item)]
        if len(found) >= limit or start is None:
            return found[:limit]


def place_of(message_id: str) -> str:
    """Where an id stands among the keys of messages, also one that is not there or is none."""
    sort = message_sort(message_id)
    if sort is not None:
        return sort
    time, digits = message_id.removeprefix("msg_"), "0123456789abcdef"
    if not message_id.startswith("msg_") or not set(time[:TIME_CHARS]) <= set(digits):
        return BEFORE_ALL if message_id < "msg_" else AFTER_ALL
    first = message_sort(f"msg_{time[:TIME_CHARS]:0<{TIME_CHARS}}" + "0" * 14)
    return AFTER_ALL if first is None else first.rpartition("#")[0] + "#" + message_id


class Messages:
    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._table = threads.table

    # Reading.

    async def page(
        self, viewer: str, state: ThreadState, *, before: str | None, after: str | None, limit: int
    ) -> tuple[list[Message], bool]:
        if after is not None:
            bounds = place_of(after), AFTER_ALL
        else:
            bounds = BEFORE_ALL, AFTER_ALL if before is None else place_of(before)
        items = None
        if after is None and before is None:
            items = await self._newest(viewer, state, limit + 1)
        if items is None:
            items = await self._visible(
                viewer, state, bounds, limit + 1, newest_first=after is None
            )
        page = sorted(map(message_from, items[:limit]), key=lambda message: message.seq)
        return await with_cards(self._table, page), len(items) > limit

    async def _newest(self, viewer: str, state: ThreadState, limit: int) -> list[Item] | None:
        """The newest page at half the price: read from a copy that may lag, and taken only where
        the thread's item shows that it does not. None: read it again."""
        floor = state.members[viewer].floor
        rewritten_ms = state.rewritten_ms
        if rewritten_ms is not None and abs(self._threads.clock() - rewritten_ms) < COPY_LAG_MS:
            return None
        items, start = await self._table.query_page(
            thread_partition(state.id),
            between=(place_of(floor) if floor else BEFORE_ALL, AFTER_ALL),
            reverse=True,
            limit=limit,
            consistent=False,
        )
        expected = range(state.last_seq, state.last_seq - len(items), -1)
        # A copy that has nothing yet shows nothing that could be compared.
        is_whole = bool(items) and [item["seq"] for item in items] == list(expected)
        visible = [item for item in items if is_visible(item, viewer, floor)]
        if not is_whole or (len(visible) < limit and start is not None):
            return None
        return visible

    async def spoken(
        self, viewer: str, state: ThreadState, *, after: str | None, limit: int
    ) -> tuple[Message, ...]:
        """What people said, without what the server says."""
        bounds = BEFORE_ALL if after is None else place_of(after), AFTER_ALL
        items = await self._visible(
            viewer, state, bounds, limit, newest_first=after is None, kinds=("text", "asset")
        )
        return tuple(sorted(map(message_from, items), key=lambda message: message.seq))

    async def _visible(
        self,
        viewer: str,
        state: ThreadState,
        bounds: tuple[str, str],
        limit: int,
        *,
        newest_first: bool,
        kinds: Sequence[str] | None = None,
    ) -> list[Item]:
        floor = state.members[viewer].floor

        def wanted(item: Item) -> bool:
            return is_visible(item, viewer, floor) and (kinds is None or item["type"] in kinds)

        # Nothing before the floor is theirs, so nothing before it is read.
        low = max(bounds[0], place_of(floor)) if floor else bounds[0]
        if low >= bounds[1]:
            return []
        return await find_messages(
            self._table, state.id, (low, bounds[1]), limit, wanted, newest_first=newest_first
        )

    async def access(self, viewer: str, state: ThreadState, message_id: str) -> Item | None:
        """One message's item, if this viewer may see it."""
        key = message_key(state.id, message_id)
        item = None if key is None else await self._table.get(key)
        if item is None or not is_visible(item, viewer, state.members[viewer].floor):
            return None
        return item

    async def unread_after(self, reader: str, state: ThreadState, message_id: str) -> int:
        """How many messages after this one the reader may see, has not written, and still are."""
        if message_id >= state.last_message_id:
            return 0

        def counts(item: Item) -> bool:
            return item.get("authorUserId") != reader and "deletedAt" not in item

        items = await self._visible(
            reader, state, (place_of(message_id), AFTER_ALL), state.last_seq, newest_first=False
        )
        return sum(counts(item) for item in items if item["seq"] <= state.last_seq)

    async def last_shared(
        self, state: ThreadState, after: str, up_to: str, wanted: Wanted = lambda _: True
    ) -> Item | None:
        """The last message in between (the second included) that everybody there sees."""
        high = place_of(up_to) + "~"
        found = await find_messages(
            self._table,
            state.id,
            (place_of(after) if after else BEFORE_ALL, high),
            1,
            lambda item: "visibleTo" not in item and wanted(item),
            newest_first=True,
        )
        return found[0] if found else None

    # Changing.

    async def edit(
        self, author: str, thread_id: str, message_id: str, body: str, body_html: str | None
    ) -> Message:
        async def decide(change: Change) -> Message:
            item = await self._access_own(change.state, author, message_id)
            message = message_from(item)
            _check_not_muted(change.state, author, change.now_ms)
            if message.deleted_at_ms is not None:
                raise NotFound("This message has been deleted.")
            if message.body == body:
                return message
            window_ms = self._threads.limits.edit_window_s * 1000
            if change.now_ms - message.created_at_ms > window_ms:
                raise EditWindowClosed
            _check_passes_no_block(change.state, item, author)
            edited = replace(message, body=body, body_html=body_html, edited_at_ms=change.now_ms)
            await self._replace(change, item, edited, "edit", author)
            change.tell(
                readers(change.state, item),
                EventType.MESSAGE_EDITED,
                Edited(message_id, as_last_message(edited).preview),
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
            gone = replace(message, body="", body_html=None, deleted_at_ms=change.now_ms)
            await self._replace(change, item, gone, "delete", author)
            change.tell(
                readers(change.state, item),
                EventType.MESSAGE_DELETED,
                Deleted(message_id, author, change.now_ms),
                message_id=message_id,
                actor=author,
            )
            change.publish("message.delete", author, message_id=message_id)
            return gone

        return _changed(await self._threads.change(thread_id, decide))

    async def _access_own(self, state: ThreadState, author: str, message_id: str) -> Item:
        if not state.sees(author):
            raise ThreadNotFound
        item = await self.access(author, state, message_id)
        if item is None:
            raise NotFound("There is no such message in this thread.")
        if item.get("authorUserId") != author or item["type"] not in ("text", "asset"):
            raise Forbidden("Only its author changes a message; cards and notices stay.")
        if state.locked:
            raise ThreadLocked
        return item

    async def _replace(
        self, change: Change, item: Item, message: Message, act: str, actor: str
    ) -> None:
        """The message as it is from now on; what it said before is kept beside it."""
        changed = {
            **item,
            "body": message.body,
            "html": message.body_html,
            "editedAt": message.edited_at_ms,
            "deletedAt": message.deleted_at_ms,
        }
        at_ms = await self._free_original(change.state.id, message.id, change.now_ms)
        pk, sk = original_key(change.state.id, message.id, at_ms)
        original: Item = {"pk": pk, "sk": sk, "act": act, "actor": actor, "body": item["body"]}
        change.writes += [
            Put({name: value for name, value in changed.items() if value is not None}),
            Put({**original, "at": at_ms}),
        ]
        change.state = replace(change.state, rewritten_ms=change.now_ms)

    async def _free_original(self, thread_id: str, message_id: str, now_ms: int) -> int:
        """The moment to keep an original under: two of one message never share one."""
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
            if await self.access(reader, state, up_to) is None:
                raise NotFound("There is no such message in this thread.")
            if up_to > state.members[reader].read_id:
                await self._move_mark(change, reader, up_to)
            return await self._threads.shown_after(reader, change)

        return await self._threads.change(thread_id, decide, once)

    async def _move_mark(self, change: Change, reader: str, up_to: str) -> None:
        state, now_ms = change.state, change.now_ms
        others = [user for user in state.active() if user != reader]
        shown = None
        if not any(state.is_between(reader, other) for other in others):
            # Not up_to itself: a message that only some may see must not show in their receipts.
            shown = await self.last_shared(state, state.members[reader].shown_id, up_to)
        unread = await self.unread_after(reader, state, up_to)
        change.state = state.with_member(reader, read_id=up_to, read_ms=now_ms)
        change.tell([reader], EventType.INBOX_CHANGED, Read(up_to, now_ms, unread), actor=reader)
        if shown is not None:
            shown_id = message_from(shown).id
            change.state = change.state.with_member(reader, shown_id=shown_id, shown_ms=now_ms)
            change.shows_thread = True
            told = [user for user in others if state.sees(user)]
            change.tell(told, EventType.RECEIPT, message_id=shown_id, actor=reader)
        change.publish("thread.read", reader, message_id=up_to)


def _changed(outcome: Message | Kept) -> Message:
    assert isinstance(outcome, Message)  # noqa: S101 (there was no key)
    return outcome


def readers(state: ThreadState, item: Item) -> list[str]:
    """Who sees a message now: the people told of what becomes of it."""
    return [user for user in state.viewers() if is_visible(item, user, state.members[user].floor)]


def _check_not_muted(state: ThreadState, author: str, now_ms: int) -> None:
    until_ms = state.members[author].blocked_until_ms
    if until_ms is not None and until_ms > now_ms:
        raise ParticipantMuted(f"Until {rfc3339(until_ms)}.")


def _check_passes_no_block(state: ThreadState, item: Item, author: str) -> None:
    others = [
        user
        for user in state.active()
        if user != author and is_visible(item, user, state.members[user].floor)
    ]
    if any((author, other) in state.blocks for other in others):
        raise MsgBlockedByUser
    if any((other, author) in state.blocks for other in others):
        # Nothing new may pass to the one who blocked; the clock could have said this as well.
        raise EditWindowClosed
