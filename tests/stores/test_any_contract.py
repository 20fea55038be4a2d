"""Whatever people, the backend, the bank and the clock do to contracts, in whatever order: all the
money is there, nobody is booked twice, the history has no gap, and everybody sees the same cards.

Hypothesis makes up the histories. A failure prints the steps, a blob and a seed: both replay them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, note
from hypothesis import settings as size
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from greenroom.bookings.model import Side
from greenroom.bootstrap import Rooms
from greenroom.cards.model import Card
from greenroom.kernel.errors import ActionInvalidState, Problem
from greenroom.kernel.limits import Limits
from greenroom.platform.idempotency import Kept, Once
from greenroom.setting_values import STORES
from greenroom.settings import Settings

from .agreed import DAY_MS, HOUR_MS, Deal, World
from .holds import (
    Pages,
    check_ends,
    check_history,
    check_money,
    check_sums,
    check_worked,
    snapshot,
)
from .world import IS_FULL, Seed, WildClock, seeded_randomness

MOST_DEALS = 3
EXAMPLES = {"postgres": 4, "dynamodb": 2}
STEPS = 10
THINGS = 5
TYPES = [
    *("propose_time", "reschedule", "extras", "overtime", "deliverable", "expense", "complete"),
    *("cancel", "refund", "sign", "location"),
]

RARELY = 0.1
seeds = st.binary(min_size=8, max_size=8)
JUMPS_MS = [60_000, HOUR_MS, DAY_MS, 4 * DAY_MS, 8 * DAY_MS, 15 * DAY_MS]


class Contracts(RuleBasedStateMachine):
    loop: ClassVar[asyncio.AbstractEventLoop]
    rooms: ClassVar[Rooms]
    clock: ClassVar[WildClock]
    numbers: ClassVar[Iterator[int]]
    salt: ClassVar[int]

    def __init__(self) -> None:
        super().__init__()
        self.world = World(self.rooms, self.clock)
        self.run(self.world.open())
        self.pages = Pages(self.world)
        self.touched: set[str] = set()
        self.has_worked = False
        self.happened = 0

    def run(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(work)

    def attempt(
        self, work: Callable[[], Awaitable[Any]], *, never: type[Problem] | None = None
    ) -> Any:
        """What came of it; None for what was refused, which has then changed nothing. `never`: how
        it must not be refused."""
        before = self.run(snapshot(self.world))
        self.has_worked = False
        try:
            return self.run(work())
        except Problem as problem:
            if problem.status >= 500 or isinstance(problem, never or ()):
                raise
            assert self.run(snapshot(self.world)) == before
            return None

    def deal(self, chance: Random) -> Deal:
        """Mostly the first."""
        deals = self.world.deals
        deal = deals[0] if chance.random() < 0.5 else chance.choice(deals)
        self.touched.add(deal.thread_id)
        return deal

    def person(self, chance: Random, expected: str) -> str:
        return chance.choice(self.world.people) if chance.random() < RARELY else expected

    @rule(seed=seeds)
    def some_things_happen(self, seed: bytes) -> None:
        """All of it comes from the seed and from how much has happened: Hypothesis prefers what is
        small and the same, and contracts become interesting by being long and various."""
        for _ in range(THINGS):
            self.happened += 1
            self.something_happens(Random(f"{self.salt} {seed.hex()} {self.happened}"))
            self.it_holds()

    def something_happens(self, chance: Random) -> None:
        does = {
            self.make: 10,
            self.act: 6,
            self.work: 3,
            self.time_passes: 3,
            self.propose: 2,
            self.confirm: 2,
            self.cancel: 1,
            self.the_bank_changes: 2,
            self.the_bank_decides: 2,
            self.the_bank_says_so_again: 1,
            self.what_failed_is_tried_again: 1,
        }
        [do] = chance.choices(list(does), list(does.values()))
        note(do.__name__)
        do(chance)

    # What people and the backend do.

    @initialize(seed=seeds)
    def ann_books_bob(self, seed: bytes) -> None:
        ann, bob, *_ = self.world.people
        deal = self.run(
            self.world.propose(ann, [(bob, 0, *_terms(Random(f"{self.salt} {seed.hex()}")))])
        )
        self.run(self.world.confirm(deal, runs_now=True))
        self.touched.add(deal.thread_id)

    def propose(self, chance: Random) -> None:
        if len(self.world.deals) == MOST_DEALS:
            return
        ann, bob, sue, eve = self.world.people
        wanted = [
            (chance.choice([bob, sue]), chance.randrange(6), *_terms(chance))
            for _ in range(chance.choice([1, 2]))
        ]
        buyer = chance.choice([ann, eve])
        deal = self.attempt(lambda: self.world.propose(buyer, wanted))
        assert deal is not None
        self.touched.add(deal.thread_id)

    def confirm(self, chance: Random) -> None:
        deal = self.deal(chance)
        runs_now = chance.random() < 0.7
        self.attempt(lambda: self.world.confirm(deal, runs_now=runs_now))

    def cancel(self, chance: Random) -> None:
        deal = self.deal(chance)
        by: Side | None = chance.choice(["buyer", "seller", None])
        self.attempt(lambda: self.world.cancel(deal, by))

    def make(self, chance: Random) -> None:
        """A card, and what becomes of it in the next moments."""
        deal, type_name, detail = self.deal(chance), chance.choice(TYPES), chance.randrange(12)
        self.bring_papers(deal, type_name, chance)
        payload = self.world.payload(deal, type_name, detail)
        creators = {"buyer": deal.buyer, "seller": deal.sellers[detail % len(deal.sellers)]}
        side = chance.choice(sorted(self.catalogue[type_name].create))
        person = self.person(chance, creators[side])
        card = self.attempt(lambda: self.world.make(deal, person, type_name, payload))
        for _ in range(chance.randrange(4) if card else 0):
            if chance.random() < 0.5:
                self.work(chance)
            self.act_on(deal, card.id, chance)

    def bring_papers(self, deal: Deal, type_name: str, chance: Random) -> None:
        if type_name == "sign" and chance.random() < 0.8:
            signers = deal.parties[: chance.randint(1, len(deal.parties))]
            self.attempt(lambda: self.world.add_document(deal, signers))
        if type_name in ("deliverable", "sign") and chance.random() < 0.8:
            person = self.person(chance, deal.sellers[0])
            self.attempt(lambda: self.world.add_manifest(deal, person))

    def act(self, chance: Random) -> None:
        """On one of the last cards."""
        deals = [deal for deal in self.world.deals if deal.cards]
        if deals:
            deal = chance.choice(deals)
            self.act_on(deal, chance.choice(deal.cards[-5:]), chance)

    def act_on(self, deal: Deal, card_id: str, chance: Random) -> None:
        self.touched.add(deal.thread_id)
        found = self.run(self.world.card(card_id))
        chosen = self.choose(deal, found, chance)
        if chosen is None:
            return
        person, action, is_offered = chosen
        given = self.world.input(deal, found, action, chance.randrange(12))
        version = found.version - (chance.random() < RARELY)
        once = _once(person, next(self.numbers))

        def work() -> Awaitable[Card | Kept]:
            return self.world.act(person, found, action, version, given, once)

        # What somebody is shown a button for is possible as the booking stands.
        never = ActionInvalidState if is_offered and version == found.version else None
        done = self.attempt(work, never=never)
        if done is not None:
            assert version == found.version
            assert done.version > found.version
            self.note_answers(deal, found)
            before = self.run(snapshot(self.world))
            assert isinstance(self.run(work()), Kept)
            assert self.run(snapshot(self.world)) == before

    def choose(self, deal: Deal, card: Card, chance: Random) -> tuple[str, str, bool] | None:
        """Mostly what is offered to one of the parties; else anybody and any action."""
        if chance.random() < RARELY:
            actions = sorted({each.action for each in self.catalogue[card.type].transitions})
            return chance.choice(self.world.people), chance.choice(actions), False
        offered = [
            (person, each.action, True)
            for person in deal.parties
            for each in self.world.cards.renderer.render_card(card, person).available_actions
        ]
        return chance.choice(offered) if offered else None

    @property
    def catalogue(self) -> Any:
        return self.world.cards.catalogue.types

    def note_answers(self, deal: Deal, card: Card) -> None:
        """A counter-offer is a new card."""
        statement = "select card_id from card where answers_card = $1"
        for row in self.run(self.world.pool.fetch(statement, card.id)):
            deal.cards.append(row["card_id"])

    # What happens by itself.

    def the_bank_changes(self, chance: Random) -> None:
        self.world.bank.mode = chance.choice(["succeeded", "succeeded", "failed", "pending"])

    def the_bank_decides(self, chance: Random) -> None:
        pending = self.world.bank.pending
        if not pending:
            return
        key = chance.choice(pending)
        outcome = self.world.bank.decide(key, chance.choice(["succeeded", "succeeded", "failed"]))
        self.touch_all()
        self.has_worked = False
        if chance.random() < 0.5:
            self.run(self.world.tell(key, outcome))

    def what_failed_is_tried_again(self, chance: Random) -> None:
        """By the backend, once or twice: it is made once."""
        retrying, groups = self.world.contract.retrying, {d.group_id for d in self.world.deals}
        found = self.run(retrying.failed("", 1000))
        failed = [each.payment_id for each in found if each.group_id in groups]
        if not failed:
            return
        payment_id = chance.choice(failed)
        self.touch_all()
        made = self.attempt(lambda: retrying.retry(payment_id))
        if made is not None:
            before = self.run(snapshot(self.world))
            assert self.run(retrying.retry(payment_id)).payment_id == made.payment_id
            assert self.run(snapshot(self.world)) == before

    def the_bank_says_so_again(self, chance: Random) -> None:
        """A late event changes nothing, once the worker has heard it."""
        self.work(chance)
        answers = self.world.bank.answers
        if not answers:
            return
        key = chance.choice(list(answers))
        before = self.run(snapshot(self.world))
        self.run(self.world.tell(key, answers[key]))
        self.run(self.world.tell(key, replace(answers[key], status="failed")))
        assert self.run(snapshot(self.world)) == before

    def work(self, _: Random) -> None:
        self.run(self.world.work())
        self.touch_all()
        self.has_worked = True

    def time_passes(self, chance: Random) -> None:
        self.clock.jump(chance.choice(JUMPS_MS))
        if chance.random() < 0.5:
            self.work(chance)

    def touch_all(self) -> None:
        self.touched.update(deal.thread_id for deal in self.world.deals)

    # What must hold.

    @invariant()
    def it_holds(self) -> None:
        self.run(self.check())
        self.touched, self.has_worked = set(), False

    async def check(self) -> None:
        await check_money(self.world)
        await check_sums(self.world)
        await check_ends(self.world)
        if self.touched:
            await check_history(self.world)
        for deal in self.world.deals:
            if deal.thread_id in self.touched:
                await self.pages.check(deal)
        if self.has_worked:
            await check_worked(self.world)

    def teardown(self) -> None:
        """Everything comes to its end, and whoever only followed the feed has seen it all."""
        for _ in range(3):
            for key in self.world.bank.pending:
                self.world.bank.decide(key, "succeeded")
            self.world.bank.mode = "succeeded"
            self.run(self.world.work())
        assert not self.world.bank.pending
        self.touch_all()
        self.has_worked = True
        self.run(self.check())
        for viewer in self.world.people:
            self.run(self.pages.check_feed(viewer))


def _terms(chance: Random) -> tuple[int, int, bool]:
    """Of a leg: price, deposit, and whether it is a studio's."""
    price = chance.choice([0, 10_000, 10_000, 25_001])
    return price, chance.choice([0, 0, 300, 5_000]), chance.random() < 0.5


