"""Erasing a person: what goes, what stays, and that it can be interrupted."""

import json
from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations import erase_postgres
from greenroom.conversations.upkeep import HeldError

from .site import erase, everything, faults

if TYPE_CHECKING:
    from conftest import Api

WHERE_WORDS_ARE = (
    *("app_user", "thread", "message", "message_audit", "inbox_index", "feed", "outbox"),
    *("idempotency_key", "user_block"),
)
SECRET = "my-own-words"


async def test_what_they_wrote_goes_and_the_rest_of_the_thread_stays(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo, other = await api.people("maya", "theo", "other")
    thread_id = (await maya.start(theo, body=f"{SECRET} 1", subject=f"{SECRET} subject"))["thread"][
        "id"
    ]
    await theo.send(thread_id, "theirs 1")
    edited = await maya.send(thread_id, f"{SECRET} 2")
    await maya.edit(edited, f"{SECRET} 3")
    deleted = await maya.send(thread_id, f"{SECRET} 4")
    await maya.remove(deleted)
    await theo.send(thread_id, "theirs 2")
    body = maya.draft(f"{SECRET} 5")
    await maya.post(f"/v1/threads/{thread_id}/messages", body, key=f"{SECRET}-key")
    await maya.block(other)
    before = await theo.messages(thread_id)
    cursor = await theo.cursor()
    assert (await theo.row(thread_id))["unread_count"] == 3

    assert await erase(rooms, maya) == 3

    after = await theo.messages(thread_id)
    for old, new in zip(before, after, strict=True):
        same = ("id", "seq", "author_id", "created_at", "reply_to")
        assert [old[name] for name in same] == [new[name] for name in same]
        if old["author_id"] == maya.id:
            assert new["body"] == ""
            assert new["deleted_at"] is not None
        else:
            assert old == new
    assert (await theo.row(thread_id))["unread_count"] == 0
    text = await everything(pool, WHERE_WORDS_ARE)
    assert SECRET not in text
    assert "theirs 1" in text

    events = await theo.sync(cursor)
    assert [event["type"] for event in events] == ["message.deleted"] * 3 + ["thread.changed"]
    people = {each["user_id"]: each for each in events[-1]["thread"]["participants"]}
    assert people[maya.id]["display_name"] == "Deleted user"
    assert people[maya.id]["status"] == "left"
    for table in ("inbox_index", "feed"):
        query = f"select count(*) from {table} where user_id = $1"  # noqa: S608
        assert await pool.fetchval(query, maya.id) == 0
    assert await pool.fetchval("select count(*) from user_block") == 0
    assert await faults(rooms) == []
    # The other side goes on.
    assert (await theo.send(thread_id, "anybody?"))["seq"] == before[-1]["seq"] + 1


async def test_who_is_erased_is_nobody_and_their_id_is_not_used_again(
    api: "Api", rooms: Rooms
) -> None:
    maya, theo = await api.people("maya", "theo")
    await maya.thread_with(theo)
    await erase(rooms, maya)
    assert await maya.refusal("GET", "/v1/me") == (401, "UNAUTHENTICATED")
    name = {"display_name": "Maya again"}
    assert await api.backend.refusal("PUT", f"/v1/users/{maya.id}", name) == (
        409,
        "ACTION_INVALID_STATE",
    )
    new = {"kind": "inquiry", "to": [maya.id], "first_message": theo.draft()}
    assert await theo.refusal("POST", "/v1/threads", new) == (404, "USER_NOT_FOUND")
    assert (await rooms.accounts.find_user(maya.id)).display_name == "Deleted user"


async def test_another_server_takes_their_token_for_a_minute_at_most(
    api: "Api", rooms: Rooms, database_url: str
) -> None:
    [maya] = await api.people("maya")
    await maya.get("/v1/me")
    async with Rooms(rooms.settings, database_url, clock=api.clock) as elsewhere:
        await erase(elsewhere, maya)
    api.clock.advance(seconds=rooms.settings.limits.known_user_s - 1)
    assert (await maya.get("/v1/me")).status_code == 200
    api.clock.advance(seconds=1)
    assert await maya.refusal("GET", "/v1/me") == (401, "UNAUTHENTICATED")


async def test_messages_in_threads_they_had_left_go_too(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo, host = await api.people("maya", "theo", "host")
    thread_id = await maya.thread_with(theo)
    await api.backend.add(thread_id, host.id, "host")
    await host.send(thread_id, SECRET)
    await host.leave(thread_id)
    assert await erase(rooms, host) == 1
    assert SECRET not in await everything(pool, WHERE_WORDS_ARE)
    assert await faults(rooms) == []


async def test_a_blocked_senders_hidden_words_go_and_nobody_is_told(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await theo.block(maya)
    await maya.send(thread_id, SECRET)
    cursor = await theo.cursor()
    await erase(rooms, maya)
    assert SECRET not in await everything(pool, WHERE_WORDS_ARE)
    told = [event["type"] for event in await theo.sync(cursor)]
    assert told == ["message.deleted", "thread.changed"]
    assert await faults(rooms) == []


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
async def test_killed_midway_and_run_again(
    api: "Api",
    rooms: Rooms,
    pool: asyncpg.Pool,
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
) -> None:
    monkeypatch.setattr(erase_postgres, "MESSAGES_AT_ONCE", 2)
    monkeypatch.setattr(erase_postgres, "ROWS_AT_ONCE", 3)
    maya, theo = await api.people("maya", "theo")
    for _ in range(2):
        thread_id = await maya.thread_with(theo)
        for _ in range(4):
            await maya.send(thread_id, SECRET)
    cursor = await theo.cursor()
    await rooms.accounts.erase_user(maya.id)
    done = 0
    erasing = rooms.upkeep.erase(maya.id)
    async for step in erasing:
        done += step.messages
        steps -= 1
        if steps == 0:
            break
    assert await faults(rooms) == []
    done += await erase(rooms, maya)
    assert done == 10
    assert SECRET not in await everything(pool, WHERE_WORDS_ARE)
    events = [event["type"] for event in await theo.sync(cursor)]
    assert events.count("message.deleted") == 10
    assert events.count("thread.changed") == 2
    assert await faults(rooms) == []
    assert await erase(rooms, maya) == 0
    assert len(await theo.sync(cursor)) == 12


async def test_under_legal_hold_nothing_is_erased(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo, third = await api.people("maya", "theo", "third")
    held = await maya.thread_with(theo)
    await maya.start(third, body=SECRET)
    await rooms.upkeep.hold(held, "case 7")
    before = await everything(pool, WHERE_WORDS_ARE)
    with pytest.raises(HeldError, match=rf"{held} is on legal hold \(case 7\)"):
        await erase(rooms, maya)
    assert await everything(pool, WHERE_WORDS_ARE) == before
    assert (await maya.get("/v1/me")).status_code == 200
    # Also one that is set when the erasure has begun.
    with pytest.raises(HeldError):
        await erase_postgres.Erasure(
            pool, clock=api.clock, randomness=lambda: "0" * 14, wake=lambda _users: None
        )._erase_page(maya.id, held, "")
    await rooms.upkeep.release(held)
    assert await erase(rooms, maya) == 2
    assert SECRET not in await everything(pool, WHERE_WORDS_ARE)


async def test_the_domain_event_of_each_deletion_leaves(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await erase(rooms, maya)
    rows = await pool.fetch("select event, actor from outbox where thread_id = $1", thread_id)
    assert json.dumps([row["event"] for row in rows]).count("message.delete") == 1
