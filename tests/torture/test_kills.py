"""Processes are killed in the middle of sends: what was acknowledged is there, once, in order."""

import asyncio
import itertools
import random
import sys
from collections.abc import Awaitable, Callable

import httpx

from tests.support import IS_FULL
from tests.support.waiting import PATIENCE_S

from .databases import Database
from .talk import Talk, all_done, check_unavailable

WRITERS = 8
SERVER_KILLS, SERVER_SENDS = (100, 10_000) if IS_FULL else (2, 160)
DATABASE_KILLS, DATABASE_SENDS = (50, 5_000) if IS_FULL else (1, 120)
WORKER_KILLS, WORKER_SENDS = (10, 4_000) if IS_FULL else (1, 120)
STOPS = 20 if IS_FULL else 1

StartTalk = Callable[..., Awaitable[Talk]]


async def write_through(
    talk: Talk, seed: random.Random, *, sends: int, kills: int, kill: Callable[[], Awaitable[None]]
) -> None:
    """Everybody writes and reads while `kill` comes over them at random moments."""
    moments = sorted(seed.sample(range(1, sends - WRITERS), kills))

    async def strike() -> None:
        for done, moment in enumerate(moments, start=1):
            await talk.until_acknowledged(moment)
            for _ in range(seed.randrange(200)):
                await asyncio.sleep(0)
            await kill()
            if IS_FULL:
                told = f"{done}/{kills} kills, {len(talk.acknowledged)}/{sends} acknowledged"
                print(told, file=sys.__stderr__, flush=True)

    total = sends + len(talk.threads)
    writers = [talk.write(number, sends // WRITERS) for number in range(WRITERS)]
    readers = [talk.follow(who, total) for who in (talk.ada, talk.ben)]
    by_ada, by_ben, *_ = await all_done(*readers, strike(), *writers)
    assert len(talk.acknowledged) == sends
    assert by_ada == by_ben
    for seqs in by_ada.values():
        assert seqs == [*range(1, len(seqs) + 1)]
    await talk.check()


async def test_a_killed_server_loses_and_doubles_nothing(
    start_talk: StartTalk, seed: random.Random
) -> None:
    talk = await start_talk()

    async def kill() -> None:
        await talk.server.die()
        await talk.server.begin()

    await write_through(talk, seed, sends=SERVER_SENDS, kills=SERVER_KILLS, kill=kill)


async def test_a_killed_database_loses_and_doubles_nothing(
    start_talk: StartTalk, seed: random.Random, database: Database
) -> None:
    """The server stays, says 503 while the database is away, and recovers by itself."""
    talk = await start_talk()
    server = talk.server.pid
    asked = itertools.count()

    async def kill() -> None:
        await database.kill()
        body = {"client_id": f"away-{next(asked)}", "body": "is anybody there?"}
        for answer in (
            await talk.ada.call("POST", talk.path(0), body),
            await talk.ben.call("GET", "/v1/inbox"),
            await talk.ben.call("GET", "/v1/sync"),
        ):
            check_unavailable(answer)
        await database.restart()

    await write_through(talk, seed, sends=DATABASE_SENDS, kills=DATABASE_KILLS, kill=kill)
    assert talk.server.pid == server
    assert await talk.server.finish() == 0


async def test_a_killed_worker_is_replaced_and_loses_nothing(
    start_talk: StartTalk, seed: random.Random
) -> None:
    talk = await start_talk(workers=2)

    async def kill() -> None:
        await talk.server.kill_worker(seed)

    await write_through(talk, seed, sends=WORKER_SENDS, kills=WORKER_KILLS, kill=kill)
    assert await talk.server.finish() == 0


async def test_a_stop_in_the_middle_of_sends_answers_all_that_was_written(
    start_talk: StartTalk, seed: random.Random
) -> None:
    """Whatever is in the database was acknowledged: no answer was lost on the way out."""
    for _ in range(STOPS):
        talk = await start_talk()

        async def stop(talk: Talk = talk) -> int:
            await talk.until_acknowledged(seed.randrange(20, 150))
            return await talk.server.finish()

        writers = [talk.write_while_up(number) for number in range(WRITERS)]
        code, *_ = await all_done(stop(), *writers)
        assert code == 0
        await talk.server.begin()
        await talk.check()


async def test_a_stop_waits_for_sends_that_are_under_way(
    start_talk: StartTalk, database: Database
) -> None:
    """They are held until the server has stopped listening, so they are under way then."""
    talk = await start_talk(threads=1)
    async with database.holding(*talk.threads) as release:
        sends = [asyncio.create_task(one_send(talk, number)) for number in range(WRITERS)]
        async with asyncio.timeout(PATIENCE_S):
            while await in_flight(talk) < WRITERS or not await database.is_waited_for():
                pass
        stopping = asyncio.create_task(talk.server.finish())
        while await is_listening(talk):
            pass
        assert not any(send.done() for send in sends)
        await release()
        assert await stopping == 0
        assert [answer.status_code for answer in await asyncio.gather(*sends)] == [201] * WRITERS
    await talk.server.begin()
    await talk.check()


async def one_send(talk: Talk, number: int) -> httpx.Response:
    body = {"client_id": f"held-{number}", "body": f"held-{number}"}
    answer = await talk.writer(number).call("POST", talk.path(0), body)
    await talk.note(body["client_id"], answer)
    return answer


async def in_flight(talk: Talk) -> int:
    """As the server counts them, without this question itself."""
    text = (await talk.ada.call("GET", "/metrics")).text
    lines = [line for line in text.splitlines() if "in_flight" in line and line[0] != "#"]
    return round(sum(float(line.split()[-1]) for line in lines)) - 1


async def is_listening(talk: Talk) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", talk.server.port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
