"""Decisions of one thread keep their order, and one that fails keeps up no other thread."""

import logging
from collections.abc import AsyncIterator, Callable

import asyncpg
import pytest

from greenroom.conversations.dynamodb.changes.decisions import DECISIONS_AT_ONCE, MARK_KEPT_DAYS
from greenroom.conversations.dynamodb.items.keys import decision_key
from greenroom.conversations.model import DAY_MS, BookingRef, Thread, ThreadKind
from greenroom.conversations.store import Started
from greenroom.kernel.errors import ActionInvalidState, Unavailable
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb.credentials import Access

from .deaths import (
    AFTER_DECISION,
    BEFORE_CHANGE,
    BEFORE_DONE,
    FaultRig,
    Process,
    lose_connection,
    open_site,
    said,
)
from .world import Seed, WildClock, draft, refusal, thread_draft

PROMOTED = "thread.promoted"

Person = Callable[[], str]


@pytest.fixture
async def rig(
    dynamodb_access: Access, dynamodb_table: str, pool: asyncpg.Pool, seed: Seed
) -> AsyncIterator[FaultRig]:
    async with open_site(dynamodb_access, dynamodb_table, pool, seed) as opened:
        yield opened


@pytest.fixture
async def process(rig: FaultRig) -> Process:
    return await rig.process()


