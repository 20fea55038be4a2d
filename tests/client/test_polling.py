"""How often a client asks, what it acknowledges, and that it leaves nothing behind."""

import asyncio
from typing import Any

import httpx
import pytest

from greenroom_client import Client, Problem

from .fake_server import FakeServer, problem
from .virtual_time import now_s, run_virtually, virtual_timing

MINUTE_S = 60.0


def client_of(server: FakeServer, **options: Any) -> Client:
    options.setdefault("transports", ("poll",))
    timing = virtual_timing()
    return Client("http://greenroom.test", "t", timing=timing, http=server.transport, **options)


async def _read(client: Client, told: list[Any]) -> None:
    told += [event async for event in client.events()]


async def asked_within_a_minute(server: FakeServer) -> int:
    before = server.count("GET")
    await asyncio.sleep(MINUTE_S)
    return server.count("GET") - before


def test_the_intervals_follow_how_closely_the_person_looks() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server) as client:
            reading = asyncio.create_task(_read(client, []))
            await asyncio.sleep(1)
            assert await asked_within_a_minute(server) == 20
            client.activity = "background"
            assert await asked_within_a_minute(server) == 6
            client.activity = "open"
            await asyncio.sleep(5 * MINUTE_S)
            assert await asked_within_a_minute(server) == 2
            client.touch()
            assert await asked_within_a_minute(server) in (20, 21)
            client.activity = "closed"
            assert await asked_within_a_minute(server) == 0
            client.activity = "open"
            await asyncio.sleep(0.1)
            assert await asked_within_a_minute(server) == 20
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    run_virtually(story())


def test_an_activity_is_one_of_three() -> None:
    async def story() -> None:
        async with client_of(FakeServer()) as client:
            with pytest.raises(ValueError, match="background"):
                client.activity = "asleep"  # type: ignore[assignment]
            assert client.activity == "open"

    run_virtually(story())


def test_a_backlog_comes_page_by_page_at_once() -> None:
    async def story() -> None:
        server = FakeServer()
        for number in range(250):
            server.tell({"type": "something", "number": number})
        async with client_of(server) as client:
            began_s = now_s()
            events = client.events()
            told = [(await anext(events))["number"] for _ in range(250)]
            assert told == [*range(250)]
            assert (now_s() - began_s, server.count("GET")) == (0, 3)
            assert client.cursor == "e-250"

    run_virtually(story())


def test_the_next_page_is_asked_for_only_when_the_last_one_was_taken() -> None:
    """Asking with `since` says that everything up to it has arrived."""

    async def story() -> None:
        server = FakeServer()
        for number in range(3):
            server.tell({"type": "something", "number": number})
        async with client_of(server) as client:
            events = client.events()
            await anext(events)
            await asyncio.sleep(MINUTE_S)
            assert server.count("GET") == 1

    run_virtually(story())


def test_a_saved_cursor_goes_on_where_the_application_was() -> None:
    async def story() -> None:
        server = FakeServer()
        for number in range(10):
            server.tell({"type": "something", "number": number})
        async with client_of(server) as client:
            events = client.events()
            for _ in range(4):
                await anext(events)
            saved = client.cursor
        async with client_of(server, since=saved) as client:
            assert (await anext(client.events()))["number"] == 4

    run_virtually(story())


def test_a_reset_is_told_and_its_cursor_gone_on_from() -> None:
    async def story() -> None:
        server = FakeServer()
        server.tell({"type": "message.new", "thread_id": "t", "message": {"id": "m", "seq": 1}})
        server.events[0]["message"]["author_id"] = "mia"
        server.tell({"type": "reset"})
        server.tell({"type": "something", "number": 1})
        async with client_of(server) as client:
            events = client.events()
            assert (await anext(events))["type"] == "message.new"
            assert len(client.messages("t")) == 1
            assert (await anext(events))["type"] == "reset"
            assert (client.messages("t"), client.cursor) == ([], "e-2")
            assert (await anext(events))["number"] == 1

    run_virtually(story())


def test_a_cursor_that_is_none_is_told_to_the_application() -> None:
    async def story() -> None:
        server = FakeServer(lambda _request: problem(400, "INVALID_REQUEST"))
        async with client_of(server, since="nonsense") as client:
            with pytest.raises(Problem, match="INVALID_REQUEST"):
                await anext(client.events())

    run_virtually(story())


def test_long_polls_that_are_answered_at_once_become_polls() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server, transports=("long-poll", "poll")) as client:
            reading = asyncio.create_task(_read(client, []))
            await asyncio.sleep(MINUTE_S)
            assert client.transport == "poll"
            assert server.count("GET") < 30
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    run_virtually(story())


def test_leaving_tells_of_the_last_event_that_was_dealt_with() -> None:
    async def story() -> None:
        server = FakeServer()
        for number in range(3):
            server.tell({"type": "something", "number": number})
        async with client_of(server) as client:
            async for event in client.events():
                if event["number"] == 2:
                    break
        assert server.acks == ["e-2"]

    run_virtually(story())


def test_without_automatic_acknowledgement_the_application_decides() -> None:
    async def story() -> None:
        server = FakeServer()
        for number in range(3):
            server.tell({"type": "something", "number": number})
        async with client_of(server, auto_ack=False) as client:
            events = client.events()
            await anext(events)
            await client.ack()
            await anext(events)
        assert server.acks == ["e-1"]

    run_virtually(story())


def test_the_events_end_when_the_client_closes() -> None:
    async def story() -> None:
        told: list[Any] = []
        async with client_of(FakeServer()) as client:
            reading = asyncio.create_task(_read(client, told))
            await asyncio.sleep(1)
        await reading
        assert told == []
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(story())


def hanging(server: FakeServer, asked: asyncio.Event) -> Client:
    """Its acknowledgements are never answered."""

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            asked.set()
            await asyncio.get_running_loop().create_future()
        return server._answer(request)

    return Client(
        "http://greenroom.test",
        "t",
        transports=("poll",),
        auto_ack=False,
        timing=virtual_timing(),
        http=httpx.MockTransport(answer),
    )


def test_leaving_while_the_server_keeps_silent_takes_a_second_at_most() -> None:
    async def story() -> None:
        server, asked = FakeServer(), asyncio.Event()
        server.tell({"type": "something"})
        began_s = now_s()
        async with hanging(server, asked) as client:
            await anext(client.events())
            await client.ack()
        assert asked.is_set()
        assert now_s() - began_s == 1
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtually(story())


def test_leaving_that_is_itself_cancelled_leaves_nothing_behind_either() -> None:
    async def story() -> None:
        server, asked = FakeServer(), asyncio.Event()
        server.tell({"type": "something"})
        client = hanging(server, asked)

        async def live() -> None:
            async with client:
                await anext(client.events())
                client.enqueue("thr_1", "Hello")
                await client.ack()

        living = asyncio.create_task(live())
        await asked.wait()
        await asyncio.sleep(0.5)
        living.cancel()
        with pytest.raises(asyncio.CancelledError):
            await living
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert client._http.is_closed

    run_virtually(story())
