"""An answer shows one moment: a change that is committed while it is read shows completely or not
at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.api import Api, Json, Person

from .moments import watching

PATHS = (
    "/v1/bookings/{booking}",
    "/v1/threads/{thread}/panel",
    "/v1/threads/{thread}/panel/expenses",
    "/v1/threads/{thread}/panel/actions",
    "/v1/cards/{card}",
)
IN_POSTGRES = ("/v1/inbox", "/v1/threads/{thread}", "/v1/threads/{thread}/messages")
"""About conversations: with these in DynamoDB a page is put together from several items."""


@dataclass
class Charging:
    """Ann has taken Bob's extras, and the charge is on its way."""

    api: Api
    ann: Person
    ids: dict[str, str]

    @classmethod
    async def begin(cls, api: Api) -> Charging:
        ann, bob = await api.people("ann", "bob")
        leg = {
            "seller": bob.id,
            "title": "A shoot",
            "timezone": "UTC",
            "price_cents": 48_000,
            "start": "2027-06-01T10:00:00Z",
            "end": "2027-06-01T12:00:00Z",
            "deposit_cents": 5_000,
        }
        new = {"buyer": ann.id, "currency": "EUR", "legs": [leg]}
        made = (await api.backend.post("/v1/bookings", new)).json()
        booking, thread = made["booking"]["id"], made["thread"]["id"]
        await api.backend.call("POST", f"/v1/bookings/{booking}/confirm")
        items = [{"title": "Prints", "qty": 1, "unit_cents": 15_100}]
        payload = {"type": "extras", "payload": {"items": items}}
        answer = await bob.post(f"/v1/threads/{thread}/cards", payload)
        card = answer.json()["card"]
        taken = await ann.post(f"/v1/cards/{card['id']}/accept", {"version": card["version"]})
        assert taken.json()["card"]["state"] == "charging", taken.text
        return cls(api, ann, {"booking": booking, "thread": thread, "card": card["id"]})

    async def settle(self) -> None:
        await self.api.rooms.contract.worker.run_until_idle()

    async def read(self, path: str) -> Json:
        answer = await self.ann.get(path.format(**self.ids))
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body


@pytest.mark.parametrize("path", PATHS)
async def test_a_charge_that_settles_during_an_answer_is_in_all_of_it_or_in_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    await check_all_or_nothing(api, monkeypatch, path)


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
@pytest.mark.parametrize("path", IN_POSTGRES)
async def test_a_page_of_conversations_is_of_one_moment(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    await check_all_or_nothing(api, monkeypatch, path)


async def check_all_or_nothing(api: Api, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """Between any two statements of the reader, one after the other."""
    charging = await Charging.begin(api)
    with watching(monkeypatch) as watch:
        await charging.read(path)
    assert watch.moments
    for number in range(1, len(watch.moments) + 1):
        charging = await Charging.begin(api)
        before = await charging.read(path)
        with watching(monkeypatch, number, charging.settle):
            read: Any = await charging.read(path)
        after = await charging.read(path)
        assert before != after
        assert read in (before, after), f"torn after statement {number}"
