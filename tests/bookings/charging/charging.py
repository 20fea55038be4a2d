"""Deals between two people, with a payment provider on its real socket, and what must be so
whatever has happened to them."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import asyncpg

from greenroom.kernel.clock import rfc3339
from tests.support.api import Api, Person

from .providers import Provider

if TYPE_CHECKING:
    from greenroom.settings import Settings

Json = dict[str, Any]

HOUR_MS = 3_600_000

# What jobs were doing whose worker is gone is taken up when it has been silent for a while.
LONG_SILENT = "update task set held_until = null"
LEFT_JOBS = "select count(*) from task where kind <> 'timer'"
UNDECIDED = "select payment_id from payment where state = 'queued'"
UNEVEN_ENTRIES = """
select entry_id from money_posting group by entry_id having sum(amount_cents) <> 0
"""
ALL_POSTINGS = "select coalesce(sum(amount_cents), 0)::bigint from money_posting"
UNEVEN_BALANCES = """
select a.account from money_account a where a.kind in ('escrow', 'deposit')
    and a.balance_cents <> (select coalesce(sum(p.amount_cents), 0) from money_posting p
                            where p.account = a.account)
"""
PAYMENTS = """
select operation, amount_cents, state, provider_id from payment
where account = any($1) order by created_at, payment_id
"""
HISTORY = "select version from history where subject = $1 order by seq"


@dataclass
class Deal:
    """A booking of one leg between two people."""

    buyer: Person
    seller: Person
    booking_id: str
    thread_id: str
    leg_id: str
    key: str
    card: Json = field(default_factory=dict)

    @property
    def people(self) -> tuple[Person, Person]:
        return self.buyer, self.seller

    @property
    def accounts(self) -> list[str]:
        """As the provider knows them."""
        return [each.id for each in self.people]


class Charging:
    _keys = itertools.count(1)

    def __init__(
        self,
        api: Api,
        pool: asyncpg.Pool,
        provider: Provider,
        settings: Settings,
        database_url: str,
    ) -> None:
        self.api = api
        self.pool = pool
        self.provider = provider
        self.settings = settings
        self.database_url = database_url
        self._introduced: set[str] = set()

    def many(self, count: int) -> int:
        """As often as that, or less with a provider for which only the calls of it differ."""
        return count if self.provider.is_first else max(count // 5, 2)

    # Deals.

    async def propose(
        self,
        *,
        price: int = 30_000,
        deposit: int = 0,
        in_hours: float = 24 * 30,
        between: tuple[Person, Person] | None = None,
    ) -> Deal:
        """By two people whom nobody has met before, unless they are given."""
        buyer, seller = between or await self.api.people("ann", "bob", verified=True)
        for user_id in {buyer.id, seller.id} - self._introduced:
            await self.provider.introduce(self.api, user_id)
            self._introduced.add(user_id)
        start_ms = self.api.clock() + int(in_hours * HOUR_MS)
        leg = {
            "seller": seller.id,
            "title": "A day in the studio",
            "start": rfc3339(start_ms),
            "end": rfc3339(start_ms + 2 * HOUR_MS),
            "timezone": "Europe/Vienna",
            "price_cents": price,
            "deposit_cents": deposit,
        }
        new = {"buyer": buyer.id, "currency": "EUR", "legs": [leg]}
        answer = await self.api.backend.post("/v1/bookings", new)
        assert answer.status_code == 201, answer.text
        booking = answer.json()["booking"]
        return Deal(
            buyer,
            seller,
            booking["id"],
            booking["thread_id"],
            booking["legs"][0]["id"],
            f"key-{next(self._keys)}",
        )

    async def confirmed(self, **leg: Any) -> Deal:
        deal = await self.propose(**leg)
        answer = await self.api.backend.post(f"/v1/bookings/{deal.booking_id}/confirm", None)
        assert answer.status_code == 200, answer.text
        assert answer.json()["booking"]["state"] == "confirmed", answer.text
        await self.rest()
        return deal

    async def worked(self, **leg: Any) -> Deal:
        """Confirmed, and its booked time is over."""
        deal = await self.confirmed(in_hours=1, **leg)
        self.api.clock.advance(hours=3)
        return deal

    async def card(self, deal: Deal, by: Person, type_name: str, payload: Json) -> Json:
        new = {"type": type_name, "payload": payload}
        answer = await by.post(f"/v1/threads/{deal.thread_id}/cards", new)
        assert answer.status_code == 201, answer.text
        deal.card = answer.json()["card"]
        return deal.card

    async def extras(self, deal: Deal, cents: int = 4_500) -> Json:
        items = [{"title": "Prints", "qty": 1, "unit_cents": cents}]
        return await self.card(deal, deal.seller, "extras", {"items": items})

    async def booking(self, deal: Deal) -> Json:
        answer = await self.api.backend.get(f"/v1/bookings/{deal.booking_id}")
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()["booking"]
        return found

    async def card_now(self, deal: Deal) -> tuple[Json, list[Json]]:
        answer = await deal.buyer.get(f"/v1/cards/{deal.card['id']}")
        assert answer.status_code == 200, answer.text
        return answer.json()["card"], answer.json()["history"]

    # Time.

    async def rest(self) -> None:
        """Until everything is done that was left undone by anybody."""
        await self.pool.execute(LONG_SILENT)
        self.api.clock.advance(seconds=30)
        await self.api.rooms.contract.worker.run_until_idle()
        await self.api.rooms.settle()
        # What was settled only now can have left something to do in its turn.
        await self.api.rooms.contract.worker.run_until_idle()

    # The provider.

    async def script(self, *steps: Json) -> None:
        await self.provider.script(*steps)

    async def moved(self, deal: Deal) -> list[tuple[str, int]]:
        """What the provider has ever done for the two, of what moves money."""
        return [
            (operation, cents)
            for operation, account, cents in await self.provider.moved()
            if account in deal.accounts
        ]

    # What must be so.

    async def check_money(self, deal: Deal, *expected: tuple[str, int]) -> None:
        """The provider did exactly this, and the books say exactly that."""
        assert Counter(await self.moved(deal)) == Counter(expected)
        payments = await self.pool.fetch(PAYMENTS, deal.accounts)
        succeeded = [row for row in payments if row["state"] == "succeeded"]
        booked = [(row["operation"], row["amount_cents"]) for row in succeeded]
        assert Counter(booked) == Counter(expected)
        assert len({row["provider_id"] for row in succeeded}) == len(succeeded)
        await self.check_books()

    async def check_books(self) -> None:
        assert await self.pool.fetchval(ALL_POSTINGS) == 0
        assert await self.pool.fetch(UNEVEN_ENTRIES) == []
        assert await self.pool.fetch(UNEVEN_BALANCES) == []
        assert await self.pool.fetch(UNDECIDED) == []
        assert await self.pool.fetchval(LEFT_JOBS) == 0

    async def check_history(self, *subjects: str) -> None:
        for subject in subjects:
            versions = [row["version"] for row in await self.pool.fetch(HISTORY, subject)]
            assert versions == [*range(1, len(versions) + 1)]

    async def check_card(self, deal: Deal, *states: str) -> None:
        """It went through these states and no others, and everybody sees the last of them."""
        card, history = await self.card_now(deal)
        assert [row["to"] for row in history] == [*states]
        assert [row["version"] for row in history] == [*range(1, len(states) + 1)]
        assert (card["state"], card["version"]) == (states[-1], len(states))
        for viewer in deal.people:
            messages = await viewer.messages(deal.thread_id, limit=50)
            shown = [each["card"] for each in messages if each["kind"] == "card"]
            [shown] = [each for each in shown if each["id"] == card["id"]]
            assert (shown["state"], shown["version"]) == (card["state"], card["version"])
            events = [each for each in await viewer.sync() if is_about(each, card["id"])]
            assert [each["type"] for each in events] == [
                "message.new",
                *["card.changed"] * (len(states) - 1),
            ]
            # Whoever reads the feed late is told each change, and sees the card as it is now.
            assert {each["card"]["version"] for each in events[1:]} <= {len(states)}
            row = await viewer.row(deal.thread_id)
            assert not row["needs_action"]

    async def check_notices(self, deal: Deal, *codes: str) -> None:
        """What the server has said in the thread about the booking, each once."""
        for viewer in deal.people:
            messages = await viewer.messages(deal.thread_id, limit=50)
            said = [each["system"]["code"] for each in messages if each["system"]]
            assert [code for code in said if code.startswith("booking.")] == [*codes]
            news = [each for each in await viewer.sync() if each["type"] == "message.new"]
            assert len({each["message"]["id"] for each in news}) == len(news)


def is_about(event: Json, card_id: str) -> bool:
    card = event.get("card") or (event.get("message") or {}).get("card") or {}
    return bool(card.get("id") == card_id)
