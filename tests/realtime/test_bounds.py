"""A limit on everything that clients can make the server hold."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from collections import Counter
from collections.abc import Sequence

import httpx
import pytest

from greenroom.conversations.store import Changes, FeedPosition
from tests.support.api import Api, Person

from .conftest import NewServer
from .listeners import Mute, Stream, until
from .server import STREAMS, RefusedError, Server, check_problem

LONG = "x" * 2000
FEED_PAGE = 20
MOST_UNSENT_BYTES = 256 * 1024
PING = b"\x89\xfd\0\0\0\0" + b"x" * 125


async def write_much(author: Person, thread_id: str, count: int) -> None:
    await asyncio.gather(*(author.send(thread_id, LONG) for _ in range(count)))


def check_told_to_come_back(answer: httpx.Response, least_s: int, most_s: int) -> None:
    check_problem(answer)
    assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
    assert least_s <= int(answer.headers["retry-after"]) <= most_s


class TestConnections:
    @pytest.mark.parametrize("transport", STREAMS)
    async def test_twenty_first_of_a_person_ends_the_oldest(
        self, api: Api, server: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        async with contextlib.AsyncExitStack() as stack:

            async def open_stream() -> Stream:
                return await stack.enter_async_context(server.stream(transport, bob))

            streams = [await open_stream() for _ in range(21)]
            assert await streams[0].ended() == 4409
            sent = (await ann.start(bob))["message"]
            for stream in streams[1:]:
                assert await stream.hear_until(sent)
            newest = await open_stream()
            assert await streams[1].ended() == 4409
            assert await newest.hear_until(sent)

    async def test_event_source_that_is_replaced_is_told_not_to_come_back(
        self, api: Api, new_server: NewServer
    ) -> None:
        [bob] = await api.people("bob")
        async with (
            new_server(streams_per_user=1) as small,
            small.event_source(bob) as first,
            small.websocket(bob),
        ):
            close = await first.farewell()
            assert (close["code"], close["reconnect"]) == (4409, False)

    async def test_long_poll_that_is_replaced_answers_early(
        self, api: Api, new_server: NewServer
    ) -> None:
        [bob] = await api.people("bob")
        async with new_server(streams_per_user=1) as small:
            since = await bob.cursor()
            asking = asyncio.create_task(small.sync(bob, since=since, wait=30))
            await until(lambda: bob.id in small.open_for)
            async with small.websocket(bob):
                page = await asking
            assert page == {"events": [], "cursor": since, "has_more": False}

    async def test_server_takes_no_more_than_it_has_room_for(
        self, api: Api, new_server: NewServer
    ) -> None:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        async with new_server(streams=2) as small:
            async with small.websocket(ann), small.event_source(bob):
                for transport in STREAMS:
                    check_told_to_come_back(await small.problem(transport, carl), 1, 11)
                answer = await small.call(carl, "GET", "/v1/sync", wait=30)
                check_told_to_come_back(answer, 1, 11)
                assert (await small.sync(carl))["events"] == []
            await until(lambda: not small.open_for)
            async with small.websocket(carl):
                pass

    async def test_crowd_does_not_get_past_the_limit(self, api: Api, new_server: NewServer) -> None:
        people = await api.people(*(f"person{number}" for number in range(20)))
        gate = asyncio.Event()

        async def attempt(at: Server, person: Person) -> bool:
            try:
                async with at.websocket(person):
                    await gate.wait()
                    return True
            except RefusedError as refused:
                check_told_to_come_back(refused.answer, 1, 11)
                return False

        async with new_server(streams=5) as small:
            attempts = [asyncio.create_task(attempt(small, person)) for person in people]
            await until(lambda: sum(each.done() for each in attempts) >= 15)
            gate.set()
            assert sum(await asyncio.gather(*attempts)) == 5

    async def test_newcomers_beyond_the_queue_come_back_later(
        self, api: Api, new_server: NewServer
    ) -> None:
        people = await api.people(*(f"person{number}" for number in range(6)))
        async with new_server(
            opening_streams=1, opened_streams_per_s=1, opened_streams_at_once=1
        ) as small:
            answers: list[httpx.Response] = []

            async def attempt(transport: str, person: Person) -> None:
                try:
                    async with small.stream(transport, person):
                        pass
                except RefusedError as refused:
                    answers.append(refused.answer)

            await asyncio.gather(
                *(
                    attempt(transport, person)
                    for transport, person in zip(STREAMS * 3, people, strict=True)
                )
            )
            assert answers
            for answer in answers:
                check_told_to_come_back(answer, 1, 11)
            # Whoever asks without a stream does not wait in that queue.
            assert (await small.sync(people[0]))["events"] == []


class Reads:
    """How many events were read from the store for each person's streams."""

    def __init__(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: Counter[str] = Counter()
        store = server.rooms.store
        look = store.changes_of_many

        async def counted(positions: Sequence[FeedPosition], limit: int) -> list[Changes]:
            pages = await look(positions, limit)
            for position, page in zip(positions, pages, strict=True):
                self.events[position.viewer] += len(page.events)
            return pages

        monkeypatch.setattr(store, "changes_of_many", counted)


class TestSlowReaders:
    async def test_are_cut_and_cost_a_page_while_others_are_served(
        self, api: Api, new_server: NewServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        thread_id = await ann.thread_with(bob, carl, dora)
        await write_much(ann, thread_id, 3 * FEED_PAGE)
        async with (
            new_server(feed_page=FEED_PAGE, slow_reader_s=1, unread_close_s=1) as quick,
            quick.websocket(dora) as hers,
        ):
            reads = Reads(quick, monkeypatch)
            with Mute(quick, "websocket", bob) as his, Mute(quick, "sse", carl) as carls:
                await his.open()
                await carls.open()
                await write_much(ann, thread_id, FEED_PAGE)
                last = await ann.send(thread_id)
                heard = await hers.hear_until(last)
                assert len(heard) == 3 + 4 * FEED_PAGE
                assert {bob.id, carl.id} <= set(quick.open_for)
                for person in (bob, carl):
                    assert 0 < reads.events[person.id] <= 2 * FEED_PAGE
                assert max(quick.unsent_bytes()) < MOST_UNSENT_BYTES
                await until(lambda: quick.open_for == [dora.id])
                await until(lambda: len(quick.uvicorn.server_state.connections) == 1)
            assert await hers.hear_until(await ann.send(thread_id))

    async def test_are_told_if_they_begin_to_listen(self, api: Api, new_server: NewServer) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await write_much(ann, thread_id, 2 * FEED_PAGE)
        async with new_server(feed_page=FEED_PAGE, slow_reader_s=1) as quick:
            with Mute(quick, "websocket", bob) as his:
                await his.open()
                await until(lambda: bob.id in quick.open_for)
                await until(lambda: bob.id not in quick.open_for)
                await his.read_until(struct.pack("!H", 4408) + b"You read too slowly")

    async def test_get_everything_if_they_listen_in_time(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await write_much(ann, thread_id, 3 * FEED_PAGE)
        with Mute(server, "websocket", bob) as his:
            await his.open()
            await until(lambda: max(server.unsent_bytes()) > 0)
            await his.read_until(LONG.encode(), times=3 * FEED_PAGE)


class TestTalkers:
    """Who says much and does not listen to the answers."""

    async def test_pings_are_not_answered_without_end(
        self, api: Api, new_server: NewServer
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with new_server(frames_per_s=10_000) as quick:
            with Mute(quick, "websocket", bob) as his:
                await his.open()
                for _ in range(20):
                    await his.send(PING * 400)
                await his.send(send_frame(bob, thread_id))
                async with quick.websocket(ann, since=await ann.cursor()) as hers:
                    # Comes after the pings.
                    assert await hers.hear_of("message.new")
                assert 0 < max(quick.unsent_bytes()) < MOST_UNSENT_BYTES

    @pytest.mark.parametrize("opcode", [b"\x89", b"\x8a"], ids=["pings", "pongs"])
    async def test_too_many_pings_or_pongs_end_the_connection(
        self, api: Api, server: Server, opcode: bytes
    ) -> None:
        [bob] = await api.people("bob")
        with Mute(server, "websocket", bob) as his:
            await his.open()
            await his.send((opcode + PING[1:]) * 400)
            await until(lambda: bob.id not in server.open_for)

    async def test_frames_wait_until_the_answers_are_read(
        self, api: Api, new_server: NewServer
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with new_server(frames_per_s=10_000) as quick:
            with Mute(quick, "websocket", ann) as hers:
                await hers.open()
                for _ in range(100):
                    await hers.send(send_frame(ann, thread_id))
                await until(lambda: max(quick.unsent_bytes()) > 0)
                for _ in range(10):
                    await write_much(bob, thread_id, 10)
                assert max(quick.unsent_bytes()) < MOST_UNSENT_BYTES
                # Everything is done in the end, if not at once.
                await hers.read_until(b'"type":"sent"', times=100)
        assert len(await bob.sync()) == 2 + 100 + 100


def send_frame(author: Person, thread_id: str) -> bytes:
    text = json.dumps({"type": "send", "thread_id": thread_id, **author.draft(LONG)})
    return b"\x81\xfe" + struct.pack("!H", len(text)) + b"\0\0\0\0" + text.encode()
