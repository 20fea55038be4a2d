"""Acknowledgements, typing and watching are not sent more often than needed."""

import asyncio
from typing import Any

import pytest

from greenroom_client import Client
from greenroom_client.acks import Acks
from greenroom_client.errors import Problem, UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Signal

from .fake_server import FakeServer, problem
from .rig import during
from .virtual_time import now_s, run_virtually, virtual_timing


class Told:
    """Where acknowledgements go, when and what."""

    def __init__(self) -> None:
        self.at: list[tuple[float, str]] = []
        self.failure: Exception | None = None
        self.is_open = True
        self.changed = Signal()
        self.acks = Acks(
            self._deliver, lambda: self.is_open, self.changed, virtual_timing(), ClientLimits()
        )

    async def _deliver(self, cursor: str) -> None:
        self.at.append((now_s() - 1000, cursor))
        if self.failure is not None:
            raise self.failure


def test_acknowledgements_come_once_a_second_at_most_and_the_last_one_comes() -> None:
    async def story() -> None:
        told = Told()

        async def take() -> None:
            for number in range(25):
                told.acks.note(f"e-{number}")
                await asyncio.sleep(0.1)
            await asyncio.sleep(10)

        await during(take(), told.acks.run())
        assert [round(at_s) for at_s, _ in told.at] == [0, 1, 2, 3]
        assert told.at[-1][1] == "e-24"

    run_virtually(story())


def test_an_acknowledgement_waits_for_a_stream_and_is_repeated_until_it_is_taken() -> None:
    async def story() -> None:
        told = Told()
        told.is_open = False

        async def take() -> None:
            told.acks.note("e-1")
            await asyncio.sleep(10)
            assert told.at == []
            told.is_open, told.failure = True, UnreachableError("away")
            told.changed.fire()
            await asyncio.sleep(2.5)
            told.failure = None
            await asyncio.sleep(10)
            assert told.at == [(10, "e-1"), (11, "e-1"), (12, "e-1"), (13, "e-1")]
            told.failure = Problem(400, "INVALID_REQUEST")
            told.acks.note("e-2")
            await asyncio.sleep(10)
            assert len(told.at) == 5

        await during(take(), told.acks.run())

    run_virtually(story())


def client_of(server: FakeServer, **options: Any) -> Client:
    timing = virtual_timing()
    return Client("http://greenroom.test", "t", timing=timing, http=server.transport, **options)


def test_typing_is_said_every_few_seconds_and_its_end_once() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server) as client:
            await client.typing("thr_1", False)
            assert server.requests == []
            for _ in range(100):
                await client.typing("thr_1", True)
                await asyncio.sleep(0.1)
            assert server.requests == [("PUT", "/v1/threads/thr_1/typing")] * 3
            await client.typing("thr_1", False)
            await client.typing("thr_1", False)
            assert server.count("PUT") == 4

    run_virtually(story())


def test_who_types_on_after_a_message_is_seen_typing_again() -> None:
    async def story() -> None:
        server = FakeServer()
        async with client_of(server) as client:
            await client.typing("thr_1")
            await client.send("thr_1", "Hello")
            await client.typing("thr_1")
            assert server.count("PUT") == 2

    run_virtually(story())


def test_typing_troubles_nobody_while_the_server_is_away() -> None:
    async def story() -> None:
        server = FakeServer(lambda _request: problem(503, "UNAVAILABLE"))
        async with client_of(server, transports=("poll",)) as client:
            reading = asyncio.ensure_future(anext(client.events(), None))
            await asyncio.sleep(10)
            await client.typing("thr_1")
            assert server.count("PUT") == 0
        await reading

    run_virtually(story())


def test_a_client_watches_so_many_threads_and_no_more() -> None:
    async def story() -> None:
        server = FakeServer()
        server.limits["watched_threads"] = 3
        async with client_of(server) as client:
            await client.watch(f"thr_{number}" for number in range(3))
            with pytest.raises(ValueError, match="at most 3"):
                await client.watch(f"thr_{number}" for number in range(4))
        assert server.requests.count(("GET", "/v1/limits")) == 1

    run_virtually(story())
