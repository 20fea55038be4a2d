"""`check` finds and repairs faults of the copies that only DynamoDB has."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import msgspec
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.changes.threads import Threads
from greenroom.conversations.dynamodb.items.keys import block_keys, pair_key, pointer_key
from greenroom.conversations.dynamodb.items.rows import Packed, Row, row_item
from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.conversations.dynamodb.upkeep import check as check_dynamodb
from greenroom.platform.dynamodb.table import Delete, Put, Update
from tests.support.api import Api, Person

from .at_once import faults
from .kept import DynamoKept

Plant = Callable[[DynamoKept, "Person", "Person"], Awaitable[None]]


@pytest.fixture(scope="module")
def conversations() -> str:
    return "dynamodb"


@pytest.fixture(autouse=True)
async def empty(kept: DynamoKept) -> None:
    await kept.forget_all()


@pytest.fixture
def threads(rooms: Rooms) -> Threads:
    assert isinstance(rooms.store, DynamoConversations)
    return rooms.store.parts[0]


async def row_version_behind(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    await set_row(kept, maya, ver=1)


async def row_version_ahead(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    await set_row(kept, maya, ver=1000)


async def inbox_row_missing_untold(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    """As a repair leaves it that was killed between the row and the event."""
    await set_row(kept, maya, n=0)


async def inbox_row_stray_behind(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    await kept.plant("inbox_row_stray", maya.id)
    await set_row(kept, maya, ver=1)


async def inbox_row_stray_stranger(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    row = msgspec.structs.replace(await kept.row(maya.id), user_id="nobody")
    await kept.table.write(Put(row_item(row)))


async def set_row(kept: DynamoKept, person: "Person", **changes: int) -> None:
    row: Row = msgspec.structs.replace(await kept.row(person.id), **changes)
    await kept.table.write(Put(row_item(row)))


async def read_mark(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    await kept.change_row(maya.id, read_id="msg_00000000000000000000000000")


async def visible_after(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    await kept.change_row(maya.id, floor="msg_00000000000000000000000000")


async def thread_copy(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    copy = (await kept.packed(maya.id)).thread
    assert copy is not None
    await kept.change_row(maya.id, thread=msgspec.structs.replace(copy, subject="Another"))


async def last_message(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    last = (await kept.packed(maya.id)).last
    assert last is not None
    await kept.change_row(maya.id, last=replace(last, preview="other words"))


async def row_index(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    item = row_item(await kept.row(maya.id))
    await kept.table.write(Put({**item, "gsi1sk": "2020-01-01T00:00:00.000Z#nowhere"}))


async def last_message_id(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    thread = await kept.thread(maya.id)
    await kept.table.write(Put({**thread, "lastMessageId": "msg_00000000000000000000000000"}))


async def pointer_missing(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    row = await kept.row(maya.id)
    await kept.table.write(Delete(pointer_key(maya.id, row.thread_id)))


async def pair_missing(kept: DynamoKept, maya: "Person", theo: "Person") -> None:
    await kept.table.write(Delete(pair_key(maya.id, theo.id, 1)))


async def pair_stray(kept: DynamoKept, maya: "Person", _: "Person") -> None:
    pk, sk = pair_key(maya.id, "nobody", 1)
    await kept.table.write(Put({"pk": pk, "sk": sk, "th": (await kept.row(maya.id)).thread_id}))


async def pair_stray_without_thread(kept: DynamoKept, maya: "Person", theo: "Person") -> None:
    pk, sk = pair_key(maya.id, theo.id, 7)
    await kept.table.write(Put({"pk": pk, "sk": sk, "th": "thr_00000000000000000000000000"}))


async def block_copy_missing(kept: DynamoKept, maya: "Person", theo: "Person") -> None:
    for pk, sk in block_keys(theo.id, maya.id):
        await kept.table.write(Put({"pk": pk, "sk": sk, "at": 1}))


async def block_copy_left(kept: DynamoKept, maya: "Person", theo: "Person") -> None:
    thread = await kept.thread(maya.id)
    await kept.table.write(Put({**thread, "blocks": [f"{theo.id} {maya.id}"]}))


async def block_half_outgoing(kept: DynamoKept, maya: "Person", theo: "Person") -> None:
    await theo.block(maya)
    await kept.table.write(Delete(block_keys(theo.id, maya.id)[1]))


async def block_half_incoming(kept: DynamoKept, maya: "Person", theo: "Person") -> None:
    await theo.block(maya)
    await kept.table.write(Delete(block_keys(theo.id, maya.id)[0]))


KINDS: dict[str, list[Plant]] = {
    "row_version": [row_version_behind, row_version_ahead],
    "inbox_row_missing": [inbox_row_missing_untold],
    "inbox_row_stray": [inbox_row_stray_behind, inbox_row_stray_stranger],
    "read_mark": [read_mark],
    "visible_after": [visible_after],
    "thread_copy": [thread_copy],
    "last_message": [last_message],
    "row_index": [row_index],
    "last_message_id": [last_message_id],
    "pointer_missing": [pointer_missing],
    "pair_missing": [pair_missing],
    "pair_stray": [pair_stray, pair_stray_without_thread],
    "block_copy": [block_copy_missing, block_copy_left],
    "block_half": [block_half_outgoing, block_half_incoming],
}
TOLD = (
    *("row_version", "inbox_row_missing", "read_mark", "visible_after", "thread_copy"),
    *("last_message", "row_index"),
)


@pytest.mark.parametrize(
    ("kind", "plant"),
    [(kind, plant) for kind, plants in KINDS.items() for plant in plants],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
async def test_a_wrong_copy_is_found_mended_and_told(
    api: "Api", rooms: Rooms, kept: DynamoKept, kind: str, plant: Plant
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await theo.send(thread_id, "Hello Maya")
    # A change whose events are not collected yet counts as under way.
    await rooms.collector.drain()
    cursor, right = await maya.cursor(), await kept.rows()
    await plant(kept, maya, theo)

    before = await kept.everything()
    assert kind in {fault.kind for fault in await faults(rooms)}
    assert await kept.everything() == before
    mended = await faults(rooms, repair=True)
    assert [fault for fault in mended if not fault.is_mended] == []
    assert await faults(rooms) == []

    if plant is inbox_row_stray_behind:
        assert [event["type"] for event in await maya.sync(cursor)] == ["thread.changed"]
        return
    assert await kept.rows() == right
    assert bool(await maya.sync(cursor)) == (kind in TOLD)
    # It goes on as if nothing had been.
    is_blocked = plant in (block_copy_missing, block_half_outgoing)
    await maya.send(thread_id, "Hello Theo")
    assert (await theo.row(thread_id))["unread_count"] == (1 if is_blocked else 2)
    assert await faults(rooms) == []


async def test_a_change_that_was_never_finished_is_told_of_and_finished(
    api: "Api", rooms: Rooms, threads: Threads
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    cursor = await theo.cursor()
    state = await threads.read(thread_id)
    assert state is not None
    change = threads.new_change(state)
    change.append_notice(None, "test.notice")
    await threads.commit(change)
    # Somebody may be about to finish it.
    assert await faults(rooms) == []

    api.clock.advance(minutes=2)
    [fault] = await faults(rooms)
    assert (fault.kind, fault.thread_id) == ("unfinished", thread_id)
    [mended] = await faults(rooms, repair=True)
    assert mended.is_mended
    assert await faults(rooms) == []
    assert [event["type"] for event in await theo.sync(cursor)] == ["message.new"]


async def test_a_block_that_never_came_to_its_threads_is_told_of_and_settled(
    api: "Api", rooms: Rooms, kept: DynamoKept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await block_copy_missing(kept, maya, theo)
    note = {"pk": "OUTBOX#00", "sk": f"block#{theo.id}#{maya.id}", "at": api.clock(), "id": "note"}
    await kept.table.write(Put(note))
    assert await faults(rooms) == []
    api.clock.advance(minutes=2)
    assert [fault.kind for fault in await faults(rooms)] == ["unfinished"]
    assert [fault.is_mended for fault in await faults(rooms, repair=True)] == [True]
    assert await faults(rooms) == []
    await maya.send(thread_id, "hidden")
    assert [each["body"] for each in await theo.messages(thread_id)] == ["Hello"]


async def test_what_lies_across_pages_is_looked_at_once(
    api: "Api", rooms: Rooms, kept: DynamoKept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_dynamodb, "ITEMS_AT_ONCE", 2)
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    for _ in range(6):
        await maya.send(thread_id)
    await kept.set_unread(theo.id, 1)
    await kept.set_unread(maya.id, 5)
    found = sorted((fault.kind, fault.user_id) for fault in await faults(rooms))
    assert found == [("unread_count", maya.id), ("unread_count", theo.id)]


async def test_entries_past_their_time_may_be_missing(
    api: "Api", rooms: Rooms, kept: DynamoKept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    for _ in range(3):
        await theo.send(thread_id)
    api.clock.advance(days=rooms.settings.limits.feed_kept_days + 2)
    await kept.plant("feed", maya.id)
    assert await faults(rooms) == []
    await theo.send(thread_id)
    assert await faults(rooms) == []


async def test_a_missing_end_of_a_feed_is_found(api: "Api", rooms: Rooms, kept: DynamoKept) -> None:
    maya, theo = await api.people("maya", "theo")
    await maya.thread_with(theo)
    cursor = await maya.cursor()
    head = {"pk": f"FEED#{maya.id}", "sk": "H"}
    await kept.items()
    await kept.table.write(
        Update((head["pk"], head["sk"]), "SET #last = :n", None, {":n": 9}, {"#last": "last"})
    )
    [fault] = await faults(rooms, repair=True)
    assert (fault.kind, fault.found, fault.is_mended) == ("feed", "no entry 9", True)
    assert await faults(rooms) == []
    assert [event["type"] for event in await maya.sync(cursor)] == ["reset"]


async def test_a_thread_of_many_is_mended_in_several_rounds(
    api: "Api", rooms: Rooms, kept: DynamoKept
) -> None:
    opener, *others = await api.people(*(f"p{n}" for n in range(45)))
    thread_id = await opener.thread_with(*others)
    await rooms.collector.drain()
    right = await kept.rows()
    for person in others:
        await kept.table.write(Delete((f"THR#{thread_id}", f"PART#{person.id}")))
        await kept.table.write(Delete(pointer_key(person.id, thread_id)))
    found = await faults(rooms, repair=True)
    assert len(found) == 2 * len(others)
    assert {fault.is_mended for fault in found} == {True}
    assert await faults(rooms) == []
    assert await kept.rows() == right
    assert isinstance(right[0][1], Packed)


async def test_a_row_that_cannot_be_understood_is_made_anew(
    api: "Api", rooms: Rooms, kept: DynamoKept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    right = await kept.rows()
    key = (f"THR#{thread_id}", f"PART#{theo.id}")
    names = {"#row": "row"}
    await kept.table.write(Update(key, "SET #row = :v", values={":v": b"\xff"}, names=names))
    assert {fault.is_mended for fault in await faults(rooms, repair=True)} == {True}
    assert await faults(rooms) == []
    assert await kept.rows() == right
    assert (await theo.inbox())["items"][0]["thread"]["id"] == thread_id


async def test_what_cannot_be_understood_at_all_is_told_and_the_rest_is_checked(
    api: "Api", rooms: Rooms, kept: DynamoKept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id, other_id = await maya.thread_with(theo), await maya.thread_with(theo)
    await rooms.collector.drain()
    names = {"#m": "members"}
    key = (f"THR#{thread_id}", "THR")
    await kept.table.write(Update(key, "SET #m = :v", values={":v": "strange"}, names=names))
    row = (f"THR#{other_id}", f"PART#{theo.id}")
    await kept.table.write(Delete(row))
    found = {(fault.kind, fault.thread_id) for fault in await faults(rooms)}
    assert ("unreadable", thread_id) in found
    assert ("inbox_row_missing", other_id) in found
