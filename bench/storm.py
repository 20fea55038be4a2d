"""The memory of idle connections, and how senders slow down when all idle clients reconnect."""

import asyncio
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import asyncpg
import uvloop

from bench import fill, limits
from bench.crowd import Crowd, Return, crowd
from bench.product import Product
from bench.receivers import Seat
from bench.report import Row, at_most, noted, say
from bench.senders import BODY, Senders, percentile_between, send_request

SENDERS = 32
SENDS_PER_S = 200
WARM_UP_S = 2
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Scale:
    """`first` clients connect before memory is measured, so that one-time allocations are done."""

    people: int
    first: int
    step: int
    quiet_s: float
    before_s: float


@dataclass(slots=True)
class Course:
    """When each part began, by `time.perf_counter`, and how it went."""

    before_s: float = 0
    cut_s: float = 0
    back_s: float = 0
    over_s: float = 0
    result: Return | None = None


def measure(server: Product, scale: Scale) -> list[Row]:
    """Needs a fresh server, so that its memory is only that of the connections."""
    say(f"filling {scale.people:,} people")
    pairs = scale.people // 2
    asyncio.run(fill.fill_threads(server.database_url, 0, pairs + SENDERS - 1))
    people = [user for number in range(pairs) for user in fill.people(number)]
    cursors = asyncio.run(fill.cursors(server.database_url, people))
    seats = [Seat(server.port, server.token(user), at) for user, at in cursors.items()]
    with crowd(seats) as others:
        memory = uvloop.run(_memory(server, others, scale))
        return [*memory, *uvloop.run(_storm(server, others, scale))]


async def _memory(server: Product, others: Crowd, scale: Scale) -> list[Row]:
    used_mb = []
    for count in (scale.first, scale.first + scale.step, scale.people):
        say(f"{count:,} quiet WebSockets")
        await others.gather(count)
        await asyncio.sleep(scale.quiet_s)
        used_mb.append(server.resident_mb())
    some, many = used_mb[1] - used_mb[0], used_mb[2] - used_mb[1]
    more = scale.people - scale.first - scale.step
    per_some, per_many = some / scale.step * 1000, many / more * 1000
    return [
        at_most(
            f"memory of 1,000 quiet WebSockets, {count:,} of them",
            f"{each:.1f} MB",
            each / 25,
            1.0,
            "of 25 MB",
        )
        for count, each in ((scale.step, per_some), (scale.people, per_many))
    ]


async def _storm(server: Product, others: Crowd, scale: Scale) -> list[Row]:
    course = Course()
    senders = await Senders.open(server.port, SENDERS, SENDS_PER_S)
    sending = asyncio.create_task(senders.run(_sends_until_over(server, scale, course)))
    try:
        await _run_course(server, others, scale, course)
        await sending
    finally:
        sending.cancel()
        senders.close()
    return _rows(server, senders, scale, course)


async def _run_course(server: Product, others: Crowd, scale: Scale, course: Course) -> None:
    say(f"{SENDS_PER_S} sends/s beside {scale.people:,} quiet WebSockets")
    await asyncio.sleep(WARM_UP_S)
    course.before_s = time.perf_counter()
    await asyncio.sleep(scale.before_s)
    say(f"{scale.people:,} connections are cut, each misses an event, and all come back at once")
    course.cut_s = time.perf_counter()
    await others.cut()
    await _add_missed(server.database_url, scale.people // 2)
    # The cost of the cut itself is a separate row.
    await asyncio.to_thread(_wait_until_noticed, server.port)
    course.back_s = time.perf_counter()
    try:
        course.result = await others.come_back()
    finally:
        course.over_s = time.perf_counter()


def _wait_until_noticed(port: int) -> None:
    while _open_connections(port):
        time.sleep(LOOK_S)


def _open_connections(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    counts = re.findall(
        r'^greenroom_streams_open\{transport="websocket"\} (.+)$', text, re.MULTILINE
    )
    return int(sum(float(count) for count in counts))


def _sends_until_over(server: Product, scale: Scale, course: Course) -> Iterator[bytes]:
    numbers = [scale.people // 2 + place for place in range(SENDERS)]
    tokens = [server.token(fill.people(number)[0]) for number in numbers]
    count = 0
    while not course.over_s:
        place = count % SENDERS
        yield send_request(tokens[place], fill.thread_id(numbers[place]), f"s-{count}", BODY)
        count += 1


async def _add_missed(url: str, pairs: int) -> None:
    """Insert a message in each thread, as the product would have written it."""
    numbers = range(pairs)
    connection = await asyncpg.connect(url, server_settings=limits.GENERIC_PLANS)
    try:
        await connection.fetch(
            limits.SAME_ROWS,
            [fill.thread_id(number) for number in numbers],
            [fill.people(number)[0] for number in numbers],
            [fill.people(number)[1] for number in numbers],
            [f"missed-{number}" for number in numbers],
            [f"{number:014x}" for number in numbers],
            BODY,
            b"\x00" * 16,
        )
    finally:
        await connection.close()


def _rows(server: Product, senders: Senders, scale: Scale, course: Course) -> list[Row]:
    def ms(percent: float, from_s: float, to_s: float) -> float:
        return percentile_between(senders.sends, percent, from_s, to_s)

    assert course.result is not None
    result = course.result
    before = (course.before_s, course.cut_s)
    during = (course.back_s, course.over_s)
    calm_ms, storm_ms = ms(99, *before), ms(99, *during)
    at_pace_s = scale.people / server.settings.limits.opened_streams_per_s
    cut_ms = ms(99, course.cut_s, course.back_s)
    return [
        at_most(
            f"send p99 while {scale.people:,} come back / before",
            f"p99 {storm_ms:.1f} / {calm_ms:.1f} ms, p50 {ms(50, *during):.1f} /"
            f" {ms(50, *before):.1f} ms; while they were cut p99 {cut_ms:.1f} ms",
            storm_ms / calm_ms,
            2.0,
        ),
        noted(
            f"{scale.people:,} back with what they missed / at `opened_streams_per_s`",
            f"{result.seconds:.1f} / {at_pace_s:.1f} s, half after {result.median_s:.1f} s;"
            f" {result.refused:,} refusals, {result.broken:,} broken attempts",
            result.seconds / at_pace_s,
        ),
    ]
