"""`check` is silent about whatever people do, and finds and mends each fault that is planted."""

import random
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bootstrap import Rooms

from .site import faults, forget_all

if TYPE_CHECKING:
    from conftest import Api, Person

MENDED = {
    "unread_count": "update inbox_index set unread_count = unread_count + 2 where user_id = $1",
    "last_message": "update inbox_index set last_message_id = '' where user_id = $1",
    "last_activity": """update inbox_index set last_msg_ts = last_msg_ts - interval '1 hour'
        where user_id = $1""",
    "awaits_reply": "update inbox_index set awaits_reply = not awaits_reply where user_id = $1",
    "thread_kind": "update inbox_index set kind = 'dispute' where user_id = $1",
    "inbox_row_missing": "delete from inbox_index where user_id = $1",
    "inbox_row_stray": """update thread_participant set status = 'left' where user_id = $1""",
    "last_seq": """update thread set last_seq = last_seq + 1 where thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "last_msg_ts": """update thread set last_msg_ts = last_msg_ts + interval '1 day'
        where thread_id in (select thread_id from inbox_index where user_id = $1)""",
    "feed": "delete from feed where user_id = $1 and n = 2",
}
TOLD = {
    "seq": """update message set seq = seq + 10 where seq > 2 and thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
    "created_at_id": """update message set created_at = created_at - interval '3 ms'
        where seq = 1 and thread_id in (select thread_id from inbox_index where user_id = $1)""",
    "created_at_order": """update message set created_at = created_at + interval '5 days'
        where seq = 1 and thread_id in (select thread_id from inbox_index where user_id = $1)""",
    "thread_missing": """delete from thread where thread_id in (
        select thread_id from inbox_index where user_id = $1)""",
}
# All but the state of the send limit, which no message tells.
ROWS = """select user_id, thread_id, folder, kind, last_msg_ts, last_message_id, unread_count,
    pinned, starred, awaits_reply, needs_action from inbox_index order by user_id"""


@pytest.fixture(autouse=True)
async def empty(pool: asyncpg.Pool) -> None:
    await forget_all(pool)


async def pair_with_history(api: "Api") -> list["Person"]:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    for number in range(4):
        await (maya, theo)[number % 2].send(thread_id, f"message {number}")
    return [maya, theo]


@pytest.mark.parametrize("kind", MENDED)
async def test_a_wrong_count_is_found_mended_and_told(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, kind: str
) -> None:
    maya, _ = await pair_with_history(api)
    cursor = await maya.cursor()
    right = await pool.fetch(ROWS)
    await pool.execute(MENDED[kind], maya.id)

    assert kind in {fault.kind for fault in await faults(rooms)}
    before = await pool.fetchval("select sum(last_n) from feed_head")
    assert await faults(rooms)
    assert await pool.fetchval("select sum(last_n) from feed_head") == before

    mended = await faults(rooms, repair=True)
    assert {fault.is_mended for fault in mended} == {True}
    assert await faults(rooms) == []
    if kind == "inbox_row_stray":
        assert (await maya.sync(cursor))[-1]["type"] == "thread.changed"
        return
    assert await pool.fetch(ROWS) == right
    told = [event["type"] for event in await maya.sync(cursor)]
    expected = {"inbox_row_missing": ["thread.changed"], "feed": ["reset"]}
    quiet = kind in ("last_seq", "last_msg_ts")
    assert told == ([] if quiet else expected.get(kind, ["inbox.changed"]))


@pytest.mark.parametrize("kind", TOLD)
async def test_what_cannot_be_mended_is_told(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, kind: str
) -> None:
    maya, _ = await pair_with_history(api)
    await pool.execute(TOLD[kind], maya.id)
    left = [fault for fault in await faults(rooms, repair=True) if not fault.is_mended]
    assert kind in {fault.kind for fault in left}
    assert kind in {fault.kind for fault in await faults(rooms)}


async def test_a_feed_without_a_head_begins_anew(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, _ = await pair_with_history(api)
    cursor = await maya.cursor()
    await pool.execute("delete from feed_head where user_id = $1", maya.id)
    [fault] = await faults(rooms, repair=True)
    assert (fault.kind, fault.user_id, fault.is_mended) == ("feed", maya.id, True)
    assert [event["type"] for event in await maya.sync(cursor)] == ["reset"]
    assert await faults(rooms) == []


async def test_check_writes_nothing_and_waits_for_nobody(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, _ = await pair_with_history(api)
    await pool.execute(MENDED["unread_count"], maya.id)
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
