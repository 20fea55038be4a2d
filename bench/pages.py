"""How the cost of a page depends on the amount of data: the same call on little and on much."""

import asyncio
from collections.abc import Callable, Sequence
from statistics import median
from typing import TypeVar

from bench import fill, load
from bench.product import Product
from bench.report import Row, at_most, say
from greenroom.kernel.clock import system_clock

T = TypeVar("T")

FEW_MESSAGES = 1000
FEW_THREADS, MANY_THREADS = 100, 10_000
FEW, MANY = "few", "many"
TURNS = 10


def pages(server: Product, messages: int, calls: int, numbers: tuple[int, int]) -> list[Row]:
    """`numbers` are two separate threads: one for few messages, one for many."""
    small, large = numbers
    start_ms = system_clock() - messages - 60_000
    for number, count in ((small, FEW_MESSAGES), (large, messages)):
        say(f"filling a thread with {count:,} messages")
        asyncio.run(fill.fill_messages(server.database_url, number, count, start_ms))
    epoch = asyncio.run(fill.epoch(server.database_url))
    counts = {small: FEW_MESSAGES, large: messages}

    def thread_page(number: int) -> bytes:
        path = f"/v1/threads/{fill.thread_id(number)}/messages"
        return load.request("GET", path, server.token(fill.people(number)[1]))

    def sync_page(number: int) -> bytes:
        path = f"/v1/sync?since={epoch}-{counts[number] - 100:x}"
        return load.request("GET", path, server.token(fill.people(number)[1]))

    label = f"{messages:,} messages / {FEW_MESSAGES:,}"
    return [
        _growth(server, f"thread page, {label}", thread_page, (small, large), calls),
        _growth(server, f"sync page, {label}", sync_page, (small, large), calls),
    ]


def inboxes(server: Product, calls: int) -> list[Row]:
    for user, count in ((FEW, FEW_THREADS), (MANY, MANY_THREADS)):
        say(f"filling an inbox with {count:,} threads")
        asyncio.run(fill.fill_inbox(server.database_url, user, count))

    def call(path: str) -> Callable[[str], bytes]:
        return lambda user: load.request("GET", path, server.token(user))

    label = f"{MANY_THREADS:,} threads / {FEW_THREADS}"
    users = (FEW, MANY)
    inbox, conversations = call("/v1/inbox"), call("/messages/conversations")
    epoch = asyncio.run(fill.epoch(server.database_url))
    nothing_new = call(f"/v1/sync?since={epoch}-0")
    quiet_ms, page_ms = medians(server, [nothing_new(MANY), inbox(MANY)], calls)
    return [
        _growth(server, f"inbox page, {label}", inbox, users, calls),
        _growth(server, f"conversations, {label}", conversations, users, calls),
        at_most(
            "sync with nothing new / inbox page",
            f"{quiet_ms:.2f} / {page_ms:.2f} ms",
            quiet_ms / page_ms,
            0.3,
        ),
    ]


def _growth(
    server: Product, name: str, call: Callable[[T], bytes], sizes: tuple[T, T], calls: int
) -> Row:
    small, large = medians(server, [call(size) for size in sizes], calls)
    return at_most(name, f"{large:.2f} / {small:.2f} ms", large / small, 1.3)


def medians(server: Product, requests: Sequence[bytes], calls: int) -> list[float]:
    """The median of each, in the turn that was the fastest for all together. The requests of a turn
    alternate one by one, because a machine's speed changes within a second, and what is compared
    must have run at the same speed."""
    turns = []
    for _ in range(TURNS):
        alternating = list(requests) * (calls // TURNS)
        latencies_ms = load.run(server.port, alternating, 1).require(200).latencies_ms
        turns.append([median(latencies_ms[at :: len(requests)]) for at in range(len(requests))])
    return min(turns, key=sum)
