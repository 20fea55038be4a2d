"""What the client does when a stream ends or does not open."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import httpx
import pytest

from greenroom_client.errors import (
    BrokenOffError,
    ClosedError,
    NotOpenedError,
    Problem,
    UnreachableError,
)
from greenroom_client.limits import ClientLimits
from greenroom_client.tokens import Token
from greenroom_client.transport import Sink, StreamEndedError

from .fake_server import jwt, problem
from .rig import Rig, ending, failing, stay
from .virtual_time import now_s, run_virtually

Story = Callable[[], Coroutine[Any, Any, None]]


async def time_to_return(rig: Rig) -> float:
    """From the end of the WebSocket, which lives a minute, to the next attempt."""
    began_s = now_s()
    rig.feed.start()
    transport = rig.transports["ws"]
    await transport.has_begun.wait_for(lambda: len(transport.began) == 2)
    return now_s() - began_s - 60


@pytest.mark.parametrize(
    ("code", "wait_s"),
    [
        (1000, 0.25),
        (1001, 0.25),
        (1006, 0.25),
        (1011, 0.25),
        (1012, 2.5),
        (4401, 0),
        (4408, 0),
        (4500, 30),
    ],
)
def test_it_comes_back_soon_after(code: int, wait_s: float) -> None:
    """The dice always say one half."""

    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(code))]
            assert await time_to_return(rig) == pytest.approx(wait_s, abs=0.02)

    run_virtually(story())


def test_it_comes_back_ten_seconds_after_too_many_frames() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(4429))]
            assert await time_to_return(rig) == pytest.approx(10, abs=0.02)

    run_virtually(story())


def test_it_waits_as_long_as_the_farewell_says() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(1012, retry_after_s=4))]
            assert await time_to_return(rig) == pytest.approx(4, abs=0.02)

    run_virtually(story())


@pytest.mark.parametrize(("code", "is_up"), [(1006, False), (1012, False), (4408, True)])
def test_sends_wait_only_if_the_server_itself_seems_gone(code: int, is_up: bool) -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(code, retry_after_s=30))]
            rig.feed.start()
            await asyncio.sleep(70)
            assert (rig.open_transport(), rig.link.is_up) == (None, is_up)
            await asyncio.sleep(30)
            assert (rig.open_transport(), rig.link.is_up) == ("ws", True)

    run_virtually(story())


def test_a_stream_whose_token_has_ended_comes_back_with_another() -> None:
    async def story() -> None:
        numbers = itertools.count(1)
        async with Rig(token=lambda: f"token {next(numbers)}") as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(4401))]
            assert (await rig.tokens.get()).text == "token 1"
            rig.feed.start()
            await asyncio.sleep(100)
            assert (await rig.tokens.get()).text == "token 2"

    run_virtually(story())


@pytest.mark.parametrize("code", [1009, 4400, 4403])
def test_it_does_not_come_back_after(code: int) -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(code, "no"))]
            rig.feed.start()
            with pytest.raises(ClosedError) as caught:
                await rig.handover.next()
            assert caught.value.code == code
            await asyncio.sleep(3600)
            assert rig.attempts() == {"ws": 1}

    run_virtually(story())


def test_a_code_of_the_future_says_itself_whether_to_come_back() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(4999)), stay]
            rig.feed.start()
            await asyncio.sleep(100)
            assert rig.attempts() == {"ws": 2}
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(4999, reconnect=False))]
            rig.feed.start()
            with pytest.raises(ClosedError):
                await rig.handover.next()

    run_virtually(story())


def test_one_device_too_many_comes_back_when_the_person_does() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [ending(StreamEndedError(4409))]
            rig.activity.touch()
            rig.feed.start()
            await asyncio.sleep(3600)
            assert rig.attempts() == {"ws": 1}
            # Sends of someone who is not on the feed make their own way.
            async with rig.link.turn():
                pass
            rig.activity.touch()
            await asyncio.sleep(1)
            assert rig.attempts() == {"ws": 2}

    run_virtually(story())


def test_while_nothing_answers_the_best_transport_is_tried_less_and_less_often() -> None:
    async def story() -> None:
        async with Rig(otherwise=failing(UnreachableError("refused"))) as rig:
            rig.feed.start()
            await asyncio.sleep(600)
            # The waits are half of 0.5, 1, 2, 4, 8 and 16 seconds, and then of 30 each.
            assert rig.attempts() == {"ws": 7 + int((600 - 15.75) / 15)}
            assert not rig.link.is_up
            assert rig.server.requests == []

    run_virtually(story())


@pytest.mark.parametrize(
    "error",
    [
        NotOpenedError("no upgrade"),
        BrokenOffError("cut in the handshake"),
        Problem(404, "NOT_FOUND"),
        Problem(403),
        Problem(502),
        Problem(426),
    ],
    ids=str,
)
def test_if_the_server_answers_and_a_transport_does_not_open_the_next_one_is_used(
    error: Exception,
) -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].otherwise = failing(error)
            rig.transports["sse"].otherwise = failing(error)
            rig.feed.start()
            await asyncio.sleep(30)
            assert rig.open_transport() == "long-poll"
            assert rig.attempts() == {"ws": 2, "sse": 2, "long-poll": 1}
            assert rig.link.is_up

    run_virtually(story())


def test_a_handshake_that_breaks_while_nothing_else_answers_is_no_fault_of_the_transport() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.server.refuse = lambda _request: problem(503, "UNAVAILABLE")
            rig.transports["ws"].plan = [failing(BrokenOffError("cut"))]
            rig.feed.start()
            await asyncio.sleep(300)
            assert rig.attempts() == {"ws": 1}
            assert not rig.link.is_up
            rig.server.refuse = lambda _request: None
            await asyncio.sleep(40)
            assert rig.open_transport() == "ws"

    run_virtually(story())


def test_a_transport_that_opens_and_breaks_at_once_again_and_again_does_not_work() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].otherwise = ending(StreamEndedError(1006), after_s=0.1)
            rig.feed.start()
            await asyncio.sleep(30)
            assert rig.open_transport() == "sse"
            assert rig.attempts()["ws"] == 2

    run_virtually(story())


def test_long_polls_that_a_proxy_cuts_become_polls() -> None:
    async def story() -> None:
        async with Rig(kinds=("long-poll", "poll")) as rig:
            rig.transports["long-poll"].otherwise = ending(Problem(504), after_s=10)
            rig.feed.start()
            await asyncio.sleep(30)
            assert rig.open_transport() == "poll"

    run_virtually(story())


def test_a_server_that_has_no_room_is_given_time_before_a_lesser_transport_is_tried() -> None:
    async def story() -> None:
        full = Problem(503, "UNAVAILABLE", retry_after_s=10)
        async with Rig() as rig:
            rig.transports["ws"].plan = [failing(full)] * 4
            rig.feed.start()
            await asyncio.sleep(60)
            assert rig.open_transport() == "ws"
            assert rig.server.requests == []
        async with Rig() as rig:
            rig.transports["ws"].otherwise = failing(full)
            rig.feed.start()
            await asyncio.sleep(600)
            assert rig.open_transport() == "sse"

    run_virtually(story())


def test_better_transports_are_tried_again_beside_the_one_in_use() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.transports["ws"].plan = [failing(NotOpenedError("no"))] * 4
            rig.feed.start()
            await asyncio.sleep(55)
            assert rig.open_transport() == "sse"
            # A minute later, then two minutes later, in vain; four minutes later it works.
            await asyncio.sleep(60 + 120 + 10)
            assert rig.open_transport() == "sse"
            assert rig.attempts() == {"ws": 4, "sse": 1}
            await asyncio.sleep(240)
            assert rig.open_transport() == "ws"
            assert rig.attempts() == {"ws": 6, "sse": 1}

    run_virtually(story())


def test_a_server_that_takes_connections_only_to_drop_them_is_not_hammered() -> None:
    async def story() -> None:
        limits = ClientLimits()
        async with Rig(kinds=("ws",), limits=limits) as rig:
            rig.transports["ws"].otherwise = ending(StreamEndedError(4408), after_s=0)
            rig.feed.start()
            await asyncio.sleep(600)
            most = 10 * (limits.stream_retries + 60 / limits.poll_open_s)
            assert len(rig.transports["ws"].began) <= most + limits.stream_retries

    run_virtually(story())


def test_a_fixed_token_that_is_refused_ends_the_feed() -> None:
    async def story() -> None:
        refused = failing(Problem(401, "UNAUTHENTICATED"))
        async with Rig(token="fixed", otherwise=refused) as rig:
            rig.feed.start()
            with pytest.raises(Problem) as caught:
                await rig.handover.next()
            assert caught.value.status == 401
            assert rig.attempts() == {"ws": 1}

    run_virtually(story())


def test_other_tokens_are_tried_a_few_times() -> None:
    async def story() -> None:
        refused = failing(Problem(401, "UNAUTHENTICATED"))
        async with Rig(token=lambda: "another") as rig:
            rig.transports["ws"].plan = [refused, refused]
            rig.feed.start()
            await asyncio.sleep(60)
            assert rig.open_transport() == "ws"
        async with Rig(token=lambda: "another", otherwise=refused) as rig:
            rig.feed.start()
            with pytest.raises(Problem):
                await rig.handover.next()
            assert rig.attempts() == {"ws": 3}

    run_virtually(story())


def test_someone_who_may_not_connect_is_told_so() -> None:
    async def story() -> None:
        async with Rig(otherwise=failing(Problem(403, "FORBIDDEN"))) as rig:
            rig.feed.start()
            with pytest.raises(Problem):
                await rig.handover.next()
            with pytest.raises(Problem):
                await rig.feed.use("poll")

    run_virtually(story())


def test_a_mistake_of_ours_reaches_the_application() -> None:
    async def story() -> None:
        async with Rig(otherwise=failing(KeyError("oops"))) as rig:
            rig.feed.start()
            with pytest.raises(KeyError):
                await rig.handover.next()

    run_virtually(story())


def test_a_closed_chat_has_no_feed_until_it_is_opened() -> None:
    async def story() -> None:
        async with Rig() as rig:
            rig.feed.start()
            await asyncio.sleep(1)
            assert rig.open_transport() == "ws"
            rig.activity.set_level("closed")
            rig.feed.interrupt()
            await asyncio.sleep(3600)
            assert (rig.open_transport(), rig.attempts()) == (None, {"ws": 1})
            rig.activity.set_level("open")
            await asyncio.sleep(1)
            assert rig.open_transport() == "ws"

    run_virtually(story())


class FakeLine:
    def __init__(self, token: Token) -> None:
        self.token = token
        self.renewed: list[str] = []
        self.failures = 0

    async def renew(self, token: Token) -> None:
        if self.failures:
            self.failures -= 1
            raise BrokenOffError("not now")
        self.renewed.append(token.text)
        self.token = token


def test_an_open_stream_is_told_of_each_token_before_the_last_one_ends() -> None:
    async def story() -> None:
        asked: list[float] = []

        def fresh() -> str:
            asked.append(now_s())
            return jwt(now_s() + 600)

        async with Rig(token=fresh) as rig:
            lines: list[FakeLine] = []

            async def open_line(_since: str | None, sink: Sink) -> NoReturn:
                lines.append(FakeLine(await rig.tokens.get()))
                sink.opened(lines[-1])
                await asyncio.get_running_loop().create_future()
                raise AssertionError

            rig.transports["ws"].otherwise = open_line
            rig.feed.start()
            await asyncio.sleep(1)
            lines[0].failures = 2
            await asyncio.sleep(1750)
            assert len(lines) == 1
            assert len(lines[0].renewed) == 3
            assert asked == [1000, 1540, 2080, 2620]

    run_virtually(story())


def test_a_request_that_something_else_answers_is_a_problem_without_a_code() -> None:
    answer = httpx.Response(502, content=b"<html>Bad Gateway")
    found = Problem.of_answer(answer.status_code, answer.headers, answer.content)
    assert (found.status, found.code, found.is_away) == (502, "", True)
