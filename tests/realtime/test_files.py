"""Files in the feed: sent over a WebSocket, and told of over every transport."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.api import Api, Json, Person
from tests.support.uploads import attached, process, shown, upload

from .server import TRANSPORTS, Server


async def pair(api: Api) -> tuple[Person, Person, str]:
    ann, bob = await api.people("ann", "bob")
    return ann, bob, await ann.thread_with(bob)


class TestSend:
    async def test_takes_files_and_needs_no_body(self, api: Api, server: Server) -> None:
        ann, bob, thread_id = await pair(api)
        file_id = await upload(api, ann, thread_id)
        draft = {"thread_id": thread_id, "client_id": "mine", "attachments": attached(file_id)}
        async with server.websocket(ann, since=await ann.cursor()) as socket:
            answer = await socket.ask("send", **draft)
            again = await socket.ask("send", **draft)
            refusal = await socket.refusal("send", **{**draft, "attachments": []}, body="x")
            empty = await socket.refusal("send", thread_id=thread_id, client_id="empty")
        message = answer["message"]
        assert (message["kind"], message["body"], shown(message)) == ("asset", "", [file_id])
        assert (again["repeat"], again["message"]["id"]) == (True, message["id"])
        assert refusal == (422, "IDEMPOTENCY_MISMATCH")
        assert empty == (422, "MSG_EMPTY")
        assert shown((await bob.messages(thread_id))[-1]) == [file_id]

    async def test_takes_no_file_of_somebody_else(self, api: Api, server: Server) -> None:
        ann, bob, thread_id = await pair(api)
        file_id = await upload(api, bob, thread_id)
        async with server.websocket(ann) as socket:
            refusal = await socket.refusal(
                "send", thread_id=thread_id, client_id="x", attachments=attached(file_id)
            )
        assert refusal == (404, "NOT_FOUND")


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_file_is_told_when_it_comes_and_when_it_is_ready(
    api: Api, server: Server, transport: str
) -> None:
    ann, bob, thread_id = await pair(api)
    async with server.listen(transport, bob, await bob.cursor()) as listener:
        file_id = await upload(api, ann, thread_id)
        sent = await ann.send(thread_id, attachments=attached(file_id))
        new = await listener.hear_of("message.new")
        assert shown(new["message"]) == [file_id]
        await process(api)
        event = await until_ready(listener)
    assert (event["thread_id"], event["message_id"]) == (thread_id, sent["id"])
    assert event["file"]["id"] == file_id
    assert event["file"]["renditions"]


async def until_ready(listener: Any) -> Json:
    async with asyncio.timeout(20):
        while True:
            event: Json = await listener.hear_of("file.changed")
            if event["file"]["state"] == "ready":
                return event


async def test_all_transports_tell_the_same(api: Api, server: Server) -> None:
    ann, bob, thread_id = await pair(api)
    file_id = await upload(api, ann, thread_id)
    await ann.send(thread_id, "Look", attachments=attached(file_id))
    await process(api)
    async with server.listen("poll", bob, None) as listener:
        await until_ready(listener)
    events = await bob.sync()
    for transport in TRANSPORTS:
        async with server.listen(transport, bob, None) as listener:
            assert await listener.hear_many(len(events)) == events, transport
