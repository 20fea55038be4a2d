"""`make bench`: measures the product and prints ratios to limits measured in the same run.

Durability is on, and so is everything of a real send: authentication, membership, idempotency,
feed, unread counts, domain events, send limits. Times depend on the machine, ratios much less.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import browser, dynamodb, fill, limits, load, media, realtime, uploads, webhooks
from bench import cards as bench_cards
from bench.bulk import bulk
from bench.files import files
from bench.pages import inboxes, pages
from bench.product import Product, product
from bench.report import Row, at_least, at_most, print_line, print_markdown, say
from bench.senders import BODY
from tools.webapp import build_web_app

PAIRS = 1000
# Separate threads for the two page sizes, besides the pairs that send.
SMALL, LARGE = PAIRS, PAIRS + 1
# Two more for a page of cards and one of texts.
CARDS = PAIRS + 2


@dataclass(frozen=True, slots=True)
class Scale:
    sends: int
    batches: int
    pgbench_s: int
    messages: int
    pages: int
    actions: int


FULL = Scale(sends=60_000, batches=800, pgbench_s=10, messages=1_000_000, pages=2000, actions=8000)
QUICK = Scale(sends=6_000, batches=100, pgbench_s=2, messages=50_000, pages=300, actions=1000)


PARTS = (
    "store",
    "cards",
    "files",
    "realtime",
    "dynamodb",
    "uploads",
    "media",
    "webhooks",
    "browser",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small counts, to see that it runs")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--markdown", action="store_true", help="print rows of a table")
    given = parser.parse_args()
    measures = _measures(is_quick=given.quick)
    _print_machine(QUICK if given.quick else FULL)
    print_row: Callable[[Row], None] = print_markdown if given.markdown else print_line
    is_met, failed = True, []
    for part in [given.only] if given.only else PARTS:
        try:
            for row in measures[part]():
                print_row(row)
                is_met &= row.holds is not False
        except Exception:  # noqa: BLE001 (the other parts are measured all the same)
            traceback.print_exc()
            failed.append(part)
    for part in failed:
        print(f"The part {part} failed; its stack is above. Repeat it with --only {part}.")
    return 0 if is_met and not failed else 1


def _measures(*, is_quick: bool) -> dict[str, Callable[[], Iterator[Row]]]:
    """Each part with its own server, from nothing."""
    scale = QUICK if is_quick else FULL

    def in_store() -> Iterator[Row]:
        with product() as server:
            yield from measure(server, scale)

    def of_cards() -> Iterator[Row]:
        with product(more=bench_cards.LIMITS) as server:
            asyncio.run(fill.fill_threads(server.database_url, 0, CARDS + 1))
            yield from bench_cards.cards(server, scale.actions, scale.pages, PAIRS, CARDS)

    def of_files() -> Iterator[Row]:
        with product() as server:
            asyncio.run(fill.fill_threads(server.database_url, 0, 1))
            yield from files(server, scale.pages, 0)

    def on_dynamodb() -> Iterator[Row]:
        with product(more=dynamodb.ENVIRON) as server:
            yield from dynamodb.measure(server, dynamodb.QUICK if is_quick else dynamodb.FULL)

    def in_browser() -> Iterator[Row]:
        build_web_app()
        with product() as server:
            yield from browser.measure(server, browser.QUICK if is_quick else browser.FULL)

    return {
        "store": in_store,
        "cards": of_cards,
        "files": of_files,
        "realtime": lambda: realtime.measure(realtime.QUICK if is_quick else realtime.FULL),
        "dynamodb": on_dynamodb,
        "uploads": lambda: uploads.measure(uploads.QUICK if is_quick else uploads.FULL),
        "media": lambda: media.measure(media.QUICK if is_quick else media.FULL),
        "webhooks": lambda: webhooks.measure(webhooks.QUICK if is_quick else webhooks.FULL),
        "browser": in_browser,
    }


def measure(server: Product, scale: Scale) -> Iterator[Row]:
    say("filling threads")
    asyncio.run(fill.fill_threads(server.database_url, 0, LARGE))
    rest_mb = server.resident_mb()
    yield from _sends(server, scale)
    yield _latency(server, scale)
    yield from pages(server, scale.messages, scale.pages, (SMALL, LARGE))
    yield from inboxes(server, scale.pages)
    yield bulk(server, scale.messages)
    yield at_most("server at rest", f"{rest_mb:.0f} MB", rest_mb / 120, 1.0, "120 MB")


def _sends(server: Product, scale: Scale) -> list[Row]:
    # Twice and in turns, because a machine's speed changes within a minute.
    rates, batched, single = [], [], []
    for turn in range(2):
        say(f"sends at 256 connections ({turn + 1} of 2)")
        requests = _send_requests(server, scale.sends // 2, f"a{turn}")
        result = load.run(server.port, requests, 256, warm_up=len(requests) // 10).require(201)
        rates.append(result.per_second)
        say(f"the batched limit ({turn + 1} of 2)")
        batched.append(
            limits.batched_limit(
                server.database_url, 0, PAIRS - 1, BODY, scale.batches // 2, f"b{turn}"
            )
        )
        say(f"one statement per send, by pgbench ({turn + 1} of 2)")
        single.append(
            limits.one_statement_per_send(
                server.database_url, 0, PAIRS - 1, BODY, scale.pgbench_s // 2
            )
        )
    rate, batched_rate, single_rate = (sum(each) / 2 for each in (rates, batched, single))
    shown = f"{rate:,.0f}/s of {batched_rate:,.0f}/s"
    return [
        at_least("sends / batched limit", shown, rate / batched_rate, 0.25, "aim 0.40"),
        at_least(
            "sends / one statement per send (pgbench)",
            f"{rate:,.0f}/s of {single_rate:,.0f}/s",
            rate / single_rate,
            0.8,
            "aim 1.20",
        ),
    ]


def _latency(server: Product, scale: Scale) -> Row:
    say("latency at 32 connections")
    requests = _send_requests(server, scale.sends // 4, "l")
    result = load.run(server.port, requests, 32, warm_up=len(requests) // 10).require(201)
    p50, p99 = result.percentile_ms(50), result.percentile_ms(99)
    return at_most("send p99 / p50 at 32 connections", f"{p99:.1f} / {p50:.1f} ms", p99 / p50, 4.0)


def _send_requests(server: Product, count: int, name: str) -> list[bytes]:
    tokens = {user: server.token(user) for n in range(PAIRS) for user in fill.people(n)}
    requests = []
    for i in range(count):
        number = i % PAIRS
        author = fill.people(number)[(i // PAIRS) % 2]
        body = json.dumps({"client_id": f"{name}-{i}", "body": BODY}).encode()
        path = f"/v1/threads/{fill.thread_id(number)}/messages"
        requests.append(load.request("POST", path, tokens[author], body))
    return requests


def _print_machine(scale: Scale) -> None:
    memory = next(
        line for line in Path("/proc/meminfo").read_text().splitlines() if "Total" in line
    )
    print(f"{platform.platform()}, {os.cpu_count()} cores, {memory.split()[1]} kB of memory")
    print(f"Python {platform.python_version()}, PostgreSQL 18 embedded, fsync on, {scale}")
    print()


if __name__ == "__main__":
    sys.exit(main())
