"""The contract of the bus, on every adapter."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from greenroom.platform.bus.nats import NatsBus
from greenroom.platform.bus.port import LocalBus
from greenroom.platform.bus.postgres import PostgresBus

from .rig import BusRig, Ear, Pace

STRANGER = "0123456789abcdef"


@pytest.fixture(params=["local", "postgres", "nats"])
async def alone(request: pytest.FixtureRequest) -> AsyncIterator[Ear]:
    """A process that meets no other: it has the bus for that, or its server is away."""
    pace, bus = Pace(), LocalBus()
    if request.param == "postgres":
        bus = PostgresBus("postgresql://127.0.0.1:1/", sleep=pace.sleep, random=lambda: 0.0)
    elif request.param == "nats":
        bus = NatsBus("nats://127.0.0.1:1", sleep=pace.sleep, random=lambda: 0.0)
    await bus.start()
    yield Ear(bus, pace)
    await bus.stop()


class TestInOneProcess:
    async def test_handlers_are_called_before_publish_returns(self, alone: Ear) -> None:
        second = Ear(alone.bus, alone.pace)
        alone.bus.publish("feed", ["usr_1", "usr_2"])
        alone.bus.publish("feed", [])
        alone.bus.publish("unheard", ["usr_3"])
        assert alone.calls == second.calls == [["usr_1", "usr_2"]]

    async def test_a_handler_that_fails_is_logged_and_disturbs_nobody(
        self, alone: Ear, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(_: Sequence[str]) -> None:
            raise LookupError

        alone.bus.subscribe("feed", fail)
        after = Ear(alone.bus, alone.pace)
        alone.bus.publish("feed", ["usr_1"])
        assert after.calls == [["usr_1"]]
        assert "a handler of hints failed" in caplog.text

    @pytest.mark.parametrize("topic", ["", "_gap", "two words", "a.b", "Feed", "x" * 49])
    async def test_a_topic_is_a_plain_word(self, alone: Ear, topic: str) -> None:
        with pytest.raises(ValueError, match="topic"):
            alone.bus.subscribe(topic, print)
        alone.bus.publish(topic, ["usr_1"])


class TestBetweenProcesses:
    async def test_a_hint_reaches_the_others_and_its_sender_once(self, rig: BusRig) -> None:
        ada, ben = await rig.two()
        ada.bus.publish("feed", ["usr_1"])
        ben.bus.publish("feed", ["usr_2"])
        assert await ben.until_items(2) == ["usr_2", "usr_1"]
        assert await ada.until_items(2) == ["usr_1", "usr_2"]
        ada.bus.publish("feed", ["usr_3"])
        assert await ben.until_items(3) == ["usr_2", "usr_1", "usr_3"]
        assert ada.items == ["usr_1", "usr_2", "usr_3"]
        assert (ada.gaps, ben.gaps) == (1, 1)

    async def test_what_is_published_together_goes_in_one_message_each_item_once(
        self, rig: BusRig
    ) -> None:
        ada, ben = await rig.two()
        ada.bus.publish("feed", ["usr_1", "usr_2"])
        ada.bus.publish("feed", ["usr_2", "usr_3", "usr_1"])
        await ben.until_items(3)
        assert ben.calls == [["usr_1", "usr_2", "usr_3"]]

    async def test_many_long_ids_are_cut_into_messages_that_the_server_takes(
        self, rig: BusRig
    ) -> None:
        ada, ben = await rig.two()
        ids = [f"{number:0200}" for number in range(5000)]
        ada.bus.publish("feed", ids)
        assert await ben.until_items(len(ids)) == ids
        assert len(ben.calls) == {"postgres": 148, "nats": 16}[rig.kind]

    async def test_ten_thousand_items_come_in_order(self, rig: BusRig) -> None:
        ada, ben = await rig.two()
        ids = [f"usr_{number}" for number in range(10_000)]
        for start in range(0, len(ids), 50):
            ada.bus.publish("feed", ids[start : start + 50])
            await asyncio.sleep(0)
        assert await ben.until_items(len(ids)) == ids

    async def test_topics_do_not_mix(self, rig: BusRig) -> None:
        ada, ben = await rig.two()
        typing: list[str] = []
        ben.bus.subscribe("typing", typing.extend)
        ada.bus.publish("typing", ["usr_1"])
        ada.bus.publish("unheard", ["usr_2"])
        ada.bus.publish("feed", ["usr_3"])
        assert await ben.until_items(1) == ["usr_3"]
        assert typing == ["usr_1"]

    async def test_when_too_much_waits_the_rest_is_dropped_and_others_learn_of_a_gap(
        self, rig: BusRig
    ) -> None:
        ada, ben = await rig.two(queue_limit=10)
        ids = [f"usr_{number}" for number in range(25)]
        ada.bus.publish("feed", ids)
        await ben.until_gaps(2)
        assert ben.items == ids[:10]
        assert (ada.items, ada.gaps) == (ids, 1)

    @pytest.mark.parametrize("item", ["", "two words", "a,b", "é", "a\nb", "x" * 201])
    async def test_what_is_no_id_does_not_travel_but_leaves_a_gap(
        self, rig: BusRig, item: str
    ) -> None:
        ada, ben = await rig.two()
        ada.bus.publish("feed", ["usr_1", item, "usr_2"])
        await ben.until_gaps(2)
        assert ben.items == ["usr_1", "usr_2"]

    @pytest.mark.parametrize(
        ("topic", "text"),
        [
            ("feed", ""),
            ("feed", "usr_1"),
            ("feed", "stranger usr_1"),
            ("feed", STRANGER),
            ("feed", f"{STRANGER} "),
            ("feed", f"{STRANGER} usr_1,,usr_2"),
            ("feed", f"{STRANGER} usr_1 usr_2"),
            ("feed", f"{STRANGER} usr_é"),
            ("feed", f"{STRANGER} {'x' * 201}"),
            ("strange", f"{STRANGER} usr_1"),
            ("_gap", "stranger -"),
            ("_ping", f"{STRANGER} -"),
        ],
    )
    async def test_what_a_stranger_says_on_the_channel_is_not_believed(
        self, rig: BusRig, topic: str, text: str
    ) -> None:
        ear = await rig.connected()
        await rig.say(topic, text)
        await rig.say("feed", f"{STRANGER} usr_9")
        assert await ear.until_items(1) == ["usr_9"]
        assert ear.gaps == 1

    async def test_a_message_that_is_longer_than_ours_is_not_believed(self, rig: BusRig) -> None:
        ear = await rig.connected()
        count = {"postgres": 1250, "nats": 11_000}[rig.kind]
        await rig.say("feed", f"{STRANGER} {','.join(['usr_1'] * count)}")
        await rig.say("feed", f"{STRANGER} usr_9")
        assert await ear.until_items(1) == ["usr_9"]


class TestStop:
    async def test_what_waits_is_sent_first(self, rig: BusRig) -> None:
        ada, ben = await rig.two()
        ada.bus.publish("feed", ["usr_1"])
        await ada.bus.stop()
        assert not ada.bus.is_connected
        assert await ben.until_items(1) == ["usr_1"]

    async def test_that_is_so_even_right_after_the_start(self, rig: BusRig) -> None:
        ada, ben = rig.ear(), await rig.connected()
        ada.bus.publish("feed", ["usr_1"])
        await ada.bus.start()
        await ada.bus.stop()
        assert await ben.until_items(1) == ["usr_1"]

    async def test_a_server_that_is_away_is_not_waited_for(self, rig: BusRig) -> None:
        ear = await rig.connected()
        await rig.gate.shut()
        await ear.until_away()
        ear.bus.publish("feed", ["usr_1"])
        await ear.bus.stop()
        ear.bus.publish("feed", ["usr_2"])
        assert ear.items == ["usr_1", "usr_2"]

    async def test_without_a_start_there_is_nothing_to_do(self, rig: BusRig) -> None:
        ear = rig.ear()
        await ear.bus.stop()
        await ear.bus.stop()
