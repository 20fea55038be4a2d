"""Runs each operation once, between people who have written to each other before.

The clock is moved instead of waiting. A process caches a thread for less than a second, so every
operation but `append` is measured after a pause, with all its reads.
"""

import math
import random
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import cast

from bench.units.watching import Request, WatchedTable, stored_bytes
from greenroom.conversations.decisions import DecisionLog
from greenroom.conversations.dynamodb.items.keys import message_sort, thread_key
from greenroom.conversations.dynamodb.items.rows import message_item
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.inbox import InboxChanges, InboxFilter
from greenroom.conversations.model import Draft, Message, Role, ThreadDraft, ThreadKind
from greenroom.conversations.people import Profile
from greenroom.conversations.store import Send, Started, StartLimit
from greenroom.kernel.ids import ALPHABET, RANDOM_CHARS, make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Put, Update
from greenroom.platform.dynamodb.transport import open_client
from greenroom.presence.dynamodb.store import DynamoPresence

START_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
LIMITS = Limits()
STARTS = (
    StartLimit(LIMITS.starts_per_hour, HOUR_MS),
    StartLimit(LIMITS.starts_per_day, 24 * HOUR_MS),
)
MESSAGE_BYTES = 1024
PAGE = 50
GROUP = 50
AT_ONCE = 500
PAUSE_MS = 3 * 60_000
HASH_BYTES = 16
ONE_KB = "x" * MESSAGE_BYTES
SHORT = "Good, then let us meet at the north gate at ten, and I shall bring the lamps."
QUESTION = "Hi! Are you free on the 12th of May for a portrait session downtown?"
ANSWER = "Yes, the afternoon works. Where shall we meet, and how long will it take?"

STAYING = {
    "append": ("message", "client id"),
    "start_thread": (
        *("thread", "inbox row", "message", "client id"),
        *("pointer", "thread of two", "lock of two"),
    ),
    "edit": ("original",),
    "delete": ("original",),
}
"""By operation: the kinds of items that are kept as long as the message or the thread."""


@dataclass(frozen=True, slots=True)
class Measured:
    requests: tuple[Request, ...]
    bytes_stored: int

    @property
    def read(self) -> float:
        return sum(each.read for each in self.requests)

    @property
    def write(self) -> float:
        return sum(each.write for each in self.requests)


