"""A thread takes the next booking when every leg of the current one is completed or cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.api import Api, Json, Person

PRICE = 10_000


class Thread:
    """Ann and Bob, who book and book again in one thread."""

    def __init__(self, api: Api, ann: Person, bob: Person, thread_id: str) -> None:
        self.api = api
        self.ann = ann
        self.bob = bob
        self.id = thread_id
        self.days = iter(range(1, 28))

    @classmethod
    async def open(cls, api: Api) -> Thread:
        ann, bob = await api.people("ann", "bob")
        return cls(api, ann, bob, await ann.thread_with(bob))

    def wanted(self, legs: int = 1) -> Json:
        made = []
        for _ in range(legs):
            day = f"2027-06-{next(self.days):02}"
            made.append(
                {
                    "seller": self.bob.id,
                    "title": f"A shoot on {day}",
                    "timezone": "UTC",
                    "price_cents": PRICE,
                    "start": f"{day}T10:00:00Z",
                    "end": f"{day}T12:00:00Z",
                }
            )
        return {"buyer": self.ann.id, "currency": "EUR", "thread_id": self.id, "legs": made}

    async def propose(self, legs: int = 1) -> Json:
        self.api.clock.advance(seconds=1)
        answer = await self.api.backend.post("/v1/bookings", self.wanted(legs))
        assert answer.status_code == 201, answer.text
        booking: Json = answer.json()["booking"]
        return booking

    async def confirm(self, booking: Json) -> Json:
        answer = await self.api.backend.call("POST", f"/v1/bookings/{booking['id']}/confirm")
        assert answer.json()["booking"]["state"] == "confirmed", answer.text
        confirmed: Json = answer.json()["booking"]
        return confirmed

    async def book(self, legs: int = 1) -> Json:
        return await self.confirm(await self.propose(legs))

    async def cancel(self, booking: Json) -> None:
        path = f"/v1/bookings/{booking['id']}/cancel"
        answer = await self.api.backend.post(path, {"by": "seller"})
        assert answer.status_code == 200, answer.text
        await self.api.rooms.contract.worker.run_until_idle()

    async def complete(self) -> None:
        card = await self.make(self.bob, "complete", kind="milestone")
        await self.act(self.ann, card, "accept")

    async def make(self, person: Person, type_name: str, **payload: Any) -> Json:
        self.api.clock.advance(seconds=3)
        new = {"type": type_name, "payload": payload}
        answer = await person.post(f"/v1/threads/{self.id}/cards", new)
        assert answer.status_code == 201, answer.text
        card: Json = answer.json()["card"]
        return card

    async def act(self, person: Person, card: Json, action: str) -> Json:
        path = f"/v1/cards/{card['id']}/{action}"
        answer = await person.post(path, {"version": card["version"]})
        assert answer.status_code == 200, answer.text
        await self.api.rooms.contract.worker.run_until_idle()
        now: Json = (await person.get(f"/v1/cards/{card['id']}")).json()["card"]
        return now

    async def shown(self) -> Json:
        """The same for both, apart from whose turn it is."""
        ann = (await self.ann.thread(self.id))["thread"]
        bob = (await self.bob.thread(self.id))["thread"]
        for name in ("group_id", "leg_id", "bookings", "kind"):
            assert ann[name] == bob[name]
        shown: Json = ann
        return shown

    async def panel(self) -> Json:
        panel: Json = (await self.ann.get(f"/v1/threads/{self.id}/panel")).json()["panel"]
        return panel


def ref(booking: Json) -> Json:
    """How a thread names a booking: one of a single leg by its leg."""
    legs = [leg["id"] for leg in booking["legs"]]
    is_one = len(legs) == 1
    return {
        "group_id": None if is_one else booking["id"],
        "leg_id": legs[0] if is_one else None,
    }


def bound(thread: Json) -> Json:
    return {"group_id": thread["group_id"], "leg_id": thread["leg_id"]}


@pytest.fixture
async def thread(api: Api) -> Thread:
    return await Thread.open(api)


async def test_after_a_cancelled_project_the_next_booking_is_in_the_same_thread(
    thread: Thread,
) -> None:
    first = await thread.book()
    assert (await thread.shown())["bookings"] == []
    await thread.cancel(first)
    second = await thread.propose(2)
    shown = await thread.shown()
    assert (shown["kind"], bound(shown), shown["bookings"]) == (
        "project",
        ref(second),
        [ref(first)],
    )
    # Nothing is confirmed yet, and the one who wrote last waits for an answer.
    assert shown["state"] == "open"
    assert (await thread.panel())["booking"]["state"] == "proposed"
    await thread.confirm(second)
    shown = await thread.shown()
    assert (shown["state"], bound(shown)) == ("confirmed", ref(second))
    messages = await thread.ann.messages(thread.id)
    codes = [each["system"]["code"] for each in messages if each["kind"] == "system"]
    assert codes == [
        *("booking.proposed", "thread.promoted", "booking.confirmed", "booking.cancelled"),
        *("thread.next_booking", "booking.confirmed"),
    ]


async def test_the_panel_and_cards_follow_the_current_booking_and_earlier_ones_stay_readable(
    thread: Thread,
) -> None:
    first = await thread.book()
    await thread.complete()
    assert (await thread.shown())["state"] == "completed"
    second = await thread.book()
    panel = await thread.panel()
    assert panel["booking"]["id"] == second["id"]
    assert [each["id"] for each in panel["earlier"]] == [first["id"]]
    assert panel["earlier"][0]["sums"]["paid"]["amount_cents"] == PRICE
    booking = (await thread.bob.get(f"/v1/bookings/{first['id']}")).json()["booking"]
    assert booking["legs"][0]["state"] == "completed"
    extras = await thread.make(
        thread.bob, "extras", items=[{"title": "Prints", "qty": 1, "unit_cents": 900}]
    )
    assert extras["leg_id"] == second["legs"][0]["id"]
    assert (await thread.act(thread.ann, extras, "accept"))["state"] == "paid"
    expenses = (await thread.ann.get(f"/v1/threads/{thread.id}/panel/expenses")).json()["data"]
    assert expenses["sums"]["agreed"]["amount_cents"] == PRICE + 900


async def test_a_card_about_an_earlier_booking_names_its_leg_and_moves_only_that(
    thread: Thread,
) -> None:
    first = await thread.book()
    await thread.cancel(first)
    second = await thread.book()
    await thread.complete()
    third = await thread.book()
    leg = second["legs"][0]["id"]
    files = [{"name": "a.zip", "bytes": 1, "sha256": "ab" * 32, "url": "https://files.example/a"}]
    made = await thread.bob.post(
        f"/v1/threads/{thread.id}/manifests", {"items": files, "leg_id": leg}
    )
    manifest = made.json()["manifest"]
    assert (manifest["booking_id"], manifest["leg_id"]) == (second["id"], leg)
    card = await thread.make(thread.bob, "deliverable", manifest_id=manifest["id"], leg_id=leg)
    assert (await thread.shown())["state"] == "pending_decision"
    approved = await thread.act(thread.ann, card, "approve")
    assert (approved["state"], approved["leg_id"]) == ("approved", leg)
    shown = await thread.shown()
    assert (shown["state"], bound(shown)) == ("confirmed", ref(third))
    assert shown["bookings"] == [ref(first), ref(second)]
    earlier = (await thread.panel())["earlier"]
    assert [each["id"] for each in earlier] == [second["id"], first["id"]]
    assert earlier[0]["legs"][0]["deliverables_accepted_at"] is not None


async def test_a_thread_whose_booking_is_not_over_takes_no_other(thread: Thread) -> None:
    refused = (409, "ACTION_CONFLICT")
    post = thread.api.backend.refusal
    first = await thread.propose(2)
    assert await post("POST", "/v1/bookings", thread.wanted()) == refused
    await thread.confirm(first)
    assert await post("POST", "/v1/bookings", thread.wanted()) == refused
    cancel = await thread.make(thread.bob, "cancel", reason="Ill", leg_id=first["legs"][0]["id"])
    assert (await thread.act(thread.ann, cancel, "accept"))["state"] == "accepted"
    assert await post("POST", "/v1/bookings", thread.wanted()) == refused
    await thread.cancel(first)
    await thread.propose()
    assert await post("POST", "/v1/bookings", thread.wanted()) == refused


async def test_of_many_next_bookings_at_once_one_is_taken(thread: Thread) -> None:
    first = await thread.book()
    await thread.cancel(first)
    wanted = [thread.wanted() for _ in range(8)]
    answers = await asyncio.gather(
        *(thread.api.backend.post("/v1/bookings", each) for each in wanted)
    )
    [made] = [each.json()["booking"] for each in answers if each.status_code == 201]
    problems = [each.json() for each in answers if each.status_code != 201]
    assert {(each["status"], each["code"]) for each in problems} == {(409, "ACTION_CONFLICT")}
    assert all("every leg" in each["detail"] for each in problems)
    shown = await thread.shown()
    assert (bound(shown), shown["bookings"]) == (ref(made), [ref(first)])


async def test_an_inquiry_takes_another_proposal_once_the_first_is_cancelled(
    thread: Thread,
) -> None:
    first = await thread.propose()
    await thread.cancel(first)
    second = await thread.book()
    shown = await thread.shown()
    # It was never bound to the first, which nobody has agreed to.
    assert (bound(shown), shown["bookings"]) == (ref(second), [])
    assert (await thread.panel())["earlier"] == []


async def test_the_backend_promotes_a_thread_again_once_its_booking_is_over(
    thread: Thread,
) -> None:
    first = await thread.book()
    path = f"/v1/threads/{thread.id}/promote"
    elsewhere = {"group_id": "one-of-theirs"}
    assert await thread.api.backend.refusal("POST", path, elsewhere) == (
        409,
        "ACTION_INVALID_STATE",
    )
    await thread.cancel(first)
    for _ in range(2):
        answer = await thread.api.backend.post(path, elsewhere)
        assert answer.status_code == 200, answer.text
    shown = await thread.shown()
    assert (shown["group_id"], shown["bookings"]) == ("one-of-theirs", [ref(first)])
    assert shown["state"] == "confirmed"
    # What is kept elsewhere is not known to be over.
    assert await thread.api.backend.refusal("POST", "/v1/bookings", thread.wanted()) == (
        409,
        "ACTION_CONFLICT",
    )


async def test_both_feeds_tell_of_the_next_booking(thread: Thread) -> None:
    first = await thread.book()
    await thread.cancel(first)
    cursors = [await each.cursor() for each in (thread.ann, thread.bob)]
    second = await thread.propose()
    for person, cursor in zip((thread.ann, thread.bob), cursors, strict=True):
        events = [each for each in await person.sync(cursor) if each["type"] == "thread.changed"]
        assert bound(events[-1]["thread"]) == ref(second)
        assert events[-1]["thread"]["bookings"] == [ref(first)]
