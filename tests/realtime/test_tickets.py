"""Tickets: one use, one person, 30 seconds, one origin."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from greenroom.settings import Settings
from tests.support.api import Api, Person
from tests.support.clock import FakeClock

from .listeners import Stream
from .server import STREAMS, RefusedError, Server, token_of

SHOP, FORUM = "https://shop.example", "https://forum.example"
UNKNOWN = (401, "UNAUTHENTICATED")


@pytest.fixture(scope="module")
def settings(settings: Settings) -> Settings:
    return replace(settings, allowed_origins=(SHOP, FORUM))


async def whose(stream: Stream, api: Api, person: Person) -> bool:
    """Whether this stream tells what this person hears."""
    [friend] = await api.people("friend")
    started = await friend.start(person)
    return bool(await stream.hear_until(started["message"]))


@pytest.mark.parametrize("transport", STREAMS)
class TestTicket:
    async def test_opens_its_owners_stream_once(
        self, api: Api, server: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob)
        async with server.stream(transport, None, ticket=ticket) as stream:
            assert await whose(stream, api, bob)
            for again in STREAMS:
                assert await server.refusal(again, None, ticket=ticket) == UNKNOWN

    async def test_works_on_any_server(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob)
        async with other.stream(transport, None, ticket=ticket) as stream:
            assert await whose(stream, api, bob)
        assert await server.refusal(transport, None, ticket=ticket) == UNKNOWN

    async def test_lives_half_a_minute(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        early, late = await server.ticket(bob), await server.ticket(bob)
        clock.advance(seconds=29)
        async with server.stream(transport, None, ticket=early):
            pass
        clock.advance(seconds=2)
        assert await server.refusal(transport, None, ticket=late) == UNKNOWN

    async def test_lives_no_longer_when_the_clock_is_set_back(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob)
        clock.advance(minutes=-1)
        assert await server.refusal(transport, None, ticket=ticket) == UNKNOWN

    async def test_is_for_the_page_that_asked_for_it(
        self, api: Api, server: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob, origin=SHOP)
        elsewhere = {"origin": FORUM}
        refusal = await server.refusal(transport, None, headers=elsewhere, ticket=ticket)
        assert refusal == UNKNOWN
        # Whoever tries has used it up.
        here = {"origin": SHOP}
        assert await server.refusal(transport, None, headers=here, ticket=ticket) == UNKNOWN
        ticket = await server.ticket(bob, origin=SHOP)
        async with server.stream(transport, None, headers=here, ticket=ticket):
            pass

    async def test_beside_a_token_must_be_the_same_persons(
        self, api: Api, server: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        ticket = await server.ticket(bob)
        assert await server.refusal(transport, ann, ticket=ticket) == UNKNOWN
        ticket = await server.ticket(bob)
        async with server.stream(transport, bob, ticket=ticket) as stream:
            assert await whose(stream, api, bob)

    async def test_that_nobody_was_given_opens_nothing(
        self, api: Api, server: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob)
        for wrong in ("grt_", "x" * 5000, "grt_é", ticket + "x", ticket.upper(), token_of(bob)):
            assert await server.refusal(transport, None, ticket=wrong) == UNKNOWN
            # Not even with a token that would do alone.
            assert await server.refusal(transport, bob, ticket=wrong) == UNKNOWN

    async def test_of_someone_erased_opens_nothing(
        self, api: Api, server: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob)
        await server.rooms.accounts.erase_user(bob.id)
        assert await server.refusal(transport, None, ticket=ticket) == UNKNOWN

    async def test_is_won_by_one_of_many_who_try(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        ticket = await server.ticket(bob)

        async def attempt(at: Server) -> int:
            try:
                async with at.stream(transport, None, ticket=ticket):
                    return 200
            except RefusedError as refused:
                return refused.answer.status_code

        outcomes = await asyncio.gather(*(attempt(at) for at in (server, other) * 10))
        assert sorted(outcomes) == [200] + [401] * 19

    async def test_ends_when_the_token_it_stands_for_does(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        headers = {"authorization": f"Bearer {token_of(bob, ttl_s=40)}"}
        answer = await server.call(None, "POST", "/v1/tickets", headers=headers)
        async with server.stream(transport, None, ticket=answer.json()["ticket"]) as stream:
            clock.advance(seconds=46)
            await server.beat()
            assert await stream.ended() == 4401


async def test_backend_and_strangers_are_given_none(api: Api, server: Server) -> None:
    answer = await server.call(api.backend, "POST", "/v1/tickets")
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert (await server.call(None, "POST", "/v1/tickets")).status_code == 401


async def test_other_calls_take_no_tickets(api: Api, server: Server) -> None:
    [bob] = await api.people("bob")
    ticket = await server.ticket(bob)
    assert (await server.call(None, "GET", "/v1/sync", ticket=ticket)).status_code == 401
    assert (await server.call(bob, "GET", "/v1/sync", ticket=ticket)).status_code == 400


async def test_only_a_hash_is_kept_and_that_not_for_long(
    api: Api, server: Server, clock: FakeClock, pool: asyncpg.Pool
) -> None:
    [bob] = await api.people("bob")
    ticket = await server.ticket(bob)
    rows = await pool.fetch("select ticket::text from ticket where user_id = $1", bob.id)
    assert len(rows) == 1
    assert ticket not in rows[0]["ticket"]
    assert ticket.encode().hex() not in rows[0]["ticket"]
    clock.advance(seconds=31)
    assert (await server.rooms.prune())["ticket"] >= 1
    assert await pool.fetchval("select count(*) from ticket") == 0