def _once(person: str, number: int) -> Once:
    def answer(card: Card) -> Kept:
        return Kept(200, card.id.encode())

    return Once(f"person:{person}", "act", f"k{number}", b"1", answer)


@pytest.fixture(scope="module")
def limits() -> Limits:
    """Nothing is archived for being old: these histories take years."""
    ages = 100_000
    return Limits(messages_page=1000, quiet_days_until_archived=ages, feed_kept_days=ages)


def test_any_contract(
    settings: Settings, database_url: str, conversations: str, seed: Seed
) -> None:
    loop, clock = asyncio.new_event_loop(), WildClock()
    # Both stores share a ledger here: neither may meet people or ids of the other.
    first = STORES.index(conversations)

    async def open_rooms() -> Rooms:
        rooms = Rooms(settings, database_url, clock=clock, randomness=seeded_randomness(first))
        return await rooms.__aenter__()

    rooms = loop.run_until_complete(open_rooms())
    parts = {
        "loop": loop,
        "rooms": rooms,
        "clock": clock,
        "numbers": iter(range(first * 10**6, 10**9)),
        "salt": seed.number,
    }
    try:
        run_state_machine_as_test(
            type("AnyContract", (Contracts,), parts),
            settings=size(
                max_examples=400 if IS_FULL else EXAMPLES[conversations],
                stateful_step_count=2 * STEPS if IS_FULL else STEPS,
                deadline=None,
                # Making a failed history shorter takes minutes: only where there are minutes.
                phases=list(Phase) if IS_FULL else [Phase.reuse, Phase.generate],
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        loop.run_until_complete(rooms.__aexit__())
        loop.close()
