"""Servers, workers and the payment provider are killed while people accept what costs money:
everything that was accepted is charged, once."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from tests.support import IS_FULL

from .databases import Database
from .talk import all_done
from .till import Program, Till

DEALS, CARDS, KILLS = (30, 20, 60) if IS_FULL else (3, 4, 3)


@pytest.fixture
async def till(home: Path, database: Database) -> AsyncIterator[Till]:
    made = Till(home, database.environment)
    await made.open()
    yield made
    await made.close()


async def test_whoever_is_killed_each_accepted_card_is_charged_once(
    till: Till, seed: random.Random
) -> None:
    for number in range(DEALS):
        await till.make_deal(number, CARDS)
    moments = sorted(seed.sample(range(DEALS * CARDS), KILLS))

    async def kill_server() -> None:
        await till.server.die()
        await till.server.begin()

    async def kill_program(program: Program) -> None:
        await program.kill()
        program.start()

    kill: list[Callable[[], Awaitable[None]]] = [
        kill_server,
        partial(kill_program, till.worker),
        partial(kill_program, till.provider),
    ]
    seed.shuffle(kill)

    async def strike() -> None:
        for number, moment in enumerate(moments):
            await till.until_accepted(moment)
            for _ in range(seed.randrange(200)):
                await asyncio.sleep(0)
            # Each has its turn, also when there are few.
            await kill[number % len(kill)]()

    await all_done(strike(), *(till.accept_all(deal) for deal in till.deals))
    await till.until_paid()
    await till.check()
