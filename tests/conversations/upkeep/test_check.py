"""`check` reports nothing after ordinary use, and finds and repairs each planted fault."""

import asyncio
import random

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.upkeep import Fault
from tests.support.api import Api, Person

from .at_once import faults
from .kept import Kept

MENDED = (
    *("unread_count", "last_message", "last_activity", "awaits_reply", "thread_kind"),
    *("muted_until", "file_messages"),
    *("inbox_row_missing", "inbox_row_stray", "last_seq", "last_msg_ts", "feed"),
)
TOLD = ("seq", "created_at_id", "created_at_order", "thread_missing")


@pytest.fixture(autouse=True)
async def empty(kept: Kept) -> None:
    await kept.forget_all()


async def pair_with_history(api: "Api") -> list["Person"]:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    for number in range(4):
        await (maya, theo)[number % 2].send(thread_id, f"message {number}")
    return [maya, theo]


@pytest.mark.parametrize("kind", MENDED)
async def test_a_wrong_count_is_found_mended_and_told(
    api: "Api", rooms: Rooms, kept: Kept, kind: str
) -> None:
    maya, _ = await pair_with_history(api)
    await rooms.collector.drain()
    cursor = await maya.cursor()
    right = await kept.rows()
    await kept.plant(kind, maya.id)

    before = await kept.everything()
    assert kind in {fault.kind for fault in await faults(rooms)}
    assert await kept.everything() == before

    mended = await faults(rooms, repair=True)
    assert {fault.is_mended for fault in mended} == {True}
    assert await faults(rooms) == []
    if kind == "inbox_row_stray":
        assert (await maya.sync(cursor))[-1]["type"] == "thread.changed"
        return
    assert await kept.rows() == right
    if kind == "feed":
        # Whoever has seen all there was has missed nothing.
        cursor = cursor.partition("-")[0] + "-1"
    told = [event["type"] for event in await maya.sync(cursor)]
    expected = {"inbox_row_missing": ["thread.changed"], "feed": ["reset"]}
    quiet = kind in ("last_seq", "last_msg_ts")
    assert told == ([] if quiet else expected.get(kind, ["inbox.changed"]))


async def test_a_row_that_begins_with_a_message_knows_what_came_before(
    api: "Api", rooms: Rooms
) -> None:
    """Carl has blocked Ann, who adds him: his row begins with the next message of somebody else."""
    ann, bob, carl = await api.people("ann", "bob", "carl")
    thread_id = await ann.thread_with(bob)
    await carl.block(ann)
    new = {"user_id": carl.id, "role": "host"}
    assert (await ann.post(f"/v1/threads/{thread_id}/participants", new)).status_code == 200
    await bob.send(thread_id, "Hi Carl")
    assert await faults(rooms) == []
    row = (await carl.thread(thread_id))["inbox"]
    assert (row["unread_count"], row["last_read"]) == (1, None)


@pytest.mark.parametrize("kind", TOLD)
async def test_what_cannot_be_mended_is_told(
    api: "Api", rooms: Rooms, kept: Kept, kind: str
) -> None:
    maya, _ = await pair_with_history(api)
    await kept.plant(kind, maya.id)
    left = [fault for fault in await faults(rooms, repair=True) if not fault.is_mended]
    assert kind in {fault.kind for fault in left}
    assert kind in {fault.kind for fault in await faults(rooms)}


