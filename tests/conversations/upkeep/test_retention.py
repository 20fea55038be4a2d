"""Messages past their retention time are deleted; everything else stays."""

import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.upkeep import retention as retention_dynamodb
from greenroom.kernel.limits import Limits
from tests.support.api import Api

from .at_once import faults
from .kept import Kept


@pytest.fixture(scope="module")
def limits() -> Limits:
    return Limits(
        sends_per_minute=60_000,
        starts_per_hour=100_000,
        starts_per_day=100_000,
        send_connections=1,
        read_connections=2,
        message_kept_days=100,
        maintenance_batch=3,
    )


async def prune(rooms: Rooms) -> list[int]:
    """How many messages went in each round until there was nothing to do."""
    rounds = []
    while gone := (await rooms.prune())["message"]:
        rounds.append(gone)
    return rounds


async def test_old_messages_go_and_the_rest_keeps_its_place(
    api: "Api", rooms: Rooms, kept: Kept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    old = await maya.send(thread_id, "old words")
    await maya.edit(old, "old words edited")
    await maya.send(thread_id, "old too")
    await maya.send(thread_id, "old as well")
    api.clock.advance(days=60)
    young = [await maya.send(thread_id, "young"), await theo.send(thread_id, "young too")]
    api.clock.advance(days=41)
    cursor = await theo.cursor()

    assert await prune(rooms) == [3, 1]

    assert "old" not in await kept.words()
    left = await theo.messages(thread_id)
    assert [(each["id"], each["seq"]) for each in left] == [(e["id"], e["seq"]) for e in young]
    assert (await theo.row(thread_id))["unread_count"] == 1
    assert "inbox.changed" in {event["type"] for event in await theo.sync(cursor)}
    assert await faults(rooms) == []
    assert (await theo.send(thread_id, "next"))["seq"] == 7
    assert await theo.messages(thread_id, after=old["id"]) == await theo.messages(thread_id)
    assert await prune(rooms) == []


async def test_an_emptied_thread_stays_and_goes_on(api: "Api", rooms: Rooms) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    api.clock.advance(days=101)
    assert sum(await prune(rooms)) >= 1
    assert await theo.messages(thread_id) == []
    row = await theo.row(thread_id)
    assert (row["unread_count"], row["last_message"]) == (0, None)
    assert await faults(rooms) == []
    sent = await maya.send(thread_id, "still there?")
    assert sent["seq"] == 2
    assert (await theo.row(thread_id))["unread_count"] == 1
    assert await faults(rooms) == []
    api.clock.advance(days=101)
    assert sum(await prune(rooms)) >= 1
    assert await theo.messages(thread_id) == []
    assert await faults(rooms) == []


async def test_a_legal_hold_keeps_a_threads_messages(api: "Api", rooms: Rooms) -> None:
    maya, theo = await api.people("maya", "theo")
    held, other = await maya.thread_with(theo), await maya.thread_with(theo)
    await rooms.upkeep.hold(held, "case 7")
    api.clock.advance(days=200)
    await prune(rooms)
    assert len(await theo.messages(held)) == 1
    assert await theo.messages(other) == []
    await rooms.upkeep.release(held)
    assert await prune(rooms) == [1]
    assert await theo.messages(held) == []


async def test_one_server_at_a_time(api: "Api", rooms: Rooms, kept: Kept) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    api.clock.advance(days=101)
    async with kept.while_others_prune():
        assert (await rooms.prune())["message"] == 0
    assert len(await theo.messages(thread_id)) == 1
    await prune(rooms)
    assert await theo.messages(thread_id) == []


@pytest.mark.parametrize("conversations", ["dynamodb"], indirect=True)
async def test_a_walk_goes_on_where_the_last_one_stopped(
    api: "Api", rooms: Rooms, kept: Kept, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_dynamodb, "ITEMS_AT_ONCE", 5)
    monkeypatch.setattr(retention_dynamodb, "PAGES_AT_ONCE", 1)
    maya, theo = await api.people("maya", "theo")
    threads = [await maya.thread_with(theo) for _ in range(4)]
    for thread_id in threads:
        await maya.send(thread_id, "also old")
    api.clock.advance(days=101)
    rounds = 0
    while "old" in await kept.words():
        async with Rooms(rooms.settings, database_url, clock=api.clock) as another:
            assert (await another.prune())["message"] <= rooms.settings.limits.maintenance_batch
        rounds += 1
        assert rounds < 500
    assert rounds > len(threads)
    assert await faults(rooms) == []


async def test_feed_entries_of_a_removed_message_are_passed_over(api: "Api", rooms: Rooms) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    sent = await maya.send(thread_id, "old")
    api.clock.advance(days=99)
    cursor = await maya.cursor()
    await theo.read(thread_id, sent["id"])
    api.clock.advance(days=2)
    await prune(rooms)
    assert [event["type"] for event in await maya.sync(cursor)] == ["inbox.changed"]
    assert await faults(rooms) == []
