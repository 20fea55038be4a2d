"""Bookings and cards are recounted and exported, and stay consistent when a person is erased."""

from typing import Any

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.cards.upkeep import faults_on
from greenroom.conversations.upkeep import Fault
from tests.support.api import Api, Person

Json = dict[str, Any]

SECRET = "zwischen uns gesagt"
PLANTED = {
    "money_balance": "update money_account set balance_cents = balance_cents - 1"
    " where account = (select account from money_account where kind = 'escrow' limit 1)",
    "money_entry": "alter table money_posting disable trigger user;"
    " update money_posting set amount_cents = amount_cents + 1 where place = 0",
    "history_hash": 'update history_detail set after = after || \'{"state": "other"}\'',
    "history_order": "alter table history disable trigger user;"
    " update history set before_hash = '\\x00' where seq = 2",
    "contract_version": "update card set version = version + 1",
    "payment_unbooked": "alter table money_entry disable trigger user;"
    " update money_entry set payment_id = null",
}


async def booked(api: "Api") -> tuple["Person", "Person", str]:
    """A confirmed booking with a paid extra whose note is a secret."""
    buyer, seller = await api.people("maya", "theo")
    leg = {
        "seller": seller.id,
        "title": "Portraits",
        "start": "2027-03-01T10:00:00Z",
        "end": "2027-03-01T12:00:00Z",
        "timezone": "Europe/Vienna",
        "price_cents": 20_000,
    }
    new = {"buyer": buyer.id, "currency": "EUR", "legs": [leg]}
    booking = (await api.backend.post("/v1/bookings", new)).json()["booking"]
    confirmed = await api.backend.post(f"/v1/bookings/{booking['id']}/confirm", {})
    assert confirmed.json()["booking"]["state"] == "confirmed", confirmed.text
    thread_id = booking["thread_id"]
    payload = {"items": [{"title": "Retouch", "qty": 1, "unit_cents": 900}], "note": SECRET}
    made = await seller.post(
        f"/v1/threads/{thread_id}/cards", {"type": "extras", "payload": payload}
    )
    card = made.json()["card"]
    answer = await buyer.post(f"/v1/cards/{card['id']}/accept", {"version": 1})
    assert answer.status_code == 200, answer.text
    await api.rooms.contract.worker.run_until_idle()
    await api.rooms.store.settle()
    return buyer, seller, thread_id


async def faults(rooms: Rooms) -> list[Fault]:
    return [fault async for fault in rooms.contract.upkeep.check()]


async def test_a_contract_agrees_with_what_it_is_made_of(api: "Api", rooms: Rooms) -> None:
    await booked(api)
    assert await faults(rooms) == []


@pytest.mark.parametrize("kind", PLANTED)
async def test_each_fault_of_a_ledger_is_found(api: "Api", pool: asyncpg.Pool, kind: str) -> None:
    await booked(api)
    async with pool.acquire() as conn:
        change = conn.transaction()
        await change.start()
        await conn.execute(PLANTED[kind])
        try:
            found = {fault.kind async for fault in faults_on(conn)}
        finally:
            await change.rollback()
    assert kind in found


async def test_an_export_has_a_persons_bookings_and_cards(api: "Api", rooms: Rooms) -> None:
    buyer, seller, _ = await booked(api)
    sections: dict[str, list[Json]] = {}
    async for section, item in rooms.contract.upkeep.export(seller.id):
        sections.setdefault(section, []).append(item)
    [booking], [card] = sections["bookings"], sections["cards"]
    assert booking["role"] == "seller"
    assert booking["leg"]["title"] == "Portraits"
    assert card["payload"]["note"] == SECRET
    of_buyer = [section async for section, _ in rooms.contract.upkeep.export(buyer.id)]
    assert of_buyer == ["bookings"]


async def test_erasing_takes_the_words_and_leaves_the_contract(
    api: "Api", rooms: Rooms, pool: asyncpg.Pool
) -> None:
    buyer, seller, thread_id = await booked(api)
    cursor = await buyer.cursor()
    assert await rooms.contract.upkeep.erase(seller.id) == 1
    assert await rooms.contract.upkeep.erase(seller.id) == 0
    await rooms.store.settle()

    [card] = [each["card"] for each in await buyer.messages(thread_id) if each["card"]]
    assert card["state"] == "paid"
    assert card["totals"]["total_cents"] == 900
    assert "note" not in card["payload"]
    assert "card.changed" in [event["type"] for event in await buyer.sync(cursor)]
    for table in ("card", "history_detail", "history", "message", "outbox"):
        found = await pool.fetchval(
            f"select count(*) from {table} t where t::text like $1 and t::text like $2",  # noqa: S608
            f"%{SECRET}%",
            f"%{card['id']}%",
        )
        assert found == 0, table
    assert await faults(rooms) == []