async def test_a_feed_without_a_head_has_one_again(api: "Api", rooms: Rooms, kept: Kept) -> None:
    maya, theo = await pair_with_history(api)
    cursor = await maya.cursor()
    await kept.lose_head(maya.id)
    api.clock.advance(minutes=2)
    [fault] = await faults(rooms, repair=True)
    assert (fault.kind, fault.user_id, fault.is_mended) == ("feed", maya.id, True)
    told = tuple(event["type"] for event in await maya.sync(cursor))
    assert told == kept.after_a_lost_head
    assert await faults(rooms) == []
    cursor = await maya.cursor()
    await theo.thread_with(maya)
    assert "message.new" in [event["type"] for event in await maya.sync(cursor)]


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_check_waits_for_nobody(
    api: "Api", rooms: Rooms, kept: Kept, pool: asyncpg.Pool
) -> None:
    maya, _ = await pair_with_history(api)
    await kept.plant("unread_count", maya.id)
    async with pool.acquire() as held, held.transaction():
        await held.execute("select 1 from thread for update")
        await held.execute("select 1 from feed_head for update")
        assert len(await faults(rooms)) == 1


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_nothing_differs_after_a_random_history(api: "Api", rooms: Rooms, seed: int) -> None:
    choose = random.Random(seed)
    everyone = await api.people("a", "b", "c", "d")
    threads = [
        await everyone[0].thread_with(everyone[1]),
        await everyone[2].thread_with(everyone[0]),
    ]
    said: list[tuple[Person, dict[str, str]]] = []
    for _ in range(60):
        who, thread_id = choose.choice(everyone), choose.choice(threads)
        act = choose.choice(["send", "send", "send", "read", "delete", "add", "leave", "block"])
        if act == "send":
            answer = await who.post(f"/v1/threads/{thread_id}/messages", who.draft())
            if answer.status_code == 201:
                said.append((who, answer.json()))
        elif act == "read" and said:
            up_to = choose.choice(said)[1]
            path = f"/v1/threads/{up_to['thread_id']}/read"
            await who.post(path, {"up_to": up_to["id"]})
        elif act == "delete" and said:
            author, message = choose.choice(said)
            await author.delete(f"/v1/threads/{message['thread_id']}/messages/{message['id']}")
        elif act == "add":
            body = {"user_id": who.id, "role": "host"}
            await api.backend.post(f"/v1/threads/{thread_id}/participants", body)
        elif act == "leave":
            await who.delete(f"/v1/threads/{thread_id}/participants/me")
        elif act == "block":
            other = choose.choice([each for each in everyone if each is not who])
            await (who.unblock(other) if choose.random() < 0.5 else who.block(other))
        api.clock.advance(seconds=choose.choice([0, 1, 3600]))
        if choose.random() < 0.1:
            assert await faults(rooms) == []
    assert len(said) > 10
    assert await faults(rooms) == []
    assert await faults(rooms, repair=True) == []


async def test_nothing_differs_while_people_write(
    api: "Api", rooms: Rooms, database_url: str
) -> None:
    everyone = await api.people("a", "b", "c")
    first, *others = everyone
    threads = [await first.thread_with(others[0]), await first.thread_with(*others)]
    ending = asyncio.Event()
    wrong: list[Fault] = []
    checked = 0

    async def write(who: "Person", seed: int) -> int:
        choose, sent = random.Random(seed), 0
        while not ending.is_set():
            thread_id = choose.choice(threads)
            answer = await who.post(f"/v1/threads/{thread_id}/messages", who.draft())
            if answer.status_code == 201:
                sent += 1
                await who.read(thread_id, answer.json()["id"])
                if choose.random() < 0.3:
                    await who.remove(answer.json())
            if choose.random() < 0.1:
                other = choose.choice([each for each in everyone if each is not who])
                await (who.unblock(other) if choose.random() < 0.5 else who.block(other))
        return sent

    writers = [asyncio.create_task(write(who, seed)) for seed, who in enumerate(everyone)]
    try:
        async with Rooms(rooms.settings, database_url, clock=api.clock) as elsewhere:
            for repair in (False, True) * 4:
                found = await faults(elsewhere, repair=repair)
                wrong += [fault for fault in found if fault.kind != "unchecked"]
                checked += len(threads) - len(found)
    finally:
        ending.set()
        sent = await asyncio.gather(*writers)
    assert wrong == []
    assert checked > 0
    assert min(sent) > 0
    assert await faults(rooms) == []
