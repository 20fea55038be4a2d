"""A payment provider, a worker and people who pay through them, all of whom can be killed."""

import asyncio
import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import httpx

from greenroom.kernel.clock import rfc3339, system_clock
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from tests.support import command
from tests.support.server_process import GIVEN
from tests.support.waiting import PATIENCE_S, until

from .talk import Caller, Json, Server

PAYMENTS_SECRET = "a secret between us and the provider of payments"
HOUR_MS = 3_600_000
LOOK_S = 0.1

UNPAID = "select count(*) from card where card_id = any($1) and state <> 'paid'"
VERSIONS = "select subject, count(*), max(seq) from history where subject = any($1) group by 1"
CHARGES = """
select c.card_id, count(*) filter (where p.state = 'succeeded') as paid, count(*) as asked
from card c left join payment p on p.card_id = c.card_id where c.card_id = any($1) group by 1
"""
ALL_POSTINGS = "select coalesce(sum(amount_cents), 0)::bigint from money_posting"


class Program:
    """One of our commands that runs until it is killed."""

    def __init__(self, home: Path, environment: Mapping[str, str], *argv: str) -> None:
        self._given = {**GIVEN, **environment, "GREENROOM_HOME": str(home)}
        self.argv = argv
        self.log = home / f"{argv[0]}-{random.SystemRandom().randrange(1 << 40):x}.log"
        self._process: command.Process | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = command.start(*self.argv, given=self._given, output=log)

    async def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            await asyncio.to_thread(self._process.wait, PATIENCE_S)

    async def output(self) -> str:
        """Of a command that ends by itself."""
        self.start()
        assert self._process is not None
        await asyncio.to_thread(self._process.wait, PATIENCE_S)
        return self.log.read_text()


