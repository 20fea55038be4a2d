"""What `greenroom check` says of the log, and what `greenroom events list` shows of it."""

import asyncio
import json
from pathlib import Path

from greenroom.events.upkeep import EventUpkeep
from greenroom.kernel.clock import rfc3339
from tests.support import command

from .workbench import Workbench


async def faults(bench: Workbench) -> list[tuple[str, str]]:
    return [(each.kind, each.found) async for each in EventUpkeep(bench.pool).check()]


async def test_a_sound_log_has_no_faults_whatever_was_deleted(bench: Workbench) -> None:
    assert await faults(bench) == []
    for number in range(4):
        await bench.write(f"thr_{number % 2}", "msg_1", "msg_2")
    await bench.collect()
    assert await faults(bench) == []
    bench.clock.advance(days=1)
    await bench.log.prune(bench.clock(), 3)
    assert await faults(bench) == []
    await bench.log.prune(bench.clock(), 100)
    assert await faults(bench) == []


async def test_lost_and_misnumbered_events_are_found(bench: Workbench) -> None:
    await bench.write("thr_a", *(f"msg_{number}" for number in range(8)))
    await bench.collect()
    await bench.pool.execute("delete from event_log where position = 3")
    await bench.pool.execute("update event_thread set last_number = 7")
    assert await faults(bench) == [
        ("event_position", "7 events from 1 to 8"),
        ("event_number", "event 4 of 7"),
        ("event_number", "event 8 of 7"),
    ]
    await bench.pool.execute("update event_log_head set position = 2")
    assert ("event_position", "the last event is 8") in await faults(bench)


async def test_the_command_lists_the_latest_of_a_thread_of_a_type_and_since(
    bench: Workbench, tmp_path: Path, database_url: str
) -> None:
    given = {"GREENROOM_HOME": str(tmp_path), "GREENROOM_DATABASE_URL": database_url}

    async def listed(*options: str) -> str:
        argv = ("events", "list", *options)
        done = await asyncio.to_thread(command.run, *argv, given=given)
        assert done.code == 0, done.err
        return done.out

    assert await listed() == "the event log contains no such event\n"
    await bench.write("thr_a", "msg_1", "msg_2")
    await bench.collect()
    bench.clock.advance(hours=1)
    await bench.write("thr_b", "msg_3")
    await bench.collect()
    [last] = (await listed("--limit", "1")).splitlines()
    position, at, kind, event_id, thread_id, number, message_id = last.split()
    assert (position, at, kind) == ("3", rfc3339(bench.clock()), "message.send")
    assert (thread_id, number, message_id) == ("thr_b", "1", "msg_3")
    since = json.loads(await listed("--since", rfc3339(bench.clock()), "--json"))
    assert [each["id"] for each in since] == [event_id]
    of_thread = json.loads(await listed("--thread", "thr_a", "--type", "message.send", "--json"))
    assert [each["message_id"] for each in of_thread] == ["msg_1", "msg_2"]
    assert await listed("--type", "thread.read") == "the event log contains no such event\n"