class TestOrder:
    async def test_what_waits_is_carried_out_in_the_order_of_the_decisions(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        await process.ledger.decide_notice(thread_id, "one", {})
        await process.ledger.decide_promotion(thread_id, BookingRef("lbg_1", None))
        await process.ledger.decide_notice(thread_id, "two", {})
        await process.ledger.decide_notice(thread_id, "three", {})
        await (await rig.later()).store.settle()
        assert await said(process, ben, thread_id) == ["one", PROMOTED, "two", "three"]

    async def test_a_living_process_does_not_overtake_a_dead_one(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        await process.crashes(AFTER_DECISION, process.say(thread_id, "one"))
        other = await rig.process()
        thread = await other.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert isinstance(thread, Thread)
        assert thread.kind == "project"
        await process.crashes(AFTER_DECISION, process.say(thread_id, "two"))
        await other.say(thread_id, "three")
        assert await said(other, ben, thread_id) == ["one", PROMOTED, "two", "three"]

    async def test_clocks_that_differ_do_not_change_the_order(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        ahead = await rig.process(WildClock(rig.clock.now_ms + 60_000))
        await ahead.ledger.decide_notice(thread_id, "one", {})
        await process.ledger.decide_notice(thread_id, "two", {})
        await (await rig.later()).store.settle()
        assert await said(process, ben, thread_id) == ["one", "two"]

    async def test_a_promotion_waits_for_any_number_of_decisions_before_it(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        codes = [f"n{number}" for number in range(DECISIONS_AT_ONCE + 1)]
        for code in codes:
            await process.ledger.decide_notice(thread_id, code, {})
        call = process.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert (await refusal(call))[0] is Unavailable
        assert await said(process, ben, thread_id) == codes[:-1]
        await process.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert await said(process, ben, thread_id) == [*codes, PROMOTED]


class TestFailures:
    async def test_a_thread_that_has_vanished_keeps_up_nobody(
        self, rig: FaultRig, process: Process, person: Person, caplog: pytest.LogCaptureFixture
    ) -> None:
        ada, ben = person(), person()
        lost = await process.ledger.decide_notice("thr_vanished", "card.paid", {})
        thread_id = await rig.thread(process, ada, ben)
        await process.ledger.decide_notice(thread_id, "card.paid", {})
        other = await rig.later()
        with caplog.at_level(logging.ERROR):
            await other.store.settle()
        assert await said(other, ben, thread_id) == ["card.paid"]
        assert await rig.failure(lost) == "THREAD_NOT_FOUND"
        [record] = caplog.records
        assert (record.__dict__["event"], record.__dict__["code"]) == (lost.id, "THREAD_NOT_FOUND")

        caplog.clear()
        await other.store.settle()
        assert caplog.records == [], "it is parked, and tried no more"
        await rig.pool.execute("update decision set failure = null where id = $1", lost.id)
        await other.store.settle()
        assert len(caplog.records) == 1, "whoever mends the cause has it tried again"

    async def test_what_a_thread_cannot_do_is_parked_and_the_next_goes_on(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        new = thread_draft(ada, ben, kind=ThreadKind.SUPPORT)
        started = await process.store.start_thread(new, draft(), ())
        assert isinstance(started, Started)
        thread_id = started.thread.id
        decision = await process.ledger.decide_promotion(thread_id, BookingRef("lbg_1", None))
        assert decision is not None
        await process.say(thread_id, "next")
        assert await said(process, ben, thread_id) == ["next"]
        assert await rig.failure(decision) == "ACTION_INVALID_STATE"

    async def test_a_thread_that_cannot_be_reached_keeps_up_its_own_decisions_alone(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        threads = [await rig.thread(process, ada, ben) for _ in range(2)]
        for thread_id in threads:
            await process.ledger.decide_notice(thread_id, "one", {})
            await process.ledger.decide_notice(thread_id, "two", {})
        other = await rig.later()
        other.way.at(BEFORE_CHANGE, lose_connection)
        assert await other.store.settle() >= 2
        assert [await said(other, ben, each) for each in threads] == [[], ["one", "two"]]
        await other.store.settle()
        assert await said(other, ben, threads[0]) == ["one", "two"]

    async def test_a_decision_that_nobody_understands_keeps_up_its_own_thread_alone(
        self, rig: FaultRig, process: Process, person: Person, caplog: pytest.LogCaptureFixture
    ) -> None:
        ada, ben = person(), person()
        broken, whole = [await rig.thread(process, ada, ben) for _ in range(2)]
        decision = await process.ledger.decide_promotion(broken, BookingRef("lbg_1", None))
        assert decision is not None
        await rig.pool.execute("update decision set data = '{}' where id = $1", decision.id)
        await process.ledger.decide_notice(whole, "card.paid", {})
        other = await rig.later()
        with caplog.at_level(logging.ERROR):
            await other.store.settle()
        assert await said(other, ben, whole) == ["card.paid"]
        assert [record.__dict__["event"] for record in caplog.records] == [decision.id]
        assert await other.ledger.pending_in(broken, 9) != []
        await rig.pool.execute("delete from decision where id = $1", decision.id)

    async def test_a_notice_is_decided_although_its_thread_cannot_be_reached(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        process.way.at(BEFORE_CHANGE, lose_connection)
        await process.say(thread_id, "card.paid")
        assert await said(process, ben, thread_id) == []
        await (await rig.later()).store.settle()
        assert await said(process, ben, thread_id) == ["card.paid"]

    async def test_what_has_happened_is_answered_although_the_ledger_is_away(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        ada, ben = person(), person()
        thread_id = await rig.thread(process, ada, ben)
        process.way.at(BEFORE_DONE, lose_connection)
        thread = await process.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        assert isinstance(thread, Thread)
        assert thread.group_id == "lbg_1"
        assert len(await process.ledger.pending_in(thread_id, 9)) == 1
        await (await rig.later()).store.settle()
        assert await process.ledger.pending_in(thread_id, 9) == []
        assert await said(process, ben, thread_id) == [PROMOTED]


class TestUpkeep:
    async def test_marks_end_by_themselves(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        thread_id = await rig.thread(process, person(), person())
        decision = await process.ledger.decide_promotion(thread_id, BookingRef("lbg_1", None))
        assert decision is not None
        await process.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        mark = await process.store._table.get(decision_key(decision.id))
        assert mark is not None
        assert mark["ttl"] == (mark["at"] + MARK_KEPT_DAYS * DAY_MS) // 1000

    async def test_decisions_are_forgotten_some_time_after_they_are_done_bookings_are_not(
        self, rig: FaultRig, process: Process, person: Person
    ) -> None:
        thread_id = await rig.thread(process, person(), person())
        await process.store.promote(thread_id, group_id="lbg_1", leg_id=None)
        waiting = await process.ledger.decide_notice(thread_id, "card.paid", {})
        rig.clock.jump((Limits().event_log_kept_days + 1) * DAY_MS)
        assert (await process.store.prune())["decision"] >= 1
        left = await rig.pool.fetch("select id from decision where thread_id = $1", thread_id)
        assert [row["id"] for row in left] == [waiting.id]
        call = process.ledger.decide_promotion(thread_id, BookingRef("lbg_2", None))
        assert (await refusal(call))[0] is ActionInvalidState
        assert await process.ledger.decide_promotion(thread_id, BookingRef("lbg_1", None)) is None