class Bench:
    def __init__(self, access: Access, table_name: str) -> None:
        self._random = random.Random(1)
        self._now_ms = START_MS
        self._numbers = 0
        self.table = WatchedTable(open_client(access), table_name, Meter())
        self.table.watch()
        self.store = self.process()
        self.presence = DynamoPresence(self.table, limits=LIMITS)
        self._measured: dict[str, Measured] = {}

    def process(self) -> DynamoConversations:
        """A store with empty caches."""
        return DynamoConversations(
            self.table,
            _nameless,
            # No measured operation uses the decision log.
            cast("DecisionLog", None),
            clock=self.clock,
            randomness=self.tail,
            limits=LIMITS,
            wake=lambda _: None,
            # The delete of a record counts with its change, whoever does it.
            keeps_records=False,
        )

    async def close(self) -> None:
        await self.store.close()

    def clock(self) -> int:
        self._now_ms += 1
        return self._now_ms

    def tail(self) -> str:
        return "".join(self._random.choices(ALPHABET, k=RANDOM_CHARS))

    def person(self) -> str:
        return f"usr_{self.tail()}0000"

    async def start(self, opener: str, *others: str) -> str:
        self._now_ms += 2 * HOUR_MS
        members = {opener: Role.BUYER, **dict.fromkeys(others, Role.SELLER)}
        thread_id = make_id("thr", self.clock(), self.tail())
        new = ThreadDraft(
            thread_id, ThreadKind.INQUIRY, opener, members, subject="Portrait session in May"
        )
        started = await self.store.start_thread(new, self._draft(QUESTION), STARTS)
        assert isinstance(started, Started)
        return thread_id

    def pause(self) -> None:
        self._now_ms += PAUSE_MS

    async def say(self, thread_id: str, author: str, body: str = ONE_KB) -> Message:
        return (await self.store.append(self.send(thread_id, author, body))).message

    def send(self, thread_id: str, author: str, body: str = ONE_KB) -> Send:
        return Send(thread_id, author, self._draft(body), cost_ms=1000)

    def _draft(self, body: str) -> Draft:
        self._numbers += 1
        return Draft(f"c-01hq3v6k8m2p4r7t9w-{self._numbers:06d}", body, None)

    def written(self, thread_id: str, seq: int, author: str, is_long: bool) -> Message:
        """A message that was sent some time ago."""
        draft, at_ms = self._draft(ONE_KB if is_long else SHORT), self.clock()
        return Message(
            id=make_id("msg", at_ms, self.tail()),
            thread_id=thread_id,
            seq=seq,
            author_id=author,
            kind="text",
            body=draft.body,
            body_html=None,
            system=None,
            reply_to=None,
            client_id=draft.client_id,
            created_at_ms=at_ms,
        )

    async def measure(self, name: str, work: Awaitable[object]) -> None:
        """Measure the operation, including the work that goes on after its answer."""
        await self.rest()
        self.table.watch()
        await work
        await self.rest()
        stored = _rounded(stored_bytes(self.table.written, STAYING.get(name, ())))
        self._measured[name] = Measured(tuple(self.table.seen), stored)

    def taken(self) -> dict[str, Measured]:
        """What was measured since the last call."""
        measured, self._measured = self._measured, {}
        return measured

    async def later(self, name: str, work: Awaitable[object]) -> None:
        self.pause()
        await self.measure(name, work)

    async def rest(self) -> None:
        await self.store._threads.projector.drain()  # noqa: SLF001 (nobody else wants to wait)


def _rounded(stored: int) -> int:
    """Rounded up, because ids and times vary by a few bytes."""
    return math.ceil(stored / 100) * 100


async def _nameless(_user_ids: Sequence[str]) -> dict[str, Profile]:
    return {}


async def measure_all(bench: Bench, messages: int) -> dict[str, Measured]:
    measured = await measure_two(bench, messages)
    return {**measured, **await measure_pages(bench), **await measure_group(bench)}


async def measure_two(bench: Bench, messages: int) -> dict[str, Measured]:
    """Operations in a thread of two people with `messages` messages."""
    ada, ben = bench.person(), bench.person()
    started = bench.start(ada, ben)
    await bench.later("start_thread", started)
    [thread_id] = [key[0][4:] for key in bench.table.written if key[1] == "THR"]
    await fill(bench, thread_id, ada, messages)

    await _measure_sends(bench, thread_id, ada, ben)
    await _measure_reads(bench, thread_id, ada, ben)
    await _measure_changes(bench, thread_id, ada, ben)
    await _measure_signs(bench, thread_id, ada, ben)
    return bench.taken()


async def fill(bench: Bench, thread_id: str, author: str, messages: int) -> None:
    """Write `messages` messages into the thread; the last ones are long."""
    last: Message | None = None
    for first in range(2, messages + 1, AT_ONCE):
        batch = []
        for seq in range(first, min(messages + 1, first + AT_ONCE)):
            last = bench.written(thread_id, seq, author, seq > messages - 2 * PAGE)
            sort = message_sort(last.id)
            assert sort is not None
            item = message_item(last, sort, visible_to=None, send_hash=b"0" * HASH_BYTES)
            batch.append(Put(item))
        await bench.table.write_many(batch)
    assert last is not None
    values = {":seq": last.seq, ":id": last.id, ":at": last.created_at_ms}
    change = "SET lastSeq = :seq, lastMessageId = :id, lastMessageAt = :at"
    await bench.table.write(Update(thread_key(thread_id), change, values=values))


