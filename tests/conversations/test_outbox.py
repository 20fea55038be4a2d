"""Domain events: one for each change, in its transaction, and none for what did not happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg
import msgspec

if TYPE_CHECKING:
    from conftest import Api, Json

    Told = list[tuple[str, str | None, str | None, Json | None]]


async def told(pool: asyncpg.Pool, thread_id: str) -> Told:
    rows = await pool.fetch(
        "select event, actor, message_id, data from outbox where thread_id = $1 order by id",
        thread_id,
    )
    return [
        (row["event"], row["actor"], row["message_id"], msgspec.json.decode(row["data"] or "null"))
        for row in rows
    ]


async def test_each_change_of_a_thread_is_told_in_order(api: Api, pool: asyncpg.Pool) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob)
    thread_id, first = started["thread"]["id"], started["message"]
    await ann.edit(first, "Edited")
    await bob.read(thread_id, first["id"])
    await ann.remove(first)
    await api.backend.post(f"/v1/threads/{thread_id}/promote", {"leg_id": "leg_1"})
    [_, notice] = await ann.messages(thread_id)
    assert await told(pool, thread_id) == [
        ("thread.create", ann.id, None, {"kind": "inquiry"}),
        ("message.send", ann.id, first["id"], None),
        ("message.edit", ann.id, first["id"], None),
        ("thread.read", bob.id, first["id"], None),
        ("message.delete", ann.id, first["id"], None),
        ("message.send", None, notice["id"], None),
        ("thread.promoted_to_project", None, None, {"group_id": None, "leg_id": "leg_1"}),
    ]


async def test_repeats_and_refusals_tell_nothing(api: Api, pool: asyncpg.Pool) -> None:
    ann, bob = await api.people("ann", "bob")
    new = {"kind": "inquiry", "to": bob.id, "first_message": ann.draft()}
    started = (await ann.post("/v1/threads", new)).json()
    thread_id, first = started["thread"]["id"], started["message"]
    path = f"/v1/threads/{thread_id}/messages"
    await bob.read(thread_id, first["id"])
    before = await pool.fetchval("select count(*) from outbox")
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
    assert await pool.fetchval("select count(*) from outbox") == before


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
