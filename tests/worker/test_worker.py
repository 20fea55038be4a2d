"""The worker carries out payments, runs timers in order, and collects events."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import asyncpg
import pytest

from greenroom.bookings.money.provider import Outcome, ProviderUnavailable
from greenroom.bookings.money.running import PaymentRunner
from greenroom.bookings.timers import in_transaction
from greenroom.bookings.transactions import ContractTransaction, ContractTransactions, NewEvent
from greenroom.events.collector import OUTBOX_TOPIC, Collector
from greenroom.events.log import EventLog
from greenroom.kernel.limits import Limits
from greenroom.kernel.money import Money
from greenroom.platform.backoff import Backoff
from greenroom.platform.bus.port import LocalBus
from greenroom.platform.tasks.runner import TaskRunner
from greenroom.platform.tasks.table import dead_tasks, replay
from greenroom.worker import ROUND_S, Worker
from tests.support.clock import FakeClock
from tests.support.waiting import PATIENCE_S

from .payments import PlainSettling, ScriptedProvider, add_payment, transactions_on

AT_ONCE = Backoff(base_ms=0, cap_ms=0, attempts=3)
TABLES = "task, payment, outbox, event_log, provider_event"


class Bench:
    """A worker and all that it works with."""

    def __init__(self, pool: asyncpg.Pool, clock: "FakeClock") -> None:
        self.pool = pool
        self.clock = clock
        self.bus = LocalBus()
        self.transactions: ContractTransactions = transactions_on(
            pool, clock, wake_collector=lambda: self.bus.publish(OUTBOX_TOPIC, ["ledger"])
        )
        self.provider = ScriptedProvider()
        self.settling = PlainSettling(pool)
        self.ran: list[tuple[str, str]] = []
        self.broken: set[str] = set()
        self.events = EventLog(pool, self.bus)
        self.worker = self.make_worker()

    def make_worker(self) -> Worker:
        worker = Worker(
            self.pool,
            TaskRunner(self.pool, clock=self.clock, backoff=AT_ONCE),
            PaymentRunner(self.pool, self.provider, self.settling),
            self.events,
            timers={"leg_": in_transaction(self.transactions, self.run_timer)},
            clock=self.clock,
            limits=replace(Limits(), maintenance_interval_s=60, maintenance_batch=100),
            timer_backoff=AT_ONCE,
        )
        worker.add(Collector(self.pool, self.events, self.bus, clock=self.clock))
        return worker

    async def run_timer(self, tx: ContractTransaction, subject: str, name: str) -> None:
        tx.emit(NewEvent(f"ran.{name}", leg_id=subject, money=Money(5, "EUR"), data={"a": 1}))
        if subject in self.broken:
            raise RuntimeError("broken")
        self.ran.append((subject, name))

    async def set_timers(self, **due_ms: int) -> None:
        async def work(tx: ContractTransaction) -> None:
            for subject, at_ms in due_ms.items():
                tx.set_timer(subject, "begin", at_ms)

        await self.transactions.run(work)

    async def count(self, table: str) -> int:
        return int(await self.pool.fetchval(f"select count(*) from {table}"))  # noqa: S608

    async def state(self, payment_id: str) -> str:
        state: str = await self.pool.fetchval(
            "select state from payment where payment_id = $1", payment_id
        )
        return state


@pytest.fixture
async def bench(pool: asyncpg.Pool, clock: "FakeClock") -> AsyncIterator[Bench]:
    await pool.execute(f"truncate {TABLES} cascade")
    made = Bench(pool, clock)
    yield made
    await made.worker.stop()


async def test_a_payment_is_carried_out_once_and_its_task_is_gone(bench: Bench) -> None:
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    await bench.worker.run_until_idle()
    await bench.worker.run_until_idle()
    assert await bench.state("pay_1") == "succeeded"
    assert [asked.reference for asked in bench.provider.asked] == ["pay_1"]
    assert await bench.count("task") == 0


async def test_a_payment_with_an_unknown_outcome_is_asked_for_again_under_the_same_key(
    bench: Bench,
) -> None:
    bench.provider.says = [ProviderUnavailable("?"), ProviderUnavailable("?")]
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    await bench.worker.run_until_idle()
    assert {asked.key for asked in bench.provider.asked} == {"key:pay_1"}
    assert len(bench.provider.asked) == 3
    assert await bench.state("pay_1") == "succeeded"


async def test_a_provider_that_stays_away_makes_a_dead_letter_which_a_replay_mends(
    bench: Bench,
) -> None:
    bench.provider.says = [ProviderUnavailable("nobody there")] * 3
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    await bench.worker.run_until_idle()
    assert await bench.state("pay_1") == "queued"
    [dead] = await dead_tasks(bench.pool)
    assert (dead.kind, dead.key) == ("payment", "pay_1")
    assert dead.failure == "ProviderUnavailable: nobody there"
    assert await replay(bench.pool) == 1
    await bench.worker.run_until_idle()
    assert await bench.state("pay_1") == "succeeded"


async def test_a_pending_payment_waits_without_end_and_never_becomes_a_dead_letter(
    bench: Bench,
) -> None:
    bench.provider.says = [Outcome("pending", "prv_1")] * 6
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    for _ in range(6):
        await bench.worker.run_until_idle()
        assert await bench.state("pay_1") == "queued"
    assert await dead_tasks(bench.pool) == []
    await bench.worker.run_until_idle()
    assert await bench.state("pay_1") == "succeeded"


async def test_what_the_provider_declines_has_failed_for_good(bench: Bench) -> None:
    bench.provider.says = [Outcome("failed", "prv_1", "card_declined")]
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    await bench.worker.run_until_idle()
    assert await bench.state("pay_1") == "failed"
    assert len(bench.provider.asked) == 1


async def test_a_refund_waits_for_its_charge_and_names_it_as_the_provider_does(
    bench: Bench,
) -> None:
    now_ms = bench.clock()
    await add_payment(bench.pool, "pay_1", now_ms=now_ms, queued=False)
    await add_payment(
        bench.pool, "pay_2", now_ms=now_ms, operation="refund", source_payment="pay_1"
    )
    await bench.worker.run_until_idle()
    assert bench.provider.asked == []
    await bench.settling.settle("pay_1", Outcome("succeeded", "prv_of_the_charge"))
    await bench.worker.run_until_idle()
    assert [asked.source for asked in bench.provider.asked] == ["prv_of_the_charge"]


async def test_a_refund_of_a_charge_that_failed_fails_without_asking_anybody(bench: Bench) -> None:
    now_ms = bench.clock()
    await add_payment(bench.pool, "pay_1", now_ms=now_ms, queued=False, state="failed")
    await add_payment(
        bench.pool, "pay_2", now_ms=now_ms, operation="refund", source_payment="pay_1"
    )
    await bench.worker.run_until_idle()
    assert await bench.state("pay_2") == "failed"
    assert bench.provider.asked == []


async def test_whoever_waits_for_payments_has_them_at_once(bench: Bench) -> None:
    for payment_id in ("pay_1", "pay_2"):
        await add_payment(bench.pool, payment_id, now_ms=bench.clock())
    bench.provider.says = [ProviderUnavailable("?"), Outcome("succeeded", "prv_2")]
    await bench.worker.run_payments(["pay_1", "pay_2"])
    assert sorted([await bench.state("pay_1"), await bench.state("pay_2")]) == [
        "queued",
        "succeeded",
    ]
    await bench.worker.run_until_idle()
    assert len(bench.provider.asked) == 3
    assert await bench.state("pay_1") == await bench.state("pay_2") == "succeeded"


async def test_two_who_want_the_same_payment_ask_the_provider_once(bench: Bench) -> None:
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    await asyncio.gather(
        bench.worker.run_payments(["pay_1"]),
        bench.worker.run_payments(["pay_1"]),
        bench.worker.run_until_idle(),
    )
    assert len(bench.provider.asked) == 1


async def test_two_workers_are_one_effect(bench: Bench) -> None:
    now_ms = bench.clock()
    for number in range(10):
        await add_payment(bench.pool, f"pay_{number}", now_ms=now_ms)
    await bench.set_timers(leg_a=now_ms - 2, leg_b=now_ms - 1)
    other = bench.make_worker()
    await asyncio.gather(bench.worker.run_until_idle(), other.run_until_idle())
    await bench.worker.run_until_idle()
    await other.stop()
    assert sorted(payment_id for payment_id, _ in bench.settling.settled) == [
        f"pay_{number}" for number in range(10)
    ]
    assert len(bench.provider.asked) == 10
    assert bench.ran == [("leg_a", "begin"), ("leg_b", "begin")]


async def test_a_queued_payment_without_a_task_gets_one_after_a_minute(bench: Bench) -> None:
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock(), queued=False)
    await bench.worker.go_round()
    assert await bench.count("task") == 0
    bench.clock.advance(seconds=61)
    await bench.worker.go_round()
    await bench.worker.go_round()
    assert await bench.count("task") == 1
    await bench.worker.run_until_idle()
    assert await bench.state("pay_1") == "succeeded"


async def test_timers_after_two_days_of_absence_fire_once_and_in_order(bench: Bench) -> None:
    now_ms = bench.clock()
    await bench.set_timers(leg_c=now_ms + 30, leg_a=now_ms + 20, leg_b=now_ms + 20, leg_d=now_ms)
    await bench.set_timers(leg_later=now_ms + 5 * 24 * 3_600_000)
    bench.clock.advance(days=2)
    await bench.worker.go_round()
    await bench.worker.go_round()
    assert [subject for subject, _ in bench.ran] == ["leg_d", "leg_a", "leg_b", "leg_c"]
    assert await bench.count("task") == 1


async def test_a_timer_is_not_run_before_its_time_and_the_worker_wakes_for_it(
    bench: Bench,
) -> None:
    await bench.set_timers(leg_a=bench.clock() + 1500)
    assert await bench.worker.go_round() == 1.5
    assert bench.ran == []
    bench.clock.advance(seconds=1.5)
    assert await bench.worker.go_round() == ROUND_S
    assert bench.ran == [("leg_a", "begin")]


async def test_a_timer_that_fails_does_not_stop_the_others_and_can_be_replayed(
    bench: Bench,
) -> None:
    now_ms = bench.clock()
    await bench.set_timers(leg_a=now_ms - 2, leg_b=now_ms - 1)
    bench.broken = {"leg_a"}
    await bench.worker.run_until_idle()
    assert bench.ran == [("leg_b", "begin")]
    [dead] = await dead_tasks(bench.pool)
    assert (dead.kind, dead.key, dead.attempts) == ("timer", "leg_a/begin", 3)
    assert dead.failure == "RuntimeError: broken"
    # What a failed attempt told of has not happened.
    assert [event.leg_id for event in await bench.events.read(0, 10)] == ["leg_b"]
    bench.broken = set()
    assert await replay(bench.pool, kind="timer", key="leg_z/begin") == 0
    assert await replay(bench.pool, kind="timer", key="leg_a/begin") == 1
    await bench.worker.run_until_idle()
    assert bench.ran == [("leg_b", "begin"), ("leg_a", "begin")]
    assert await bench.count("task") == 0


async def test_a_timer_of_which_nobody_knows_is_a_dead_letter(bench: Bench) -> None:
    await bench.set_timers(xyz_a=bench.clock())
    await bench.worker.run_until_idle()
    [dead] = await dead_tasks(bench.pool)
    assert dead.failure == "LookupError: nobody runs timers of xyz_a"


async def test_a_timer_that_was_moved_meanwhile_waits_for_its_new_time(bench: Bench) -> None:
    now_ms = bench.clock()
    await bench.set_timers(leg_a=now_ms + 10_000)
    await in_transaction(bench.transactions, bench.run_timer)("leg_a", "begin")
    await in_transaction(bench.transactions, bench.run_timer)("leg_gone", "begin")
    assert bench.ran == []
    assert await bench.count("task") == 1


async def test_a_timer_that_does_not_end_by_what_it_does_is_not_run_for_ever(
    bench: Bench,
) -> None:
    async def forgetful(subject: str, name: str) -> None:
        bench.ran.append((subject, name))

    worker = Worker(
        bench.pool,
        TaskRunner(bench.pool, clock=bench.clock),
        PaymentRunner(bench.pool, bench.provider, bench.settling),
        bench.events,
        timers={"leg_": forgetful},
        clock=bench.clock,
        limits=Limits(),
        timer_backoff=AT_ONCE,
    )
    await bench.set_timers(leg_a=bench.clock())
    await worker.run_until_idle()
    assert len(bench.ran) == 3
    assert len(await dead_tasks(bench.pool)) == 1


async def test_an_event_is_logged_with_all_that_was_told(bench: Bench) -> None:
    before = await bench.events.head()
    await bench.set_timers(leg_a=bench.clock())
    await bench.worker.run_until_idle()
    [event] = await bench.events.read(before, 10)
    assert (event.type, event.at_ms, event.leg_id) == ("ran.begin", bench.clock(), "leg_a")
    assert (event.money, event.data) == (Money(5, "EUR"), {"a": 1})
    assert (event.thread_id, event.thread_number) == (None, None)


async def test_events_are_deleted_after_their_keeping_time(bench: Bench) -> None:
    await bench.set_timers(leg_a=bench.clock())
    await bench.worker.run_until_idle()
    await bench.pool.execute("insert into provider_event values ('evt_1', $1)", bench.clock())
    head = await bench.events.head()
    bench.clock.advance(days=29)
    await bench.worker.go_round()
    assert await bench.count("event_log") == await bench.count("provider_event") == 1
    bench.clock.advance(days=2)
    await bench.worker.go_round()
    assert await bench.count("event_log") == await bench.count("provider_event") == 0
    assert await bench.events.head() == head, "positions are not given out again"


async def test_a_batch_that_is_full_is_followed_by_the_next_without_waiting(bench: Bench) -> None:
    await bench.pool.execute(
        "insert into provider_event select 'evt_' || n, $1 from generate_series(1, 150) n",
        bench.clock(),
    )
    bench.clock.advance(days=31)
    await bench.worker.go_round()
    assert await bench.count("provider_event") == 50
    await bench.worker.go_round()
    assert await bench.count("provider_event") == 0


async def test_one_worker_at_a_time_leads(bench: Bench) -> None:
    await bench.set_timers(leg_a=bench.clock())
    other = bench.make_worker()
    async with other._leading() as is_leading:
        assert is_leading
        assert await bench.worker.go_round() == ROUND_S
        assert bench.ran == []
    await bench.worker.go_round()
    assert bench.ran == [("leg_a", "begin")]


async def test_a_running_worker_does_all_this_by_itself_and_stops(bench: Bench) -> None:
    head = await bench.events.head()
    await bench.set_timers(leg_a=bench.clock())
    bench.worker.start()
    await add_payment(bench.pool, "pay_1", now_ms=bench.clock())
    async with asyncio.timeout(PATIENCE_S):
        await bench.settling.happened.wait()
        assert await bench.events.wait_for_new(head, PATIENCE_S)
    await asyncio.wait_for(bench.worker.stop(), PATIENCE_S)
    assert bench.ran == [("leg_a", "begin")]
