"""What the marketplace's backend changes on DynamoDB: threads by its own keys, notices, labels."""

from dataclasses import replace

from greenroom.conversations.backend_store import (
    OTHER_THREAD,
    OTHER_THREAD_HINT,
    KeyedThread,
    MarketplaceNotice,
    ThreadFields,
)
from greenroom.conversations.dynamodb.changes.change import Change
from greenroom.conversations.dynamodb.changes.projection import pause
from greenroom.conversations.dynamodb.changes.starts import Starts, new_thread, too_busy
from greenroom.conversations.dynamodb.changes.threads import ATTEMPTS, Threads
from greenroom.conversations.dynamodb.items.keys import external_key_key
from greenroom.conversations.dynamodb.items.rows import Joined
from greenroom.conversations.model import EventType, Message, Thread, ThreadDraft
from greenroom.kernel.errors import ActionConflict
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put
from greenroom.platform.idempotency import Kept, Once


class BackendChanges:
    def __init__(self, threads: Threads, starts: Starts) -> None:
        self._threads = threads
        self._starts = starts
        self._table = threads.table

    async def open_by_key(
        self, key: str, draft: ThreadDraft, notice: MarketplaceNotice | None
    ) -> KeyedThread:
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            named = await self._table.get(external_key_key(key))
            state = None if named is None else await self._threads.read(named["th"])
            if named is not None and state is not None:
                if named["as"] != draft.opened_as:
                    raise ActionConflict(OTHER_THREAD, hint=OTHER_THREAD_HINT)
                thread = await self._threads.view_for_backend(state)
                return KeyedThread(thread, is_new=False)
            change = await self.begin(key, draft, self._threads.clock())
            change.publish("thread.create", None, data={"kind": draft.kind})
            if notice is not None:
                _say(change, notice)
            thread = await self._threads.view_after(None, change)
            if await self._starts.commit(change):
                return KeyedThread(thread, is_new=True)
        raise too_busy()

    async def begin(self, key: str, draft: ThreadDraft, at_ms: int) -> Change:
        """A new thread, which all its people see. `at_ms` is when it began."""
        known = await self._starts.blocks_among(draft)
        blocks = frozenset[tuple[str, str]]().union(*(each.pairs for each in known))
        begun = new_thread(draft, blocks, at_ms)
        change = self._threads.new_change(replace(begun, external_key=key))
        change.writes += [each.unchanged() for each in known]
        if len(draft.members) == 2:
            started_n = await self._starts.started_n_of(*draft.members)
            self._starts.list_pair(change, started_n)
        for user in draft.members:
            change.state = change.state.with_member(user, knows=True)
        change.shows_thread = True
        change.notify(draft.members, EventType.THREAD_CHANGED, Joined(at_ms))
        pk, sk = external_key_key(key)
        item = {"pk": pk, "sk": sk, "th": draft.id, "as": draft.opened_as}
        change.writes.append(Put(item, UNLESS_THERE))
        return change

    async def add_notice(
        self, thread_id: str, notice: MarketplaceNotice, once: Once | None
    ) -> Message | Kept:
        async def decide(change: Change) -> Message:
            return _say(change, notice)

        return await self._threads.change(thread_id, decide, once)

    async def change_thread(self, thread_id: str, fields: ThreadFields) -> Thread:
        async def decide(change: Change) -> Thread:
            state = change.state
            if any(getattr(state, name) != value for name, value in fields.items()):
                changed = replace(state, **fields)  # type: ignore[arg-type]
                updated_ms = max(state.updated_at_ms, change.now_ms)
                change.state = replace(changed, updated_at_ms=updated_ms)
                change.notify_all(None)
                change.publish("thread.change", None, data={"fields": sorted(fields)})
            return await self._threads.view_after(None, change)

        thread = await self._threads.change(thread_id, decide)
        assert isinstance(thread, Thread)  # noqa: S101 (there was no key)
        return thread


def _say(change: Change, notice: MarketplaceNotice) -> Message:
    return change.append(
        None, kind="system", body=notice.text, body_html=notice.html, system=notice.system
    )
