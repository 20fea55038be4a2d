"""An export holds what a person wrote and what they may see, and nothing else."""

from greenroom.bootstrap import Rooms
from tests.support.api import Api

from .at_once import export


async def test_exactly_what_they_may_see(api: "Api", rooms: Rooms) -> None:
    maya, theo, host = await api.people("maya", "theo", "host")
    thread_id = await maya.thread_with(theo)
    await theo.send(thread_id, "before the host")
    await api.backend.add(thread_id, host.id, "host")
    await host.block(theo)
    await theo.send(thread_id, "hidden from the host")
    await maya.send(thread_id, "for all")
    await host.send(thread_id, "mine, hidden from theo")
    for person in (maya, theo, host):
        exported = await export(rooms, person)
        seen = await person.messages(thread_id)
        assert [each["id"] for each in exported["messages"]] == [each["id"] for each in seen]
        assert [each["body"] for each in exported["messages"]] == [each["body"] for each in seen]
    bodies = {each["body"] for each in (await export(rooms, host))["messages"]}
    assert {"for all", "mine, hidden from theo"} <= bodies
    assert not {"before the host", "hidden from the host"} & bodies
    assert "mine, hidden from theo" not in str(await export(rooms, theo))


async def test_blocks_are_the_blockers_own(api: "Api", rooms: Rooms) -> None:
    maya, theo = await api.people("maya", "theo")
    await maya.thread_with(theo)
    await theo.block(maya)
    assert [each["user_id"] for each in (await export(rooms, theo))["blocks"]] == [maya.id]
    exported = await export(rooms, maya)
    assert "blocks" not in exported
    assert "visible_to" not in str(exported)


async def test_own_words_also_from_threads_left_and_before_edits(api: "Api", rooms: Rooms) -> None:
    maya, theo, host = await api.people("maya", "theo", "host")
    thread_id = await maya.thread_with(theo)
    await api.backend.add(thread_id, host.id, "host")
    sent = await host.send(thread_id, "first version")
    await host.edit(sent, "second version")
    await host.leave(thread_id)
    await maya.send(thread_id, "after the host had left")
    exported = await export(rooms, host)
    assert [each["body"] for each in exported["messages"]] == ["second version"]
    assert [each["body"] for each in exported["earlier_versions"]] == ["first version"]
    [thread] = exported["threads"]
    assert (thread["id"], thread["status"]) == (thread_id, "left")
    assert "participants" not in thread
    assert "earlier_versions" not in await export(rooms, maya)


async def test_a_thread_hidden_by_a_block_is_not_there(api: "Api", rooms: Rooms) -> None:
    maya, theo = await api.people("maya", "theo")
    await theo.block(maya)
    await maya.thread_with(theo)
    assert set(await export(rooms, theo)) == {"blocks"}


async def test_own_words_stay_in_it_when_a_block_hides_the_thread(api: "Api", rooms: Rooms) -> None:
    maya, theo, host = await api.people("maya", "theo", "host")
    thread_id = await maya.thread_with(theo)
    await api.backend.add(thread_id, host.id, "host")
    await host.send(thread_id, "my own words")
    await host.leave(thread_id)
    await host.block(maya)
    body = {"user_id": host.id, "role": "host"}
    assert (await maya.post(f"/v1/threads/{thread_id}/participants", body)).status_code == 200
    exported = await export(rooms, host)
    assert [each["body"] for each in exported["messages"]] == ["my own words"]
    assert set(exported) == {"messages", "blocks"}


async def test_receipts_and_the_threads_own_fields(api: "Api", rooms: Rooms) -> None:
    maya, theo = await api.people("maya", "theo")
    started = await maya.start(theo, subject="Lookbook")
    message = started["message"]
    await theo.read(started["thread"]["id"], message["id"])
    [mine] = (await export(rooms, theo))["threads"]
    assert mine["last_read"]["message_id"] == message["id"]
    [theirs] = (await export(rooms, maya))["threads"]
    assert theirs["subject"] == "Lookbook"
    marks = {each["user_id"]: each["last_read"] for each in theirs["participants"]}
    assert marks[theo.id]["message_id"] == message["id"]
