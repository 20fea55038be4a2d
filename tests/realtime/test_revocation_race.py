"""After a removal or a block nothing more is delivered, however many people write at that
moment."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Coroutine
from typing import Any

from tests.support import IS_FULL
from tests.support.api import Api, Json, Person
from tests.support.waiting import PATIENCE_S

from .listeners import Stream
from .server import Server

ROUNDS = {"postgres": 30, "dynamodb": 12} if IS_FULL else {"postgres": 10, "dynamodb": 4}
SENDS = 8


async def all_at_once(seed: random.Random, work: list[Coroutine[Any, Any, None]]) -> None:
    """In an order, and with pauses, of the seed's choice."""

    async def start(each: Coroutine[Any, Any, None], turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await each

    seed.shuffle(work)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(start(each, seed.randrange(40)) for each in work))


async def write(at: Server, author: Person, thread_id: str, body: str) -> None:
    path = f"/v1/threads/{thread_id}/messages"
    answer = await at.call(author, "POST", path, json=author.draft(body))
    assert answer.status_code == 201, answer.text


async def events_in(thread_id: str, stream: Stream, friend: Person, listener: Person) -> list[Json]:
    """What the stream has told of a thread, up to now: a later message stands for that."""
    marker = (await friend.start(listener))["message"]
    return [each for each in await stream.hear_until(marker) if each["thread_id"] == thread_id]


def is_farewell(event: Json) -> bool:
    return event["type"] == "thread.changed" and "thread" not in event


def new_seqs(events: list[Json], author: Person) -> list[int]:
    return [
        each["message"]["seq"]
        for each in events
        if each["type"] == "message.new" and each["message"]["author_id"] == author.id
    ]


async def test_someone_removed_hears_that_last(
    api: Api, server: Server, other: Server, seed: random.Random, conversations: str
) -> None:
    ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
    servers = (server, other)

    async def remove(thread_id: str) -> None:
        path = f"/v1/threads/{thread_id}/participants/{carl.id}"
        answer = await seed.choice(servers).call(api.backend, "DELETE", path)
        assert answer.status_code == 204, answer.text

    async with server.websocket(carl) as here, other.event_source(carl) as there:
        for number in range(ROUNDS[conversations]):
            thread_id = await ann.thread_with(bob, carl)
            work = [
                write(seed.choice(servers), author, thread_id, f"{number}")
                for author in (ann, bob)
                for _ in range(SENDS // 2)
            ]
            await all_at_once(seed, [*work, remove(thread_id)])
            [removal] = [each for each in await ann.messages(thread_id) if each["system"]]
            for stream in (here, there):
                events = await events_in(thread_id, stream, dora, carl)
                # Whoever looks late finds no thread in its first event either.
                ending = list(itertools.dropwhile(lambda each: not is_farewell(each), events))
                assert ending
                assert all(map(is_farewell, ending))
                seqs = [each["message"]["seq"] for each in events if "message" in each]
                assert seqs == sorted(seqs)
                assert all(seq < removal["seq"] for seq in seqs)


async def test_someone_who_blocks_hears_nothing_the_other_writes_from_then_on(
    api: Api, server: Server, other: Server, seed: random.Random, conversations: str
) -> None:
    ann, dora = await api.people("ann", "dora")
    servers = (server, other)

    async def block(blocker: Person) -> None:
        body = {"user_id": ann.id}
        answer = await seed.choice(servers).call(blocker, "POST", "/v1/blocks", json=body)
        assert answer.status_code == 204, answer.text

    for _ in range(ROUNDS[conversations]):
        bob, carl = await api.people("bob", "carl")
        thread_id = await ann.thread_with(bob, carl)
        async with server.websocket(bob) as here, other.event_source(bob) as there:
            work = [
                write(seed.choice(servers), author, thread_id, "Now")
                for author in [ann] * SENDS + [carl]
            ]
            await all_at_once(seed, [*work, block(bob)])
            late = await ann.send(thread_id, "Later")
            written = new_seqs(await carl.sync(), ann)
            assert written[-1] == late["seq"]
            for stream in (here, there):
                events = await events_in(thread_id, stream, dora, bob)
                heard = new_seqs(events, ann)
                assert heard == written[: len(heard)]
                assert late["seq"] not in heard
                assert len(new_seqs(events, carl)) == 1
