"""Two people over each transport, and over all of them in turn."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from greenroom_client import TRANSPORTS, Client, ClientLimits, Kind
from tests.support import IS_FULL
from tests.support.waiting import PATIENCE_S, until

from .pair import Pair, all_messages, read_messages

Json = dict[str, Any]

QUICK = ClientLimits(poll_open_s=0.05, ack_interval_s=0.05)
SWITCHES = 1000 if IS_FULL else 60


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_two_people_talk_over(pair: Pair, kind: Kind) -> None:
    [thread_id] = await pair.start()
    async with (
        pair.client(pair.ada, limits=QUICK) as ada,
        pair.client(pair.ben, limits=QUICK) as ben,
    ):
        for client in (ada, ben):
            await client.load()
            await client.use(kind)
            assert client.transport == kind
        for number in range(3):
            asked = await ada.send(thread_id, f"question {number}")
            [_] = await read_messages(ada, 1)
            assert [each["id"] for each in await read_messages(ben, 1)] == [asked["id"]]
            answer = await ben.send(thread_id, f"answer {number}", reply_to=asked["id"])
            [_] = await read_messages(ben, 1)
            [heard] = await read_messages(ada, 1)
            assert (heard["id"], heard["reply_to"]) == (answer["id"], asked["id"])
        assert [each["seq"] for each in ben.messages(thread_id)] == [2, 3, 4, 5, 6, 7]
        row = ben.state.inbox(thread_id)
        assert row is not None
        assert row["last_message"]["id"] == ben.messages(thread_id)[-1]["id"]


async def test_switching_in_mid_stream_misses_nothing_and_repeats_nothing(
    pair: Pair, seed: random.Random
) -> None:
    """Ada switches all the time, Ben stays on his WebSocket, and both write."""
    threads = await pair.start(threads=3)
    async with (
        pair.client(pair.ada, limits=QUICK) as ada,
        pair.client(pair.ben, limits=QUICK) as ben,
    ):
        told: dict[str, list[Json]] = {"ada": [], "ben": []}
        is_over = asyncio.Event()

        async def follow(client: Client, name: str) -> None:
            async for event in client.events():
                told[name].append(event)

        async def write(client: Client) -> int:
            count = 0
            while not is_over.is_set():
                count += 1
                await client.send(seed.choice(threads), f"{count}")
            return count

        async def switch() -> None:
            try:
                for _ in range(SWITCHES):
                    await ada.use(seed.choice(TRANSPORTS))
                    for _ in range(seed.randrange(4)):
                        await asyncio.sleep(0)
            finally:
                is_over.set()

        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            following = [
                group.create_task(follow(ada, "ada")),
                group.create_task(follow(ben, "ben")),
            ]
            writing = [group.create_task(write(client)) for client in (ada, ben)]
            await switch()
            sent = [await each for each in writing]
            wanted = sum(sent) + len(threads)
            await until(
                lambda: all(new_messages(events) == wanted for events in told.values()),
                "the last message",
            )
            for each in following:
                each.cancel()
        check_feed(told["ada"])
        check_feed(told["ben"])
        for thread_id in threads:
            kept = [each["id"] for each in await all_messages(ada, thread_id)]
            for events in told.values():
                assert ids_of(events, thread_id) == kept
            assert [each["id"] for each in ada.messages(thread_id)] == kept[-50:]


def new_messages(events: list[Json]) -> int:
    return sum(event["type"] == "message.new" for event in events)


def ids_of(events: list[Json], thread_id: str) -> list[str]:
    return [
        event["message"]["id"]
        for event in events
        if event["type"] == "message.new" and event["thread_id"] == thread_id
    ]


def check_feed(events: list[Json]) -> None:
    """Cursors are opaque to clients; here we know that a feed counts without a gap."""
    numbers = [int(event["cursor"].split("-")[1], 16) for event in events]
    assert numbers == [*range(numbers[0], numbers[0] + len(numbers))]


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_a_cursor_of_another_installation_is_reset(pair: Pair, kind: Kind) -> None:
    [thread_id] = await pair.start()
    async with pair.client(pair.ada, since="5f0c1a2b-1f", limits=QUICK) as ada:
        await ada.use(kind)
        events = ada.events()
        reset = await anext(events)
        assert (reset["type"], ada.cursor) == ("reset", reset["cursor"])
        await ada.load()
        sent = await ada.send(thread_id, "after the reset")
        [told] = await read_messages(ada, 1)
        assert told["id"] == sent["id"]


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_what_was_taken_counts_as_delivered(pair: Pair, kind: Kind) -> None:
    [thread_id] = await pair.start()
    async with (
        pair.client(pair.ada, limits=QUICK) as ada,
        pair.client(pair.ben, limits=QUICK) as ben,
    ):
        await ada.load()
        await ben.load()
        await ben.use(kind)
        sent = await ada.send(thread_id, "Did it arrive?")
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            reading = group.create_task(read_forever(ben))
            async for event in ada.events():
                receipt = event.get("receipt")
                if receipt is not None and receipt["message_id"] == sent["id"]:
                    assert (receipt["user_id"], receipt["kind"]) == (pair.ben, "delivered")
                    break
            reading.cancel()


async def read_forever(client: Client) -> None:
    async for _ in client.events():
        pass


@pytest.mark.parametrize("kind", ["ws", "sse"])
async def test_typing_and_presence_are_told_for_watched_threads(pair: Pair, kind: Kind) -> None:
    [thread_id] = await pair.start()
    async with pair.client(pair.ada) as ada, pair.client(pair.ben, limits=QUICK) as ben:
        await ben.load()
        await ben.use(kind)
        await ben.watch([thread_id])
        await ada.load()
        await ada.use("ws")
        assert (await next_sign(ben, "presence"))["online"] is True
        assert ben.state.online(thread_id) == [pair.ada]
        await ada.typing(thread_id, True)
        assert (await next_sign(ben, "typing"))["on"] is True
        assert ben.state.typing(thread_id) == [pair.ada]
        await ada.send(thread_id, "Here it is")
        await read_messages(ben, 1)
        assert ben.state.typing(thread_id) == []
        assert ben.state.online(thread_id) == [pair.ada]
        await ben.use("poll")
        assert ben.state.online(thread_id) == []
        [other] = (await ben.rest.presence(thread_id))["items"]
        assert (other["user_id"], other["online"]) == (pair.ada, True)


async def next_sign(client: Client, kind: str) -> Json:
    async with asyncio.timeout(PATIENCE_S):
        async for event in client.events():
            if event["type"] == kind:
                return event
    raise AssertionError("the feed has ended")


async def test_a_thread_that_cannot_be_watched_does_not_keep_a_stream_from_opening(
    pair: Pair,
) -> None:
    [thread_id] = await pair.start()
    async with pair.client(pair.ada) as ada:
        await ada.load()
        await ada.watch(["thr_000000000000000000000000aa"])
        for kind in ("sse", "ws"):
            await ada.use(kind)
            sent = await ada.send(thread_id, "Hello")
            assert [each["id"] for each in await read_messages(ada, 1)] == [sent["id"]]


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_a_queue_that_empties_at_once_does_not_cost_the_websocket(pair: Pair) -> None:
    """The server cuts who says more than 50 frames a second for long."""
    threads = await pair.start(threads=4)
    async with pair.client(pair.ada) as ada:
        await ada.load()
        await ada.use("ws")
        line = ada._feed.line
        sends = [ada.enqueue(threads[number % 4], f"{number}") for number in range(600)]
        for send in sends:
            await send.done()
        assert ada._feed.line is line


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_leaving_leaves_no_task_and_no_socket(pair: Pair, kind: Kind) -> None:
    [thread_id] = await pair.start()
    before = asyncio.all_tasks()
    for _ in range(3):
        async with pair.client(pair.ada) as ada:
            await ada.use(kind)
            reading = asyncio.create_task(read_forever(ada))
            await ada.send(thread_id, "Hello")
        await reading
        assert asyncio.all_tasks() == before
    # A transport closes its socket in the loop's next round.
    await asyncio.sleep(0)
    assert sockets_to(pair.server.port) == 0


def sockets_to(port: int) -> int:
    own = {str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()}
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return sum(each[2].endswith(f":{port:04X}") and f"socket:[{each[9]}]" in own for each in fields)
