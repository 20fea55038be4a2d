"""The collector: nothing is lost, nothing comes twice, and the order of a thread is kept."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import asyncpg
import pytest
from asyncpg.transaction import Transaction
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from greenroom.conversations.store import Deliver, DomainEvent, HandedOver
from greenroom.events import collector as collecting
from greenroom.platform.postgres.pool import Session, open_pool
from tests.support import IS_FULL
from tests.support.waiting import LOOK_S, PATIENCE_S

from .workbench import WRITE, Workbench

NEVER_S = 3600.0


async def test_a_collector_is_woken_by_a_commit(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "LOOK_S", NEVER_S)
    bench.start(bench.collector())
    await wait_for_leader(bench)
    for number in range(1, 4):
        await bench.write("thr_a", f"msg_{number}")
        assert await bench.log.wait_for_new(number - 1, PATIENCE_S)
    assert await bench.of_thread("thr_a") == ["msg_1", "msg_2", "msg_3"]


async def test_a_change_that_commits_later_is_logged_later(bench: Workbench) -> None:
    """Whatever number its rows have in the outbox; threads do not wait for each other."""
    collector = bench.collector()
    async with bench.writing("thr_a", "early"):
        await bench.write("thr_b", "late")
        await collector.drain()
        assert await bench.texts() == ["late"]
    await collector.drain()
    assert await bench.texts() == ["late", "early"]
    assert await bench.of_thread("thr_a") == ["early"]


async def test_an_undone_change_leaves_no_gap(bench: Workbench) -> None:
    with pytest.raises(RuntimeError, match="undone"):
        async with bench.writing("thr_a", "never"):
            raise RuntimeError("undone")
    await bench.write("thr_a", "msg_1")
    await bench.write(None, "msg_2")
    await bench.collect()
    events = await bench.log.read(0, 10)
    assert [(each.position, each.thread_number) for each in events] == [(1, 1), (2, None)]


class Repeating:
    """A store that dies before it can note what it has handed over, again and again."""

    def __init__(self, *events: DomainEvent) -> None:
        self._events = events
        self._looks = 0

    async def hand_over(self, deliver: Deliver) -> HandedOver:
        self._looks += 1
        await deliver(self._events[: self._looks])
        return HandedOver(self._looks, has_more=self._looks < len(self._events))


async def test_an_event_that_comes_again_is_logged_once(bench: Workbench) -> None:
    events = [
        DomainEvent(f"evt_{number}", "message.send", 1, "ada", "thr_a", f"msg_{number}", {"a": 1})
        for number in range(4)
    ]
    await bench.write("thr_a", "ledger")
    for _ in range(2):
        await bench.collector(store=Repeating(*events)).drain()
    assert await bench.of_thread("thr_a") == ["ledger", "msg_0", "msg_1", "msg_2", "msg_3"]
    assert await bench.log.head() == 5
    logged = await bench.log.event("evt_2")
    assert logged is not None
    assert (logged.actor, logged.data, logged.position) == ("ada", {"a": 1}, 4)


async def test_two_collectors_log_each_event_once_while_their_connections_are_cut(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "STANDBY_S", 0.01)
    bench.start(bench.collector(batch=3), bench.collector(batch=3))
    written: dict[str, list[str | None]] = {"thr_a": [], "thr_b": [], "thr_c": []}
    for cut in range(6 if IS_FULL else 3):
        for number in range(4):
            for thread_id in written:
                texts = [f"{thread_id} {cut} {number} {each}" for each in range(3)]
                await bench.write(thread_id, *texts)
                written[thread_id] += texts
        await bench.pool.execute("select pg_terminate_backend($1)", await wait_for_leader(bench))
    total = sum(map(len, written.values()))
    async with asyncio.timeout(PATIENCE_S):
        while await bench.log.head() < total:
            await bench.log.wait_for_new(await bench.log.head(), 1.0)
    events = await bench.log.read(0, 1000)
    assert [each.position for each in events] == list(range(1, total + 1))
    for thread_id, expected in written.items():
        assert await bench.of_thread(thread_id) == expected


async def test_another_collector_takes_over_when_the_leader_stops(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "STANDBY_S", 0.01)
    first, second = bench.collector(), bench.collector()
    bench.start(first)
    await wait_for_leader(bench)
    bench.start(second)
    assert await bench.collector().drain() == 0, "somebody leads"
    first.stop()
    await bench.write("thr_a", "msg_1")
    assert await bench.log.wait_for_new(0, PATIENCE_S)


async def wait_for_leader(bench: Workbench) -> int:
    async with asyncio.timeout(PATIENCE_S):
        # Nothing tells of a lock that was given out.
        while (leader := await bench.leader()) is None:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
    return leader


THREADS = ("thr_a", "thr_b", "thr_c")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(THREADS), st.integers(1, 4)),
        st.tuples(st.sampled_from(("commit", "undo")), st.sampled_from(THREADS), st.just(0)),
        st.just(("collect", "", 0)),
    ),
    max_size=30,
)


def test_in_any_history_a_thread_is_logged_in_the_order_of_its_commits(database_url: str) -> None:
    """Transactions of several threads are open at once, one of each thread, as its lock sees to;
    the collector looks at any moment."""
    with asyncio.Runner() as runner:
        pool = runner.run(
            open_pool(database_url, min_size=1, max_size=8, statement_timeout_ms=15_000)
        )

        @hypothesis_settings(
            max_examples=300 if IS_FULL else 25,
            deadline=None,
            phases=list(Phase) if IS_FULL else [Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(STEPS)
        def play(steps: Sequence[tuple[str, str, int]]) -> None:
            runner.run(History(pool).play(steps))

        try:
            play()
        finally:
            runner.run(pool.close())


class History:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._bench = Workbench(pool)
        self._collector = self._bench.collector(batch=3)
        self._committed: dict[str, list[str | None]] = {thread_id: [] for thread_id in THREADS}
        self._open: dict[str, OpenChange] = {}
        self._count = 0

    async def play(self, steps: Sequence[tuple[str, str, int]]) -> None:
        await self._bench.clear()
        for step, thread_id, count in steps:
            if step == "collect":
                await self._collector.drain()
            elif step == "write":
                await self._write(thread_id, count)
            elif thread_id in self._open:
                await self._end(thread_id, is_kept=step == "commit")
        for thread_id in list(self._open):
            await self._end(thread_id, is_kept=True)
        await self._collector.drain()
        for thread_id, texts in self._committed.items():
            assert await self._bench.of_thread(thread_id) == texts
        log = await self._bench.log.read(0, 1000)
        assert [each.position for each in log] == list(range(1, len(log) + 1))
        assert len(log) == sum(map(len, self._committed.values()))

    async def _write(self, thread_id: str, count: int) -> None:
        if thread_id not in self._open:
            self._open[thread_id] = await OpenChange.begin(self._bench.pool)
        texts = [str(self._count + number) for number in range(count)]
        self._count += count
        change = self._open[thread_id]
        await change.conn.execute(WRITE, self._bench.clock(), thread_id, texts)
        change.texts += texts

    async def _end(self, thread_id: str, *, is_kept: bool) -> None:
        change = self._open.pop(thread_id)
        if is_kept:
            await change.transaction.commit()
            self._committed[thread_id] += change.texts
        else:
            await change.transaction.rollback()
        await self._bench.pool.release(change.conn)


@dataclass
class OpenChange:
    conn: Session
    transaction: Transaction
    texts: list[str] = field(default_factory=list)

    @classmethod
    async def begin(cls, pool: asyncpg.Pool) -> "OpenChange":
        conn = await pool.acquire()
        transaction = conn.transaction()
        await transaction.start()
        return cls(conn, transaction)
