"""A stream ends with its token, and when its person is erased."""

from __future__ import annotations

import pytest

from greenroom.kernel.clock import rfc3339
from greenroom.realtime.actions import GONE_CHECK_S
from tests.support.api import Api, Person
from tests.support.clock import FakeClock

from .listeners import EventSource, WebSocket, until
from .server import STREAMS, Server, token_of

TOKEN_ENDED = 4401
NOT_WELCOME = 4403


async def renew(server: Server, person: Person, stream_id: str, token: str) -> None:
    headers = {"authorization": f"Bearer {token}"}
    path = f"/v1/streams/{stream_id}/renew"
    answer = await server.call(person, "POST", path, headers=headers)
    assert answer.status_code == 204, answer.text


def end_of(server: Server, stream_id: str) -> float:
    return server.rooms.realtime.streams._by_id[stream_id].expires_at_ms


@pytest.mark.parametrize("transport", STREAMS)
class TestTokenEnd:
    async def test_ends_the_stream_after_a_little_leeway(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        async with server.stream(transport, bob, token=token_of(bob, ttl_s=60)) as stream:
            clock.advance(seconds=64)
            await server.beat()
            assert bob.id in server.open_for
            clock.advance(seconds=1)
            await server.beat()
            assert await stream.ended() == TOKEN_ENDED
        assert bob.id not in server.open_for

    async def test_is_put_off_by_a_fresh_token(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with server.stream(transport, bob, token=token_of(bob, ttl_s=60)) as stream:
            clock.advance(seconds=50)
            fresh = token_of(bob, ttl_s=60)
            if isinstance(stream, WebSocket):
                assert (await stream.ask("auth", token=fresh))["type"] == "done"
            else:
                await renew(server, bob, stream.hello["stream"], fresh)
            clock.advance(seconds=50)
            await server.beat()
            assert await stream.hear_until(await ann.send(thread_id))
            clock.advance(seconds=15)
            await server.beat()
            assert await stream.ended() == TOKEN_ENDED

    async def test_ends_everybodys_streams_on_every_server(
        self, api: Api, server: Server, other: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        token = token_of(bob, ttl_s=60)
        async with (
            server.stream(transport, bob, token=token) as here,
            other.stream(transport, bob, token=token) as there,
        ):
            clock.advance(seconds=66)
            await server.beat()
            await other.beat()
            assert [await here.ended(), await there.ended()] == [TOKEN_ENDED] * 2

    async def test_is_not_brought_nearer_by_an_older_token(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        async with server.stream(transport, bob, token=token_of(bob, ttl_s=600)) as stream:
            older = token_of(bob, ttl_s=60)
            if isinstance(stream, WebSocket):
                await stream.ask("auth", token=older)
            else:
                await renew(server, bob, stream.hello["stream"], older)
            clock.advance(seconds=66)
            await server.beat()
            assert bob.id in server.open_for

    async def test_of_an_erased_person_is_now(
        self, api: Api, server: Server, other: Server, transport: str
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        async with (
            other.stream(transport, bob) as stream,
            other.stream(transport, ann),
        ):
            await server.rooms.accounts.erase_user(bob.id)
            await other.beat(GONE_CHECK_S)
            assert await stream.ended() == NOT_WELCOME
            assert ann.id in other.open_for
        refusal = await server.refusal(transport, bob)
        assert refusal == (401, "UNAUTHENTICATED")


class TestWebSocket:
    async def test_takes_no_token_of_another_person(
        self, api: Api, server: Server, clock: FakeClock
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        async with server.websocket(bob, token=token_of(bob, ttl_s=60)) as socket:
            ended = token_of(bob, ttl_s=10)
            clock.advance(seconds=16)
            for token in (token_of(ann), ended, "none", api.backend.authorization()[7:]):
                assert await socket.refusal("auth", token=token) == (401, "UNAUTHENTICATED")
            clock.advance(seconds=50)
            await server.beat()
            assert await socket.ended() == TOKEN_ENDED


class TestEventSource:
    async def test_says_how_it_ends_and_when_to_come_back(
        self, api: Api, server: Server, clock: FakeClock
    ) -> None:
        [bob] = await api.people("bob")
        async with server.event_source(bob, token=token_of(bob, ttl_s=60)) as source:
            assert source.hello["expires_at"] == rfc3339(clock() // 1000 * 1000 + 60_000)
            clock.advance(seconds=66)
            await server.beat()
            close = await source.farewell()
        assert (close["code"], close["reconnect"]) == (TOKEN_ENDED, True)
        assert 0 <= close["retry_after_ms"] <= 1000
        assert close["reason"]

    async def test_is_renewed_from_another_server(
        self, api: Api, server: Server, other: Server, clock: FakeClock
    ) -> None:
        [bob] = await api.people("bob")
        async with other.event_source(bob, token=token_of(bob, ttl_s=60)) as source:
            stream_id = source.hello["stream"]
            await renew(server, bob, stream_id, token_of(bob, ttl_s=300))
            await until(lambda: end_of(other, stream_id) == clock() // 1000 * 1000 + 300_000)

    async def test_is_not_renewed_by_anybody_else(
        self, api: Api, server: Server, other: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        async with (
            other.event_source(bob, token=token_of(bob, ttl_s=60)) as his,
            other.event_source(ann, token=token_of(ann, ttl_s=60)) as hers,
        ):
            ids = [source.hello["stream"] for source in (his, hers)]
            before = end_of(other, ids[0])
            await renew(server, ann, ids[0], token_of(ann, ttl_s=300))
            # Hints come in order: once hers is renewed, the one before has been heard too.
            await renew(server, ann, ids[1], token_of(ann, ttl_s=300))
            await until(lambda: end_of(other, ids[1]) > before)
            assert end_of(other, ids[0]) == before

    @pytest.mark.parametrize("stream_id", ["str_01a3185c5000y5zqmjwsmk1jcb", "nonsense", "a,b"])
    async def test_that_is_not_there_is_renewed_in_vain(
        self, api: Api, server: Server, stream_id: str
    ) -> None:
        [bob] = await api.people("bob")
        await renew(server, bob, stream_id, token_of(bob))

    async def test_is_not_renewed_with_an_ended_token_or_a_key(
        self, api: Api, server: Server, clock: FakeClock
    ) -> None:
        [bob] = await api.people("bob")
        async with server.event_source(bob) as source:
            assert isinstance(source, EventSource)
            path = f"/v1/streams/{source.hello['stream']}/renew"
            ended = {"authorization": f"Bearer {token_of(bob, ttl_s=10)}"}
            clock.advance(seconds=16)
            assert (await server.call(bob, "POST", path, headers=ended)).status_code == 401
            assert (await server.call(None, "POST", path)).status_code == 401
            assert (await server.call(api.backend, "POST", path)).status_code == 403
