"""Domain events: one for each change, with it or not at all, and handed on in order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.store import DomainEvent
from tests.support.api import Api, Json
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from greenroom.settings import Settings

    Told = list[tuple[str, str | None, str | None, Json | None]]

ROUNDS = 2
"""An event may wait for a second look, which makes sure of the order."""


class Listener:
    def __init__(self) -> None:
        self.heard: list[DomainEvent] = []
        self.failures = 0

    async def __call__(self, events: Sequence[DomainEvent]) -> None:
        self.heard += events
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the listener is not well")


@pytest.fixture(scope="module")
def listener() -> Listener:
    return Listener()


@pytest.fixture(scope="module")
async def rooms(
    settings: Settings, database_url: str, clock: FakeClock, listener: Listener
) -> AsyncIterator[Rooms]:
    async with Rooms(settings, database_url, clock=clock, listeners=[listener]) as opened:
        yield opened


async def hand_over(rooms: Rooms) -> None:
    for _ in range(ROUNDS):
        await rooms.settle()


async def told(rooms: Rooms, listener: Listener, thread_id: str) -> Told:
    await hand_over(rooms)
    return [
        (each.event, each.actor, each.message_id, each.data)
        for each in listener.heard
        if each.thread_id == thread_id
    ]


async def test_each_change_of_a_thread_is_told_in_order(api: Api, listener: Listener) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob)
    thread_id, first = started["thread"]["id"], started["message"]
    await ann.edit(first, "Edited")
    await bob.read(thread_id, first["id"])
    await ann.remove(first)
    await api.backend.post(f"/v1/threads/{thread_id}/promote", {"leg_id": "leg_1"})
    [_, notice] = await ann.messages(thread_id)
    expected = [
        ("thread.create", ann.id, None, {"kind": "inquiry"}),
        ("message.send", ann.id, first["id"], None),
        ("message.edit", ann.id, first["id"], None),
        ("thread.read", bob.id, first["id"], None),
        ("message.delete", ann.id, first["id"], None),
        ("message.send", None, notice["id"], None),
        ("thread.promoted_to_project", None, None, {"group_id": None, "leg_id": "leg_1"}),
    ]
    assert await told(api.rooms, listener, thread_id) == expected
    assert await told(api.rooms, listener, thread_id) == expected, "each is handed on once"


async def test_repeats_and_refusals_tell_nothing(api: Api, listener: Listener) -> None:
    ann, bob = await api.people("ann", "bob")
    new = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
    started = (await ann.post("/v1/threads", new)).json()
    thread_id, first = started["thread"]["id"], started["message"]
    path = f"/v1/threads/{thread_id}/messages"
    await bob.read(thread_id, first["id"])
    await hand_over(api.rooms)
    before = len(listener.heard)
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
    await hand_over(api.rooms)
    assert listener.heard[before:] == []


async def test_what_a_listener_failed_at_comes_again_and_in_order(
    api: Api, listener: Listener
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    sent = [await ann.send(thread_id, str(number)) for number in range(4)]
    before = len(listener.heard)
    listener.failures = 1
    with pytest.raises(RuntimeError, match="not well"):
        await hand_over(api.rooms)
    assert len(listener.heard) > before
    await hand_over(api.rooms)
    heard = [each.message_id for each in listener.heard[before:] if each.message_id is not None]
    last = [number for number, each in enumerate(heard) if each == heard[0]][-1]
    assert heard[last + 1 :] == [each["id"] for each in sent]


async def test_many_at_once_are_told_in_the_order_of_the_thread(
    api: Api, listener: Listener
) -> None:
    ann, bob = await api.people("ann", "bob")
    threads = [await ann.thread_with(bob) for _ in range(3)]
    sends = [
        who.send(thread_id, f"{number}")
        for number in range(10)
        for thread_id in threads
        for who in (ann, bob)
    ]
    # Somebody hands on while they are written.
    await asyncio.gather(*sends, *(hand_over(api.rooms) for _ in range(4)))
    for thread_id in threads:
        written = [each["id"] for each in await ann.messages(thread_id, limit=50)]
        heard = [each[2] for each in await told(api.rooms, listener, thread_id)]
        assert list(dict.fromkeys(each for each in heard if each is not None)) == written


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
