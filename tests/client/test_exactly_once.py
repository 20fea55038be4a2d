"""Whatever transports do and however they are switched: each event once, in order."""

import asyncio
import random
from typing import NoReturn

import pytest

from greenroom_client.choice import KINDS
from greenroom_client.errors import BrokenOffError, NotOpenedError, Problem, UnreachableError
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Signal
from greenroom_client.transport import Sink, StreamEndedError

from .rig import Behaviour, Log, Rig, during
from .virtual_time import run_virtually

SWITCHES = 1000


def unreliable(log: Log, chance: random.Random) -> Behaviour:
    """Tells everything from `since` on, in pieces, for a while."""

    def failure() -> Exception:
        return chance.choice(
            [
                StreamEndedError(1006),
                StreamEndedError(1012),
                StreamEndedError(4408),
                BrokenOffError("in the middle"),
                UnreachableError("nobody"),
                Problem(503, "UNAVAILABLE", retry_after_s=1),
                NotOpenedError("not today"),
            ]
        )

    async def tell(since: str | None, sink: Sink) -> NoReturn:
        at = log.start(since)
        if chance.random() < 0.1:
            raise failure()
        await asyncio.sleep(chance.random() / 50)
        sink.opened(None)
        while True:
            if chance.random() < 0.02:
                raise failure()
            await log.until_longer_than(at)
            for event in log.events[at : at + chance.randint(1, 20)]:
                at += 1
                sink.deliver(event, event["cursor"])
                if chance.random() < 0.2:
                    await asyncio.sleep(chance.random() / 100)
            if chance.random() < 0.3:
                sink.deliver(None, f"e-{at}")
            if chance.random() < 0.1:
                assert await sink.taken() == f"e-{at}"

    return tell


async def _switch_a_lot(seed: int) -> None:
    chance = random.Random(seed)
    log = Log()
    told: list[int] = []
    news = Signal()
    is_over = asyncio.Event()

    async def write() -> None:
        while not is_over.is_set():
            for _ in range(chance.choice([1, 1, 2, 50])):
                log.write()
            await asyncio.sleep(chance.random() / 5)

    limits = ClientLimits(buffered_events=30)
    async with Rig(otherwise=unreliable(log, chance), limits=limits, chance=chance.random) as rig:

        async def read() -> None:
            while True:
                try:
                    # Also an application that loses patience loses nothing.
                    event = await asyncio.wait_for(rig.handover.next(), chance.random())
                except TimeoutError:
                    continue
                told.append(event["number"])
                news.fire()
                assert rig.handover.position == event["cursor"]
                if chance.random() < 0.05:
                    await asyncio.sleep(chance.random())

        async def switch() -> None:
            for _ in range(SWITCHES):
                if chance.random() < 0.5:
                    await asyncio.sleep(chance.random() / 5)
                await rig.feed.use(chance.choice([*KINDS, None]))
            is_over.set()

        async def everything() -> None:
            await switch()
            await news.wait_for(lambda: len(told) >= len(log.events))

        rig.feed.start()
        await during(everything(), write(), read())
    assert told == [*range(1, len(log.events) + 1)]
    print(f"{len(told)} events, {rig.attempts()} attempts")


def test_a_thousand_switches_miss_nothing_and_repeat_nothing(seed: random.Random) -> None:
    run_virtually(_switch_a_lot(seed.randrange(1 << 32)))


def test_what_an_abandoned_transport_still_brings_is_refused() -> None:
    async def story() -> None:
        log = Log()
        for _ in range(3):
            log.write()
        sinks: list[Sink] = []

        async def tell_one(since: str | None, sink: Sink) -> NoReturn:
            sinks.append(sink)
            sink.opened(None)
            event = log.events[log.start(since)]
            sink.deliver(event, event["cursor"])
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async with Rig(otherwise=tell_one) as rig:
            await rig.feed.use("ws")
            assert (await rig.handover.next())["number"] == 1
            await rig.feed.use("sse")
            sinks[0].deliver(log.events[2], "e-3")
            sinks[0].opened(None)
            assert (await rig.handover.next())["number"] == 2
            assert rig.handover.is_empty
            assert rig.transports["sse"].began == ["e-1"]
            assert rig.feed.transport == "sse"

    run_virtually(story())


