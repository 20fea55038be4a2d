"""Answers agree for all callers, for repeats, and on both conversation stores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from greenroom.conversations.thread_updates import AppliedUpdate
from tests.support.api import Api, Json, Person

AT_ONCE = 50


async def a_booking(api: Api, buyer: Person, seller: Person) -> str:
    """Confirmed, in a thread of the two."""
    leg = {
        "seller": seller.id,
        "title": "Shoot",
        "timezone": "Europe/Vienna",
        "start": "2027-05-01T10:00:00Z",
        "end": "2027-05-01T12:00:00Z",
        "price_cents": 100,
    }
    thread_id = await buyer.thread_with(seller)
    new = {"buyer": buyer.id, "thread_id": thread_id, "currency": "EUR", "legs": [leg]}
    made = await api.backend.post("/v1/bookings", new)
    assert made.status_code == 201, made.text
    booking_id: str = made.json()["booking"]["id"]
    assert (await api.backend.call("POST", f"/v1/bookings/{booking_id}/confirm")).status_code == 200
    return booking_id


async def test_fifty_cancels_at_once_have_one_answer(api: Api) -> None:
    ann, bob = await api.people("ann", "bob", verified=True)
    path = f"/v1/bookings/{await a_booking(api, ann, bob)}/cancel"
    calls = [api.backend.call("POST", path, {}, key="once") for _ in range(AT_ONCE)]
    answers = await asyncio.gather(*calls)
    assert {each.status_code for each in answers} == {200}
    assert len({each.text for each in answers}) == 1, [
        each.json()["thread"]["state"] for each in answers
    ]


async def test_who_hears_of_a_cancel_before_its_thread_does_gets_the_same_answer(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await api.people("ann", "bob", verified=True)
    path = f"/v1/bookings/{await a_booking(api, ann, bob)}/cancel"
    with monkeypatch.context() as patch:
        patch.setattr(api.rooms.thread_updates, "show", die)
        first = (await api.backend.call("POST", path, {}, key="early")).json()
    assert first["booking"]["legs"][0]["state"] == "cancelled"
    assert first["thread"]["state"] != "confirmed"
    assert (await api.backend.call("POST", path, {}, key="early")).json() == first


async def die(_applied: Sequence[AppliedUpdate]) -> None:
    """Between the ledger's commit and the thread's."""


def a_card() -> Json:
    times = {"start": "2027-05-01T10:00:00Z", "end": "2027-05-01T12:00:00Z", "timezone": "UTC"}
    return {"type": "propose_time", "payload": times}


async def test_fifty_cards_at_once_under_one_key_have_one_answer(api: Api) -> None:
    ann, bob = await api.people("ann", "bob", verified=True)
    path = f"/v1/threads/{await ann.thread_with(bob)}/cards"
    answers = await asyncio.gather(*(ann.post(path, a_card(), key="once") for _ in range(AT_ONCE)))
    assert {each.status_code for each in answers} == {201}
    first, *others = [each.json() for each in answers]
    assert all(each == first for each in others)
    assert first["message"]["id"] == first["card"]["message_id"] is not None


async def test_a_repeat_names_the_message_of_a_card_whose_server_died_before_it_was_there(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = await api.people("ann", "bob", verified=True)
    thread_id = await ann.thread_with(bob)
    path = f"/v1/threads/{thread_id}/cards"

    with monkeypatch.context() as patch:
        patch.setattr(api.rooms.thread_updates, "show", die)
        first = (await ann.post(path, a_card(), key="once")).json()
    again = (await ann.post(path, a_card(), key="once")).json()
    [message] = [each for each in await ann.messages(thread_id) if each["kind"] == "card"]
    for name in ("id", "seq", "created_at"):
        assert again["message"][name] == message[name]
    assert again["card"]["message_id"] == message["card"]["message_id"] == message["id"]
    assert again["card"]["id"] == first["card"]["id"]
    assert (await ann.post(path, a_card(), key="once")).json() == again
    accept = f"/v1/cards/{again['card']['id']}/accept"
    accepted = (await bob.post(accept, {"version": 1}, key="yes")).json()
    assert accepted["card"]["message_id"] == message["id"]
    assert (await bob.post(accept, {"version": 1}, key="yes")).json() == accepted
