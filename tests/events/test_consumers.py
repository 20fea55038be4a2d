"""Consumers of the log: each at its own pace, from where it stopped, and again from any place."""

import asyncio
import logging
from collections.abc import Sequence

import pytest

from greenroom.events import consumers
from greenroom.events.consumers import advance, cursor_of, forget
from greenroom.events.model import LoggedEvent
from greenroom.platform.postgres.pool import Session
from tests.support.waiting import PATIENCE_S, until

from .workbench import Workbench, texts_of


class Notes:
    """Writes down what it is given."""

    def __init__(self) -> None:
        self.texts: list[str | None] = []

    async def __call__(self, _conn: Session, events: Sequence[LoggedEvent]) -> None:
        self.texts += texts_of(events)


async def test_a_consumer_begins_at_the_end_and_goes_on_where_it_stopped(bench: Workbench) -> None:
    await bench.write("thr_a", "before")
    await bench.collect()
    notes = Notes()
    await bench.consumer("notes", notes).drain()
    await bench.write("thr_a", "msg_1", "msg_2", "msg_3")
    await bench.collect()
    assert await bench.consumer("notes", notes, batch=2).step() == 2
    assert await bench.log.lags() == {"notes": 1}
    await bench.consumer("notes", notes).drain()
    assert notes.texts == ["msg_1", "msg_2", "msg_3"]
    assert await bench.log.lags() == {"notes": 0}


async def test_a_slow_consumer_and_a_failing_one_keep_no_other_waiting(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "LOOK_S", 3600.0)
    may_go_on, notes, attempts = asyncio.Event(), Notes(), 0

    async def wait(_conn: Session, _events: Sequence[LoggedEvent]) -> None:
        await may_go_on.wait()

    async def fail(_conn: Session, events: Sequence[LoggedEvent]) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 4:
            raise RuntimeError("not yet")
        later.texts += texts_of(events)

    later = Notes()
    three = [bench.consumer("slow", wait), bench.consumer("failing", fail)]
    quick = bench.consumer("quick", notes)
    for each in (*three, quick):
        assert await each.step() == 0
    bench.start(bench.collector(), *three, quick)
    for number in range(3):
        await bench.write("thr_a", f"msg_{number}")
        await until(lambda: len(notes.texts) > number, "the quick one has it")  # noqa: B023
    assert (await bench.log.lags())["slow"] == 3
    await until(lambda: len(later.texts) == 3, "the failing one has all")
    assert later.texts == notes.texts == ["msg_0", "msg_1", "msg_2"]
    may_go_on.set()


async def test_what_a_consumer_writes_comes_with_its_cursor(bench: Workbench) -> None:
    async def fail(conn: Session, _events: Sequence[LoggedEvent]) -> None:
        await conn.execute("insert into event_cursor values ('written', 1)")
        raise RuntimeError("at the end")

    consumer = bench.consumer("failing", fail)
    await consumer.step()
    await bench.write("thr_a", "msg_1")
    await bench.collect()
    with pytest.raises(RuntimeError):
        await consumer.step()
    assert await bench.log.lags() == {"failing": 1}


async def test_of_several_workers_one_at_a_time_handles_events(bench: Workbench) -> None:
    at_work, may_go_on, notes = asyncio.Event(), asyncio.Event(), Notes()

    async def wait(conn: Session, events: Sequence[LoggedEvent]) -> None:
        at_work.set()
        await may_go_on.wait()
        await notes(conn, events)

    first, second = bench.consumer("same", wait), bench.consumer("same", notes)
    await first.step()
    await bench.write("thr_a", "msg_1")
    await bench.collect()
    working = asyncio.create_task(first.step())
    await asyncio.wait_for(at_work.wait(), PATIENCE_S)
    assert await second.step() is None
    may_go_on.set()
    assert await working == 1
    assert await second.step() == 0
    assert notes.texts == ["msg_1"]


async def test_events_are_read_again_from_a_place_or_a_time(bench: Workbench) -> None:
    notes = Notes()
    consumer = bench.consumer("notes", notes)
    await consumer.step()
    for number in range(4):
        bench.clock.advance(hours=1)
        await bench.write("thr_a", f"msg_{number}", f"msg_{number}b")
        await bench.collect()
    await consumer.drain()
    assert await bench.log.position_at(bench.clock()) == 6
    assert await bench.log.position_at(bench.clock() + 1) == 8
    assert await bench.log.position_at(bench.clock() - 24 * 3_600_000) == 0
    notes.texts.clear()
    async with bench.pool.acquire() as conn, conn.transaction():
        assert await cursor_of(conn, "notes", start=0) == 8
        await advance(conn, "notes", await bench.log.position_at(bench.clock() - 3_600_000))
    await consumer.drain()
    assert notes.texts == ["msg_2", "msg_2b", "msg_3", "msg_3b"]


async def test_old_events_go_although_a_consumer_has_not_read_them(
    bench: Workbench, caplog: pytest.LogCaptureFixture
) -> None:
    """Numbers are not given out again, and the consumer goes on with what is left."""
    notes = Notes()
    consumer = bench.consumer("late", notes)
    await consumer.step()
    await bench.write("thr_a", "old_1", "old_2", "old_3")
    await bench.collect()
    bench.clock.advance(days=1)
    assert await bench.log.prune(bench.clock(), 2) == 2
    assert await bench.log.prune(bench.clock(), 2) == 1
    await bench.write("thr_a", "new")
    await bench.collect()
    assert await bench.log.prune(bench.clock(), 2) == 0
    with caplog.at_level(logging.ERROR):
        await consumer.drain()
    assert "away for so long" in caplog.text
    assert notes.texts == ["new"]
    [event] = await bench.log.read(0, 10)
    assert (event.position, event.thread_number) == (4, 4)


async def test_a_consumer_that_is_no_more_is_forgotten(bench: Workbench) -> None:
    async with bench.pool.acquire() as conn, conn.transaction():
        assert await cursor_of(conn, "gone", start=7) == 7
        await forget(conn, "gone")
    assert await bench.log.lags() == {}


async def test_events_are_found_by_type_and_the_latest_first(bench: Workbench) -> None:
    await bench.write("thr_a", "msg_1", "msg_2", "msg_3")
    await bench.pool.execute("update outbox set event = 'thread.read' where message_id = 'msg_2'")
    await bench.collect()
    assert texts_of(await bench.log.read(0, 10, types=["thread.read"])) == ["msg_2"]
    assert texts_of(await bench.log.latest(2)) == ["msg_2", "msg_3"]
    assert texts_of(await bench.log.of_thread("thr_a", 1, 1)) == ["msg_2"]
    assert texts_of(await bench.log.read(3, 10)) == []


async def test_an_older_copy_of_the_database_makes_nobody_spin(bench: Workbench) -> None:
    """A restored database ends before what this process has heard of."""
    bench.log.announce(100)
    assert await bench.log.wait_for_new(1, 0)
    assert await bench.log.read(1, 10) == []
    assert not await bench.log.wait_for_new(1, 0)
