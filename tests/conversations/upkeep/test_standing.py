"""`check` compares what threads show of their contract with bookings and cards, on PostgreSQL."""

from typing import TYPE_CHECKING

import asyncpg
import pytest

from greenroom.bootstrap import Rooms

from .at_once import faults
from .kept import Kept
from .test_contract import Json, booked

if TYPE_CHECKING:
    from tests.support.api import Api, Person

pytestmark = pytest.mark.parametrize("conversations", ["postgres"], indirect=True)

SHOWN = """
select t.stage, t.open_cards, i.needs_action from thread t
join inbox_index i on i.thread_id = t.thread_id and i.user_id = $2 where t.thread_id = $1
"""
PLANTED = {
    "stage": "update thread set stage = 'disputed' where thread_id = $1",
    "open_cards": "update thread set open_cards = 7 where thread_id = $1",
    "needs_action": """update inbox_index set needs_action = not needs_action
        where thread_id = $1 and user_id in (select seller from card where thread_id = $1)""",
}
TOLD = {"stage": "thread.changed", "open_cards": "thread.changed", "needs_action": "inbox.changed"}
LEG = {
    "title": "Portraits",
    "start": "2027-04-01T10:00:00Z",
    "end": "2027-04-01T12:00:00Z",
    "timezone": "Europe/Vienna",
    "price_cents": 20_000,
}


@pytest.fixture(autouse=True)
async def empty(kept: Kept) -> None:
    await kept.forget_all()


async def shown(pool: asyncpg.Pool, thread_id: str, person: "Person") -> tuple[object, ...]:
    [row] = await pool.fetch(SHOWN, thread_id, person.id)
    return tuple(row)


async def offer_extra(seller: "Person", thread_id: str) -> Json:
    payload = {"items": [{"title": "Retouch", "qty": 1, "unit_cents": 900}]}
    made = await seller.post(
        f"/v1/threads/{thread_id}/cards", {"type": "extras", "payload": payload}
    )
    assert made.status_code == 201, made.text
    card: Json = made.json()["card"]
    return card


@pytest.mark.parametrize("kind", PLANTED)
async def test_a_wrong_standing_is_found_mended_and_told(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool, kind: str
) -> None:
    buyer, seller, thread_id = await booked(api)
    await offer_extra(seller, thread_id)
    assert await faults(rooms) == []
    right = await shown(pool, thread_id, buyer)
    assert right == ("confirmed", 1, True)

    await pool.execute(PLANTED[kind], thread_id)
    cursor = await seller.cursor()
    assert [(each.kind, each.thread_id) for each in await faults(rooms)] == [(kind, thread_id)]
    assert await seller.sync(cursor) == []

    [fault] = await faults(rooms, repair=True)
    assert (fault.kind, fault.is_mended) == (kind, True)
    assert await shown(pool, thread_id, buyer) == right
    assert [event["type"] for event in await seller.sync(cursor)] == [TOLD[kind]]
    assert await faults(rooms) == []


async def test_a_thread_without_a_contract_shows_none(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    await pool.execute("update thread set stage = 'confirmed' where thread_id = $1", thread_id)
    await pool.execute("update inbox_index set needs_action = true where user_id = $1", maya.id)
    mended = await faults(rooms, repair=True)
    assert {(each.kind, each.user_id, each.is_mended) for each in mended} == {
        ("stage", None, True),
        ("needs_action", maya.id, True),
    }
    assert await shown(pool, thread_id, maya) == (None, 0, False)


async def test_a_row_that_was_lost_says_again_who_has_to_act(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    buyer, seller, thread_id = await booked(api)
    await offer_extra(seller, thread_id)
    await pool.execute("delete from inbox_index where user_id = $1", buyer.id)
    [fault] = await faults(rooms, repair=True)
    assert (fault.kind, fault.is_mended) == ("inbox_row_missing", True)
    assert await shown(pool, thread_id, buyer) == ("confirmed", 1, True)
    assert await faults(rooms) == []


async def test_nothing_differs_from_the_proposal_to_the_next_booking(
    api: "Api", rooms: Rooms
) -> None:
    buyer, seller = await api.people("maya", "theo")
    thread_id = await buyer.thread_with(seller)

    async def call(path: str, body: Json) -> Json:
        answer = await api.backend.post(path, body)
        assert answer.status_code < 300, answer.text
        await rooms.contract.worker.run_until_idle()
        assert await faults(rooms) == []
        found: Json = answer.json()
        return found

    async def propose() -> str:
        legs = [{**LEG, "seller": seller.id}]
        new = {"buyer": buyer.id, "currency": "EUR", "thread_id": thread_id, "legs": legs}
        booking_id: str = (await call("/v1/bookings", new))["booking"]["id"]
        return booking_id

    await call(f"/v1/bookings/{await propose()}/cancel", {"by": "buyer"})
    second = await propose()
    await call(f"/v1/bookings/{second}/confirm", {})
    card = await offer_extra(seller, thread_id)
    assert await faults(rooms) == []
    accepted = await buyer.post(f"/v1/cards/{card['id']}/accept", {"version": 1})
    assert accepted.status_code == 200, accepted.text
    await rooms.contract.worker.run_until_idle()
    assert await faults(rooms) == []
    await call(f"/v1/bookings/{second}/cancel", {"by": "seller"})
    await call(f"/v1/bookings/{await propose()}/cancel", {"by": "buyer"})
    await call(f"/v1/threads/{thread_id}/promote", {"group_id": "kept-elsewhere"})
