"""Beginning a thread on DynamoDB: the thread, its people, its first message, all or nothing.

What must not change meanwhile is part of the transaction: the blocks of the people, how many
threads the opener has started, and, for two people, which threads they have.
"""

import asyncio
from dataclasses import replace

from greenroom.conversations.blocks_dynamodb import Blocks, Known
from greenroom.conversations.keys_dynamodb import (
    client_id_key,
    message_key,
    pair_key,
    pair_lock_key,
    pair_partition,
    pointer_key,
    start_limit_key,
)
from greenroom.conversations.model import Draft, EventType, Message, ThreadDraft
from greenroom.conversations.projection_dynamodb import pause
from greenroom.conversations.records_dynamodb import Change, Write
from greenroom.conversations.rows_dynamodb import Joined, message_from
from greenroom.conversations.sends_dynamodb import add_send, send_answer_key
from greenroom.conversations.states_dynamodb import Member, ThreadState
from greenroom.conversations.store import Send, Started, StartLimit
from greenroom.conversations.threads_dynamodb import ATTEMPTS, StaleThread, Threads, WriteRefused
from greenroom.kernel.errors import (
    IdempotencyMismatch,
    MsgBlockedByUser,
    RateLimited,
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
        self, draft: ThreadDraft, first: Draft, limits: Limits, once: Once | None
    ) -> Started | Kept:
        send = Send(draft.id, draft.opened_by, first, cost_ms=0)
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            repeat = await self._find_start(draft.opened_by, first)
            if repeat is not None:
                return repeat if once is None else await self._keep(repeat, once)
            change, message = await self._decide(draft, send, limits)
            thread = await self._threads.shown_after(draft.opened_by, change)
            started = Started(thread, message, is_repeat=False)
            if once is not None:
                change.writes.append(self._threads.keeping(once, once.answer(started)))
            if await self._commit(change):
                return started
            kept = None if once is None else await self._threads.recall(once)
            if kept is not None:
                return kept
        raise _too_busy()

    async def _keep(self, repeat: Started, once: Once) -> Started | Kept:
        answer = once.answer(repeat)
        kept = await self._threads.keep_refusal(once, answer)
        return repeat if kept == answer else kept

    async def start_pair(self, draft: ThreadDraft, first: Send, limits: Limits) -> Message | None:
        """None: they have a thread that the opener sees."""
        author, (one, other) = draft.opened_by, sorted(draft.members)
        for attempt in range(ATTEMPTS):
            await pause(attempt)
            # Before their threads: one that somebody begins after this look has a higher number.
            started_n = await self._started_n(one, other)
            there = await self._pair_threads(one, other)
            if any(state.sees(author) for state in there):
                return None
            if there:
                return await self._enter(there[0].id, (one, other), first)
            change, message = await self._decide(draft, first, limits, started_n)
            if await self._commit(change):
                return message
            await self._check_unused(first)
        raise _too_busy()

    async def _check_unused(self, send: Send) -> None:
        """Raises when this client_id made another message, or this key stands for another."""
        by_client_id = client_id_key(send.author_id, send.draft.client_id)
        if await self._table.get(by_client_id) is not None:
            raise IdempotencyMismatch("This client_id was used for another message.")
        if send.key is None:
            return
        kept = await self._table.get(send_answer_key(send.author_id, send.key))
        is_other = kept is not None and kept["f"] != send.fingerprint
        if kept is not None and is_other and not self._threads.is_forgotten(kept):
            raise IdempotencyMismatch

    async def _pair_threads(self, one: str, other: str) -> list[ThreadState]:
        """The threads of just these two, the oldest first."""
        items = await self._table.query(pair_partition(one, other), prefix="T#")
        states = [await self._threads.read(item["th"]) for item in items]
        return [state for state in states if state is not None and state.pair() is not None]

    async def _enter(self, thread_id: str, pair: tuple[str, str], first: Send) -> Message | None:
        """The other wrote while this one had them blocked. Their thread is the pair's, though this
        one was never shown it: two threads of two views of one pair would drift apart."""
        author = first.author_id

        async def decide(change: Change) -> Message | None:
            state = change.state
            if state.pair() != pair or state.sees(author):
                return None
            await self._check_unused(first)
            change.state = state.with_member(author, knows=True)
            change.shows_thread = True
            joined = Joined(change.now_ms)
            change.tell([author], EventType.THREAD_CHANGED, joined, actor=author)
            return add_send(self._threads, change, replace(first, thread_id=thread_id))

        entered = await self._threads.change(thread_id, decide)
        assert not isinstance(entered, Kept)  # noqa: S101 (there was no key)
        return entered

    async def _find_start(self, opener: str, first: Draft) -> Started | None:
        item = await self._table.get(client_id_key(opener, first.client_id))
        if item is None:
            return None
        if item["h"] != first.hash():
            raise IdempotencyMismatch("This client_id was used for another message.")
        state = await self._threads.read(item["th"])
        key = message_key(item["th"], item["m"])
        found = None if key is None else await self._table.get(key)
        is_seen = state is not None and state.sees(opener) and found is not None
        if state is None or found is None or not is_seen or found["seq"] != 1:
            raise IdempotencyMismatch("This client_id was used in another thread.")
        if found["sk"].rpartition("#")[2] <= state.members[opener].floor:
            raise IdempotencyMismatch("This client_id was used in another thread.")
        thread = await self._threads.shown(opener, state)
        return Started(thread, message_from(found), is_repeat=True)

    async def _decide(
        self, draft: ThreadDraft, first: Send, limits: Limits, started_n: int | None = None
    ) -> tuple[Change, Message]:
        taken = await self._take_starts(draft.opened_by, limits)
        # Announced before it begins: a block that comes too late to be seen here finds it there.
        await self._table.write_many(
            [Put(_item(pointer_key(user, draft.id))) for user in draft.members]
        )
        known = await self._known_blocks(draft)
        pairs = frozenset().union(*(each.pairs for each in known))
        others = [user for user in draft.members if user != draft.opened_by]
        if all((draft.opened_by, other) in pairs for other in others):
            raise MsgBlockedByUser
        change = self._threads.begin(_new_thread(draft, pairs, self._threads.clock()))
        change.writes += [*taken, *(each.unchanged() for each in known)]
        if len(draft.members) == 2:
            if started_n is None:
                started_n = await self._started_n(*draft.members)
            self._list_pair(change, started_n)
        return change, self._open(change, draft, first)

    def _open(self, change: Change, draft: ThreadDraft, first: Send) -> Message:
        opener = draft.opened_by
        joined = Joined(change.now_ms)
        change.state = change.state.with_member(opener, knows=True)
        change.shows_thread = True
        change.tell([opener], EventType.THREAD_CHANGED, joined, actor=opener)
        told = [
            user
            for user in draft.members
            if user != opener and not change.state.is_between(user, opener)
        ]
        change.tell(told, EventType.THREAD_CHANGED, actor=opener)
        change.publish("thread.create", opener, data={"kind": draft.kind})
        return add_send(self._threads, change, first)

    async def _commit(self, change: Change) -> bool:
        async with self._threads.turn(change.state.id):
            try:
                record = await self._threads.commit(change, is_new=True)
            except (StaleThread, WriteRefused):
                return False
            if record is not None:
                await self._threads.projector.project(record)
            return True

    async def _known_blocks(self, draft: ThreadDraft) -> list[Known]:
        """Between any two of them. A block is known to both, so all but one are asked."""
        opener = draft.opened_by
        asked = [opener, *sorted(user for user in draft.members if user != opener)][:-1]
        return await asyncio.gather(*(self._blocks.around(user, draft.members) for user in asked))

    async def _take_starts(self, opener: str, limits: Limits) -> list[Write]:
        """GCRA: one of each limit, if there is one left."""
        now_ms = self._threads.clock()
        writes: list[Write] = []
        for limit in limits:
            key = start_limit_key(opener, limit.window_ms)
            item = await self._table.get(key)
            tat = now_ms if item is None else item["tat"]
            # A state far ahead is from a clock that has been set back since.
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

    async def _started_n(self, one: str, other: str) -> int:
        """How many threads these two have begun."""
        item = await self._table.get(pair_lock_key(one, other))
        return 0 if item is None else int(item["v"])

    def _list_pair(self, change: Change, before_n: int) -> None:
        """Threads of two people are numbered: the first stays the oldest, whatever clocks say."""
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


def _new_thread(draft: ThreadDraft, blocks: frozenset[tuple[str, str]], now_ms: int) -> ThreadState:
    return ThreadState(
        id=draft.id,
        ver=0,
        kind=draft.kind.value,
        opened_by=draft.opened_by,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
        subject=draft.subject,
        role_context=draft.role_context,
        job_id=draft.job_id,
        members={
            user: Member(role.value, "active", knows=False, joined_ms=now_ms)
            for user, role in draft.members.items()
        },
        blocks=blocks,
    )


def _item(key: tuple[str, str]) -> Item:
    return {"pk": key[0], "sk": key[1]}


def _too_busy() -> Unavailable:
    return Unavailable("Too many threads are begun at once.", retry_after_s=1)
