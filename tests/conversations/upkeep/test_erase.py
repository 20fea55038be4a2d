"""Erasing a person: what goes, what stays, and that it can be interrupted."""

import asyncio

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.dynamodb.upkeep import erase as erase_dynamodb
from greenroom.conversations.postgres.upkeep import erase as erase_postgres
from greenroom.conversations.upkeep import HeldError
from tests.support.api import Api, Json, Person

from .at_once import erase, faults
from .kept import Kept

SECRET = "my-own-words"


async def test_what_they_wrote_goes_and_the_rest_of_the_thread_stays(
    api: "Api", rooms: Rooms, kept: Kept
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
    started = {
        "kind": "inquiry",
        "to": [other.id],
        "first_message": maya.draft(f"{SECRET} 6"),
        "listing_key": f"{SECRET} listing",
    }
    await maya.post("/v1/threads", started, key="start")
    await maya.block(other)
    before = await theo.messages(thread_id)
    cursor = await theo.cursor()
    assert (await theo.row(thread_id))["unread_count"] == 3

    assert await erase(rooms, maya) == 4

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
    text = await kept.everything()
    assert SECRET not in text
    assert "theirs 1" in text

    events = await theo.sync(cursor)
    assert [event["type"] for event in events] == ["message.deleted"] * 3 + ["thread.changed"]
    people = {each["user_id"]: each for each in events[-1]["thread"]["participants"]}
    assert people[maya.id]["display_name"] == "Deleted user"
    assert people[maya.id]["status"] == "left"
    assert await kept.of_person(maya.id) == 0
    assert await faults(rooms) == []
    # Who polls by the simple API finds out as well.
    query = {"conversationId": thread_id, "updatedSince": 0}
    changed = (await theo.get("/messages/list", **query)).json()["messages"]
    assert [(each["senderId"], each["deleted"]) for each in changed] == [(maya.id, True)] * 4
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
    api: "Api", rooms: Rooms, kept: Kept
) -> None:
    maya, theo, host = await api.people("maya", "theo", "host")
    thread_id = await maya.thread_with(theo)
    await api.backend.add(thread_id, host.id, "host")
    await host.send(thread_id, SECRET)
    await host.leave(thread_id)
    assert await erase(rooms, host) == 1
    assert SECRET not in await kept.everything()
    assert await faults(rooms) == []


async def test_a_blocked_senders_hidden_words_go_and_nobody_is_told(
    api: "Api", rooms: Rooms, kept: Kept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await theo.block(maya)
    await maya.send(thread_id, SECRET)
    cursor = await theo.cursor()
    await erase(rooms, maya)
    assert SECRET not in await kept.everything()
    told = [event["type"] for event in await theo.sync(cursor)]
    assert told == ["message.deleted", "thread.changed"]
    assert await faults(rooms) == []


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
async def test_killed_midway_and_run_again(
    api: "Api",
    rooms: Rooms,
    kept: Kept,
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
) -> None:
    for adapter in (erase_postgres, erase_dynamodb):
        monkeypatch.setattr(adapter, "MESSAGES_AT_ONCE", 2)
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
    assert SECRET not in await kept.everything()
    events = [event["type"] for event in await theo.sync(cursor)]
    assert events.count("message.deleted") == 10
    assert events.count("thread.changed") == 2
    assert await faults(rooms) == []
    assert await erase(rooms, maya) == 0
    assert len(await theo.sync(cursor)) == 12


async def test_under_legal_hold_nothing_is_erased(api: "Api", rooms: Rooms, kept: Kept) -> None:
    maya, theo, third = await api.people("maya", "theo", "third")
    held = await maya.thread_with(theo)
    await maya.start(third, body=SECRET)
    await rooms.upkeep.hold(held, "case 7")
    before = await kept.everything()
    with pytest.raises(HeldError, match=rf"{held} is on legal hold \(case 7\)"):
        await erase(rooms, maya)
    assert await kept.everything() == before
    assert (await maya.get("/v1/me")).status_code == 200
    await rooms.upkeep.release(held)
    assert await erase(rooms, maya) == 2
    assert SECRET not in await kept.everything()


async def test_a_hold_that_is_set_meanwhile_ends_the_erasure(
    api: "Api", rooms: Rooms, kept: Kept
) -> None:
    maya, theo = await api.people("maya", "theo")
    await maya.start(theo, body=SECRET)
    api.clock.advance(seconds=1)
    held = (await maya.start(theo, body="kept for a case"))["thread"]["id"]
    erasing = rooms.upkeep.erase(maya.id)
    assert (await anext(erasing)).messages == 1
    await rooms.upkeep.hold(held, "case 8")
    with pytest.raises(HeldError, match=rf"{held} is on legal hold \(case 8\)"):
        await anext(erasing)
    text = await kept.everything()
    assert SECRET not in text
    assert "kept for a case" in text


async def test_very_many_earlier_versions_go_in_several_steps(
    api: "Api", rooms: Rooms, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase_dynamodb, "WRITES_AT_ONCE", 5)
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    for _ in range(2):
        message = await maya.send(thread_id, f"{SECRET} first")
        for number in range(12):
            await maya.edit(message, f"{SECRET} {number}")
    cursor = await theo.cursor()
    assert await erase(rooms, maya) == 3
    assert SECRET not in await kept.everything()
    events = [event["type"] for event in await theo.sync(cursor)]
    assert events == ["message.deleted"] * 3 + ["thread.changed"]
    assert await faults(rooms) == []


async def test_what_they_send_meanwhile_goes_too(
    api: "Api", rooms: Rooms, kept: Kept, database_url: str
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    sent: dict[str, list[Json]] = {maya.id: [], theo.id: []}
    ending = asyncio.Event()

    async def write(who: "Person", body: str) -> None:
        while not ending.is_set():
            path = f"/v1/threads/{thread_id}/messages"
            answer = await who.post(path, who.draft(body))
            if answer.status_code == 404:
                return
            sent[who.id].append(answer.json())

    writers = [
        asyncio.create_task(write(who, body)) for who, body in ((maya, SECRET), (theo, "theirs"))
    ]
    while len(sent[maya.id]) < 10:
        await theo.cursor()
    async with Rooms(rooms.settings, database_url, clock=api.clock) as elsewhere:
        steps = [step async for step in elsewhere.upkeep.erase(maya.id)]
    ending.set()
    await asyncio.gather(*writers)
    assert sum(step.messages for step in steps) == len(sent[maya.id]) + 1
    assert SECRET not in await kept.everything()
    seen = await theo.messages(thread_id, limit=50)
    assert [each["body"] for each in seen if each["author_id"] == maya.id and each["body"]] == []
    assert len(sent[theo.id]) > 0
    assert await faults(rooms) == []


async def test_each_deletion_is_an_event_and_the_log_keeps_ids_only(
    api: "Api", rooms: Rooms, kept: Kept, pool: asyncpg.Pool
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await maya.send(thread_id, SECRET)
    await erase(rooms, maya)
    events = await rooms.events.of_thread(thread_id, 0, 100, types=["message.delete"])
    assert [each.actor for each in events] == [maya.id, maya.id]
    logged = await pool.fetchval("select string_agg(l::text, ' ') from event_log l")
    assert SECRET not in logged
    assert SECRET not in await kept.everything()
