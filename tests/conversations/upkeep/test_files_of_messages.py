"""What upkeep does with the files of messages: export, erasure and retention of the references."""

import itertools

import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.model import AttachmentRef, Draft
from greenroom.conversations.store import Send
from greenroom.kernel.limits import Limits
from tests.support.api import Api, Person

from .at_once import erase, export, faults
from .kept import Kept

_numbers = itertools.count(1)


def new_file() -> str:
    return f"fil_{next(_numbers):026d}"


@pytest.fixture(scope="module")
def limits() -> Limits:
    many = 100_000
    return Limits(
        sends_per_minute=60_000,
        starts_per_hour=many,
        starts_per_day=many,
        send_connections=1,
        read_connections=2,
        message_kept_days=100,
    )


async def show(rooms: Rooms, author: Person, thread_id: str, *file_ids: str) -> str:
    """The id of a message with these files, which nobody has uploaded."""
    refs = tuple(AttachmentRef(each, "image") for each in file_ids)
    draft = Draft(f"files-{next(_numbers)}", "", None, attachments=refs)
    return (await rooms.store.append(Send(thread_id, author.id, draft, cost_ms=0))).message.id


async def has_files(viewer: Person) -> list[str]:
    return [each["thread"]["id"] for each in (await viewer.inbox(has_files=True))["items"]]


async def test_an_export_names_the_files_also_of_what_was_deleted(api: Api, rooms: Rooms) -> None:
    first, second = new_file(), new_file()
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    kept = await show(rooms, maya, thread_id, first)
    gone = await show(rooms, maya, thread_id, second)
    await rooms.store.delete_message(maya.id, thread_id, gone)
    for person in (maya, theo):
        messages = {each["id"]: each for each in (await export(rooms, person))["messages"]}
        assert messages[kept]["attachments"] == [{"file_id": first, "media": "image"}]
        assert messages[gone]["attachments"] == []
    [version] = (await export(rooms, maya))["earlier_versions"]
    assert (version["message_id"], version["act"]) == (gone, "delete")
    assert version["attachments"] == [{"file_id": second, "media": "image"}]
    assert second not in str(await export(rooms, theo))


async def test_an_erasure_leaves_no_reference(api: Api, rooms: Rooms, kept: Kept) -> None:
    first, second = new_file(), new_file()
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await show(rooms, maya, thread_id, first)
    gone = await show(rooms, maya, thread_id, second)
    await rooms.store.delete_message(maya.id, thread_id, gone)
    assert await has_files(theo) == [thread_id]
    await erase(rooms, maya)
    text = await kept.everything()
    assert first not in text
    assert second not in text
    assert await has_files(theo) == []
    assert await faults(rooms) == []


async def test_retention_counts_them_out(api: Api, rooms: Rooms) -> None:
    first, second = new_file(), new_file()
    maya, theo = await api.people("maya", "theo")
    old, mixed = await maya.thread_with(theo), await maya.thread_with(theo)
    await show(rooms, maya, old, first)
    await show(rooms, maya, mixed, first)
    api.clock.advance(days=60)
    await show(rooms, theo, mixed, second)
    api.clock.advance(days=41)
    while (await rooms.upkeep.prune_messages())["message"]:
        pass
    for viewer in (maya, theo):
        assert await has_files(viewer) == [mixed]
    assert await faults(rooms) == []
