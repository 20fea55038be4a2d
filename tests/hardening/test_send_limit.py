"""The limit of sixty messages a minute in a thread cannot be exceeded in any way."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from greenroom.bootstrap import Rooms, http_app, jwt_secret
from greenroom.kernel.limits import Limits
from greenroom.platform.tokens.verifying import sign_token
from greenroom.settings import Settings
from tests.support.api import Api, Person
from tests.support.clock import FakeClock

DISGUISES: list[dict[str, str]] = [
    {},
    {"X-Forwarded-For": "10.0.0.{n}"},
    {"Forwarded": "for=192.0.2.{n};proto=https"},
    {"X-Real-IP": "10.1.0.{n}"},
    {"X-Forwarded-User": "bob", "X-User-Id": "user{n}"},
    {"X-HTTP-Method-Override": "PUT", "X-Original-URL": "/v1/threads/other/messages"},
    {"User-Agent": "agent {n}", "Cookie": "session={n}"},
    {"Idempotency-Key": "key {n}"},
]


@pytest.fixture(scope="module")
def limits() -> Limits:
    many = 100_000
    return Limits(starts_per_hour=many, starts_per_day=many, send_connections=2, send_batch=8)


@pytest.fixture(scope="module")
async def doors(
    settings: Settings, database_url: str, clock: FakeClock
) -> AsyncIterator[list[httpx.AsyncClient]]:
    """Two servers on one database."""
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(2):
            rooms = await stack.enter_async_context(Rooms(settings, database_url, clock=clock))
            transport = httpx.ASGITransport(app=http_app(rooms))
            client = httpx.AsyncClient(transport=transport, base_url="http://greenroom.test")
            clients.append(await stack.enter_async_context(client))
        yield clients


class Sender:
    """One person who tries everything; never the same token, header or door twice in a row."""

    def __init__(self, api: Api, doors: list[httpx.AsyncClient], who: Person) -> None:
        self._secret = jwt_secret(api.rooms.settings)
        self._clock = api.clock
        self._doors = doors
        self._who = who
        self._numbers = itertools.count(1)

    async def send(self, path: str, disguise: dict[str, str] | None = None) -> int:
        number = next(self._numbers)
        operator_role = ("support", "trust", None)[number % 3]
        token = sign_token(
            self._secret,
            self._who.id,
            clock=self._clock,
            ttl_s=60 + number,
            operator_role=operator_role,
        )
        chosen = DISGUISES[number % len(DISGUISES)] if disguise is None else disguise
        headers = {name: text.format(n=number) for name, text in chosen.items()}
        answer = await self._doors[number % len(self._doors)].post(
            path,
            json={"client_id": f"s{number}", "body": f"Number {number}"},
            headers={**headers, "authorization": f"Bearer {token}"},
        )
        if answer.status_code == 429:
            assert answer.json()["code"] == "RATE_LIMITED"
            assert int(answer.headers["retry-after"]) >= 1
        return answer.status_code


async def count(api: Api, who: Person, thread_id: str) -> int:
    """How many messages the thread has beside its first."""
    await api.rooms.store.ping()
    [last] = await who.messages(thread_id, limit=1)
    seq: int = last["seq"]
    return seq - 1


async def test_a_parallel_burst_over_two_servers(
    api: Api, doors: list[httpx.AsyncClient], seed: random.Random
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    sender = Sender(api, doors, ann)
    paths = [f"/v1/threads/{thread_id}/messages"] * 300
    statuses = Counter(await asyncio.gather(*(sender.send(path) for path in paths)))
    assert statuses == {201: 60, 429: 240}
    assert await count(api, ann, thread_id) == 60


async def test_one_after_the_other_and_as_the_clock_goes_on(
    api: Api, doors: list[httpx.AsyncClient], seed: random.Random
) -> None:
    """In any minute at most 60 more than the clock has given back: one a second."""
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    sender = Sender(api, doors, ann)
    path = f"/v1/threads/{thread_id}/messages"
    taken, passed_s = 0, 0
    for _ in range(25):
        burst = await asyncio.gather(*(sender.send(path) for _ in range(seed.randrange(1, 12))))
        taken += burst.count(201)
        assert taken <= 60 + passed_s
        step_s = seed.randrange(0, 4)
        api.clock.advance(seconds=step_s)
        passed_s += step_s
    assert await count(api, ann, thread_id) == taken


async def test_other_spellings_of_the_address(api: Api, doors: list[httpx.AsyncClient]) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    sender = Sender(api, doors, ann)
    for _ in range(60):
        assert await sender.send(f"/v1/threads/{thread_id}/messages") == 201
    encoded = "".join(f"%{ord(each):02x}" for each in thread_id)
    spellings = {
        f"/v1/threads/{thread_id}/messages/": 404,
        f"/v1/threads/{thread_id}//messages": 404,
        f"//v1/threads/{thread_id}/messages": 404,
        f"/V1/threads/{thread_id}/messages": 404,
        f"/v1/Threads/{thread_id}/Messages": 404,
        f"/v1/threads/{thread_id.upper()}/messages": 404,
        f"/v1/threads/{thread_id}%20/messages": 404,
        f"/v1/threads/{thread_id}%00/messages": 404,
        f"/v1/threads/{encoded}/messages": 429,
        f"/v1/threads/{thread_id}/messages?x=1": 400,
        f"/v1/threads/{thread_id}/messages#x": 429,
        f"/v1/threads/{thread_id}/messages?": 429,
        f"/v1/threads/{thread_id};a=b/messages": 404,
    }
    for path, status in spellings.items():
        assert await sender.send(path) == status, path
    assert await count(api, ann, thread_id) == 60


async def test_no_header_makes_another_sender(api: Api, doors: list[httpx.AsyncClient]) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    path = f"/v1/threads/{thread_id}/messages"
    sender = Sender(api, doors, ann)
    for _ in range(60):
        assert await sender.send(path, {}) == 201
    for disguise in DISGUISES * 2:
        assert await sender.send(path, disguise) == 429, disguise
    assert await Sender(api, doors, bob).send(path) == 201


async def test_repeats_are_free_and_open_nothing(api: Api, doors: list[httpx.AsyncClient]) -> None:
    """A repeat is answered past the limit, and a refused send is not taken for a repeat later."""
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    path = f"/v1/threads/{thread_id}/messages"
    drafts: list[dict[str, Any]] = [ann.draft() for _ in range(80)]
    first = [(await ann.post(path, draft)).status_code for draft in drafts]
    assert Counter(first) == {201: 60, 429: 20}
    again = [(await ann.post(path, draft)).status_code for draft in drafts]
    assert Counter(again) == {200: 60, 429: 20}
    assert await count(api, ann, thread_id) == 60


async def test_edits_and_new_threads_are_no_way_around(
    api: Api, doors: list[httpx.AsyncClient]
) -> None:
    """The limit is per thread and sender; a repeat of the first message is no new message."""
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob)
    thread_id = started["thread"]["id"]
    sender = Sender(api, doors, ann)
    path = f"/v1/threads/{thread_id}/messages"
    statuses = Counter([await sender.send(path) for _ in range(61)])
    assert statuses == {201: 60, 429: 1}
    await ann.edit(started["message"], "Something else")
    await ann.remove(started["message"])
    assert await sender.send(path) == 429
