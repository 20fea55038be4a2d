"""The simple API under many at once, over two servers on one database."""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

from greenroom.bootstrap import Rooms, http_app, jwt_secret
from greenroom.kernel.limits import Limits
from greenroom.platform.tokens.verifying import sign_token
from tests.support.api import Api, Json, Person
from tests.support.clock import FakeClock
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from greenroom.settings import Settings

WRITERS = 4
SENDS_EACH = 30


@pytest.fixture(scope="module")
def limits(limits: Limits) -> Limits:
    return replace(limits, send_connections=2, read_connections=4)


class Doors:
    """Two servers; whoever calls is let in by either."""

    def __init__(self, clients: list[httpx.AsyncClient], secret: bytes, clock: FakeClock) -> None:
        self._clients = clients
        self._secret = secret
        self._clock = clock

    async def call(
        self, who: Person, method: str, path: str, key: str | None = None, **more: Json
    ) -> httpx.Response:
        token = sign_token(self._secret, who.id, clock=self._clock, ttl_s=600)
        headers = {"authorization": f"Bearer {token}"}
        if key is not None:
            headers["idempotency-key"] = key
        client = random.choice(self._clients)
        return await client.request(method, path, headers=headers, **more)  # type: ignore[arg-type]

    async def send(
        self, who: Person, to: Person, content: str, key: str | None = None
    ) -> httpx.Response:
        new = {"receiverId": to.id, "content": content, "type": "text"}
        return await self.call(who, "POST", "/messages/send", key, json=new)

    async def poll(self, who: Person, name: str, since: str) -> list[Json]:
        """Everything after a moment, page by page as a client asks for it."""
        found: list[Json] = []
        more = True
        while more:
            limit = random.randint(1, 50)
            params = {"conversationId": name, "since": since, "limit": limit}
            answer = await self.call(who, "GET", "/messages/list", params=params)
            assert answer.status_code == 200, answer.text
            found += answer.json()["messages"]
            more = answer.json()["hasMore"]
            since = found[-1]["createdAt"] if found else since
        return found


@pytest.fixture(scope="module")
async def doors(settings: Settings, database_url: str, clock: FakeClock) -> AsyncIterator[Doors]:
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(2):
            rooms = await stack.enter_async_context(Rooms(settings, database_url, clock=clock))
            transport = httpx.ASGITransport(app=http_app(rooms))
            client = httpx.AsyncClient(transport=transport, base_url="http://greenroom.test")
            clients.append(await stack.enter_async_context(client))
        yield Doors(clients, jwt_secret(settings), clock)


def pair(one: Person, other: Person) -> str:
    return "conv_" + "_".join(sorted((one.id, other.id)))


@pytest.mark.parametrize("attempt", range(5))
async def test_first_sends_of_both_at_once_end_in_one_thread(
    api: Api, doors: Doors, attempt: int
) -> None:
    ann, bob = await api.people("ann", "bob")
    sends = [
        doors.send(*((ann, bob) if number % 2 else (bob, ann)), str(number)) for number in range(20)
    ]
    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*sends)
    assert [each.status_code for each in answers] == [201] * 20
    for person in (ann, bob):
        [item] = (await person.inbox())["items"]
        said = await person.messages(item["thread"]["id"])
        assert sorted(each["body"] for each in said) == sorted(map(str, range(20)))
        assert {each["id"] for each in await person.poll(pair(ann, bob))} == {
            each.json()["message"]["id"] for each in answers
        }
        assert (await person.row(item["thread"]["id"]))["unread_count"] == 10


async def test_first_sends_meet_starts_blocks_and_joins_without_a_deadlock(
    api: Api, doors: Doors
) -> None:
    people = await api.people("ann", "bob", "carl", "dora")

    async def bother(number: int) -> None:
        choose = random.Random(number)
        for _ in range(12):
            one, other, third = choose.sample(people, 3)
            act = choose.randrange(5)
            if act <= 1:
                answer = await doors.send(one, other, "hello")
                assert answer.status_code in (201, 403), answer.text
            elif act == 2:
                new = {"kind": "inquiry", "to": other.id, "first_message": one.draft()}
                answer = await doors.call(one, "POST", "/v1/threads", json=new)
                assert answer.status_code in (201, 403), answer.text
            elif act == 3:
                await doors.call(one, "POST", "/v1/blocks", json={"user_id": other.id})
                await doors.call(one, "DELETE", f"/v1/blocks/{other.id}")
            else:
                for each in (await one.inbox(limit=3))["items"]:
                    path = f"/v1/threads/{each['thread']['id']}/participants"
                    body = {"user_id": third.id, "role": "host"}
                    answer = await doors.call(one, "POST", path, json=body)
                    assert answer.status_code < 500, answer.text
                    answer = await doors.call(third, "DELETE", f"{path}/me")
                    assert answer.status_code < 500, answer.text

    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*(bother(number) for number in range(6)))


async def test_one_key_is_one_message_however_often_it_is_tried(api: Api, doors: Doors) -> None:
    ann, bob, carl = await api.people("ann", "bob", "carl")
    tries = [doors.send(ann, bob, "once", key="k") for _ in range(10)]
    answers = await asyncio.gather(*tries)
    assert sorted(each.status_code for each in answers) == [200] * 9 + [201]
    assert len({each.json()["message"]["id"] for each in answers}) == 1
    sends = [doors.send(ann, each, "same", key="other") for each in (carl, bob) * 4]
    codes = [each.status_code for each in await asyncio.gather(*sends)]
    assert sorted(set(codes)) == [200, 201, 422]
    assert codes.count(201) == 1


async def test_polling_never_misses_what_is_written_meanwhile(api: Api, doors: Doors) -> None:
    ann, bob = await api.people("ann", "bob")
    opened = await ann.write_to(bob, "start")
    [thread_id] = [each["thread"]["id"] for each in (await ann.inbox())["items"]]
    name = pair(ann, bob)
    writing = WRITERS

    async def write(number: int) -> None:
        nonlocal writing
        for each in range(SENDS_EACH):
            sender, receiver = (ann, bob) if random.random() < 0.5 else (bob, ann)
            if random.random() < 0.5:
                answer = await doors.send(sender, receiver, f"{number} {each}")
            else:
                path = f"/v1/threads/{thread_id}/messages"
                body = sender.draft(f"{number} {each}")
                answer = await doors.call(sender, "POST", path, json=body)
            assert answer.status_code == 201
            # Clocks stand still, run and are set back.
            api.clock.advance(seconds=random.choice([-0.005, 0, 0, 0.001, 0.02]))
        writing -= 1

    async def follow(reader: Person) -> list[str]:
        seen = [opened]
        while True:
            is_last = writing == 0
            seen += await doors.poll(reader, name, seen[-1]["createdAt"])
            if is_last:
                return [each["content"] for each in seen]

    async with asyncio.timeout(PATIENCE_S):
        jobs = [write(number) for number in range(WRITERS)]
        of_ann, of_bob, *_ = await asyncio.gather(follow(ann), follow(bob), *jobs)
    stored = [each["content"] for each in await doors.poll(ann, name, "0")]
    assert of_ann == of_bob == stored
    assert len(set(stored)) == len(stored) == WRITERS * SENDS_EACH + 1
