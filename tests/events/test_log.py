"""The event log on both stores: each change is in it once, in order, and with it or not at all."""

import asyncio

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.events.model import LoggedEvent
from greenroom.kernel.money import Money
from tests.support.api import Api
from tests.support.bookings import BookingStage


async def events_of(rooms: Rooms, thread_id: str) -> list[LoggedEvent]:
    await rooms.collector.drain()
    events = await rooms.events.of_thread(thread_id, 0, 1000)
    assert [each.thread_number for each in events] == list(range(1, len(events) + 1))
    assert sorted(events, key=lambda each: each.position) == events
    return events


async def test_each_change_of_a_thread_is_logged_in_order(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob)
    thread_id, first = started["thread"]["id"], started["message"]
    await ann.edit(first, "Edited")
    await bob.read(thread_id, first["id"])
    await ann.remove(first)
    await api.backend.post(f"/v1/threads/{thread_id}/promote", {"leg_id": "leg_1"})
    [_, notice] = await ann.messages(thread_id)
    events = await events_of(api.rooms, thread_id)
    assert [(each.type, each.actor, each.message_id, each.data) for each in events] == [
        ("thread.create", ann.id, None, {"kind": "inquiry"}),
        ("message.send", ann.id, first["id"], None),
        ("message.edit", ann.id, first["id"], None),
        ("thread.read", bob.id, first["id"], None),
        ("message.delete", ann.id, first["id"], None),
        ("message.send", None, notice["id"], None),
        ("thread.promoted_to_project", None, None, {"group_id": None, "leg_id": "leg_1"}),
    ]
    assert await events_of(api.rooms, thread_id) == events, "collecting again changes nothing"
    assert await api.rooms.events.event(events[2].event_id) == events[2]
    assert len({each.event_id for each in events}) == len(events)
    assert all(each.event_id.startswith("evt_") for each in events)


async def test_repeats_and_refusals_are_no_events(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    new = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
    started = (await ann.post("/v1/threads", new)).json()
    thread_id, first = started["thread"]["id"], started["message"]
    path = f"/v1/threads/{thread_id}/messages"
    await bob.read(thread_id, first["id"])
    await api.rooms.collector.drain()
    before = await api.rooms.events.head()
    await ann.post("/v1/threads", new)
    await ann.post(path, new["first_message"])
    await bob.post(f"/v1/threads/{thread_id}/read", {"up_to": first["id"]})
    await ann.edit(first, "Hello")
    await bob.patch(f"{path}/{first['id']}", {"body": "Not mine"})
    await bob.delete(f"{path}/{first['id']}")
    await ann.post(path, {**ann.draft(), "body": ""})
    await ann.block(bob)
    await ann.post(path, ann.draft())
    await ann.post("/v1/threads", {**new, "first_message": ann.draft()})
    await api.rooms.collector.drain()
    assert await api.rooms.events.read(before, 100) == []


async def test_many_at_once_are_logged_in_the_order_of_the_thread(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    threads = [await ann.thread_with(bob) for _ in range(3)]
    sends = [
        who.send(thread_id, f"{number}")
        for number in range(10)
        for thread_id in threads
        for who in (ann, bob)
    ]
    # Somebody collects while they are written; only one collector at a time gets through.
    await asyncio.gather(*sends, *(api.rooms.collector.drain() for _ in range(4)))
    for thread_id in threads:
        written = [each["id"] for each in await ann.messages(thread_id, limit=50)]
        events = await events_of(api.rooms, thread_id)
        assert [each.message_id for each in events if each.message_id] == written
    log = await api.rooms.events.read(0, 10_000)
    assert [each.position for each in log] == list(range(1, len(log) + 1))
    assert await api.rooms.events.head() == len(log)


async def test_a_booking_is_logged_in_its_thread(api: Api, pool: asyncpg.Pool) -> None:
    """Also the events that name only the booking."""
    stage = BookingStage(api.rooms, pool, api.clock, api.rooms.thread_updates)
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob))
    await stage.bookings.confirm(group.group_id)
    await stage.run_payments()
    assert group.thread_id is not None
    [leg] = group.legs
    events = await events_of(api.rooms, group.thread_id)
    types = [each.type for each in events]
    order = ["lbg.proposed", "payment.intent.created", "lbg.confirmed"]
    assert [each for each in types if each in order] == order
    proposed = events[types.index("lbg.proposed")]
    assert (proposed.group_id, proposed.money) == (group.group_id, Money(10_000, "EUR"))
    assert events[types.index("leg.confirmed")].leg_id == leg.leg_id
    if api.rooms.settings.conversations == "postgres":
        assert types.index("thread.create") < types.index("lbg.proposed")
    else:
        # There, what announces a change of the booking is another change, which comes after it.
        assert types.index("lbg.confirmed") < types.index("thread.promoted_to_project")


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_event_and_change_come_together_or_not_at_all(api: Api, pool: asyncpg.Pool) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    message = await ann.send(thread_id, "Original")
    await pool.execute("alter table outbox add constraint closed check (event = 'none') not valid")
    try:
        answers = [
            await ann.patch(f"/v1/threads/{thread_id}/messages/{message['id']}", {"body": "x"}),
            await ann.delete(f"/v1/threads/{thread_id}/messages/{message['id']}"),
            await bob.post(f"/v1/threads/{thread_id}/read", {"up_to": message["id"]}),
            await ann.post(f"/v1/threads/{thread_id}/messages", ann.draft()),
        ]
    finally:
        await pool.execute("alter table outbox drop constraint closed")
    assert {each.status_code for each in answers} == {500}
    [_, kept] = await bob.messages(thread_id)
    assert (kept["body"], kept["edited_at"], kept["deleted_at"]) == ("Original", None, None)
    assert (await bob.row(thread_id))["unread_count"] == 2
    sent = await ann.send(thread_id)
    assert sent["seq"] == 3
