"""What the ledger decides shows in the conversation once, whoever dies on the way.

A death is a raised `Gone` or a cancelled task at a named place; the others go on with the same
PostgreSQL and the same DynamoDB.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import asyncpg
import pytest

from greenroom.conversations.model import BookingRef, Role, Thread, ThreadKind
from greenroom.conversations.store import Started
from greenroom.kernel.errors import ActionInvalidState, IdempotencyMismatch, ThreadNotFound
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.idempotency import Kept, Once

from .deaths import (
    AFTER_CHANGE,
    AFTER_DECIDING,
    BEFORE_CHANGE,
    BEFORE_DECISION,
    FaultRig,
    Process,
    open_site,
    said,
)
from .world import IS_FULL, Seed, draft, names, refusal, thread_draft

PROMOTED = "thread.promoted"
ROUNDS = 400 if IS_FULL else 40

Person = Callable[[], str]
_keys = names("k")


@pytest.fixture
async def rig(
    dynamodb_access: Access, dynamodb_table: str, pool: asyncpg.Pool, seed: Seed
) -> AsyncIterator[FaultRig]:
    async with open_site(dynamodb_access, dynamodb_table, pool, seed) as opened:
        yield opened


@pytest.fixture
async def process(rig: FaultRig) -> Process:
    return await rig.process()


def telling(key: str, fingerprint: bytes = b"1") -> Once:
    """An answer that says which thread it was, and as of when."""

    def answer(thread: Thread) -> Kept:
        return Kept(200, f"{thread.id} {thread.kind} {thread.updated_at_ms}".encode())

    return Once("backend", "promote", key, fingerprint, answer)


async def check_promoted_once(
    rig: FaultRig, process: Process, thread_id: str, people: tuple[str, ...]
) -> None:
    for viewer in people:
        found = await process.store.thread(viewer, thread_id)
        assert found is not None
        assert (found[0].kind, found[0].leg_id) == ("project", "leg_1")
        assert await said(process, viewer, thread_id) == [PROMOTED]
        assert await rig.told(process, viewer) == ["thread.changed", "message.new"]
    events = await rig.published(process, thread_id)
    assert events[2:] == ["message.send", "thread.promoted_to_project"]
    assert await process.ledger.pending_in(thread_id, 9) == []


class TestDeath:
    @pytest.mark.parametrize("death", ["crashes", "is_cancelled"])
    @pytest.mark.parametrize("place", AFTER_DECIDING)
    async def test_a_promotion_that_was_decided_happens_once(
        self, rig: FaultRig, process: Process, person: Person, place: str, death: str
    ) -> None:
        people = person(), person(), person()
        thread_id = await rig.thread(process, *people)
        key = telling(next(_keys))
        work = process.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        await getattr(process, death)(place, work)

        other = await rig.later()
        await other.store.settle()
        await check_promoted_once(rig, other, thread_id, people)
        # Whoever did not get their answer asks again, and nothing happens again.
        first = await other.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        again = await other.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        assert again == (first if isinstance(first, Kept) else key.answer(first))
        assert await rig.told(other, people[0]) == ["thread.changed", "message.new"]

    @pytest.mark.parametrize("place", AFTER_DECIDING)
    async def test_a_repeat_need_not_wait_for_the_sweeper(
        self, rig: FaultRig, process: Process, person: Person, place: str
    ) -> None:
        people = person(), person()
        thread_id = await rig.thread(process, *people)
        work = process.store.promote(thread_id, group_id=None, leg_id="leg_1")
        await process.crashes(place, work)
        other = await rig.process()
        thread = await other.store.promote(thread_id, group_id=None, leg_id="leg_1")
        assert isinstance(thread, Thread)
        assert (thread.kind, thread.leg_id) == ("project", "leg_1")
        await (await rig.later()).store.settle()
        await check_promoted_once(rig, other, thread_id, people)

    async def test_what_was_not_decided_does_not_happen(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        people = person(), person()
        thread_id = await rig.thread(process, *people)
        work = process.store.promote(thread_id, group_id=None, leg_id="leg_1")
        await process.crashes(BEFORE_DECISION, work)
        other = await rig.later()
        await other.store.settle()
        assert await said(other, people[0], thread_id) == []
        await other.store.promote(thread_id, group_id=None, leg_id="leg_1")
        await check_promoted_once(rig, other, thread_id, people)

    @pytest.mark.parametrize("death", ["crashes", "is_cancelled"])
    @pytest.mark.parametrize("place", AFTER_DECIDING)
    async def test_a_notice_that_was_decided_is_said_once(
        self, rig: FaultRig, process: Process, person: Person, place: str, death: str
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        await getattr(process, death)(place, process.say(thread_id, "card.paid"))
        other = await rig.later()
        await other.store.settle()
        assert await said(other, ben, thread_id) == ["card.paid"]
        assert await rig.told(other, ben) == ["message.new"]
        assert await other.ledger.pending_in(thread_id, 9) == []

    async def test_a_young_decision_is_left_to_the_process_that_made_it(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        await process.ledger.decide_notice(thread_id, "card.paid", {})
        await process.store.settle()
        assert await said(process, ben, thread_id) == []
        await (await rig.later()).store.settle()
        assert await said(process, ben, thread_id) == ["card.paid"]

    async def test_any_mixture_of_deaths_leaves_what_the_ledger_says(
        self, rig: FaultRig, process: Process, person: Person, seed: Seed
    ) -> None:
        people = person(), person()
        threads = [await rig.thread(process, *people) for _ in range(4)]
        inquiries = set(threads)
        for number in range(ROUNDS):
            thread_id = seed.random.choice(threads)
            worker = await rig.process() if seed.random.random() < 0.3 else process
            work: Coroutine[Any, Any, object]
            if thread_id in inquiries and seed.random.random() < 0.2:
                inquiries.discard(thread_id)
                work = worker.store.promote(thread_id, group_id=None, leg_id="leg_1")
            else:
                work = worker.say(thread_id, f"n{number}")
            place = seed.random.choice([*AFTER_DECIDING, None, None])
            await (work if place is None else worker.crashes(place, work))
            if number % 10 == 9:
                await (await rig.later()).store.settle()
        last = await rig.later()
        await last.store.settle()
        for thread_id in threads:
            decided = await rig.pool.fetch(
                "select data ->> 'code' from decision where thread_id = $1 order by n", thread_id
            )
            codes = [row[0] or PROMOTED for row in decided]
            assert await said(last, people[0], thread_id) == codes


class TestSeveralAtOnce:
    async def test_two_who_settle_at_once_carry_out_once(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        groups = [(person(), person()) for _ in range(6)]
        threads = [await rig.thread(process, *people) for people in groups]
        for thread_id in threads:
            await process.ledger.decide_promotion(thread_id, BookingRef(None, "leg_1"))
        sweepers = [await rig.later() for _ in range(3)]
        await asyncio.gather(*(each.store.settle() for each in sweepers))
        for thread_id, people in zip(threads, groups, strict=True):
            await check_promoted_once(rig, process, thread_id, people)

    async def test_of_different_bookings_one_wins_and_the_others_hear_so(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        processes = [process, await rig.process(), await rig.process()]
        for _ in range(5):
            people = person(), person()
            thread_id = await rig.thread(process, *people)
            outcomes = await asyncio.gather(
                *(
                    each.store.promote(thread_id, group_id=None, leg_id=f"leg_{number}")
                    for number, each in enumerate(processes)
                ),
                return_exceptions=True,
            )
            [won] = [each for each in outcomes if isinstance(each, Thread)]
            lost = [each for each in outcomes if isinstance(each, ActionInvalidState)]
            assert len(lost) == 2, outcomes
            found = await process.store.thread(people[0], thread_id)
            assert found is not None
            assert won.leg_id == found[0].leg_id
            assert (
                await process.ledger.decide_promotion(thread_id, BookingRef(None, won.leg_id))
                is None
            )
            assert await said(process, people[0], thread_id) == [PROMOTED]

    async def test_the_same_booking_several_times_at_once_is_one_promotion(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        people = person(), person()
        thread_id = await rig.thread(process, *people)
        processes = [process, await rig.process(), await rig.process()]
        key = telling(next(_keys))
        outcomes = await asyncio.gather(
            *(
                each.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
                for each in processes
            )
        )
        answers = {each if isinstance(each, Kept) else key.answer(each) for each in outcomes}
        assert len(answers) == 1
        await check_promoted_once(rig, process, thread_id, people)


class TestAnswers:
    async def test_a_repeat_under_a_key_gets_the_first_answer(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        thread_id = await rig.thread(process, person(), person())
        key = telling(next(_keys))
        first = await process.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        assert isinstance(first, Thread)
        await process.store.add_participant(None, thread_id, person(), Role.SUPPORT)
        again = await process.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        assert again == key.answer(first)

    async def test_the_answer_is_kept_with_the_change_itself(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        thread_id = await rig.thread(process, person(), person())
        key = telling(next(_keys))
        work = process.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        await process.crashes(AFTER_CHANGE, work)
        assert await (await rig.process()).store.recall(key) is not None

    async def test_the_answer_is_kept_when_somebody_else_was_faster(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        people = person(), person()
        thread_id = await rig.thread(process, *people)
        key = telling(next(_keys))
        sweeper = await rig.later()

        async def be_overtaken() -> None:
            rig.clock.jump(60_000)
            await sweeper.store.settle()

        process.way.at(BEFORE_CHANGE, be_overtaken)
        thread = await process.store.promote(thread_id, group_id=None, leg_id="leg_1", once=key)
        assert isinstance(thread, Thread)
        assert await sweeper.store.recall(key) == key.answer(thread)
        await check_promoted_once(rig, process, thread_id, people)

    async def test_another_request_under_the_key_decides_nothing(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        one = await rig.thread(process, person(), person())
        other = await rig.thread(process, person(), person())
        key = next(_keys)
        await process.store.promote(one, group_id=None, leg_id="leg_1", once=telling(key))
        call = process.store.promote(
            other, group_id=None, leg_id="leg_1", once=telling(key, b"another")
        )
        assert (await refusal(call))[0] is IdempotencyMismatch
        assert not await rig.is_booked(other)

    async def test_what_cannot_be_promoted_is_not_decided_either(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        new = thread_draft(person(), person(), kind=ThreadKind.SUPPORT)
        started = await process.store.start_thread(new, draft(), ())
        assert isinstance(started, Started)
        thread_id = started.thread.id
        call = process.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert (await refusal(call))[0] is ActionInvalidState
        call = process.store.promote("thr_nowhere", group_id="lbg_1", leg_id=None)
        assert (await refusal(call))[0] is ThreadNotFound
        with pytest.raises(ThreadNotFound):
            await process.say("thr_nowhere", "card.paid")
        assert not await rig.is_booked(thread_id)
        assert not await rig.is_booked("thr_nowhere")
        assert await process.ledger.pending_in("thr_nowhere", 9) == []
