"""Stored data that cannot be decoded causes an error for its owner only."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import httpx

from greenroom.conversations.dynamodb.store import DynamoConversations
from greenroom.kernel.errors import Internal
from greenroom.platform.metrics import FEED_READERS_LOST
from tests.support.api import Api, Person

from .listeners import Listening, until
from .poison import (
    Poison,
    plant_in_dynamodb,
    plant_in_postgres,
    poisons_of_dynamodb,
    poisons_of_postgres,
)
from .server import STREAMS, TRANSPORTS, Server, check_problem

if TYPE_CHECKING:
    import asyncpg

UNREADABLE = 4500
PAGES = ("/v1/inbox", "/v1/sync", "/messages/conversations")
THREAD_PAGES = ("/v1/threads/{}", "/v1/threads/{}/messages", "/v1/threads/{}/presence")


def readers_lost() -> float:
    lost: float = FEED_READERS_LOST._value.get()
    return lost


class Strangers:
    """Two people elsewhere, one of whom listens over all four transports."""

    def __init__(self, writer: Person, thread_id: str, listening: list[Any]) -> None:
        self._writer = writer
        self._thread_id = thread_id
        self._listening = listening

    async def still_hear_each_other(self) -> None:
        message = await self._writer.send(self._thread_id)
        for listener in self._listening:
            assert (await listener.hear_until(message))[-1]["type"] == "message.new"


@contextlib.asynccontextmanager
async def strangers_on(api: Api, server: Server) -> AsyncIterator[Strangers]:
    cam, dan = await api.people("cam", "dan")
    thread_id = await cam.thread_with(dan)
    since = await dan.cursor()
    async with contextlib.AsyncExitStack() as stack:
        listening: list[Listening] = [
            await stack.enter_async_context(server.listen(transport, dan, since))
            for transport in TRANSPORTS
        ]
        yield Strangers(cam, thread_id, listening)


async def talking(api: Api) -> tuple[Person, Person, str]:
    """Two people with a thread in which everything has happened that a thread shows."""
    owner, peer = await api.people("olga", "pia")
    thread_id = await owner.thread_with(peer)
    times = {"start": "2027-02-01T10:00:00Z", "end": "2027-02-01T12:00:00Z"}
    card = {"type": "propose_time", "payload": {**times, "timezone": "Europe/Vienna"}}
    made = await peer.post(f"/v1/threads/{thread_id}/cards", card)
    assert made.status_code == 201, made.text
    message = await peer.send(thread_id, "**Hi**")
    await api.backend.add(thread_id, (await api.people("guest"))[0].id, "host")
    await owner.read(thread_id, message["id"])
    await owner.patch(f"/v1/threads/{thread_id}/me", {"muted_until": "2027-03-01T00:00:00Z"})
    return owner, peer, thread_id


def is_clear(answer: httpx.Response) -> bool:
    """Data, or a problem that says more than that something went wrong."""
    if answer.status_code < 300:
        return True
    check_problem(answer)
    title: str = answer.json()["title"]
    return title != Internal.title()


async def settled(server: Server) -> None:
    feeds = server.rooms.realtime.feeds
    await until(lambda: not feeds._readers and not feeds._queue)


class TestAnyPoison:
    async def test_costs_nobody_else_anything_and_its_owner_hears_of_it(
        self, api: Api, server: Server, pool: asyncpg.Pool
    ) -> None:
        store, lost = server.rooms.store, readers_lost()
        planted, faults = 0, []
        async with strangers_on(api, server) as strangers:
            for poison in await self.poisons(api, server, pool):
                owner, peer, thread_id = await talking(api)
                if isinstance(store, DynamoConversations):
                    planted += await plant_in_dynamodb(store, poison, thread_id, owner)
                else:
                    planted += await plant_in_postgres(pool, poison, thread_id, owner)
                unclear = await self.unclear_to(server, owner, thread_id)
                if poison.is_own:
                    unclear += await self.unclear_to_peer(server, peer, thread_id)
                faults += [f"{poison.name}: {each}" for each in unclear]
                await strangers.still_hear_each_other()
        assert not faults, "\n".join(faults)
        assert planted > 50
        assert readers_lost() == lost

    async def poisons(self, api: Api, server: Server, pool: asyncpg.Pool) -> list[Poison]:
        store = server.rooms.store
        if isinstance(store, DynamoConversations):
            owner, _, thread_id = await talking(api)
            return await poisons_of_dynamodb(store, thread_id, owner)
        return await poisons_of_postgres(pool)

    async def unclear_to(self, server: Server, owner: Person, thread_id: str) -> list[str]:
        """What the owner is not told clearly, over any call or transport."""
        paths = [*PAGES, *(path.format(thread_id) for path in THREAD_PAGES)]
        async with contextlib.AsyncExitStack() as stack:
            streams = [
                await stack.enter_async_context(server.stream(each, owner)) for each in STREAMS
            ]
            calls = [server.call(owner, "GET", path) for path in paths]
            answers = await asyncio.gather(*calls)
            unclear = [f"{each.url.path} {each.text}" for each in answers if not is_clear(each)]
            await settled(server)
            if owner.id not in server.rooms.realtime.feeds._followers:
                ends = [await stream.ended() for stream in streams]
                return unclear + [f"ended by {code}" for code in ends if code != UNREADABLE]
            if answers[paths.index("/v1/sync")].status_code != 200:
                unclear.append("streams stay open though a poll cannot go on")
            return unclear

    async def unclear_to_peer(self, server: Server, peer: Person, thread_id: str) -> list[str]:
        """Somebody else's row is nothing to the others in the thread: they read and write."""
        path = f"/v1/threads/{thread_id}/messages"
        calls = [("GET", "/v1/inbox", None), ("GET", path, None), ("POST", path, peer.draft())]
        answers = [await server.call(peer, method, to, json=json) for method, to, json in calls]
        return [f"peer: {each.text}" for each in answers if each.status_code >= 300]
