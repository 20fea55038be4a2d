"""People who agree on something, the product under them, and a bank that does as it is told."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from greenroom.accounts.model import UserChanges
from greenroom.bookings.cancellation_policy import parse_policy
from greenroom.bookings.documents.actions import NewDocument
from greenroom.bookings.documents.manifests import Item
from greenroom.bookings.model import Side
from greenroom.bookings.money.provider import Operation, Outcome
from greenroom.bookings.proposals import LegProposal, check_proposal
from greenroom.bootstrap import Rooms
from greenroom.cards.model import Card
from greenroom.kernel.clock import rfc3339
from greenroom.platform.idempotency import Kept, Once

from .world import WildClock, names

Json = dict[str, Any]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SHA256 = "ab" * 32
POLICY = parse_policy("168:100,48:50,0:0")
TAKES_BACK = {"refund": ("refund",), "capture": ("capture", "release")}
TAKES_BACK["release"] = TAKES_BACK["capture"]


@dataclass
class Bank:
    """Answers each key once and for ever, as `mode` is when it is first asked. What is pending
    stays so until it is decided. Whoever asks for more back than was taken has a bug."""

    mode: str = "succeeded"
    answers: dict[str, Outcome] = field(default_factory=dict)
    asked: dict[str, Operation] = field(default_factory=dict)

    async def carry_out(self, operation: Operation) -> Outcome:
        # What is known of an earlier attempt differs from one to the next.
        operation = replace(operation, provider_id=None, is_repeat=False, asked_at_ms=0)
        if operation.key not in self.asked:
            self.asked[operation.key] = operation
            self._check(operation)
            if self.mode != "pending":
                self.decide(operation.key, self.mode)
        assert self.asked[operation.key] == operation, "one key for two things"
        return self.answers.get(operation.key) or Outcome("pending", _id(operation.key))

    def decide(self, key: str, status: str) -> Outcome:
        made: dict[str, Outcome] = {
            "succeeded": Outcome("succeeded", _id(key)),
            "failed": Outcome("failed", _id(key), "card_declined"),
        }
        return self.answers.setdefault(key, made[status])

    @property
    def pending(self) -> list[str]:
        return [key for key in self.asked if key not in self.answers]

    def moved(self, *operations: str) -> int:
        """What has been done, in cents."""
        return sum(
            self.asked[key].amount_cents
            for key, outcome in self.answers.items()
            if outcome.status == "succeeded" and self.asked[key].operation in operations
        )

    def _check(self, operation: Operation) -> None:
        """Never more back than was taken, whatever is still on its way."""
        takes = TAKES_BACK.get(operation.operation)
        if takes is None:
            return
        [source] = [each for key, each in self.asked.items() if _id(key) == operation.source]
        assert self.answers[source.key].status == "succeeded"
        taken = sum(
            each.amount_cents
            for key, each in self.asked.items()
            if each.source == operation.source
            and each.operation in takes
            and (key not in self.answers or self.answers[key].status == "succeeded")
        )
        assert taken <= source.amount_cents


def _id(key: str) -> str:
    return f"op-{key}"


@dataclass
class Deal:
    """A booking and its thread, and what was made in it."""

    group_id: str
    thread_id: str
    buyer: str
    sellers: list[str]
    legs: list[str]
    documents: list[str] = field(default_factory=list)
    manifests: list[str] = field(default_factory=list)
    cards: list[str] = field(default_factory=list)

    @property
    def parties(self) -> list[str]:
        return [self.buyer, *self.sellers]


class World:
    """Ann buys, Bob and Sue sell, Eve buys from the same two; nobody has a part in every deal."""

    _events: Iterator[int] = itertools.count(1)

    def __init__(self, rooms: Rooms, clock: WildClock) -> None:
        self.rooms = rooms
        self.clock = clock
        self.bank = Bank()
        self.contract = rooms.contract
        self.contract.runner._provider = self.bank
        self.pool = self.contract.transactions.pool
        self.cards = self.contract.cards
        fresh = names("u")
        self.people = [next(fresh) for _ in range(4)]
        self.deals: list[Deal] = []
        self.start_ms = clock() + 12 * DAY_MS

    async def open(self) -> None:
        """What earlier histories have left to do is not this one's matter."""
        await self.pool.execute("delete from task")
        for each in self.people:
            await self.rooms.accounts.put_user(each, UserChanges(display_name=each))

    async def propose(self, buyer: str, legs: list[tuple[str, int, int, int, bool]]) -> Deal:
        """Each leg: the seller, its place in the calendar, price, deposit, and whether a studio."""
        proposals = [
            LegProposal(
                "studio" if is_studio else "talent",
                seller,
                "A shoot",
                self.start_ms + place * HOUR_MS,
                self.start_ms + (place + 2) * HOUR_MS,
                "Europe/Vienna",
                price,
                deposit,
            )
            for seller, place, price, deposit, is_studio in legs
        ]
        proposal = check_proposal(
            buyer=buyer,
            currency="EUR",
            legs=proposals,
            policy=POLICY,
            thread_id=None,
            now_ms=self.clock.now_ms,
        )
        made = await self.contract.bookings.create(proposal)
        assert not isinstance(made, Kept)
        group = made.group
        assert group.thread_id is not None
        deal = Deal(
            group.group_id,
            group.thread_id,
            buyer,
            proposal.sellers,
            [leg.leg_id for leg in group.legs],
        )
        self.deals.append(deal)
        return deal

    async def confirm(self, deal: Deal, *, runs_now: bool) -> None:
        await self.contract.bookings.confirm(deal.group_id)
        if runs_now:
            await self.contract.bookings.run_payments_now(deal.group_id)

    async def cancel(self, deal: Deal, by: Side | None) -> None:
        await self.contract.bookings.cancel(deal.group_id, by)

    async def add_document(self, deal: Deal, signers: list[str]) -> None:
        new = NewDocument("Model release", SHA256, signers)
        made = await self.contract.bookings.documents.add(deal.group_id, new)
        assert not isinstance(made, Kept)
        deal.documents.append(made.document_id)

    async def add_manifest(self, deal: Deal, person: str) -> None:
        item = Item("final.zip", 1000, SHA256, "https://files.example/final.zip")
        leg_id = deal.legs[0] if len(deal.legs) > 1 else None
        made = await self.contract.bookings.manifests.add(person, deal.thread_id, [item], leg_id)
        assert not isinstance(made, Kept)
        deal.manifests.append(made.manifest_id)

    async def make(self, deal: Deal, person: str, type_name: str, payload: Json) -> Card:
        self.clock.jump(3000)
        made = await self.cards.create(person, deal.thread_id, type_name, payload)
        assert not isinstance(made, Kept)
        deal.cards.append(made.card.id)
        return made.card

    async def act(
        self, person: str, card: Card, action: str, version: int, given: Json, once: Once | None
    ) -> Card | Kept:
        return await self.cards.act(person, card.id, action, version, given, once)

    async def card(self, card_id: str) -> Card:
        found, _ = await self.cards.access(None, card_id)
        return found

    async def tell(self, key: str, outcome: Outcome) -> None:
        """As the provider's webhook does."""
        event_id = f"evt-{self.people[0]}-{next(self._events)}"
        now_ms = self.clock()
        await self.contract.provider_events.take(event_id, key, outcome, now_ms=now_ms)
        # What comes again is the same event.
        await self.contract.provider_events.take(event_id, key, outcome, now_ms=now_ms)

    async def work(self) -> None:
        await self.contract.worker.run_until_idle()

    def at(self, hours: float) -> str:
        return rfc3339(self.clock.now_ms + int(hours * HOUR_MS))

    def payload(self, deal: Deal, type_name: str, pick: int) -> Json:
        """What a card of this type may say; some of it cannot be."""
        made = self._payload(deal, type_name, pick)
        if len(deal.legs) > 1 or pick % 5 == 4:
            made["leg_id"] = deal.legs[pick % len(deal.legs)]
        return made

    def _payload(self, deal: Deal, type_name: str, pick: int) -> Json:
        even = pick % 2 == 0
        if type_name == "propose_time":
            return {**self._times(pick), "timezone": "Europe/Vienna"}
        if type_name == "reschedule":
            return {"options": [self._times(pick + n) for n in range(1 + pick % 3)]}
        if type_name == "extras":
            kind = {"kind": "travel"} if even else {}
            return {"items": [{"title": "More", "qty": 1 + pick, "unit_cents": 1500, **kind}]}
        if type_name == "overtime":
            return {"rate_cents_per_hour": 6000, **({"minutes": 15 + pick} if even else {})}
        if type_name == "deliverable":
            return {"manifest_id": deal.manifests[-1] if deal.manifests else "man_none"}
        if type_name == "expense":
            spent = {"amount_cents": 700 + pick, "merchant": "A taxi", "date": "2027-01-02"}
            return {**spent, "buyer_payable": pick % 4 != 3}
        if type_name == "complete":
            return {"kind": "time_based" if even else "milestone"}
        if type_name == "refund":
            return {"reason": "Rain", **({} if even else {"amount_cents": 500 * (pick + 1)})}
        if type_name == "sign":
            return {"document_id": deal.documents[-1] if deal.documents else "doc_none"}
        if type_name == "location":
            return {"lat": 48.2, "lon": 16.4, "until": self.at(1 + pick)}
        return {"reason": "Ill"}

    def _times(self, pick: int) -> Json:
        """Places in the same calendar as the bookings', or in the past."""
        start_ms = self.start_ms + (pick % 12) * HOUR_MS if pick % 9 else self.clock.now_ms - 1
        return {"start": rfc3339(start_ms), "end": rfc3339(start_ms + 2 * HOUR_MS)}

    def input(self, deal: Deal, card: Card, action: str, pick: int) -> Json:
        if action == "counter":
            return self._payload(deal, card.type, pick + 1)
        if action == "accept" and card.type == "reschedule":
            return {"option": pick % 3}
        return {
            "request_revision": {"notes": "Brighter"},
            "resubmit": {"manifest_id": deal.manifests[-1] if deal.manifests else "man_none"},
            "dispute": {"reason": "Nobody came"},
            "sign": {"sha256": SHA256 if pick % 4 else "cd" * 32},
        }.get(action, {})