class Shopper(Caller):
    """Every request has a key, which is that of its repeats too."""

    def __init__(self, server: Server, user: str, token: str | None = None) -> None:
        super().__init__(server, user)
        self._token = token or self._token

    async def call(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        url = f"http://127.0.0.1:{self._server.port}{path}"
        headers = {"authorization": f"Bearer {self._token}"}
        if method == "POST":
            text = f"{path} {json.dumps(body)}"
            headers["idempotency-key"] = hashlib.sha256(text.encode()).hexdigest()
        return await self._client.request(method, url, headers=headers, json=body)

    async def post(self, path: str, body: Json | None, status: int) -> Json:
        answer = await self.insist("POST", path, body)
        assert answer.status_code == status, answer.text
        found: Json = answer.json()
        return found


@dataclass
class Deal:
    buyer: Shopper
    seller: Shopper
    thread_id: str
    cards: list[str] = field(default_factory=list)


class Till:
    """A server that leaves payments to a worker, the worker, and the provider."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._home = home
        self._tag = f"{random.SystemRandom().randrange(1 << 40):x}"
        self._environment = {**environment, "GREENROOM_PAYMENTS_SECRET": PAYMENTS_SECRET}
        self.provider = Program(home, self._environment, "payments-sandbox")
        self._people: list[Shopper] = []
        self.deals: list[Deal] = []
        self.accepted: list[str] = []
        self.news = asyncio.Condition()

    async def open(self) -> None:
        self.provider.start()
        log = self.provider.log
        await until(lambda: "http://" in log.read_text(), "the provider")
        self._provider_url = log.read_text().split()[0]
        # When it is started again, it is where it was.
        self.provider.argv += ("--port", self._provider_url.rpartition(":")[2])
        environment = {
            **self._environment,
            "GREENROOM_PAYMENTS_URL": self._provider_url,
            "GREENROOM_WORKER": "0",
        }
        self.server = Server(self._home, environment)
        self.worker = Program(self._home, environment, "worker")
        await self.server.begin()
        self.worker.start()
        create = Program(self._home, environment, "keys", "create", "--json", f"till {self._tag}")
        key = json.loads((await create.output()).strip())["key"]
        self.backend = self._person("backend", key)
        self.pool = await asyncpg.create_pool(
            EmbeddedPostgres(self._home).url(), min_size=1, max_size=1
        )

    async def close(self) -> None:
        await self.pool.close()
        for person in self._people:
            await person.close()
        await self.worker.kill()
        await self.server.clear_away()
        await self.provider.kill()

    def _person(self, name: str, token: str | None = None) -> Shopper:
        person = Shopper(self.server, f"{name}.{self._tag}", token)
        self._people.append(person)
        return person

    async def make_deal(self, number: int, cards: int) -> None:
        """A confirmed booking, and extras that wait for the buyer."""
        buyer, seller = self._person(f"ada{number}"), self._person(f"ben{number}")
        for person in (buyer, seller):
            await person.get("/v1/inbox")
        start_ms = system_clock() + 1000 * HOUR_MS
        leg = {
            "seller": seller.user,
            "title": "A day in the studio",
            "start": rfc3339(start_ms),
            "end": rfc3339(start_ms + HOUR_MS),
            "timezone": "Europe/Vienna",
            "price_cents": 10_000,
        }
        new = {"buyer": buyer.user, "currency": "EUR", "legs": [leg]}
        booking = (await self.backend.post("/v1/bookings", new, 201))["booking"]
        path = f"/v1/bookings/{booking['id']}/confirm"
        answer = await self.backend.post(path, None, 200)
        assert answer["booking"]["state"] == "confirmed"
        deal = Deal(buyer, seller, booking["thread_id"])
        for each in range(cards):
            item = {"title": f"Print {each}", "qty": 1, "unit_cents": 1_000 + each * 100}
            extras = {"type": "extras", "payload": {"items": [item]}}
            made = await seller.post(f"/v1/threads/{deal.thread_id}/cards", extras, 201)
            deal.cards.append(made["card"]["id"])
        self.deals.append(deal)

    async def accept_all(self, deal: Deal) -> None:
        for card_id in deal.cards:
            answer = await deal.buyer.post(f"/v1/cards/{card_id}/accept", {"version": 1}, 200)
            assert answer["card"]["state"] in ("charging", "paid")
            async with self.news:
                self.accepted.append(card_id)
                self.news.notify_all()

    async def until_accepted(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_S), self.news:
            await self.news.wait_for(lambda: len(self.accepted) >= count)

    async def until_paid(self) -> None:
        cards = [card_id for deal in self.deals for card_id in deal.cards]
        async with asyncio.timeout(PATIENCE_S):
            while await self.pool.fetchval(UNPAID, cards):  # noqa: ASYNC110 (other processes pay)
                await asyncio.sleep(LOOK_S)

    async def check(self) -> None:
        """One charge for each acceptance, in the books and at the provider; one final card for
        everybody."""
        cards = [card_id for deal in self.deals for card_id in deal.cards]
        assert sorted(self.accepted) == sorted(cards)
        charges = await self.pool.fetch(CHARGES, cards)
        assert {(row["paid"], row["asked"]) for row in charges} == {(1, 1)}
        charged = [each["key"].split(":")[0] for each in await self._operations() if each["moved"]]
        assert sorted(key for key in charged if key in cards) == sorted(cards)
        assert await self.pool.fetchval(ALL_POSTINGS) == 0
        for row in await self.pool.fetch(VERSIONS, cards):
            assert (row["count"], row["max"]) == (3, 3)
        for deal in self.deals:
            for viewer in (deal.buyer, deal.seller):
                await self._check_shown(deal, viewer)

    async def _check_shown(self, deal: Deal, viewer: Shopper) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                page = await viewer.get(f"/v1/threads/{deal.thread_id}/messages?limit=50")
                shown = [each["card"] for each in page["items"] if each["kind"] == "card"]
                assert [each["id"] for each in shown] == deal.cards
                # On DynamoDB what a process has left undone is shown some seconds later.
                if {(each["state"], each["version"]) for each in shown} == {("paid", 3)}:
                    break
                await asyncio.sleep(LOOK_S)

    async def _operations(self) -> list[Json]:
        async with httpx.AsyncClient() as http:
            headers = {"authorization": f"Bearer {PAYMENTS_SECRET}"}
            answer = await http.get(f"{self._provider_url}/sandbox/operations", headers=headers)
        found: list[Json] = answer.json()["operations"]
        return found
