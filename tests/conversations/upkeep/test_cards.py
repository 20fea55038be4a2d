"""Cards in upkeep: the cards stay in the ledger, their messages are deleted with the others."""

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.thread_updates import Shadow, Standing, ThreadUpdate
from greenroom.conversations.upkeep import Fault
from greenroom.conversations.wire import show_shadow
from greenroom.kernel.limits import Limits
from tests.support.api import Api, Json, Person

from .at_once import erase, export, faults
from .kept import Kept

WORDS = "by-the-fountain"


@pytest.fixture(scope="module")
def limits() -> Limits:
    return Limits(
        sends_per_minute=60_000,
        starts_per_hour=100_000,
        starts_per_day=100_000,
        send_connections=1,
        read_connections=2,
        message_kept_days=100,
    )


@pytest.fixture(autouse=True)
def as_they_are(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be done with these cards is nobody's business here."""
    monkeypatch.setattr(rooms.conversations, "show_card", show_shadow)


def card(thread_id: str, by: "Person", number: int = 1) -> Shadow:
    card_id = f"crd_{thread_id}_{number}"
    shown: Json = {
        "id": card_id,
        "thread_id": thread_id,
        "type": "location",
        "state": "active",
        "version": 1,
        "payload": {"note": WORDS, "lat": 52.520008},
        "created_by": by.id,
        "created_at": "2027-01-15T08:00:00.000Z",
        "updated_at": "2027-01-15T08:00:00.000Z",
    }
    return Shadow(card_id, "location", shown)


async def faults_of_messages(rooms: Rooms) -> list[Fault]:
    """Without those of a standing: the ones here are made up, and no booking is behind them."""
    made_up = ("stage", "open_cards", "needs_action")
    return [fault for fault in await faults(rooms) if fault.kind not in made_up]


async def post(rooms: Rooms, pool: asyncpg.Pool, update: ThreadUpdate) -> None:
    thread_updates = rooms._kept.thread_updates
    async with pool.acquire() as conn, conn.transaction():
        applied = await thread_updates.apply(conn, update)
    await thread_updates.show([applied])


async def test_a_card_past_its_keeping_time_leaves_nothing_and_can_still_change(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, kept: Kept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    shown = card(thread_id, maya)
    standing = Standing("confirmed", 1, frozenset({theo.id}))
    await post(rooms, pool, ThreadUpdate(thread_id, maya.id, new_card=shown, standing=standing))
    assert await faults_of_messages(rooms) == []
    api.clock.advance(days=101)
    assert (await rooms.prune())["message"] >= 2
    assert await theo.messages(thread_id) == []
    text = await kept.everything()
    assert WORDS not in text
    assert shown.card_id not in text
    cursor = await theo.cursor()
    over = ThreadUpdate(thread_id, maya.id, changed_card=shown, standing=Standing("completed"))
    await post(rooms, pool, over)
    [event] = await theo.sync(cursor)
    assert (event["type"], event["thread"]["state"]) == ("thread.changed", "completed")
    assert WORDS not in await kept.everything()
    assert await faults_of_messages(rooms) == []


async def test_a_card_stays_when_its_maker_is_erased(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = (await maya.start(theo, body="my own words"))["thread"]["id"]
    await post(rooms, pool, ThreadUpdate(thread_id, maya.id, new_card=card(thread_id, maya)))
    assert await erase(rooms, maya) == 1
    text, shown = await theo.messages(thread_id)
    assert (text["body"], text["deleted_at"] is None) == ("", False)
    assert (shown["author_id"], shown["deleted_at"]) == (maya.id, None)
    assert shown["card"]["payload"]["note"] == WORDS
    assert await faults_of_messages(rooms) == []


async def test_an_export_has_the_cards_that_they_made_or_see(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo, host = await api.people("maya", "theo", "host")
    thread_id = await maya.thread_with(theo)
    await api.backend.add(thread_id, host.id, "host")
    await post(rooms, pool, ThreadUpdate(thread_id, host.id, new_card=card(thread_id, host)))
    await host.leave(thread_id)
    await post(rooms, pool, ThreadUpdate(thread_id, maya.id, new_card=card(thread_id, maya, 2)))

    async def cards_of(person: "Person") -> list[str]:
        messages = (await export(rooms, person))["messages"]
        return [each["card"]["id"] for each in messages if each["card"] is not None]

    both = [card(thread_id, host).card_id, card(thread_id, maya, 2).card_id]
    assert await cards_of(theo) == both
    assert await cards_of(host) == both[:1]
