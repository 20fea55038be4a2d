"""Files sent and followed with the client, against a real server."""

import asyncio
from pathlib import Path

from greenroom_client import Client
from tests.support.waiting import PATIENCE_S

from .pair import Json, Pair

TEXT = b"Call sheet: 9:00 make-up, 10:00 first set."


async def until_ready(client: Client, thread_id: str) -> Json:
    """Follow the feed until the last message's file is ready, as `state` has it."""
    async with asyncio.timeout(PATIENCE_S):
        async for event in client.events():
            if event["type"] == "file.changed" and event["file"]["state"] == "ready":
                message: Json = client.messages(thread_id)[-1]
                return message
    raise AssertionError("the feed has ended")


async def test_a_file_is_uploaded_sent_and_becomes_ready_on_both_sides(
    pair: Pair, tmp_path: Path
) -> None:
    [thread_id] = await pair.start()
    path = tmp_path / "call sheet.txt"
    path.write_bytes(TEXT)
    async with pair.client(pair.ada) as ada, pair.client(pair.ben) as ben:
        await ben.load()
        sent = await ada.send(thread_id, files=[path])
        assert (sent["kind"], sent["body"]) == ("asset", "")
        message = await until_ready(ben, thread_id)
        assert message["id"] == sent["id"]
        [attachment] = message["attachments"]
        assert (attachment["name"], attachment["file"]["state"]) == ("call sheet.txt", "ready")
        assert (await ben.rest.file(attachment["file_id"]))["file"]["state"] == "ready"
        assert (await ben.rest.inbox(has_files=True))["items"]


async def test_an_uploaded_file_waits_in_the_queue_like_words(pair: Pair, tmp_path: Path) -> None:
    [thread_id] = await pair.start()
    queue_path = tmp_path / "queue.json"
    async with pair.client(pair.ada, queue_path=queue_path) as ada:
        file = await ada.upload(thread_id, TEXT, name="a.txt")
        queued = ada.enqueue(thread_id, "Look", attachments=[file["id"]])
        sent = await queued.done()
        again = await ada.send(thread_id, "Words")
    assert [each["file_id"] for each in sent["attachments"]] == [file["id"]]
    assert again["attachments"] == []


async def test_preferences(pair: Pair) -> None:
    async with pair.client(pair.ada) as ada:
        assert (await ada.rest.preferences())["preferences"]["safe_mode"] is True
        chosen = await ada.rest.set_preferences(safe_mode=False)
        assert chosen["preferences"]["safe_mode"] is False
