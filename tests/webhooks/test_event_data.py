"""What is delivered of an event: the present, without what not everybody in the thread sees."""

from __future__ import annotations

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.cards.catalogue.loading import load_catalogue
from greenroom.conversations.model import Role
from greenroom.events.model import LoggedEvent
from tests.cards.stage import Stage
from tests.support.api import Api, Json
from tests.support.clock import FakeClock
from tests.webhooks.logged import collect
from tests.webhooks.schemas import check, texts_in

SECRET = "Between us"


async def deliver(rooms: Rooms, thread_id: str, *, include_content: bool = True) -> list[Json]:
    """Type and data of every event of a thread, checked against the catalogue."""
    events = [each for each in await collect(rooms) if each.thread_id == thread_id]
    filled = await rooms.event_data.fill(events, include_content=include_content)
    for event, data in zip(events, filled, strict=True):
        check(event, data)
    return [{"type": event.type, **data} for event, data in zip(events, filled, strict=True)]


def of_type(delivered: list[Json], type_name: str) -> list[Json]:
    return [each for each in delivered if each["type"] == type_name]


async def test_texts_are_delivered_only_if_asked_for(rooms: Rooms, api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob, body=SECRET, subject="Portraits")
    thread_id = started["thread"]["id"]
    [sent] = of_type(await deliver(rooms, thread_id), "message.send")
    assert (sent["message"]["body"], sent["thread"]["subject"]) == (SECRET, "Portraits")
    [sent] = of_type(await deliver(rooms, thread_id, include_content=False), "message.send")
    assert not {SECRET, "Portraits"} & texts_in(sent)
    assert sent["message"]["author_id"] == ann.id
    assert [each["user_id"] for each in sent["thread"]["participants"]] == [ann.id, bob.id]


async def test_an_event_shows_the_present_and_nothing_that_was_deleted(
    rooms: Rooms, api: Api
) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob, body=SECRET)
    thread_id, first = started["thread"]["id"], started["message"]
    kept = await ann.send(thread_id, "Frist")
    await ann.edit(kept, "First")
    await ann.remove(first)
    delivered = await deliver(rooms, thread_id)
    sends = of_type(delivered, "message.send")
    assert sends[0]["message"] == {"id": first["id"], "deleted": True}
    assert sends[1]["message"]["body"] == "First"
    assert SECRET not in {text for each in delivered for text in texts_in(each)}


async def test_what_only_some_participants_see_stays_out(rooms: Rooms, api: Api) -> None:
    ann, bob, cleo = await api.people("ann", "bob", "cleo")
    thread_id = await ann.thread_with(bob)
    await rooms.store.add_participant(None, thread_id, cleo.id, Role.HOST)
    await cleo.block(ann)
    hidden = await ann.send(thread_id, SECRET)
    delivered = await deliver(rooms, thread_id)
    assert of_type(delivered, "message.send")[-1]["message"] == {
        "id": hidden["id"],
        "restricted": True,
    }
    assert SECRET not in {text for each in delivered for text in texts_in(each)}


async def test_nothing_of_an_erased_person_is_delivered(rooms: Rooms, api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob, body=SECRET, subject=SECRET)
    thread_id = started["thread"]["id"]
    async for _ in rooms.upkeep.erase(ann.id):
        pass
    delivered = await deliver(rooms, thread_id)
    assert SECRET not in {text for each in delivered for text in texts_in(each)}
    [left] = of_type(delivered, "participant.left")
    assert left["details"] == {"user_id": ann.id}
    assert of_type(delivered, "message.delete")[0]["message"]["deleted"] is True


async def test_what_is_gone_is_named_by_its_id(rooms: Rooms) -> None:
    event = LoggedEvent(
        position=1,
        event_id="evt_1",
        type="amendment.added",
        at_ms=0,
        actor=None,
        thread_id="thr_gone",
        thread_number=1,
        message_id="msg_gone",
        group_id="lbg_gone",
        leg_id="leg_gone",
        card_id="crd_gone",
        money=None,
        data={"amendment_id": "amd_gone", "kind": "extras"},
    )
    [data] = await rooms.event_data.fill([event], include_content=True)
    for name in ("thread", "message", "booking", "leg", "card", "amendment"):
        assert data[name]["deleted"] is True
        assert data[name]["id"].endswith("_gone")


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
class TestCards:
    @pytest.fixture
    def stage(self, rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock) -> Stage:
        return Stage(rooms, pool, clock, load_catalogue())

    async def test_a_location_is_never_delivered(self, rooms: Rooms, stage: Stage) -> None:
        """It is erased here when it ends, and receivers would keep it."""
        project = await stage.project(begun=True)
        payload = {"lat": 48.2, "lon": 16.4, "place": SECRET, "until": stage.at(1)}
        await stage.make(project.seller, project.thread_id, "location", payload)
        [created] = of_type(await deliver(rooms, project.thread_id), "action.create")
        assert created["card"]["state"] == "active"
        assert "payload" not in created["card"]

    async def test_a_card_that_only_its_creator_sees_stays_out(
        self, rooms: Rooms, stage: Stage
    ) -> None:
        buyer, seller, thread_id = await stage.inquiry()
        await rooms.store.block(seller, buyer)
        times = {"start": stage.at(48), "end": stage.at(50), "timezone": "Europe/Vienna"}
        card = await stage.make(buyer, thread_id, "propose_time", {**times, "note": SECRET})
        delivered = await deliver(rooms, thread_id)
        [created] = of_type(delivered, "action.create")
        assert created["card"] == {"id": card.id, "restricted": True}
        assert SECRET not in {text for each in delivered for text in texts_in(each)}
