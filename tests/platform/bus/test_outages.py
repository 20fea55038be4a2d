"""Servers go away, vanish without a word, and come back."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from urllib.parse import urlsplit

import asyncpg
import nats
import pytest

from greenroom.platform.bus import nats as bus_nats
from greenroom.platform.bus import rounds as bus_rounds
from greenroom.platform.bus.nats import NatsBus
from greenroom.platform.bus.rounds import BACKOFF, PING_INTERVAL_S, QUEUE_LIMIT
from greenroom.platform.logs import JsonFormatter
from tests.support.nats_server import NatsServer
from tests.support.waiting import PATIENCE_S

from .rig import SECRET, BusRig, Ear, Pace

STRANGER = "0123456789abcdef"
# Unlike the interval, so that a test can tell one from the other.
PING_TIMEOUT_S = PING_INTERVAL_S - 1


async def test_a_server_away_at_the_start_keeps_nobody_from_publishing(rig: BusRig) -> None:
    await rig.gate.shut()
    ada, ben = rig.ear(), rig.ear()
    for ear in (ada, ben):
        await ear.bus.start()
        await ear.until_away()
    ada.bus.publish("feed", (f"usr_{number}" for number in range(QUEUE_LIMIT + 1)))
    assert len(ada.items) == QUEUE_LIMIT + 1
    await rig.gate.open()
    await ada.until(lambda: ada.bus.is_connected)
    await ben.until(lambda: ben.bus.is_connected)
    ben.bus.publish("feed", ["usr_last"])
    await ada.until(lambda: "usr_last" in ada.items)


async def test_what_was_published_during_an_outage_is_sent_after_it(rig: BusRig) -> None:
    elsewhere = BusRig(rig.kind, rig.url)
    await elsewhere.gate.open()
    ada, ben = await rig.connected(), await elsewhere.connected()
    for outage in (1, 2, 3):
        await rig.gate.shut()
        await ada.until_away()
        ada.bus.publish("feed", [f"usr_{outage}"])
        await rig.gate.open()
        await ada.until_gaps(1 + outage)
        assert await ben.until_items(outage) == [f"usr_{each + 1}" for each in range(outage)]
    assert ben.gaps == 1
    await elsewhere.close()


async def test_a_round_that_may_not_have_arrived_is_a_gap_for_the_others(rig: BusRig) -> None:
    elsewhere = BusRig(rig.kind, rig.url)
    await elsewhere.gate.open()
    ada, ben = await rig.connected(), await elsewhere.connected()
    rig.gate.is_mute = True
    ada.bus.publish("feed", ["usr_1"])
    await rig.gate.swallowed.wait()
    rig.gate.is_mute = False
    rig.gate.part()
    await ben.until_gaps(2)
    assert ben.items == []
    await elsewhere.close()


async def test_a_connection_that_died_without_a_word_is_noticed_by_a_ping(
    rig: BusRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bus_rounds, "PING_TIMEOUT_S", PING_TIMEOUT_S)
    ear = await rig.connected()
    for _ in range(3):
        await ear.pace.elapse(PING_INTERVAL_S)
        assert ear.bus.is_connected
    rig.gate.is_mute = True
    await ear.pace.elapse(PING_TIMEOUT_S)
    await ear.until_away()
    rig.gate.is_mute = False
    await ear.until_gaps(2)
    await rig.say("feed", f"{STRANGER} usr_1")
    assert await ear.until_items(1) == ["usr_1"]


@pytest.mark.parametrize(
    ("random", "expected_s"), [(1.0, [0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]), (0.0, [0.1] * 7)]
)
async def test_each_failed_attempt_is_followed_by_a_longer_wait_of_random_length(
    rig: BusRig, random: float, expected_s: list[float]
) -> None:
    await rig.gate.shut()
    asked_s: list[float] = []
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        asked_s.append(seconds)
        if len(asked_s) == len(expected_s):
            enough.set()
            await asyncio.Event().wait()

    ear = rig.ear(sleep=sleep, random=lambda: random)
    await ear.bus.start()
    async with asyncio.timeout(PATIENCE_S):
        await enough.wait()
    assert asked_s == pytest.approx(expected_s)


async def test_an_outage_is_logged_once_when_it_begins_and_once_when_it_ends(
    rig: BusRig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    pace, attempts = Pace(), 0

    async def open_at_the_third_attempt(seconds: float) -> None:
        nonlocal attempts
        if seconds == BACKOFF.delay_ms(0, 0) / 1000:
            attempts += 1
            if attempts == 3:
                await rig.gate.open()
        await pace.sleep(seconds)

    ear = await rig.connected(sleep=open_at_the_third_attempt)
    await rig.gate.shut()
    await ear.until_gaps(2)
    assert attempts == 3
    said = [(each.levelname, each.getMessage().partition(":")[0]) for each in caplog.records]
    assert said == [("WARNING", "the bus is away"), ("INFO", "the bus is back")]
    written = "".join(JsonFormatter().format(each) for each in caplog.records)
    assert SECRET not in written
    assert str(urlsplit(rig.url).password) not in written


class TestPostgres:
    @pytest.fixture
    async def rig(self, database_url: str) -> AsyncIterator[BusRig]:
        made = BusRig("postgres", database_url)
        await made.gate.open()
        yield made
        await made.close()

    async def test_a_backend_that_was_terminated_is_replaced(
        self, rig: BusRig, pool: asyncpg.Pool
    ) -> None:
        ada, ben = await rig.two()
        ended = await pool.fetch(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'greenroom-bus' and datname = current_database()"
        )
        assert len(ended) >= 2
        await ada.until_gaps(2)
        await ben.until_gaps(2)
        ada.bus.publish("feed", ["usr_1"])
        assert await ben.until_items(1) == ["usr_1"]


class TestNats:
    @pytest.fixture
    def server(self) -> Iterator[NatsServer]:
        with NatsServer() as server:
            yield server

    @pytest.fixture
    async def rig(self, server: NatsServer) -> AsyncIterator[BusRig]:
        made = BusRig("nats", server.url)
        await made.gate.open()
        yield made
        await made.close()

    async def test_a_server_that_was_killed_and_started_again_is_found_again(
        self, rig: BusRig, server: NatsServer
    ) -> None:
        ada, ben = await rig.two()
        server.kill()
        await ada.until_away()
        await asyncio.to_thread(server.start)
        await ada.until_gaps(2)
        await ben.until_gaps(2)
        ada.bus.publish("feed", ["usr_1"])
        assert await ben.until_items(1) == ["usr_1"]

    async def test_a_server_that_refuses_us_is_asked_again_until_it_does_not(
        self, rig: BusRig, server: NatsServer
    ) -> None:
        ear = await rig.connected()
        server.kill()
        await asyncio.to_thread(server.start, "--user", "greenroom", "--pass", "another")
        await ear.until_away()
        server.kill()
        await asyncio.to_thread(server.start, "--user", "greenroom", "--pass", SECRET)
        await ear.until_gaps(2)

    async def test_of_several_servers_one_that_answers_is_taken(self, server: NatsServer) -> None:
        pace = Pace()
        bus = NatsBus(f"nats://127.0.0.1:1, {server.url}", sleep=pace.sleep, random=lambda: 0.0)
        ear = Ear(bus, pace)
        await bus.start()
        await ear.until_gaps(1)
        assert bus.is_connected
        await bus.stop()

    async def test_messages_that_the_client_had_to_drop_are_a_gap(
        self, rig: BusRig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bus_nats, "RECEIVE_BUFFER_MESSAGES", 1)
        ear = await rig.connected()
        client = await nats.connect(rig.url)
        for number in range(100):
            await client.publish("greenroom.feed", f"{STRANGER} usr_{number}".encode())
        await client.drain()
        await ear.until_gaps(2)
