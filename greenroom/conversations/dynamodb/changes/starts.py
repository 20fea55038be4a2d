"""Starts a thread on DynamoDB: the thread, its members and its first message in one transaction.

The transaction is conditional on everything that the decision depends on: the blocks between the
members, the opener's start limit, and, for two people, the list of their threads.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace

from greenroom.conversations.dynamodb.changes.blocks import Blocks, KnownBlocks
from greenroom.conversations.dynamodb.changes.change import Change, Write
from greenroom.conversations.dynamodb.changes.projection import pause
from greenroom.conversations.dynamodb.changes.sends import add_send, send_answer_key
from greenroom.conversations.dynamodb.changes.threads import (
    ATTEMPTS,
    StaleThread,
    Threads,
    WriteRefused,
)
from greenroom.conversations.dynamodb.items.keys import (
    client_id_key,
    listing_key,
    message_key,
    pair_key,
    pair_lock_key,
    pair_partition,
    pointer_key,
    start_limit_key,
)
from greenroom.conversations.dynamodb.items.rows import Joined, message_from
from greenroom.conversations.dynamodb.items.threads import Member, StoredThread
from greenroom.conversations.model import Draft, EventType, Message, ThreadDraft
from greenroom.conversations.store import Send, Started, StartLimit
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    RateLimited,
    ThreadNotFound,
    Unavailable,
)
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put, Update
from greenroom.platform.dynamodb.values import Item
from greenroom.platform.idempotency import Kept, Once

Limits = tuple[StartLimit, ...]


class Starts:
    def __init__(self, threads: Threads, blocks: Blocks) -> None:
        self._threads = threads
        self._blocks = blocks
        self._table = threads.table

    async def start(
        self,
        draft: ThreadDraft,
        first: Draft,
        limits: Limits,
        once: Once | None,
        cost_ms: int,
    ) -> Started | Kept:
        send = Send(draft.id, draft.opened_by, first, cost_ms=0)
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            listing = await self._listing(draft)
            repeat = await self._find_start(draft.opened_by, first, listing.thread_id)
            if repeat is not None:
                return repeat if once is None else await self._keep(repeat, once)
            if listing.thread_id is not None:
                into = replace(send, thread_id=listing.thread_id, cost_ms=cost_ms)
                with suppress(_ListingMoved, ThreadNotFound):
                    return await self._append_to_listed(draft, into, once)
                continue
            change, message = await self._decide(draft, send, limits)
            change.writes += listing.move_to(draft)
            thread = await self._threads.view_after(draft.opened_by, change)
            started = Started(thread, message, is_new=True)
            if once is not None:
                change.writes.append(self._threads.put_answer(once, once.answer(started)))
            if await self.commit(change):
                return started
            kept = None if once is None else await self._threads.recall(once)
            if kept is not None:
                return kept
        raise too_busy()

    async def _listing(self, draft: ThreadDraft) -> "_Listing":
        if draft.listing_key is None:
            return _Listing(None, None)
        [recipient] = draft.recipients
        item = await self._table.get(listing_key(draft.opened_by, recipient, draft.listing_key))
        if item is None:
            return _Listing(None, None)
        state = await self._threads.read(item["th"])
        return _Listing(item["th"], item["th"] if _is_shared(state, draft) else None)

    async def _append_to_listed(
        self, draft: ThreadDraft, send: Send, once: Once | None
    ) -> Started | Kept:
        """Append to the thread that the listing key names."""
        opener = draft.opened_by

        async def decide(change: Change) -> Started:
            used = await self._table.get(client_id_key(opener, send.draft.client_id))
            if used is not None or not _is_shared(change.state, draft):
                self._threads.uncache(send.thread_id)
                raise _ListingMoved
            message = add_send(self._threads, change, send)
            thread = await self._threads.view_after(opener, change)
            return Started(thread, message, is_new=False)

        return await self._threads.change(send.thread_id, decide, once)

    async def _keep(self, repeat: Started, once: Once) -> Started | Kept:
        answer = once.answer(repeat)
        kept = await self._threads.keep_refusal(once, answer)
        return repeat if kept == answer else kept

    async def start_pair(self, draft: ThreadDraft, first: Send, limits: Limits) -> Message | None:
        """None: the two have a thread that the opener sees."""
        author, (one, other) = draft.opened_by, sorted(draft.members)
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            # Read before their threads, so that a thread started in between has a higher number.
            started_n = await self.started_n_of(one, other)
            there = await self._pair_threads(one, other)
            if any(state.sees(author) for state in there):
                return None
            if there:
                return await self._enter(there[0].id, (one, other), first)
            change, message = await self._decide(draft, first, limits, started_n)
            if await self.commit(change):
                return message
            await self._check_unused(first)
        raise too_busy()

    async def _check_unused(self, send: Send) -> None:
        """Raises IdempotencyMismatch when the client_id or the key was used for another message."""
        by_client_id = client_id_key(send.author_id, send.draft.client_id)
        if await self._table.get(by_client_id) is not None:
            raise IdempotencyMismatch("This client_id was used for another message.")
        if send.key is None:
            return
        kept = await self._table.get(send_answer_key(send.author_id, send.key))
        is_other = kept is not None and kept["f"] != send.fingerprint
        if kept is not None and is_other and not self._threads.is_expired(kept):
            raise IdempotencyMismatch

    async def _pair_threads(self, one: str, other: str) -> list[StoredThread]:
        """The threads of only these two, oldest first."""
        items = await self._table.query(pair_partition(one, other), prefix="T#")
        states = [await self._threads.read(item["th"]) for item in items]
        return [state for state in states if state is not None and state.pair() is not None]

    async def _enter(self, thread_id: str, pair: tuple[str, str], first: Send) -> Message | None:
        """The other person started a thread while the author had them blocked, so the author does
        not see it. Make it visible and append there: a second thread would split the pair."""
        author = first.author_id

        async def decide(change: Change) -> Message | None:
            state = change.state
            if state.pair() != pair or state.sees(author):
                return None
            await self._check_unused(first)
            change.state = state.with_member(author, knows=True)
            change.shows_thread = True
            joined = Joined(change.now_ms, state.members[author].floor)
            change.notify([author], EventType.THREAD_CHANGED, joined, actor=author)
            return add_send(self._threads, change, replace(first, thread_id=thread_id))

        entered = await self._threads.change(thread_id, decide)
        assert not isinstance(entered, Kept)  # noqa: S101 (there was no key)
        return entered

    async def _find_start(self, opener: str, first: Draft, listed: str | None) -> Started | None:
        """What this client_id started before: the first message of a thread, or a message in the
        thread that the listing key names."""
        item = await self._table.get(client_id_key(opener, first.client_id))
        if item is None:
            return None
        if item["h"] != first.hash():
            raise IdempotencyMismatch("This client_id was used for another message.")
        state = await self._threads.read(item["th"])
        key = message_key(item["th"], item["m"])
        found = None if key is None else await self._table.get(key)
        is_seen = state is not None and state.sees(opener) and found is not None
        is_start = found is not None and (found["seq"] == 1 or item["th"] == listed)
        if state is None or found is None or not is_seen or not is_start:
            raise IdempotencyMismatch("This client_id was used in another thread.")
        if found["sk"].rpartition("#")[2] <= state.members[opener].floor:
            raise IdempotencyMismatch("This client_id was used in another thread.")
        thread = await self._threads.view(opener, state)
        return Started(thread, message_from(found), is_new=False)

    async def _decide(
        self, draft: ThreadDraft, first: Send, limits: Limits, started_n: int | None = None
    ) -> tuple[Change, Message]:
        taken = await self._charge_start_limits(draft.opened_by, limits)
        known = await self.blocks_among(draft)
        pairs = frozenset().union(*(each.pairs for each in known))
        if all((draft.opened_by, other) in pairs for other in draft.recipients):
            raise MsgBlockedByUser
        change = self._threads.new_change(new_thread(draft, pairs, self._threads.clock()))
        change.writes += [*taken, *(each.unchanged() for each in known)]
        if len(draft.members) == 2:
            if started_n is None:
                started_n = await self.started_n_of(*draft.members)
            self.list_pair(change, started_n)
        return change, self._open(change, draft, first)

    def _open(self, change: Change, draft: ThreadDraft, first: Send) -> Message:
        opener = draft.opened_by
        joined = Joined(change.now_ms)
        change.state = change.state.with_member(opener, knows=True)
        change.shows_thread = True
        change.notify([opener], EventType.THREAD_CHANGED, joined, actor=opener)
        told = [
            user
            for user in draft.members
            if user != opener and not change.state.is_between(user, opener)
        ]
        change.notify(told, EventType.THREAD_CHANGED, actor=opener)
        change.publish("thread.create", opener, data={"kind": draft.kind})
        return add_send(self._threads, change, first)

    async def commit(self, change: Change) -> bool:
        """Write and project a new thread. False if one of its conditions does not hold."""
        async with self._threads.lock(change.state.id):
            try:
                record = await self._threads.commit(change, is_new=True)
            except (StaleThread, WriteRefused):
                return False
            if record is not None:
                await self._threads.projector.project(record)
            return True

    async def blocks_among(self, draft: ThreadDraft) -> list[KnownBlocks]:
        """The blocks between all members. Both sides have each block, so one is not read."""
        # The pointers are written first, so that a block that is not visible here yet finds the
        # thread through them.
        await self._table.write_many(
            [Put(_item(pointer_key(user, draft.id))) for user in draft.members]
        )
        opener = draft.opened_by
        asked = [opener, *sorted(draft.recipients)][:-1]
        return await asyncio.gather(
            *(self._blocks.known_blocks(user, draft.members) for user in asked)
        )

    async def _charge_start_limits(self, opener: str, limits: Limits) -> list[Write]:
        """Charge one start to each limit (GCRA). Raises RateLimited."""
        now_ms = self._threads.clock()
        writes: list[Write] = []
        for limit in limits:
            key = start_limit_key(opener, limit.window_ms)
            item = await self._table.get(key)
            tat = now_ms if item is None else item["tat"]
            # A time far ahead comes from a clock that has been set back since.
            base = now_ms if tat > now_ms + 2 * limit.window_ms else max(tat, now_ms)
            step = limit.window_ms // limit.count
            if base + step > now_ms + limit.window_ms:
                raise RateLimited(
                    f"At most {limit.count} new conversations in {limit.window_ms // 60_000} min.",
                    retry_after_s=(base + step - limit.window_ms - now_ms) / 1000,
                )
            after = {"tat": base + step, "ttl": (base + step) // 1000 + 60}
            if item is None:
                writes.append(Put({**_item(key), **after}, UNLESS_THERE))
            else:
                writes.append(Put({**_item(key), **after}, "tat = :tat", {":tat": tat}))
        return writes

    async def started_n_of(self, one: str, other: str) -> int:
        """How many threads these two have started."""
        item = await self._table.get(pair_lock_key(one, other))
        return 0 if item is None else int(item["v"])

    def list_pair(self, change: Change, before_n: int) -> None:
        """Threads of two people are numbered, so that their order does not depend on clocks."""
        one, other = sorted(change.state.members)
        started_n = before_n + 1
        condition, values = "attribute_not_exists(v)", {":v": started_n}
        if before_n:
            condition, values = "v = :before", {":v": started_n, ":before": before_n}
        change.state = replace(change.state, started_n=started_n)
        listed: Item = {**_item(pair_key(one, other, started_n)), "th": change.state.id}
        change.writes += [
            Update(pair_lock_key(one, other), "SET v = :v", condition, values),
            Put(listed),
        ]


class _ListingMoved(Exception):  # noqa: N818 (an answer that the caller expects)
    """The listing key names another thread, or the client_id was used meanwhile: start again."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """`named` is the thread that a listing key names; `thread_id` is the same thread if both people
    are still in it."""

    named: str | None
    thread_id: str | None

    def move_to(self, draft: ThreadDraft) -> list[Write]:
        """Let the key name this thread, unless another process has changed it meanwhile."""
        if draft.listing_key is None:
            return []
        [recipient] = draft.recipients
        item = _item(listing_key(draft.opened_by, recipient, draft.listing_key))
        if self.named is None:
            return [Put({**item, "th": draft.id}, UNLESS_THERE)]
        return [Put({**item, "th": draft.id}, "th = :named", {":named": self.named})]


def _is_shared(state: StoredThread | None, draft: ThreadDraft) -> bool:
    """Whether the opener sees the thread and the recipient is still in it."""
    return (
        state is not None
        and state.sees(draft.opened_by)
        and all(user in state.active() for user in draft.recipients)
    )


def new_thread(draft: ThreadDraft, blocks: frozenset[tuple[str, str]], now_ms: int) -> StoredThread:
    return StoredThread(
        id=draft.id,
        ver=0,
        kind=draft.kind.value,
        opened_by=draft.opened_by,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
        subject=draft.subject,
        role_context=draft.role_context,
        job_id=draft.job_id,
        city=draft.city,
        safe_mode_required=draft.safe_mode_required,
        members={
            user: Member(role.value, "active", knows=False, joined_ms=now_ms)
            for user, role in draft.members.items()
        },
        blocks=blocks,
    )


def _item(key: tuple[str, str]) -> Item:
    return {"pk": key[0], "sk": key[1]}


def too_busy() -> Unavailable:
    return Unavailable("Too many threads are started at once.", retry_after_s=1)
