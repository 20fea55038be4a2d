"""Who may open a stream, and how everybody else is turned away: before it opens, with a problem."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from greenroom.platform.logs import configure_logging
from greenroom.settings import Settings
from tests.support.api import Api
from tests.support.clock import FakeClock

from .listeners import HANDSHAKE
from .server import STREAMS, Server, check_problem, token_of

SHOP = "https://shop.example"
OWN_CLIENTS = ("websockets.", "httpx", "httpcore")


@pytest.fixture(scope="module")
def settings(settings: Settings) -> Settings:
    return replace(settings, allowed_origins=(SHOP,), access_log=True)


@pytest.mark.parametrize("transport", STREAMS)
class TestRefused:
    async def test_nobody_without_a_token(self, server: Server, transport: str) -> None:
        assert await server.refusal(transport, None) == (401, "UNAUTHENTICATED")
        assert await server.refusal(transport, None, token="none") == (401, "UNAUTHENTICATED")

    async def test_not_with_a_token_that_has_ended(
        self, api: Api, server: Server, clock: FakeClock, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        token = token_of(bob, ttl_s=60)
        clock.advance(seconds=66)
        assert await server.refusal(transport, bob, token=token) == (401, "UNAUTHENTICATED")

    async def test_not_the_backend(self, api: Api, server: Server, transport: str) -> None:
        assert await server.refusal(transport, api.backend) == (403, "FORBIDDEN")

    async def test_outsider_cannot_watch(self, api: Api, server: Server, transport: str) -> None:
        ann, bob, carl, dora = await api.people("ann", "bob", "carl", "dora")
        theirs, own = await ann.thread_with(bob), await carl.thread_with(dora)
        for somewhere in (theirs, "thr_019e33c9ac00zzzzzzzzzzzzzz"):
            watch = f"{own},{somewhere}"
            refusal = await server.refusal(transport, carl, watch=watch)
            assert refusal == (404, "THREAD_NOT_FOUND")
        too_many = ",".join(f"thr_{number}" for number in range(51))
        assert await server.refusal(transport, carl, watch=too_many) == (400, "INVALID_REQUEST")

    async def test_not_with_parameters_that_mean_nothing(
        self, api: Api, server: Server, transport: str
    ) -> None:
        [bob] = await api.people("bob")
        refusal = await server.refusal(transport, bob, wait="30")
        assert refusal == (400, "INVALID_REQUEST")

    async def test_not_at_another_address(self, api: Api, server: Server, transport: str) -> None:
        [bob] = await api.people("bob")
        for path in ("/v1/wss", "/v1/ws/", "/v1"):
            assert await server.refusal(transport, bob, path=path) == (404, "NOT_FOUND")
        assert bob.id not in server.open_for


class TestOrigin:
    @pytest.mark.parametrize(
        "origin", ["https://evil.example", "null", "", "https://shop.example.evil.example",
                   "http://shop.example", "https://SHOP.example"],
    )  # fmt: skip
    async def test_pages_of_others_cannot_connect(
        self, api: Api, server: Server, origin: str
    ) -> None:
        [bob] = await api.people("bob")
        refusal = await server.refusal("websocket", bob, headers={"origin": origin})
        assert refusal == (403, "FORBIDDEN")
        assert bob.id not in server.open_for

    async def test_ones_own_pages_and_those_allowed_can(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        for origin in (SHOP, f"http://{server.address}", f"https://{server.address}"):
            async with server.stream("websocket", bob, headers={"origin": origin}):
                pass

    async def test_pages_that_are_allowed_may_read_the_refusal(self, server: Server) -> None:
        problem = await server.problem("websocket", None, headers={"origin": SHOP})
        assert problem.headers["access-control-allow-origin"] == SHOP


class TestBrokenHandshake:
    async def test_without_an_upgrade_there_is_nothing(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        answer = await server.call(bob, "GET", "/v1/ws")
        check_problem(answer)
        assert answer.status_code == 404

    @pytest.mark.parametrize(
        "wrong",
        [
            {"sec-websocket-key": ""},
            {"sec-websocket-key": "short"},
            {"x-long": "x" * 9000},
            {f"x-{number}": "many" for number in range(200)},
        ],
    )
    async def test_is_refused_with_a_problem_too(
        self, api: Api, server: Server, wrong: dict[str, str]
    ) -> None:
        [bob] = await api.people("bob")
        answer = await server.call(bob, "GET", "/v1/ws", headers={**HANDSHAKE, **wrong})
        check_problem(answer)
        assert answer.status_code == 400

    async def test_is_a_get_with_a_short_address_and_nothing_after_it(
        self, api: Api, server: Server
    ) -> None:
        [bob] = await api.people("bob")
        for answer in (
            await server.call(bob, "POST", "/v1/ws", headers=HANDSHAKE),
            await server.call(bob, "GET", "/v1/ws", headers=HANDSHAKE, since="x" * 9000),
            await server.call(bob, "GET", "/v1/ws", headers=HANDSHAKE, json={}),
        ):
            check_problem(answer)
            assert answer.status_code == 400


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """The log as `greenroom serve` would write it if it were told to say everything."""
    root, uvicorn = logging.getLogger(), logging.getLogger("uvicorn")
    before = root.handlers[:], root.level, uvicorn.level
    written = io.StringIO()
    configure_logging(logging.DEBUG, written)
    yield written
    root.handlers[:], level, uvicorn_level = before
    root.setLevel(level)
    uvicorn.setLevel(uvicorn_level)


async def test_no_ticket_token_or_text_is_in_the_log(
    api: Api, server: Server, log: io.StringIO
) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    token, fresh = token_of(bob), token_of(bob, ttl_s=1200)
    tickets = [await server.ticket(bob) for _ in range(4)]
    for transport, ticket in zip(STREAMS * 2, tickets, strict=True):
        async with server.stream(transport, None, ticket=ticket):
            pass
        assert await server.refusal(transport, None, ticket=ticket) == (401, "UNAUTHENTICATED")
        assert (await server.refusal(transport, None, ticket=ticket, wait="1"))[0] in (400, 401)
    async with server.websocket(bob, token=token) as socket:
        await socket.ask("auth", token=fresh)
        await socket.ask("auth", token=fresh + "x")
        await socket.ask("send", thread_id=thread_id, client_id="one", body="between us")
        await socket.say("between us")
        await socket.ended()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    ours = [each for each in lines if not each["logger"].startswith(OWN_CLIENTS)]
    said = json.dumps(ours)
    assert {"WS", "GET", "POST"} <= {each.get("method") for each in ours}
    for secret in (*tickets, token, fresh, "between us"):
        assert secret not in said
    assert [each for each in ours if each["level"] in ("error", "critical")] == []
