"""A server that is away gets hardly more requests than a healthy one, from clients that poll and
send; and afterwards everything has happened once, in order."""

import asyncio
import random
from dataclasses import dataclass

import httpx

from greenroom_client import Client, ClientLimits

from .fake_server import FakeServer, problem
from .virtual_time import now_s, run_virtually, virtual_timing

CLIENTS = 40
MINUTE_S = 60.0
IDLE = ClientLimits(idle_after_s=0)


@dataclass
class Outcome:
    requests_before: int
    requests: int
    texts: list[list[str]]
    told: list[list[str]]
    events: list[str]


async def _live(client: Client, number: int, chance: random.Random, told: list[str]) -> None:
    """Reads everything, and writes now and then."""

    async def read() -> None:
        async for event in client.events():
            text: str = event["message"]["body"]
            told.append(text)

    reading = asyncio.create_task(read())
    try:
        count = 0
        while True:
            await asyncio.sleep(chance.uniform(2, 20))
            count += 1
            client.enqueue(f"thr_{number}", f"{number}-{count}")
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def _three_minutes(seed: int, *, is_away_in_the_second: bool) -> Outcome:
    chance = random.Random(seed)
    server = FakeServer()
    told: list[list[str]] = [[] for _ in range(CLIENTS)]

    async def one(number: int) -> None:
        own = random.Random(seed + number)
        async with Client(
            "http://greenroom.test",
            "a token",
            transports=("poll",),
            activity=("open", "background")[number % 2],
            limits=IDLE if number % 3 == 0 else None,
            timing=virtual_timing(own.random),
            http=server.transport,
        ) as client:
            await _live(client, number, own, told[number])

    lives = [asyncio.create_task(one(number)) for number in range(CLIENTS)]
    start_s = now_s()
    await asyncio.sleep(MINUTE_S)
    before = len(server.requests)
    if is_away_in_the_second:

        def refuse(_request: httpx.Request) -> httpx.Response:
            return problem(503, "UNAVAILABLE", retry_after_s=round(chance.uniform(1, 3)))

        server.refuse = refuse
    await asyncio.sleep(MINUTE_S)
    during = len(server.requests) - before
    server.refuse = lambda _request: None
    await asyncio.sleep(MINUTE_S)
    assert now_s() - start_s == 3 * MINUTE_S
    for life in lives:
        life.cancel()
    await asyncio.gather(*lives, return_exceptions=True)
    texts = [server.bodies(f"thr_{number}") for number in range(CLIENTS)]
    events = [event["message"]["body"] for event in server.events]
    return Outcome(before, during, texts, told, events)


def test_an_outage_of_a_minute_brings_no_more_than_a_fifth_more_requests(
    seed: random.Random,
) -> None:
    number = seed.randrange(1 << 32)
    healthy = run_virtually(_three_minutes(number, is_away_in_the_second=False))
    outage = run_virtually(_three_minutes(number, is_away_in_the_second=True))
    print(f"a minute of {CLIENTS} clients: {healthy.requests} healthy, {outage.requests} away")
    assert outage.requests_before == healthy.requests_before
    assert outage.requests <= 1.2 * healthy.requests
    for texts in outage.texts:
        assert texts == sorted(texts, key=lambda text: int(text.split("-")[1]))
        assert len(texts) == len(set(texts))
    for told in outage.told:
        assert told == outage.events[: len(told)]
    assert sum(map(len, outage.texts)) > 0.9 * sum(map(len, healthy.texts))
