"""What is past its keeping time does not count, whether DynamoDB has deleted it or not: it does so
late, and in no order. Numbers of a feed go on from where they were."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from greenroom.conversations.dynamodb.changes.sends import send_answer_key
from greenroom.conversations.dynamodb.items.keys import (
    ENTRIES,
    answer_key,
    feed_partition,
    start_limit_key,
)
from greenroom.conversations.model import Cursor, EventType
from greenroom.conversations.store import ConversationStore, Send, StartLimit
from greenroom.kernel.errors import IdempotencyMismatch, RateLimited
from greenroom.platform.dynamodb.table import Delete, Key, Table
from greenroom.platform.idempotency import Kept

from .audit import number_of
from .faults import FaultRig, Process
from .world import Seed, draft, names, once, refusal, say, start, thread_draft

Person = Callable[[], str]
DAY_MS = 86_400_000
HOUR_MS = 3_600_000

_keys = names("k")


async def entries_of(table: Table, user: str) -> list[dict[str, int | str]]:
    return await table.query(feed_partition(user), prefix=ENTRIES)


async def delete_expired(rig: FaultRig, table: Table, user: str) -> int:
    """What DynamoDB does sooner or later."""
    found = await entries_of(table, user)
    gone = [each for each in found if int(each["ttl"]) * 1000 < rig.clock.now_ms]
    await table.write_many([Delete((str(each["pk"]), str(each["sk"]))) for each in gone])
    return len(gone)


class TestFeeds:
    async def test_a_cursor_gets_a_reset_or_everything_after_it(
        self, rig: FaultRig, person: Person, seed: Seed
    ) -> None:
        """While expired entries vanish one by one, in any order."""
        process, ada, ben = rig.process(), person(), person()
        thread_id = (await start(process.store, ada, ben)).thread.id
        for _ in range(25):
            rig.clock.jump(seed.random.randrange(DAY_MS))
            await say(process.store, thread_id, ada, "day after day")
        kept_since_ms = rig.clock.now_ms - rig.limits.feed_kept_days * DAY_MS
        entries = await entries_of(process.table, ben)
        numbers = [number_of(each) for each in entries]
        old = [number_of(each) for each in entries if int(each["at"]) < kept_since_ms]
        assert 0 < len(old) < len(numbers)
        expired = [each for each in entries if number_of(each) in old]
        seed.random.shuffle(expired)
        for each in [None, *expired]:
            if each is not None:
                await process.table.write(Delete((str(each["pk"]), str(each["sk"]))))
            await check_cursors(process.store, ben, numbers, len(old), seed.random)

    async def test_numbers_go_on_though_all_entries_are_gone(
        self, rig: FaultRig, person: Person
    ) -> None:
        first, second, ada, ben = rig.process(), rig.process(), person(), person()
        thread_id = (await start(first.store, ada, ben)).thread.id
        other = (await start(first.store, ada, ben)).thread.id
        for process in (first, second, second, second):
            await say(process.store, thread_id, ada, "hello")
            await process.rest()
        [head] = (await first.store.heads([ben])).values()
        for process in (first, second):
            rig.clock.jump(9 * DAY_MS)
            assert await delete_expired(rig, first.table, ben) > 0
            await say(process.store, other, ada, "hello again")
            await process.rest()
            changes = await process.store.changes(ben, head, 10)
            assert [event.cursor.n for event in changes.events] == [head.n + 1]
            head = changes.cursor

    async def test_an_old_record_does_not_bring_an_entry_back(
        self, rig: FaultRig, person: Person
    ) -> None:
        """Nobody has taken the domain events for more than a week, so the records are there; the
        entries that they tell of are not, and numbers after them were used."""
        writer = rig.process(keeps_records=True)
        ada, ben = person(), person()
        quiet = (await start(writer.store, ada, ben)).thread.id
        busy = (await start(writer.store, ada, ben)).thread.id
        for _ in range(5):
            await say(writer.store, busy, ada, "and another thing")
        await writer.rest()
        [head] = (await writer.store.heads([ben])).values()
        rig.clock.jump(9 * DAY_MS)
        assert await delete_expired(rig, writer.table, ben) == head.n

        for process in (rig.process(keeps_records=True), rig.process()):
            await say(process.store, quiet, ada, "are you there?")
            await process.rest()
            changes = await process.store.changes(ben, head, 10)
            assert [str(event.type) for event in changes.events] == [EventType.MESSAGE_NEW]
            assert changes.cursor.n == head.n + 1
            head = changes.cursor
        assert [number_of(each) for each in await entries_of(writer.table, ben)] == [
            head.n - 1,
            head.n,
        ]


async def check_cursors(
    store: ConversationStore, viewer: str, numbers: Sequence[int], old: int, choose: random.Random
) -> None:
    """`numbers` are those of the whole feed, the first `old` of which are past their time."""
    epoch = (await store.changes(viewer, None, 1)).cursor.epoch
    everything = await store.changes(viewer, None, 100)
    assert [event.cursor.n for event in everything.events] == list(numbers[old:])
    for n in [*choose.sample([0, *numbers], 6), old - 1, old, old + 1, numbers[-1]]:
        changes = await store.changes(viewer, Cursor(epoch, n), 100)
        if n < old:
            assert [event.type for event in changes.events] == [EventType.RESET], n
            assert changes.cursor.n == numbers[-1]
        else:
            assert [event.cursor.n for event in changes.events] == list(numbers[n:]), n


class TestKeys:
    async def test_a_key_of_last_week_is_free_again(self, rig: FaultRig, person: Person) -> None:
        for is_deleted in (False, True):
            process, ada, ben = rig.process(), person(), person()
            thread_id = (await start(process.store, ada, ben)).thread.id
            key = next(_keys)
            first = Send(thread_id, ada, draft("one"), 0, key, b"one")
            other = Send(thread_id, ada, draft("two"), 0, key, b"two")
            await process.store.append(first)
            found = await refusal(process.store.append(other))
            assert found[0] is IdempotencyMismatch
            rig.clock.jump(7 * DAY_MS + HOUR_MS)
            await forget(process, send_answer_key(ada, key), is_deleted)
            assert (await process.store.append(other)).message.body == "two"
            sent = await process.store.sent_under(ada, key, b"two")
            assert sent is not None
            assert sent.body == "two"

    async def test_an_answer_of_last_week_is_not_given_again(
        self, rig: FaultRig, person: Person
    ) -> None:
        for is_deleted in (False, True):
            process, ada, ben = rig.process(), person(), person()
            started = await start(process.store, ada, ben)
            key = next(_keys)
            read = once(key, to="read", caller=ben)
            place = (ben, started.thread.id, started.message.id)
            await process.store.mark_read(*place, read)
            assert await process.store.recall(read) == Kept(200, b"Thread")
            rig.clock.jump(7 * DAY_MS + HOUR_MS)
            await forget(process, answer_key(ben, "read", key), is_deleted)
            assert await process.store.recall(read) is None
            await process.store.mark_read(*place, replace(read, fingerprint=b"2"))
            assert (await refusal(process.store.recall(read)))[0] is IdempotencyMismatch

    async def test_a_limit_runs_out_with_or_without_its_item(
        self, rig: FaultRig, person: Person
    ) -> None:
        limits = (StartLimit(1, HOUR_MS),)
        for is_deleted in (False, True):
            process, ada, ben = rig.process(), person(), person()
            await process.store.start_thread(thread_draft(ada, ben), draft(), limits)
            again = process.store.start_thread(thread_draft(ada, ben), draft(), limits)
            assert (await refusal(again))[0] is RateLimited
            rig.clock.jump(HOUR_MS + 120_000)
            await forget(process, start_limit_key(ada, HOUR_MS), is_deleted)
            await process.store.start_thread(thread_draft(ada, ben), draft(), limits)


async def forget(process: Process, key: Key, is_deleted: bool) -> None:
    """Its time is over, and perhaps DynamoDB has noticed."""
    item = await process.table.get(key)
    assert item is not None
    assert item["ttl"] * 1000 <= process.store._clock()
    if is_deleted:
        await process.table.write(Delete(key))
