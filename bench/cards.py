"""The cost of cards: an action compared with a send, the state machine alone, a page of cards."""

import json
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from bench import fill, load
from bench.pages import medians
from bench.product import Product
from bench.report import Row, at_least, at_most, say
from bench.senders import BODY
from greenroom.cards.catalogue.loading import load_catalogue
from greenroom.cards.machine import decide
from greenroom.cards.model import Facts, roles_of

CONNECTIONS = 32
CARDS_PER_PAGE = 50
DECISIONS = 200_000

LIMITS = {
    "GREENROOM_LIMIT_CARDS_PER_MINUTE": "60000",
    "GREENROOM_LIMIT_OPEN_CARDS": "1000",
}


def cards(server: Product, actions: int, calls: int, pairs: int, page: int) -> Iterator[Row]:
    """`page` is a thread of its own, for the page of cards; the one after it has texts."""
    yield _actions(server, actions, pairs)
    yield _machine()
    yield _pages(server, calls, page)


def _actions(server: Product, count: int, pairs: int) -> Row:
    """Declining a proposal compared with sending a message, in turns. The other side of each thread
    does it, with an idempotency key; both are on disk and in two feeds when answered."""
    tokens = {user: server.token(user) for n in range(pairs) for user in fill.people(n)}
    sends, declines = [], []
    for turn in range(2):
        say(f"sends and card actions at {CONNECTIONS} connections ({turn + 1} of 2)")
        made = [_propose(server, tokens, i % pairs) for i in range(count // 2)]
        requests = [_send(tokens, i % pairs, f"c{turn}-{i}") for i in range(count // 2)]
        sends.append(_rate(server, requests, 201))
        declines.append(_rate(server, [_decline(tokens, *each) for each in made], 200))
    send_rate, action_rate = sum(sends) / 2, sum(declines) / 2
    return at_most(
        f"card action / plain send at {CONNECTIONS} connections",
        f"{action_rate:,.0f}/s beside {send_rate:,.0f}/s",
        send_rate / action_rate,
        4.0,
    )


def _rate(server: Product, requests: list[bytes], status: int) -> float:
    warm_up = len(requests) // 10
    result = load.run(server.port, requests, CONNECTIONS, warm_up=warm_up).require(status)
    return result.per_second


def _propose(server: Product, tokens: dict[str, str], number: int) -> tuple[int, str]:
    buyer = fill.people(number)[0]
    return number, _make_card(server, tokens[buyer], number)["id"]


def _make_card(server: Product, token: str, number: int) -> dict[str, Any]:
    start = datetime.now(UTC) + timedelta(days=30)
    payload = {
        "start": start.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "end": (start + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "timezone": "Europe/Berlin",
        "note": "Would the afternoon suit you?",
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/v1/threads/{fill.thread_id(number)}/cards",
        json.dumps({"type": "propose_time", "payload": payload}).encode(),
        {"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        card: dict[str, Any] = json.load(answer)["card"]
    return card


def _send(tokens: dict[str, str], number: int, client_id: str) -> bytes:
    seller = fill.people(number)[1]
    body = json.dumps({"client_id": client_id, "body": BODY}).encode()
    path = f"/v1/threads/{fill.thread_id(number)}/messages"
    return load.request("POST", path, tokens[seller], body)


def _decline(tokens: dict[str, str], number: int, card_id: str) -> bytes:
    seller = fill.people(number)[1]
    return load.request("POST", f"/v1/cards/{card_id}/decline", tokens[seller], b'{"version": 1}')


def _machine() -> Row:
    """The state machine alone: which actions are available, and which transition one is."""
    say("the machine alone")
    extras = load_catalogue().type("extras")
    card = Facts("extras", "pending", "seller", "buyer", "seller", {}, {})
    started = time.perf_counter()
    for _ in range(DECISIONS):
        decide(extras, "pending", "accept", roles_of(card, "buyer"), card)
    rate = DECISIONS / (time.perf_counter() - started)
    return at_least("transitions decided / 50,000 per second", f"{rate:,.0f}/s", rate / 50_000, 1.0)


def _pages(server: Product, calls: int, number: int) -> Row:
    say(f"pages of {CARDS_PER_PAGE} cards and of {CARDS_PER_PAGE} texts")
    buyer = server.token(fill.people(number)[0])
    for _ in range(CARDS_PER_PAGE):
        _make_card(server, buyer, number)
    texts = [
        _send(
            {fill.people(number + 1)[1]: server.token(fill.people(number + 1)[1])},
            number + 1,
            f"p{i}",
        )
        for i in range(CARDS_PER_PAGE)
    ]
    load.run(server.port, texts, 1).require(201)

    def page(of: int) -> bytes:
        path = f"/v1/threads/{fill.thread_id(of)}/messages"
        return load.request("GET", path, server.token(fill.people(of)[1]))

    with_cards, with_texts = medians(server, [page(number), page(number + 1)], calls)
    return at_most(
        f"thread page, {CARDS_PER_PAGE} cards / {CARDS_PER_PAGE} texts",
        f"{with_cards:.2f} / {with_texts:.2f} ms",
        with_cards / with_texts,
        2.0,
    )