async def _measure_sends(bench: Bench, thread_id: str, ada: str, ben: str) -> None:
    store = bench.store
    for name in ("append_cold", "append"):
        bench.pause()
        message = await bench.say(thread_id, ada)
        await store.mark_read(ben, thread_id, message.id)
        if name == "append_cold":
            bench.pause()
        await bench.measure(name, store.append(bench.send(thread_id, ada)))


async def _measure_reads(bench: Bench, thread_id: str, ada: str, ben: str) -> None:
    store = bench.store
    before = (await store.heads([ben]))[ben]
    await bench.say(thread_id, ada)
    head = (await store.heads([ben]))[ben]
    await bench.later("sync_one_message", store.changes(ben, before, PAGE))
    await bench.later("sync_nothing_new", store.changes(ben, head, PAGE))
    await bench.later("recheck", store.heads([ben]))
    await bench.later("thread", store.thread(ben, thread_id))
    page = store.messages(ben, thread_id, before=None, after=None, limit=PAGE)
    await bench.later("thread_page", page)


async def _measure_changes(bench: Bench, thread_id: str, ada: str, ben: str) -> None:
    store, cleo = bench.store, bench.person()
    await store.acknowledge(ben, (await store.heads([ben]))[ben])
    first, second = [await bench.say(thread_id, ada) for _ in range(2)]
    edited = ONE_KB.upper()
    await bench.later("acknowledge", store.acknowledge(ben, (await store.heads([ben]))[ben]))
    await bench.later("mark_read", store.mark_read(ben, thread_id, second.id))
    await bench.later("edit", store.edit_message(ada, thread_id, first.id, edited, None))
    await bench.later("delete", store.delete_message(ada, thread_id, second.id))
    pinned = store.set_inbox_row(ben, thread_id, InboxChanges(pinned=True))
    await bench.later("set_inbox_row", pinned)
    added = store.add_participant(ada, thread_id, cleo, Role.HOST)
    await bench.later("add_participant", added)
    await bench.later("remove_participant", store.remove_participant(ada, thread_id, cleo))
    await bench.later("block", store.block(ben, ada))
    await bench.later("unblock", store.unblock(ben, ada))


async def _measure_signs(bench: Bench, thread_id: str, ada: str, ben: str) -> None:
    presence, typing_ms, here_ms = bench.presence, 10_000, 60_000
    now_ms = bench.clock()
    await presence.set_typing(ada, thread_id, "d1", now_ms + typing_ms, now_ms)
    await presence.seen([ada], now_ms + here_ms, now_ms)
    now_ms += 5000
    again = presence.set_typing(ada, thread_id, "d1", now_ms + typing_ms, now_ms)
    await bench.measure("typing", again)
    await bench.measure("presence", presence.seen([ada], now_ms + here_ms, now_ms))
    await bench.measure("look", presence.look([(ben, thread_id)], now_ms))


async def measure_pages(bench: Bench) -> dict[str, Measured]:
    """An inbox of many threads, and a page of a thread with messages of usual lengths."""
    store, ada = bench.store, bench.person()
    threads = []
    for number in range(PAGE + 1):
        other = bench.person()
        thread_id = await bench.start(ada, other)
        threads.append(thread_id)
        answer = await bench.say(thread_id, other, ANSWER)
        await store.mark_read(other, thread_id, answer.id)
        if number % 3:
            await store.mark_read(ada, thread_id, answer.id)
    await bench.later("inbox", store.inbox(ada, InboxFilter(), after=None, limit=PAGE))
    for _ in range(PAGE):
        bench.pause()
        await bench.say(threads[0], ada, SHORT)
    page = store.messages(ada, threads[0], before=None, after=None, limit=PAGE)
    await bench.later("thread_page_short", page)
    return bench.taken()


async def measure_group(bench: Bench) -> dict[str, Measured]:
    ada, *others = [bench.person() for _ in range(GROUP)]
    thread_id = await bench.start(ada, *others)
    await bench.say(thread_id, ada)
    await bench.measure("append_group_50", bench.store.append(bench.send(thread_id, ada)))
    return bench.taken()