def test_what_was_not_taken_is_brought_anew_by_the_next_transport() -> None:
    async def story() -> None:
        log = Log()
        for _ in range(5):
            log.write()

        async def tell_all(since: str | None, sink: Sink) -> NoReturn:
            sink.opened(None)
            for event in log.events[log.start(since) :]:
                sink.deliver(event, event["cursor"])
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async with Rig(otherwise=tell_all) as rig:
            await rig.feed.use("ws")
            told = [(await rig.handover.next())["number"] for _ in range(2)]
            await rig.feed.use("poll")
            told += [(await rig.handover.next())["number"] for _ in range(3)]
            assert told == [1, 2, 3, 4, 5]
            assert rig.transports["poll"].began == ["e-2"]

    run_virtually(story())


def test_what_was_received_can_be_taken_while_the_server_is_away() -> None:
    async def story() -> None:
        log = Log()
        for _ in range(3):
            log.write()

        async def tell_and_break(_since: str | None, sink: Sink) -> NoReturn:
            sink.opened(None)
            for event in log.events:
                sink.deliver(event, event["cursor"])
            sink.deliver({"type": "typing", "thread_id": "t", "user_id": "u", "on": True}, None)
            raise StreamEndedError(1006)

        async def nobody(_since: str | None, _sink: Sink) -> NoReturn:
            raise UnreachableError("nobody")

        async with Rig(otherwise=nobody) as rig:
            rig.transports["ws"].plan = [tell_and_break]
            rig.feed.start()
            await asyncio.sleep(0)
            told = [(await rig.handover.next())["number"] for _ in range(3)]
            assert told == [1, 2, 3]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(60):
                    await rig.handover.next()
            assert set(rig.transports["ws"].began[1:]) == {"e-3"}

    run_virtually(story())


def test_an_application_that_falls_behind_gets_everything_at_its_own_pace() -> None:
    async def story() -> None:
        log = Log()
        for _ in range(100):
            log.write()

        async def tell_all(since: str | None, sink: Sink) -> NoReturn:
            sink.opened(None)
            for event in log.events[log.start(since) :]:
                sink.deliver(event, event["cursor"])
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async with Rig(otherwise=tell_all, limits=ClientLimits(buffered_events=30)) as rig:
            rig.feed.start()
            told: list[int] = []
            while len(told) < 100:
                await asyncio.sleep(1)
                told.append((await rig.handover.next())["number"])
                # Sends do not wait for a feed that is held back by the application alone.
                if rig.feed.transport is None:
                    rig.link.down(0)
                    async with rig.link.turn():
                        rig.link.up()
            assert told == [*range(1, 101)]
            assert rig.transports["ws"].began == [None, "e-30", "e-60", "e-90"]

    run_virtually(story())


def test_an_application_that_fell_behind_can_switch_without_taking_the_rest_first() -> None:
    async def story() -> None:
        log = Log()
        for _ in range(100):
            log.write()

        async def tell_all(since: str | None, sink: Sink) -> NoReturn:
            sink.opened(None)
            for event in log.events[log.start(since) :]:
                sink.deliver(event, event["cursor"])
            await asyncio.get_running_loop().create_future()
            raise AssertionError

        async with Rig(otherwise=tell_all, limits=ClientLimits(buffered_events=30)) as rig:
            rig.feed.start()
            told: list[int] = []
            while len(told) < 100:
                told.append((await rig.handover.next())["number"])
                await asyncio.sleep(1)
                if len(told) % 7 == 0:
                    await rig.feed.use("sse")
            assert told == [*range(1, 101)]

    run_virtually(story())


def test_events_have_one_reader_at_a_time() -> None:
    async def story() -> None:
        async with Rig() as rig:
            first = asyncio.create_task(rig.handover.next())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="one reader"):
                await rig.handover.next()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    run_virtually(story())
