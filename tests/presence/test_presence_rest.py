"""The calls of presence: anonymous, the backend, outsiders, members, and repeats."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import asyncpg
import httpx
import pytest

from greenroom.kernel.limits import Limits
from greenroom.platform.http.app import HttpApp
from greenroom.presence.postgres.store import PostgresPresence
from greenroom.presence.rest import PresenceRest
from tests.support.api import Api, Json, Person
from tests.support.clock import FakeClock

if TYPE_CHECKING:
    from .servers import TwoServers

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"
CALLS: list[tuple[str, str, Any]] = [("PUT", "typing", {"on": True}), ("GET", "presence", None)]


@pytest.fixture
def store(pool: asyncpg.Pool, limits: Limits) -> PostgresPresence:
    """Where the API keeps its threads."""
    return PostgresPresence(pool, limits=limits)


@pytest.fixture
async def calls(api: Api, servers: TwoServers, clock: FakeClock) -> AsyncIterator[Api]:
    """An API of these calls alone, for the same people."""
    app = HttpApp(
        PresenceRest(servers.here.presence).endpoints(),
        authenticate=api.rooms.accounts.authenticate,
        clock=clock,
    )
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://greenroom.test") as http:
        key = await api.rooms.accounts.create_key("presence")
        yield type(api)(api.rooms, http, clock, key.text)


async def presence(viewer: Person, thread_id: str) -> list[Json]:
    answer = await viewer.get(f"/v1/threads/{thread_id}/presence")
    assert answer.status_code == 200, answer.text
    assert list(answer.json()) == ["items"]
    items: list[Json] = answer.json()["items"]
    return items


async def say(person: Person, thread_id: str, on: bool) -> None:
    answer = await person.put(f"/v1/threads/{thread_id}/typing", {"on": on})
    assert (answer.status_code, answer.content) == (204, b"")


def shown(person: Person, *, online: bool = False, typing: bool = False) -> Json:
    return {"user_id": person.id, "online": online, "typing": typing}


@pytest.mark.parametrize(("method", "noun", "body"), CALLS)
class TestWhoMayCall:
    async def test_nobody_without_a_token(
        self, calls: Api, method: str, noun: str, body: Any
    ) -> None:
        path = f"/v1/threads/{NOWHERE}/{noun}"
        assert await calls.anonymous.refusal(method, path, body) == (401, "UNAUTHENTICATED")

    async def test_not_the_backend(self, calls: Api, method: str, noun: str, body: Any) -> None:
        path = f"/v1/threads/{NOWHERE}/{noun}"
        assert await calls.backend.refusal(method, path, body) == (403, "FORBIDDEN")

    async def test_outsiders_get_the_same_as_for_what_is_not_there(
        self, api: Api, calls: Api, method: str, noun: str, body: Any
    ) -> None:
        ann, bob, carl, dora, emil = await api.people("ann", "bob", "carl", "dora", "emil")
        thread_id = await ann.thread_with(bob, dora)
        await dora.leave(thread_id)
        await emil.block(ann)
        hidden_id = await ann.thread_with(emil)
        outsiders = [(carl, thread_id), (dora, thread_id), (emil, hidden_id), (ann, NOWHERE)]
        for person, somewhere in outsiders:
            answer = await calls.person(person.id).call(
                method, f"/v1/threads/{somewhere}/{noun}", body
            )
            problem = {**answer.json(), "corr_id": ""}
            assert (problem["status"], problem["code"]) == (404, "THREAD_NOT_FOUND")
            assert thread_id not in answer.text


class TestTyping:
    async def test_shows_to_the_others_and_may_be_repeated(self, api: Api, calls: Api) -> None:
        people = await api.people("ann", "bob")
        thread_id = await people[0].thread_with(people[1])
        ann, bob = (calls.person(each.id) for each in people)
        for _ in range(2):
            await say(bob, thread_id, True)
            assert await presence(ann, thread_id) == [shown(bob, typing=True)]
            assert await presence(bob, thread_id) == [shown(ann)]
        for _ in range(2):
            await say(bob, thread_id, False)
            assert await presence(ann, thread_id) == [shown(bob)]

    async def test_ends_by_itself(self, api: Api, calls: Api, clock: FakeClock) -> None:
        people = await api.people("ann", "bob")
        thread_id = await people[0].thread_with(people[1])
        ann, bob = (calls.person(each.id) for each in people)
        await say(bob, thread_id, True)
        clock.advance(seconds=10)
        assert await presence(ann, thread_id) == [shown(bob)]

    @pytest.mark.parametrize("body", [{}, {"on": "yes"}, {"on": None}, {"on": True, "x": 1}, []])
    async def test_takes_a_yes_or_no_and_nothing_else(
        self, api: Api, calls: Api, body: Any
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        path = f"/v1/threads/{thread_id}/typing"
        refusal = await calls.person(ann.id).refusal("PUT", path, body)
        assert refusal == (400, "INVALID_REQUEST")

    async def test_in_a_locked_thread_is_no_error(self, api: Api, calls: Api, pool: Any) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        await pool.execute("update thread set locked = true where thread_id = $1", thread_id)
        await say(calls.person(ann.id), thread_id, True)


class TestPresence:
    async def test_lists_everybody_else_by_id(
        self, api: Api, calls: Api, servers: TwoServers
    ) -> None:
        people = await api.people("dora", "carl", "bob", "ann")
        thread_id = await people[0].thread_with(*people[1:])
        dora, carl, bob, ann = (calls.person(each.id) for each in people)
        await servers.there.presence.seen([carl.id, dora.id])
        await say(carl, thread_id, True)
        assert await presence(dora, thread_id) == [
            shown(ann), shown(bob), shown(carl, online=True, typing=True),
        ]  # fmt: skip
        await people[3].leave(thread_id)
        assert await presence(bob, thread_id) == [
            shown(carl, online=True, typing=True), shown(dora, online=True),
        ]  # fmt: skip

    async def test_a_block_cannot_be_told_from_someone_away(
        self, api: Api, calls: Api, servers: TwoServers
    ) -> None:
        people = await api.people("ann", "bob")
        thread_id = await people[0].thread_with(people[1])
        ann, bob = (calls.person(each.id) for each in people)
        away = [await presence(ann, thread_id), await presence(bob, thread_id)]
        await servers.here.presence.seen([ann.id, bob.id])
        await say(bob, thread_id, True)
        await people[1].block(people[0])
        assert [await presence(ann, thread_id), await presence(bob, thread_id)] == away
