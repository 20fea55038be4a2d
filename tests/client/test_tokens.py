"""Where tokens come from, and when the next one is asked for."""

import asyncio
import math

import pytest

from greenroom_client.errors import UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.tokens import Tokens, TokenSource, read_expiry_s

from .fake_server import jwt
from .virtual_time import now_s, run_virtually, virtual_timing


def tokens(source: TokenSource) -> Tokens:
    return Tokens(source, virtual_timing(), ClientLimits())


@pytest.mark.parametrize(
    "text", ["", "grk_key", "a.b.c", "e30.e30.x", "..", "e30.WzFd.x", "e30.é.x"]
)
def test_what_does_not_say_when_it_ends_never_does(text: str) -> None:
    assert math.isinf(read_expiry_s(text))


def test_a_token_says_when_it_ends() -> None:
    assert read_expiry_s(jwt(1_800_000_000)) == 1_800_000_000


def test_the_application_is_asked_again_a_minute_before_the_end() -> None:
    async def story() -> None:
        asked = []

        async def fresh() -> str:
            asked.append(now_s())
            return jwt(now_s() + 600)

        source = tokens(fresh)
        for _ in range(1200):
            await source.get()
            await asyncio.sleep(1)
        assert asked == [1000, 1540, 2080]

    run_virtually(story())


def test_a_short_lived_token_is_renewed_in_its_last_quarter() -> None:
    async def story() -> None:
        source = tokens(lambda: jwt(now_s() + 8))
        token = await source.get()
        assert token.renew_s == now_s() + 6
        await source.until_due(token)
        assert now_s() == token.renew_s

    run_virtually(story())


def test_many_who_need_a_token_at_once_ask_once() -> None:
    async def story() -> None:
        asked = []

        async def slow() -> str:
            asked.append(1)
            await asyncio.sleep(1)
            return jwt(now_s() + 600)

        source = tokens(slow)
        found = await asyncio.gather(*(source.get() for _ in range(10)))
        assert len(asked) == 1
        assert len({each.text for each in found}) == 1

    run_virtually(story())


def test_a_refused_token_is_replaced_but_only_itself() -> None:
    async def story() -> None:
        numbers = iter(range(10))
        source = tokens(lambda: f"token {next(numbers)}")
        first = await source.get()
        source.refuse(first)
        second = await source.get()
        source.refuse(first)
        assert (await source.get()) is second

    run_virtually(story())


def test_while_the_application_has_none_the_present_token_serves_to_its_end() -> None:
    async def story() -> None:
        given = [jwt(now_s() + 600)]
        source = tokens(given.pop)
        token = await source.get()
        await asyncio.sleep(590)
        assert (await source.get()).text == token.text
        await asyncio.sleep(10)
        with pytest.raises(UnreachableError):
            await source.get()

    run_virtually(story())


def test_a_clock_that_is_fast_does_not_ask_without_end() -> None:
    async def story() -> None:
        asked = []

        def late() -> str:
            asked.append(1)
            return jwt(now_s() - 60)

        source = tokens(late)
        for _ in range(10):
            await source.get()
        assert len(asked) == 1

    run_virtually(story())
