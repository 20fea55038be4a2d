"""The client's REST methods against a real server."""

import pytest

from greenroom_client import Client, Problem, UnreachableError
from tests.support.ports import free_port

from .pair import Pair


async def test_a_bot_can_do_its_work(pair: Pair) -> None:
    async with pair.client(pair.ada) as ada, pair.client(pair.ben) as ben:
        assert (await ben.rest.me())["user"]["user_id"] == pair.ben
        assert (await ben.rest.limits())["limits"]["body_characters"] > 0
        started = await ada.rest.start_thread([pair.ben], "Hello", subject="Shoot", client_id="c1")
        again = await ada.rest.start_thread([pair.ben], "Hello", subject="Shoot", client_id="c1")
        thread_id, first = started["thread"]["id"], started["message"]
        assert again["thread"]["id"] == thread_id
        assert (await ben.rest.thread(thread_id))["inbox"]["unread_count"] == 1
        [item] = (await ben.rest.inbox(unread=True, limit=10))["items"]
        assert item["thread"]["subject"] == "Shoot"
        assert (await ben.rest.mark_read(thread_id, first["id"]))["inbox"]["unread_count"] == 0
        edited = (await ada.rest.edit(thread_id, first["id"], "Hello there"))["message"]
        assert edited["body"] == "Hello there"
        second = await ben.send(thread_id, "Good morning")
        page = await ada.rest.messages(thread_id, before=second["id"])
        assert [each["body"] for each in page["items"]] == ["Hello there"]
        deleted = (await ada.rest.delete(thread_id, first["id"]))["message"]
        assert deleted["deleted_at"] is not None
        bodies = [each["body"] for each in await ada.load_messages(thread_id)]
        assert bodies == ["", "Good morning"]
        [other] = (await ada.rest.presence(thread_id))["items"]
        assert other["user_id"] == pair.ben


async def test_a_bot_knows_whom_it_writes_to_and_whom_not(pair: Pair) -> None:
    async with pair.client(pair.ada) as ada, pair.client(pair.ben) as ben:
        assert (await ben.rest.me())["user"]["verified"] is False
        assert (await ada.rest.user(pair.ben))["user"]["user_id"] == pair.ben
        first = await ada.rest.start_thread(pair.ben, "Hello", listing_key="listing/7")
        again = await ada.rest.start_thread(pair.ben, "Still there?", listing_key="listing/7")
        assert again["thread"]["id"] == first["thread"]["id"]
        await ben.rest.block(pair.ada)
        [blocked] = (await ben.rest.blocks(limit=1))["items"]
        assert blocked["user_id"] == pair.ada
        await ben.rest.unblock(pair.ada)
        assert await ben.rest.blocks() == {"items": [], "next_cursor": None}


async def test_a_problem_says_what_and_why(pair: Pair) -> None:
    async with pair.client(pair.ada) as ada:
        with pytest.raises(Problem) as caught:
            await ada.rest.thread("thr_no/such?thread")
        found = caught.value
        assert (found.status, found.code) == (404, "THREAD_NOT_FOUND")
        assert found.hint
        assert found.corr_id
        with pytest.raises(Problem) as caught:
            await ada.send("thr_000000000000000000000000aa", "Hello?")
        assert caught.value.code == "THREAD_NOT_FOUND"


async def test_a_message_that_is_refused_over_a_websocket_says_the_same(pair: Pair) -> None:
    [thread_id] = await pair.start()
    async with pair.client(pair.ada) as ada:
        await ada.use("ws")
        line = ada._feed.line
        for characters in (2001, 100_000):
            with pytest.raises(Problem) as caught:
                await ada.send(thread_id, "x" * characters)
            assert (caught.value.status, caught.value.code) == (422, "MSG_TOO_LONG")
            assert caught.value.corr_id
        assert ada._feed.line is line


async def test_nobody_there_is_told_at_once() -> None:
    async with Client(f"http://127.0.0.1:{free_port()}", "token") as client:
        with pytest.raises(UnreachableError):
            await client.rest.inbox()
